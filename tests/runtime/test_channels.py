"""Streams, logging, TensorBoard and the like are heard: value, position and statement of each call are kept."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from flor_scene import Kept, Scene

from flor.model.records import Channel, Tag
from flor.model.values import decode_value
from flor.runtime.imports import ImportWatch
from flor.runtime.loggers import LoggerWatch
from flor.runtime.streams import StreamWatch, plain


class Stream(io.TextIOWrapper):
    """A stream like `sys.stdout`, over bytes."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="utf-8", write_through=True)


@contextmanager
def watched(scene: Scene) -> Iterator[Stream]:
    """Streams of our own in place of pytest's, with a watch on them."""
    stream = Stream()
    watch = StreamWatch(scene.logbook)
    with redirect_stdout(stream), redirect_stderr(Stream()):
        watch.install()
        yield stream
        watch.remove()


@pytest.fixture
def imports() -> Iterator[ImportWatch]:
    watch = ImportWatch(pytest.fail)
    watch.install()
    yield watch
    watch.remove()


@pytest.fixture
def loggers(scene: Scene, imports: ImportWatch) -> Iterator[LoggerWatch]:
    watch = LoggerWatch(scene.logbook, imports)
    watch.install()
    yield watch
    watch.remove()


def of(scene: Scene, channel: Channel) -> list[Kept]:
    return [kept for kept in scene.sink.kept if kept.channel is channel]


def named(scene: Scene, channel: Channel) -> list[tuple[str, Any]]:
    return [(kept.name, decode_value(kept.tag, kept.data)) for kept in of(scene, channel)]


def test_what_is_printed_passes_on_and_is_kept(scene: Scene) -> None:
    with watched(scene) as stdout:
        scene.play("for i in range(2):\n    print(i, 'ü')")
    assert stdout.bytes.getvalue().decode() == "0 ü\n1 ü\n"
    kept = of(scene, Channel.STDOUT)
    assert b"".join(piece.data for piece in kept) == stdout.bytes.getvalue()
    assert {(piece.position, piece.tag, piece.statement) for piece in kept} == {
        ((("#0", 0, i),), Tag.STR, "s.py:2:<module>") for i in range(2)
    }


def test_a_probes_print_is_one_piece(scene: Scene) -> None:
    with watched(scene) as stdout:
        scene.play("print('a', 1, 0.1, True, None)\nprint()", probes={1, 2})
    assert [piece.data for piece in of(scene, Channel.STDOUT)] == [b"a 1 0.1 True None\n", b"\n"]
    assert stdout.bytes.getvalue() == b"a 1 0.1 True None\n\n"


def test_a_probes_print_of_an_object_that_prints_keeps_its_order(scene: Scene) -> None:
    class Loud:
        def __str__(self) -> str:
            print("asked;", end="")
            return "loud"

    scene.scope["x"] = Loud()
    with watched(scene) as stdout:
        scene.play("print('a', x, end='.')", probes={1})
    assert stdout.bytes.getvalue() == b"a asked;loud."


def test_a_probes_print_goes_where_stdout_was_turned_to(scene: Scene) -> None:
    pieces: list[str] = []
    scene.scope["aside"] = type("Aside", (), {"write": lambda _, text: pieces.append(text)})()
    with watched(scene) as stdout:
        scene.play("import sys\nsys.stdout = aside\nprint('a', 1)", probes={3})
    assert pieces == ["a", " ", "1", "\n"]
    assert stdout.bytes.getvalue() == b""


def test_a_print_of_the_scripts_own_is_called_as_it_is(scene: Scene) -> None:
    with watched(scene) as stdout:
        scene.play("said = []\nprint = said.append\nprint(1)", probes={3})
    assert scene.scope["said"] == [1]
    assert stdout.bytes.getvalue() == b""


def test_pieces_belong_to_the_statement_that_wrote_them(scene: Scene) -> None:
    with watched(scene):
        scene.play(
            "import sys\nprint('a', end='')\nsys.stdout.write('b\\r')\ndef f():\n    print(file=sys.stderr)\nf()"
        )
    assert [(kept.data, kept.statement) for kept in of(scene, Channel.STDOUT)] == [
        (b"a", "s.py:2:<module>"),
        (b"b\r", "s.py:3:<module>"),
    ]
    assert [(kept.data, kept.statement) for kept in of(scene, Channel.STDERR)] == [(b"\n", "s.py:5:f")]


def test_what_a_library_prints_belongs_to_the_line_that_called_it(scene: Scene) -> None:
    with watched(scene):
        scene.play("import pprint\n\npprint.pprint(1)")
    assert {kept.statement for kept in of(scene, Channel.STDOUT)} == {"s.py:3:<module>"}


def test_a_write_that_fails_is_not_kept(scene: Scene) -> None:
    with watched(scene) as stdout:
        with pytest.raises(TypeError):
            stdout.write(5)  # type: ignore[arg-type]
        with pytest.raises(UnicodeEncodeError):
            stdout.write("\ud800")
    assert of(scene, Channel.STDOUT) == []


def test_our_own_lines_pass_by_the_watch(scene: Scene) -> None:
    with watched(scene) as stdout:
        plain(stdout)("flor: hello\n")
    assert stdout.bytes.getvalue() == b"flor: hello\n"
    assert of(scene, Channel.STDOUT) == []


def test_a_removed_watch_leaves_the_stream_as_it_was(scene: Scene) -> None:
    stream = Stream()
    watch = StreamWatch(scene.logbook)
    watch._watch(Channel.STDOUT, stream)
    watch.remove()
    assert "write" not in vars(stream)


def test_logging_is_kept_with_its_level(scene: Scene, loggers: LoggerWatch) -> None:
    scene.scope["log"] = log = logging.Logger("train")
    log.addHandler(logging.NullHandler())
    scene.play("for i in range(2):\n    log.warning('at %d', i)")
    assert named(scene, Channel.LOGGING) == [("train.WARNING", "at 0"), ("train.WARNING", "at 1")]
    assert [kept.position for kept in of(scene, Channel.LOGGING)] == [(("#0", 0, 0),), (("#0", 0, 1),)]


def test_what_a_filter_holds_back_is_not_kept(scene: Scene, loggers: LoggerWatch) -> None:
    log = logging.Logger("x", logging.INFO)
    log.addHandler(logging.NullHandler())
    log.addFilter(lambda record: "no" not in record.msg)
    log.debug("below the level")
    log.info("no")
    log.info("yes")
    assert named(scene, Channel.LOGGING) == [("x.INFO", "yes")]


def test_a_message_that_cannot_be_formatted_is_the_handlers_to_judge(scene: Scene, loggers: LoggerWatch) -> None:
    heard: list[str] = []
    log = logging.Logger("x")
    handler = logging.NullHandler()
    handler.handle = lambda record: heard.append(record.msg) or True  # type: ignore[func-returns-value,method-assign]
    log.addHandler(handler)
    log.error("%d", "text")
    assert heard == ["%d"]


def test_loggers_are_as_before_afterwards(scene: Scene, imports: ImportWatch) -> None:
    watch = LoggerWatch(scene.logbook, imports)
    watch.install()
    watch.remove()
    assert "filter" not in vars(logging.Logger)


def test_tensorboard_calls_pass_on_and_are_kept(scene: Scene, loggers: LoggerWatch, tmp_path: Path) -> None:
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    torch = pytest.importorskip("torch")
    writer = tensorboard.SummaryWriter(str(tmp_path))
    scene.scope.update(writer=writer, torch=torch)
    scene.play("""
        for step in range(2):
            writer.add_scalar("loss", 0.5 + step, step)
        writer.add_scalar(tag="acc", scalar_value=torch.tensor(0.25), global_step=1)
        writer.add_scalars("both", {"a": 1, "b": 2})
        writer.add_text("note", "hello")
        writer.add_histogram("weights", torch.zeros(3, 2), 1)
        """)
    writer.close()
    kept = named(scene, Channel.TENSORBOARD)
    assert [pair for pair in kept if pair[0] == "loss"] == [("loss", 0.5), ("loss", 1.5)]
    assert {name for name, _ in kept} >= {"acc", "both/a", "both/b", "note", "weights"}
    assert of(scene, Channel.TENSORBOARD)[1].position == (("#0", 0, 1),)
    assert any(path.name.startswith("events") for path in tmp_path.iterdir())


def test_a_library_of_wandbs_shape_is_kept(scene: Scene, imports: ImportWatch, make_module: Any) -> None:
    make_module(
        "wandb/__init__.py", "from wandb.sdk.wandb_run import Run\nrun = Run()\nlog = lambda *a, **k: run.log(*a, **k)"
    )
    make_module("wandb/sdk/__init__.py", "")
    make_module(
        "wandb/sdk/wandb_run.py",
        "class Run:\n    seen = []\n    def log(self, data, step=None):\n        self.seen.append(data)",
    )
    watch = LoggerWatch(scene.logbook, imports)
    watch.install()
    scene.play("import wandb\nfor i in range(2):\n    wandb.log({'loss': i, 'lr': 0.5})")
    watch.remove()
    assert named(scene, Channel.WANDB) == [("loss", 0), ("lr", 0.5), ("loss", 1), ("lr", 0.5)]
    assert scene.scope["wandb"].run.seen == [{"loss": 0, "lr": 0.5}, {"loss": 1, "lr": 0.5}]


def test_a_library_of_mlflows_shape_is_kept(scene: Scene, imports: ImportWatch, make_module: Any) -> None:
    names = ("log_metric", "log_param", "log_metrics", "log_params", "log_text", "log_dict")
    make_module(
        "mlflow.py", "seen = []\n" + "".join(f"def {name}(*a, **k):\n    seen.append('{name}')\n" for name in names)
    )
    watch = LoggerWatch(scene.logbook, imports)
    watch.install()
    scene.play("""
        import mlflow
        mlflow.log_metric("loss", 0.5, step=1)
        mlflow.log_metric(key="acc", value=1)
        mlflow.log_params({"lr": 0.1})
        mlflow.log_text("hello", "note.txt")
        """)
    watch.remove()
    assert named(scene, Channel.MLFLOW) == [("loss", 0.5), ("acc", 1), ("lr", 0.1), ("note.txt", "hello")]
    assert scene.scope["mlflow"].seen == ["log_metric", "log_metric", "log_params", "log_text"]


@pytest.fixture
def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("wandb", "mlflow")]:
        monkeypatch.delitem(sys.modules, name)  # the real one, which another test has imported
    before = set(sys.modules)

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_an_import_is_heard_after_the_module_was_executed(imports: ImportWatch, make_module: Any) -> None:
    make_module("heard_once.py", "done = True")
    heard: list[bool] = []
    imports.when("heard_once", lambda module: heard.append(module.done))
    import heard_once  # type: ignore[import-not-found]

    imports.when("heard_once", lambda module: heard.append(module is heard_once))
    assert heard == [True, True]


def test_an_import_that_fails_is_heard_when_it_succeeds(imports: ImportWatch, make_module: Any) -> None:
    make_module("fails_first.py", "1 / 0")
    heard: list[ModuleType] = []
    imports.when("fails_first", heard.append)
    with pytest.raises(ZeroDivisionError):
        import fails_first  # type: ignore[import-not-found]
    make_module("fails_first.py", "fine = 'now, with another length'")
    import fails_first

    assert heard == [fails_first]


def test_a_callback_that_fails_does_not_stop_an_import(make_module: Any) -> None:
    troubles: list[str] = []
    watch = ImportWatch(troubles.append)
    watch.install()
    make_module("innocent.py", "")
    watch.when("innocent", lambda module: module.nowhere)
    import innocent  # type: ignore[import-not-found]

    watch.remove()
    assert innocent.__name__ == "innocent"
    assert len(troubles) == 1
