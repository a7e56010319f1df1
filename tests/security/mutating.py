# ruff: noqa: E501
"""Stores with seeded damage and crafted ones, read by every verb and restored: no wrong value, nothing executed.

`python -m tests.security.mutating --mutated 5000 --crafted 1000` tries all of them and prints what was found.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flor
from flor.cli import main
from flor.errors import FlorError
from flor.launch.liveness import DeadNames
from flor.model.checkpoints import Checkpoint, Key
from flor.query.runs import run as find_run
from flor.runtime.restoring import Checkpoints
from flor.state import restore
from flor.store.codec import Kind
from flor.store.frames import OPENING_SIZE, Frame, frame_bytes, parse_opening, scan
from flor.store.packreader import read_pack
from flor.store.packs import PackEntry, write_pack
from flor.store.reader import read_journal

SCRIPT = """
import random
import time
import flor
from shapes_of_the_test import Shape

shapes, totals = [], {}
for epoch in range(4):
    loss = 0.0
    for batch in range(3):
        loss += random.random() / SCALE
        shapes.append(Shape(epoch, batch))
    time.sleep(0.1)
    totals[epoch] = [loss, str(epoch) * 3, (epoch, b"x")]
    print("loss", epoch, end=" ")
    print(loss)
    flor.log("loss", loss)
    flor.log("many", [epoch, {"a": loss}])
"""
SHAPES = "class Shape:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
RUNS = ("first", "second")
ALWAYS = (("logs", "first"), ("fsck",))
OTHERS = (
    ("runs",), ("show", "first"), ("show", "first", "--loops"), ("export", "first", "--format", "csv"),
    ("diff", "first"), ("plan", "first"), ("gc", "--keep-every", "2"), ("checkout", "first", "out"),
)  # fmt: skip
SECONDS = 30
Row = tuple[str, str, str, str]
State = dict[str, str]


@dataclass
class Base:
    """A store as it was recorded, and what is true of it."""

    folder: Path
    rows: Counter[Row]
    states: dict[str, State]


@dataclass
class Findings:
    """What went wrong; all of it should be empty."""

    tried: int = 0
    wrong: list[str] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    refused: int = 0
    restored: int = 0

    def all(self) -> list[str]:
        return [*self.wrong, *self.executed, *self.tracebacks, *self.hangs, *self.outside]


def record(folder: Path) -> Base:
    """Two runs of one small script, with every checkpoint."""
    (folder / "shapes_of_the_test.py").write_text(SHAPES)
    environment = {**os.environ, "FLOR_OVERHEAD": "1000", "PYTHONHASHSEED": "0"}
    for name, scale in zip(RUNS, ("1", "7"), strict=True):
        (folder / "train.py").write_text(SCRIPT.replace("SCALE", scale))
        command = [sys.executable, "-m", "flor", "record", "--name", name, "train.py"]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    (folder / "train.py").write_text(SCRIPT.replace("SCALE", "1"))
    sys.path.insert(0, str(folder))
    import shapes_of_the_test  # noqa: F401

    here = folder / ".flor"
    rows = rows_of(here)
    states = {key: state for key, state in states_of(here) if isinstance(state, dict)}
    assert rows and states, "the base store has neither rows nor checkpoints"
    return Base(folder, rows, states)


def rows_of(store: Path) -> Counter[Row]:
    return Counter((row.name, repr(row.value), row.channel, row.position) for row in find_run("first", store).logs())


def states_of(store: Path) -> Iterator[tuple[str, State | str]]:
    """What each checkpoint of the first run restores to, or why it is refused."""
    run = find_run("first", store)
    announced: dict[Key, Checkpoint] = {}
    for note in run.checkpoints:
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            checkpoint = Checkpoint.from_json(note.values)
            announced[checkpoint.key] = checkpoint
    checkpoints = Checkpoints(run.folder.packs, announced, DeadNames({}))
    for key in announced:
        try:
            snapshot = checkpoints.load(key)
            shape = getattr(sys.modules["shapes_of_the_test"], "Shape", None)
            live = {"random": random, "time": time, "flor": flor, "Shape": shape}
            scopes: dict[str, dict[str, Any]] = {scope: dict(live) for scope in snapshot.roots}
            found = restore(snapshot, scopes, project=lambda module: module == "shapes_of_the_test").values
            yield str(key), {scope: _said(values) for scope, values in found.items()}
        except FlorError as error:
            yield str(key), str(error)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:  # as `Restorer` has it
            yield str(key), f"{type(error).__name__}: {error}"


def _said(values: dict[str, Any]) -> str:
    plain = {name: value for name, value in values.items() if type(value) in (int, float, str, list, dict)}
    return json.dumps(plain, default=lambda thing: vars(thing) if hasattr(thing, "a") else repr(thing), sort_keys=True)


# -- the watch ---------------------------------------------------------------------------------------------


class Watch:
    """An audit hook that notes what no reader may do, while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.inside = ""
        self.executed: list[str] = []
        self.outside: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in FORBIDDEN or event.startswith(("socket.", "ctypes.dlopen", "pty.", "shutil.")):
            if event == "exec" and getattr(args[0], "co_name", "") == "<listcomp>":
                return
            self.executed.append(f"{event} {args[:2]!r}"[:200])
        elif (event == "open" and isinstance(args[0], str | bytes) and _writes(args)) or (
            event in CHANGES and args and isinstance(args[0], str | bytes | os.PathLike)
        ):
            self._write(args[0], event)

    def _write(self, path: Any, event: str) -> None:
        place = os.path.realpath(os.path.dirname(os.path.abspath(os.fsdecode(path))))
        if not f"{place}/".startswith(f"{self.inside}/") and not os.fsdecode(path).startswith("/dev/null"):
            self.outside.append(f"{event} {os.fsdecode(path)}")


FORBIDDEN = frozenset(
    ("exec", "import", "os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.kill",
     "os.putenv", "webbrowser.open", "marshal.loads", "pickle.find_class", "code.__new__", "function.__new__")
)  # fmt: skip
CHANGES = frozenset(
    ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod", "os.utime")
)


def _writes(args: tuple[Any, ...]) -> bool:
    mode, flags = args[1], args[2] if len(args) > 2 else 0
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))


class TooLong(BaseException):
    """A reader did not come back."""


def _alarm(*_: object) -> None:
    raise TooLong


# -- one store ---------------------------------------------------------------------------------------------


def invoke(words: tuple[str, ...]) -> tuple[int, str, str]:
    """A verb in this process: exit code, stdout, stderr with the traceback of what came out of it."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(words), standalone_mode=False)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except Exception as error:
            import click

            code = 1
            if not isinstance(error, click.ClickException):
                err.write("Traceback " + "".join(traceback.format_exception(error)))
    return code, out.getvalue(), err.getvalue()


def examine(base: Base, change: Callable[[Path], str], watch: Watch, found: Findings, *, crafted: bool) -> None:
    """Change a copy of the store, then have every verb read it and every checkpoint restored."""
    place = Path(tempfile.mkdtemp(prefix="flor-mutant-"))
    try:
        shutil.copytree(base.folder, place, dirs_exist_ok=True, symlinks=True)
        what = change(place / ".flor")
        found.tried += 1
        _examine(base, place, what, watch, found, crafted)
    finally:
        os.chdir(base.folder)
        shutil.rmtree(place, ignore_errors=True)


def _examine(base: Base, place: Path, what: str, watch: Watch, found: Findings, crafted: bool) -> None:
    os.chdir(place)
    watch.inside = os.path.realpath(place)
    watch.executed, watch.outside = [], []
    precious = (place / "precious").write_text("x")
    told, rows, step = False, Counter[Row](), ""
    chosen = random.Random(what).sample(OTHERS, 3)
    signal.alarm(SECONDS)
    try:
        watch.on = True
        for words in (*ALWAYS, *chosen):
            step = " ".join(words)
            code, out, err = invoke(words)
            told = told or (code != 0 and words[0] in ("logs", "runs", "show", "fsck"))
            if "Traceback" in err:
                found.tracebacks.append(f"{what}: {step}: {err[-900:]}")
            if "\x1b" in out + err:
                found.wrong.append(f"{what}: {step} prints a terminal's control characters")
        step = "rows"
        with contextlib.suppress(FlorError), _quiet():
            rows = rows_of(place / ".flor")
        step = "restore"
        with contextlib.suppress(FlorError):
            _restores(base, place, what, found, crafted)
    except TooLong:
        found.hangs.append(f"{what}: {step}")
    except Exception:
        found.tracebacks.append(f"{what}: {step}: {traceback.format_exc()[-900:]}")
    finally:
        signal.alarm(0)
        watch.on = False
    found.executed += [f"{what}: {each}" for each in watch.executed]
    found.outside += [f"{what}: {each}" for each in watch.outside]
    if not precious or any(path.name not in EXPECTED for path in place.iterdir()):
        found.outside.append(f"{what}: {sorted(path.name for path in place.iterdir())}")
    if not crafted:
        if _values(rows) - _values(base.rows):
            found.wrong.append(f"{what}: {list(rows - base.rows)[:3]} were never logged")
        if rows != base.rows and not told:
            found.wrong.append(f"{what}: {sum((base.rows - rows).values())} rows are missing, and nobody says so")


def _values(rows: Counter[Row]) -> Counter[tuple[str, str, str]]:
    """Without positions: these have no names of loops where a source is damaged, which is told."""
    return Counter(row[:3] for row in rows.elements())


EXPECTED = {".flor", "train.py", "shapes_of_the_test.py", "precious", "out", "__pycache__"}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _restores(base: Base, place: Path, what: str, found: Findings, crafted: bool) -> None:
    for key, state in states_of(place / ".flor"):
        if isinstance(state, str):
            found.refused += 1
        else:
            found.restored += 1
            if not crafted and state != base.states.get(key):
                found.wrong.append(f"{what}: {key} is restored to {state}"[:300])


# -- damage ------------------------------------------------------------------------------------------------


def a_file(store: Path, chance: random.Random) -> Path:
    """A file of the first run, mostly."""
    files = sorted(path for path in (store / "runs" / "first").rglob("*") if path.is_file())
    return chance.choice([*files, store / "FORMAT"])


def frames_of(path: Path) -> tuple[bytes, list[bytes]]:
    data = path.read_bytes()
    opening = parse_opening(data[:OPENING_SIZE])
    assert opening is not None
    found = scan(lambda at, size: data[at : at + size], len(data), opening.salt, version=opening.version)
    return data[:OPENING_SIZE], [data[each.offset : each.end] for each in found if isinstance(each, Frame)]


def journal_of(store: Path, run: str = "first") -> Path:
    return next((store / "runs" / run).glob("*.journal"))


def mutate(store: Path, chance: random.Random) -> str:
    """One piece of damage, chosen by chance; gives what it was."""
    kind = chance.choice(MUTATIONS)
    return f"{kind.__name__}: {kind(store, chance)}"


def flip_bits(store: Path, chance: random.Random) -> str:
    path = a_file(store, chance)
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return path.name


def cut(store: Path, chance: random.Random) -> str:
    path = a_file(store, chance)
    size = chance.randrange(path.stat().st_size)
    os.truncate(path, size)
    return f"{path.name} to {size}"


def splice(store: Path, chance: random.Random) -> str:
    path = a_file(store, chance)
    data = path.read_bytes()
    at, size = chance.randrange(len(data)), chance.randrange(1, 200)
    new = chance.choice((b"", bytes(size), chance.randbytes(size), data[:size]))
    path.write_bytes(data[:at] + new + data[at + chance.choice((0, size)) :])
    return f"{path.name} at {at}"


def shuffle_frames(store: Path, chance: random.Random) -> str:
    path = journal_of(store)
    opening, frames = frames_of(path)
    one, other = sorted(chance.sample(range(len(frames)), 2))
    how = chance.choice(("delete", "double", "swap", "move", "foreign", "reverse", "replace"))
    if how == "delete":
        del frames[one : chance.choice((one + 1, other))]
    elif how == "double":
        frames.insert(other, frames[one])
    elif how == "swap":
        frames[one], frames[other] = frames[other], frames[one]
    elif how == "move":
        frames.insert(one, frames.pop(other))
    elif how == "reverse":
        frames[one:other] = frames[one:other][::-1]
    elif how == "replace":
        frames[one] = frames[other]
    else:
        frames.insert(one, chance.choice(frames_of(journal_of(store, "second"))[1]))
    path.write_bytes(opening + b"".join(frames))
    return f"{how} {one} {other}"


def lie_about_length(store: Path, chance: random.Random) -> str:
    path = journal_of(store)
    opening, frames = frames_of(path)
    one = chance.randrange(len(frames))
    length = chance.choice((0, 1, 2**30, 2**31, 2**32 - 1)).to_bytes(4, "little")
    frames[one] = frames[one][:5] + length + frames[one][9:]
    path.write_bytes(opening + b"".join(frames))
    return str(one)


def swap_packs(store: Path, chance: random.Random) -> str:
    first, second = (sorted((store / "runs" / run / "packs").iterdir()) for run in RUNS)
    one = chance.choice(first)
    other = chance.choice(second if chance.random() < 0.5 else [each for each in first if each != one])
    shutil.copyfile(other, store / "kept.tmp")
    shutil.copyfile(one, other)
    os.replace(store / "kept.tmp", one)
    return f"{one.name} {other.parent.parent.name}/{other.name}"


def odd_file(store: Path, chance: random.Random) -> str:
    path = a_file(store, chance)
    how = chance.choice(("fifo", "folder", "link", "loop", "gone", "empty", "beside"))
    if how == "beside":
        os.mkfifo(path.with_suffix(".live" if path.suffix == ".journal" else ".tmp"))
        return f"{how} {path.name}"
    path.unlink()
    if how == "fifo":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    elif how == "link":
        path.symlink_to("/etc/hostname")
    elif how == "loop":
        path.symlink_to(path)
    elif how == "empty":
        path.touch()
    return f"{how} {path.name}"


MUTATIONS = (
    *(flip_bits, flip_bits, cut, splice, shuffle_frames, shuffle_frames),
    *(lie_about_length, swap_packs, odd_file),
)


# -- crafted stores: every checksum is valid ---------------------------------------------------------------

ODD: tuple[Any, ...] = (
    None, -1, 0, 2**31, 2**63, 2**70, 1e308, float("nan"), "", "x" * 5000, "../../../outside", "/etc/passwd", "\x1b[2J",
    "=cmd|' /C calc'!A0", [], {}, [[]], [[[[]]]], {"a": {"b": []}}, True, "posix:system", "builtins:eval", "__class__",
    [0], [99999], [-1], {"i": "zz"}, {"b": "!"}, {"f": "00"}, {"a": []}, {"a": ["id", 1, 0]}, "os", "a\nb", "\ud800", 10**9,
)  # fmt: skip


def craft(store: Path, chance: random.Random) -> str:
    """One lie with valid checksums, chosen by chance; gives what it was."""
    return chance.choice((craft_journal, craft_graph, craft_hostile_graph, craft_hostile_graph))(store, chance)


def rewrite(path: Path, change: Callable[[int, int, bytes], tuple[int, bytes]]) -> None:
    """A journal with some frames changed, its numbers and checksums right."""
    data = path.read_bytes()
    opening = parse_opening(data[:OPENING_SIZE])
    assert opening is not None
    out = data[:OPENING_SIZE]
    found = scan(lambda at, size: data[at : at + size], len(data), opening.salt)
    for number, each in enumerate(each for each in found if isinstance(each, Frame)):
        kind, payload = change(number, each.kind, each.payload)
        out += frame_bytes(kind, payload, opening.salt, number)
    path.write_bytes(out)


def leaf(value: Any, chance: random.Random) -> Any:
    """JSON with one part replaced by something odd."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        if chance.random() < 0.1:
            return {name: each for name, each in value.items() if name != key}
        return {**value, key: leaf(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        return [*value[:at], leaf(value[at], chance), *value[at + 1 :]]
    return chance.choice(ODD)


def craft_journal(store: Path, chance: random.Random) -> str:
    path = journal_of(store)
    count = len(frames_of(path)[1])
    aim, told = chance.randrange(count), ""

    def change(number: int, kind: int, payload: bytes) -> tuple[int, bytes]:
        nonlocal told
        if number != aim:
            return kind, payload
        told = f"frame {number} of kind {kind}"
        if kind in (Kind.FACTS, Kind.NOTE):
            return kind, json.dumps(leaf(json.loads(payload), chance)).encode()
        if kind == Kind.ENDED:
            return kind, payload[:16] + json.dumps(leaf(json.loads(payload[16:]), chance)).encode()
        if kind == Kind.SOURCE and chance.random() < 0.7:
            name = chance.choice(
                (b"../../outside.py", b"/tmp/flor-outside.py", b"a/../../b", b"", b".", b"x\0y", b"\x1b[2J")
            )
            return kind, len(name).to_bytes(4, "little") + bytes(4) + name + b"import os\nos.system('touch executed')\n"
        data = bytearray(payload)
        for _ in range(chance.choice((1, 2, 9))):
            data[chance.randrange(len(data))] = chance.choice((0, 1, 7, 127, 255, chance.randrange(256)))
        return chance.choice((kind, kind, kind, chance.randrange(256))), bytes(data) + chance.choice((b"", b"\xff" * 9))

    rewrite(path, change)
    return f"craft_journal: {told}"


def with_graph(store: Path, chance: random.Random, change: Callable[[dict[str, Any]], str]) -> str:
    """Put another graph into a pack, and announce it as if it had been written."""
    run = store / "runs" / "first"
    notes = [r for r in read_journal(journal_of(store)) if getattr(r, "kind", "") == "checkpoint"]
    values: dict[str, Any] = dict(chance.choice(notes).values)  # type: ignore[union-attr]
    file, _, name = values["graph"].partition("/")
    with read_pack(run / "packs" / file) as pack:
        entries = [PackEntry(each, pack[each].dtype, pack[each].shape, bytes(pack[each].data)) for each in pack.names]
        metadata = dict(pack.metadata)
    graph = json.loads(next(bytes(entry.data) for entry in entries if entry.name == name))
    told = change(graph)
    data = json.dumps(graph).encode()
    rest = [entry for entry in entries if entry.name != name]
    (run / "packs" / file).unlink()
    info = write_pack(run / "packs" / file, [PackEntry(name, "U8", (len(data),), data), *rest], metadata)

    def announce(_: int, kind: int, payload: bytes) -> tuple[int, bytes]:
        note = json.loads(payload) if kind == Kind.NOTE else {}
        if note.get("kind") == "checkpoint" and note["values"]["graph"] == values["graph"]:
            note["values"]["digest"] = info.digests[name]
            return kind, json.dumps(note).encode()
        return kind, payload

    rewrite(journal_of(store), announce)
    return told


def craft_graph(store: Path, chance: random.Random) -> str:
    def change(graph: dict[str, Any]) -> str:
        for _ in range(chance.choice((1, 1, 3))):
            key = chance.choice(("nodes", "nodes", "nodes", "nodes", "roots", "world", "blobs", "optional"))
            graph[key] = leaf(graph[key], chance)
        return "craft_graph"

    return with_graph(store, chance, change)


HOSTILE_MAKERS = (
    ("builtin", "posix:system"), ("builtin", "builtins:eval"), ("builtin", "builtins:exec"), ("builtin", "builtins:open"),
    ("builtin", "builtins:__import__"), ("builtin", "builtins:getattr"), ("builtin", "_pickle:loads"), ("class", "subprocess:Popen"),
    ("function", "subprocess:run"), ("function", "os:makedirs"), ("function", "shutil:rmtree"), ("class", "_io:FileIO"),
    ("function", "importlib:import_module"), ("class", "types:FunctionType"), ("class", "types:CodeType"), ("function", "runpy:run_path"),
    ("class", "tempfile:TemporaryDirectory"), ("class", "pathlib:PosixPath"), ("class", "functools:partial"), ("builtin", "_operator:call"),
    ("class", "operator:methodcaller"), ("function", "webbrowser:open"), ("builtin", "posix:remove"), ("class", "shapes_of_the_test:Shape"),
    ("function", "copyreg:__newobj__"), ("function", "copyreg:_reconstructor"), ("class", "ctypes:CDLL"), ("class", "zipfile:ZipFile"),
    ("function", "logging.config:fileConfig"), ("builtin", "sys:exit"), ("class", "threading:Thread"), ("function", "os:fdopen"),
)  # fmt: skip
ARGUMENTS = (
    "touch executed",
    "executed",
    "w",
    "__import__('os').system('touch executed')",
    "/tmp/flor-outside",
    b"cposix",
    0,
    -1,
)
KINDS = ("object", "reduced", "enum", "numpy-random", "thread-local", "list", "dict", "set", "frozenset", "tuple", "deque",
         "buffer", "random", "class", "function", "builtin", "method", "module", "memmap", "inert", "cell", "weakref", "dtype",
         "array", "object-array", "tensor", "memory", "sparse", "settings", "surroundings", "loader-iterator", "generator",
         "context-variable", "torch-generator", "simple-queue", "shared", "text", "bytes", "refused", "nonsense")  # fmt: skip


def craft_hostile_graph(store: Path, chance: random.Random) -> str:
    """A graph one of whose nodes would have something called, written or opened."""

    def change(graph: dict[str, Any]) -> str:
        nodes = graph["nodes"]
        kind, name = chance.choice(HOSTILE_MAKERS)
        code = len(nodes)
        types = {
            "builtin": "builtins:builtin_function_or_method",
            "function": "builtins:function",
            "class": "builtins:type",
        }
        nodes.append([kind, types[kind], {"name": name, "named": True, "method": name.partition(":")[2]}, [], {}, None])
        arguments = [_slot(chance.choice(ARGUMENTS)) for _ in range(chance.randrange(3))]
        how = chance.choice(("reduced", "reduced", "newobj", "attribute", "kind", "environment", "changed", "shared"))
        bad: list[Any]
        if how == "reduced":
            meta = {"args": len(arguments), "items": chance.randrange(2), "pairs": 0}
            state = chance.choice((None, [code], "x"))
            bad = [
                "reduced",
                chance.choice((name, "builtins:int", "datetime:date")),
                meta,
                [[code], *arguments, state, "x"],
                {},
                None,
            ]
        elif how == "newobj":
            nodes.append(["function", types["function"], {"name": "copyreg:__newobj__", "named": True}, [], {}, None])
            bad = [
                "reduced",
                name,
                {"args": 1 + len(arguments), "items": 0, "pairs": 0},
                [[code + 1], [code], *arguments, None],
                {},
                None,
            ]
        elif how == "environment":
            attrs = {"folder": "/", "environment": '{"LD_PRELOAD": "/tmp/evil.so"}', "logging": "[0, {}]"}
            bad = ["surroundings", "flor.state.settings:Surroundings", None, [], attrs, None]
        elif how == "changed":
            bad = [*nodes[code][:4], {"__defaults__": "x", "run": 1, "kept": 2, ".y": 1}, None]
        elif how == "shared":
            bad = ["object", "shapes_of_the_test:Shape", None, [], {"__dict__": [code], "environ": 1}, None]
        else:
            attrs = {"__class__": [code], "default_factory": [code], "name": "/tmp/flor-outside", "delete": True}
            wanted = chance.choice(KINDS) if how == "kind" else "object"
            meta = {
                "name": name,
                "what": "file",
                "args": 0,
                "logger": "x",
                "place": 9,
                "shape": [1 << 40],
                "ranges": [[0, 1 << 40]],
            }
            meta |= {
                "nbytes": 1 << 50,
                "order": [0],
                "bytes": 1,
                "finger": 0,
                "device": "cpu",
                "torch": False,
                "items": 0,
                "pairs": 0,
            }
            meta |= {
                "maxlen": 1,
                "code": "q",
                "dtype": "torch.float32",
                "stride": [1],
                "offset": 0,
                "taken": 10**12,
                "alive": True,
            }
            bad = [
                wanted,
                chance.choice((name, "collections:defaultdict", "builtins:list")),
                meta,
                [[code], *arguments],
                attrs,
                None,
            ]
        nodes.append(bad)
        scope = chance.choice(list(graph["roots"]))
        names = graph["roots"][scope]
        target = chance.choice([*names, "fresh"])
        names[target] = [len(nodes) - 1]
        return f"hostile graph: {how} {name} {bad[0]}"

    return with_graph(store, chance, change)


def _slot(value: Any) -> Any:
    return {"b": "Y3Bvc2l4"} if isinstance(value, bytes) else value


# -- all of it ---------------------------------------------------------------------------------------------


def warm_up(base: Base) -> None:
    """Have everything imported that a verb needs, so that an import afterwards is the store's."""
    os.chdir(base.folder)
    for words in (*ALWAYS, *OTHERS):
        invoke(words)
    shutil.rmtree(base.folder / "out", ignore_errors=True)
    for module in ("csv", "difflib", "logging.config", "webbrowser", "runpy", "ctypes", "zipfile", "shutil", "decimal"):
        __import__(module)


def attempt(base: Base, seeds: range, *, crafted: bool) -> Findings:
    """Try one store a seed."""
    watch, found = Watch(), Findings()
    signal.signal(signal.SIGALRM, _alarm)
    for seed in seeds:
        chance = random.Random(seed)
        change = craft if crafted else mutate
        examine(
            base, lambda store, c=change, r=chance, n=seed: f"seed {n} {c(store, r)}", watch, found, crafted=crafted
        )  # type: ignore[misc]
    return found


def report(name: str, found: Findings) -> None:
    print(
        f"{name}: {found.tried} stores, {len(found.wrong)} wrong values, {len(found.executed)} executions, "
        f"{len(found.tracebacks)} tracebacks, {len(found.hangs)} hangs, {len(found.outside)} files outside "
        f"({found.restored} checkpoints restored, {found.refused} refused)"
    )
    for each in found.all()[:25]:
        print("  ", each)


def command() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutated", type=int, default=5000)
    parser.add_argument("--crafted", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    wish = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = record(Path(folder))
        warm_up(base)
        for name, count in (("mutated", wish.mutated), ("crafted", wish.crafted)):
            report(name, attempt(base, range(wish.first, wish.first + count), crafted=name == "crafted"))
        os.chdir("/")


if __name__ == "__main__":
    command()
