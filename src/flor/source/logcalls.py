"""Which calls log, and by which way."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flor.model.edits import Kind
from flor.source.words import words

_LEVELS = words("debug info warning warn error critical exception fatal")
_TENSORBOARD = words(
    """add_scalar add_scalars add_histogram add_histogram_raw add_image add_images add_image_with_boxes add_text
    add_figure add_embedding add_graph add_pr_curve add_video add_audio add_mesh add_hparams"""
)
_MLFLOW = words(
    """log_metric log_metrics log_param log_params log_artifact log_artifacts log_text log_image log_figure log_dict
    log_table log_input"""
)
_TQDM = words("set_postfix set_postfix_str set_description set_description_str")
_FILE_METHODS = words(
    """write writelines writerow writerows write_text write_bytes savefig to_csv to_json to_parquet to_pickle
    tofile"""
)
_FILE_FUNCTIONS = words(
    """json.dump pickle.dump torch.save numpy.save numpy.savez numpy.savez_compressed numpy.savetxt yaml.dump
    torchvision.utils.save_image joblib.dump"""
)
_PRINTS = words(
    """print builtins.print pprint.pprint pprint.pp rich.print sys.stdout.write sys.stderr.write sys.__stdout__.write
    os.write traceback.print_exc traceback.print_stack IPython.display.display torchinfo.summary"""
)
_BARS = ("bar", "tqdm", "progress")


def imported_names(tree: ast.Module) -> dict[str, str]:
    """The full name of what each imported name stands for, such as `F` -> `torch.nn.functional`."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                found[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def dotted(node: ast.AST) -> str:
    """`a.b.c` as text; empty if the expression is anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


def full_name(node: ast.AST, imports: Mapping[str, str]) -> str:
    """The dotted expression with its first name resolved; empty if that name is not imported."""
    head, dot, rest = dotted(node).partition(".")
    return f"{imports[head]}{dot}{rest}" if head in imports else ""


def kind_of_call(call: ast.Call, imports: Mapping[str, str]) -> Kind | None:
    """The way a call logs; None if it does not."""
    name = full_name(call.func, imports) or dotted(call.func)
    if name in _PRINTS:
        return "print"
    if name in _FILE_FUNCTIONS:
        return "file"
    root = name.partition(".")[0]
    if root == "flor":
        return "flor.log" if name == "flor.log" else None
    if root == "warnings":
        return "logging" if name == "warnings.warn" else None
    return _kind_of_method(call, call.func, name) if isinstance(call.func, ast.Attribute) else None


def _kind_of_method(call: ast.Call, func: ast.Attribute, name: str) -> Kind | None:
    method, receiver = func.attr, name.rpartition(".")[0].lower()
    if method in _TENSORBOARD:
        return "tensorboard"
    if name.startswith("mlflow.") or method in _MLFLOW:
        return "mlflow" if method.startswith("log") else None
    if method in _LEVELS and name.partition(".")[0] not in ("torch", "numpy", "math"):
        return "logging"
    if method == "log" and (call.args or call.keywords):
        return _kind_of_log(call, name)
    if method in _TQDM or (method == "write" and any(bar in receiver for bar in _BARS)):
        return "tqdm"
    if method == "print":
        return "print"
    return "file" if method in _FILE_METHODS else None


def _kind_of_log(call: ast.Call, name: str) -> Kind | None:
    """`.log(...)` is also the logarithm: of numbers, from a module of mathematics."""
    root = name.partition(".")[0]
    if root in ("torch", "numpy", "math", "cmath"):
        return None
    if root == "wandb" or any(isinstance(arg, ast.Dict | ast.DictComp) for arg in call.args):
        return "wandb"
    return "logging"


def log_calls(node: ast.AST, imports: Mapping[str, str]) -> Iterator[tuple[ast.Call, Kind]]:
    """Every call below a node that logs, in the order of the tree."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and (kind := kind_of_call(part, imports)):
            yield part, kind


def printing_lines(sources: Mapping[str, str]) -> set[tuple[str, int]]:
    """The lines (file, line) that hold nothing but calls of `print` and the like: no library writes there."""
    found: set[tuple[str, int]] = set()
    for file, text in sources.items():
        if not file.endswith(".py"):
            continue
        tree = ast.parse(text)
        imports = imported_names(tree)
        for node in ast.walk(tree):
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and kind_of_call(call, imports) == "print":
                found |= {(file, line) for line in range(call.lineno, (call.end_lineno or call.lineno) + 1)}
        headers = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.For | ast.While | ast.With)}
        found -= {(file, line) for line in headers}
    return found
