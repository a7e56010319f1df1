"""A restore executes nothing that a store names, and writes to nothing but the program's own state."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from flor.errors import Damaged, FlorError, RestoreMismatch
from flor.state import Snapshot, decode, encode, restore
from flor.state.snapshot import Blob, Node, Ref

HERE = __name__


class Mine:
    """A class of the project."""

    kept = 1


def mine(module: str) -> bool:
    return module == HERE


def put(nodes: list[Node], blobs: list[bytes] = [], live: dict[str, Any] | None = None) -> Any:  # noqa: B006
    """Restore a crafted graph whose first node is the value of `x`."""
    snapshot = Snapshot(roots={"s": {"x": Ref(0)}}, nodes=nodes)
    snapshot.blobs = [Blob(len(data), data=memoryview(data)) for data in blobs]
    graph, written = encode(snapshot)
    stored = {blob.name: bytes(blob.data or b"") for blob in written}
    read = decode(graph, lambda name: memoryview(stored[name]))
    return restore(read, {"s": {} if live is None else live}, project=mine).values["s"]["x"]


def code(kind: str, name: str, **meta: Any) -> Node:
    classes = {
        "class": "builtins:type",
        "function": "builtins:function",
        "builtin": "builtins:builtin_function_or_method",
    }
    return Node(kind, classes[kind], {"name": name, **({"named": True} if kind == "function" else {}), **meta})


def reduced(cls: str, maker: Node, *args: Any, state: Any = None) -> list[Node]:
    """A node that is made by calling a maker."""
    return [Node("reduced", cls, {"args": len(args), "items": 0, "pairs": 0}, [Ref(1), *args, state]), maker]


TOUCH = "touch executed"
CALLS = {
    "os.system": reduced("builtins:int", code("builtin", "posix:system"), TOUCH),
    "os.system by another name": reduced("builtins:int", code("builtin", "os:system"), TOUCH),
    "subprocess.Popen": reduced("subprocess:Popen", code("class", "subprocess:Popen"), TOUCH),
    "subprocess.call": reduced("builtins:int", code("function", "subprocess:call"), TOUCH),
    "eval": reduced("builtins:int", code("builtin", "builtins:eval"), "__import__('os').system('touch executed')"),
    "exec": reduced("builtins:NoneType", code("builtin", "builtins:exec"), "open('executed', 'w')"),
    "__import__": reduced("builtins:module", code("builtin", "builtins:__import__"), "antigravity"),
    "open": reduced("_io:TextIOWrapper", code("builtin", "_io:open"), "executed", "w"),
    "io.FileIO": reduced("_io:FileIO", code("class", "_io:FileIO"), "executed", "w"),
    "pickle.loads": reduced(
        "builtins:int", code("builtin", "_pickle:loads"), b"cposix\nsystem\n(S'touch executed'\ntR."
    ),
    "a function of the project": reduced("builtins:NoneType", code("function", f"{HERE}:touch")),
    "a class of the project": reduced(f"{HERE}:Mine", code("class", f"{HERE}:Mine")),
    "an enumeration": [
        Node("enum", "x:y", {"name": None}, [TOUCH], {"__class__": Ref(1)}),
        code("builtin", "posix:system"),
    ],
    "a generator of numbers": [Node("numpy-random", f"{HERE}:touch", None, [None])],
    "a shell of something": [Node("object", "posix:system", None, [], {})],
    "a temporary file": [Node("object", "tempfile:_TemporaryFileCloser", None, [], {"name": "victim", "delete": True})],
    "a temporary folder": [Node("object", "tempfile:TemporaryDirectory", None, [], {"name": "victim"})],
    "a default factory": [
        Node("dict", "collections:defaultdict", None, [], {"default_factory": Ref(1)}),
        code("builtin", "posix:getpid"),
    ],
    "a module": [Node("module", "builtins:module", {"name": "antigravity"})],
    "a global": [Node("reduced", "builtins:builtin_function_or_method", {"global": "posix:system"})],
    "a bound method": [
        Node("builtin", "builtins:builtin_function_or_method", {"name": "x:y", "method": "__class__"}, ["a"])
    ],
    "a class with a descriptor": [
        Node("reduced", "builtins:property", {"args": 0, "items": 0, "pairs": 0}, [Ref(1), None]),
        code("class", "builtins:property"),
    ],
    "torch's file writer": reduced(
        "torch._C:PyTorchFileWriter", code("class", "torch._C:PyTorchFileWriter"), "executed"
    ),
    "another maker than the class": reduced("datetime:date", code("class", "pathlib:Path"), "x"),
    "os itself": [Node("module", "builtins:module", {"name": "os"})],
}


def touch() -> None:
    Path("executed").touch()


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "victim").write_text("precious")
    return tmp_path


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_called_that_a_graph_names(name: str, watched: Path) -> None:
    before = set(sys.modules)
    with pytest.raises(RestoreMismatch):
        put(CALLS[name])
    assert [path.name for path in watched.iterdir()] == ["victim"]
    assert "antigravity" not in set(sys.modules) - before


def test_what_the_program_itself_holds_at_that_place_stays() -> None:
    assert put([code("builtin", "posix:system")], live={"x": os.system}) is os.system


def test_no_class_of_a_library_is_changed() -> None:
    with pytest.raises(RestoreMismatch, match="a class of a library is not changed"):
        put([Node("class", "builtins:type", {"name": "pathlib:Path"}, [], {"exists": 1})])
    with pytest.raises(RestoreMismatch, match="__init__ is code"):
        put([Node("class", "builtins:type", {"name": f"{HERE}:Mine"}, [], {"kept": 2, "__init__": 1})])
    assert Mine.kept == 1


def test_no_function_of_a_library_is_changed() -> None:
    nodes = [Node("function", "builtins:function", {"name": "subprocess:list2cmdline", "named": True}, [], {".x": 1})]
    with pytest.raises(RestoreMismatch):
        put(nodes, live={"x": subprocess.list2cmdline})
    nodes = [
        Node(
            "function", "builtins:function", {"name": "tempfile:mkdtemp", "named": True}, [], {"__defaults__": Ref(1)}
        ),
        Node("tuple", "builtins:tuple", None, ["a", "b", "/"]),
    ]
    with pytest.raises(RestoreMismatch):
        put(nodes, live={"x": tempfile.mkdtemp})
    assert tempfile.mkdtemp.__defaults__ == (None, None, None)


def test_no_modules_names_become_an_objects_attributes() -> None:
    shared = Node("object", f"{HERE}:Mine", None, [], {"__dict__": Ref(1), "__class__": Ref(2), "environ": 1})
    with pytest.raises(RestoreMismatch):
        put([shared, Node("module", "builtins:module", {"name": "string"}), code("class", f"{HERE}:Mine")])


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "PYTHONSTARTUP", "GIT_SSH_COMMAND"])
def test_no_variable_is_set_that_decides_which_programs_run(name: str) -> None:
    attrs = {"folder": os.getcwd(), "environment": f'{{"{name}": "/tmp/evil"}}', "logging": "[0, {}]"}
    with pytest.raises(RestoreMismatch, match=name):
        put([Node("surroundings", "flor.state.settings:Surroundings", None, [], attrs)])
    assert os.environ.get(name) != "/tmp/evil"


def test_a_file_that_would_block_is_not_mapped(watched: Path) -> None:
    os.mkfifo("pipe")
    with pytest.raises(RestoreMismatch):
        put([Node("memmap", "numpy:memmap", {"dtype": "u1", "shape": [4], "offset": 0}, [str(watched / "pipe")])])


def test_memory_is_not_written_beside_its_place() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(4)
    geometry = {"dtype": "torch.float32", "device": "cpu", "shape": [4], "stride": [1], "offset": 0}
    tensor = Node(
        "tensor", "torch:Tensor", {**geometry, "requires_grad": False, "fn": None, "inference": False}, [Ref(1)]
    )
    meta = {"device": "cpu", "nbytes": 16, "torch": True}
    for ranges in ([[16, 32]], [[-16, 0]], [[0, 1 << 40]]):
        with pytest.raises(RestoreMismatch):
            put([tensor, Node("memory", "", {**meta, "ranges": ranges}, blob=0)], [b"\xff" * 16], {"x": x})
    huge = {**tensor.meta, "shape": [1 << 40]}
    with pytest.raises(RestoreMismatch):
        put(
            [Node("tensor", "torch:Tensor", huge, [Ref(1)]), Node("memory", "", {**meta, "ranges": [[0, 16]]}, blob=0)],
            [b"\0" * 16],
        )
    with pytest.raises(RestoreMismatch):
        put([tensor, Node("memory", "", {**meta, "nbytes": 1 << 50, "ranges": [[0, 16]]}, blob=0)], [b"\0" * 16])
    assert x.tolist() == [0.0] * 4


def test_graphs_that_lead_nowhere_are_damaged() -> None:
    for nodes in (
        [Node("list", "builtins:list", None, [Ref(9)])],
        [Node("list", "builtins:list", None, [Ref(-1)])],
        [Node("bytes", "builtins:bytes", blob=3)],
        [Node("list", "builtins:list", blob=-1)],
    ):
        with pytest.raises(Damaged):
            put(nodes)


def test_a_kind_that_does_not_exist_is_an_error_of_ours() -> None:
    with pytest.raises((FlorError, KeyError)):
        put([Node("no such kind", "builtins:list")])
