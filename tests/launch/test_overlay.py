"""What the script writes during replay lands in the overlay, is read back from it, and nothing outside changes."""

from __future__ import annotations

import builtins
import csv
import filecmp
import glob
import io
import os
import pickle
import shutil
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fileoperations import OPERATIONS, read, tree, write

from flor.errors import UsageError
from flor.launch.overlay import Overlay


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project as a run left it, which is also the working directory."""
    home = tmp_path / "home"
    for folder in ("runs/exp1/deep", "data", "empty"):
        (home / folder).mkdir(parents=True)
    for name, text in {
        "last.pt": "last",
        "best.pt": "best",
        "log.csv": "epoch,loss\n0,1.5\n",
        "notes.txt": "one\ntwo\n",
        "runs/exp1/events": "events",
        "runs/exp1/deep/model.pt": "deep",
        "data/a.txt": "a",
        "data/b.txt": "b",
    }.items():
        (home / name).write_text(text)
    (home / "latest").symlink_to("runs/exp1")
    (home / "best-link.pt").symlink_to(home / "best.pt")
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def overlay(home: Path, tmp_path: Path) -> Iterator[Overlay]:
    """An overlay in force; afterwards everything outside must be as it was."""
    before = tree(home)
    overlay = Overlay(tmp_path / "overlay")
    overlay.install()
    try:
        yield overlay
    finally:
        overlay.remove()
        os.chdir(home)
    assert tree(home) == before


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_nothing_outside_changes_by(name: str, overlay: Overlay) -> None:
    OPERATIONS[name]()
    assert [escape for escape in overlay.escapes if escape.what == "refused"] == []


def in_a_process(home: Path, operation: Callable[[], object], overlay: Overlay | None) -> dict[str, tuple[object, ...]]:
    """What the script sees of its home after an operation."""
    if overlay is not None:
        overlay.install()
    try:
        operation()
        return {path: entry[0:1] + entry[-1:] for path, entry in tree(home).items()}
    finally:
        if overlay is not None:
            overlay.remove()


ANY_ORDER = {"tempfile in the project", "threads"}


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - ANY_ORDER))
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_script_sees_what_it_would_see_without_us_after(name: str, home: Path, tmp_path: Path) -> None:
    replayed = in_a_process(home, OPERATIONS[name], Overlay(tmp_path / "overlay"))
    plain = in_a_process(home, OPERATIONS[name], None)
    assert _without_archives(replayed) == _without_archives(plain)


def _without_archives(found: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    """Archives and databases hold times."""
    archives = (".gz", ".zip", ".db", ".bz2", ".xz")
    return {path: entry[:1] if path.endswith(archives) else entry for path, entry in found.items()}


def test_a_file_written_is_read_back_and_lies_in_the_overlay(overlay: Overlay, home: Path, tmp_path: Path) -> None:
    write("best.pt", "new")
    assert read("best.pt") == "new"
    assert overlay.written == {f"{home}/best.pt": f"{tmp_path}/overlay/files{home}/best.pt"}
    assert overlay.find("best.pt") == tmp_path / f"overlay/files{home}/best.pt"
    assert overlay.find("last.pt") == home / "last.pt"


def test_a_file_says_the_name_that_the_script_gave(overlay: Overlay) -> None:
    for mode in ("w", "wb", "r", "rb", "a"):
        with open("best.pt", mode) as file:
            assert file.name == "best.pt"
    with open(Path("best.pt"), "wb", buffering=0) as raw:
        assert raw.name == "best.pt"
        assert type(raw) is io.FileIO


def test_appending_keeps_what_was_there(overlay: Overlay) -> None:
    write("log.csv", "1,0.5\n", "a")
    assert read("log.csv") == "epoch,loss\n0,1.5\n1,0.5\n"


def test_a_deleted_file_is_gone_and_the_error_names_the_original(overlay: Overlay, home: Path) -> None:
    os.remove("best.pt")
    assert not os.path.exists("best.pt")
    assert not os.access("best.pt", os.R_OK)
    assert "best.pt" not in os.listdir()
    with pytest.raises(FileNotFoundError, match=r"\[Errno 2\] No such file or directory: 'best.pt'"):
        read("best.pt")
    with pytest.raises(FileNotFoundError, match=r"'best\.pt'"):
        os.remove("best.pt")
    assert os.path.lexists("best-link.pt")
    assert not os.path.exists("best-link.pt")
    assert overlay.removed == {f"{home}/best.pt"}


def test_an_error_of_the_overlay_names_the_original(overlay: Overlay) -> None:
    os.mkdir("made")
    with pytest.raises(IsADirectoryError, match="'made'"):
        write("made", "x", "w")
    with pytest.raises(FileNotFoundError, match="'none/x'"):
        write("none/x", "x", "w")
    with pytest.raises(NotADirectoryError, match=r"'best\.pt/x'"):
        write("best.pt/x", "x", "w")
    with pytest.raises(FileExistsError, match=r"'best\.pt'"):
        write("best.pt", "x", "x")
    with pytest.raises(OSError, match="not empty: 'runs'"):
        os.rmdir("runs")
    with pytest.raises(FileNotFoundError, match=r"'none' -> 'best\.pt'"):
        os.rename("none", "best.pt")


def test_a_folder_removed_and_made_again_is_empty(overlay: Overlay) -> None:
    shutil.rmtree("runs")
    assert not os.path.isdir("runs")
    os.makedirs("runs/exp1")
    assert os.listdir("runs/exp1") == []
    write("runs/exp1/events", "new")
    assert [path for path, _, _ in os.walk("runs")] == ["runs", "runs/exp1"]


def test_a_renamed_folder_takes_its_files_along_and_leaves_nothing(overlay: Overlay) -> None:
    write("runs/exp1/new", "new")
    os.remove("runs/exp1/events")
    os.rename("runs", "old")
    assert not os.path.exists("runs")
    assert sorted(str(path) for path in Path("old").rglob("*") if path.is_file()) == [
        "old/exp1/deep/model.pt",
        "old/exp1/new",
    ]
    assert not os.path.exists("latest")


def test_a_file_moved_over_a_link_to_a_folder_hides_that_folder(overlay: Overlay) -> None:
    os.rename("best.pt", "latest")
    assert read("latest") == "best"
    with pytest.raises(NotADirectoryError, match="'latest/events'"):
        write("latest/events", "x")
    with pytest.raises(NotADirectoryError, match="'latest/events'"):
        read("latest/events")


def test_listings_merge_both_views(overlay: Overlay) -> None:
    write("data/c.txt", "c")
    os.remove("data/a.txt")
    assert sorted(os.listdir("data")) == ["b.txt", "c.txt"]
    assert sorted(os.listdir(b"data")) == [b"b.txt", b"c.txt"]
    assert sorted(glob.glob("data/*.txt")) == ["data/b.txt", "data/c.txt"]
    assert sorted(glob.glob("**/c.txt", recursive=True)) == ["data/c.txt"]
    assert sorted(map(str, Path("data").iterdir())) == ["data/b.txt", "data/c.txt"]
    assert sorted(map(str, Path().glob("data/*.txt"))) == ["data/b.txt", "data/c.txt"]
    assert [(folder, sorted(files)) for folder, _, files in os.walk("data")] == [("data", ["b.txt", "c.txt"])]
    with os.scandir("data") as entries:
        found = {entry.name: (entry.path, entry.is_file(), entry.stat().st_size) for entry in entries}
    assert found == {"b.txt": ("data/b.txt", True, 1), "c.txt": ("data/c.txt", True, 1)}


def test_two_names_of_one_folder_show_the_same_files(overlay: Overlay) -> None:
    write("latest/new", "new")
    assert read("runs/exp1/new") == "new"
    os.symlink("runs/exp1", "fresh")
    assert read("fresh/new") == "new"
    assert sorted(os.listdir("fresh")) == sorted(os.listdir("runs/exp1"))
    assert os.path.realpath("fresh/new") == os.path.abspath("runs/exp1/new")
    os.remove("latest")
    os.symlink("data", "latest")
    assert read("latest/a.txt") == "a"


def test_a_script_that_resumes_if_its_checkpoint_exists_sees_it(overlay: Overlay) -> None:
    assert os.path.exists("last.pt")
    assert not os.path.exists("ckpt.pt")
    write("ckpt.pt", "1")
    assert os.path.isfile("ckpt.pt")
    assert os.path.getsize("ckpt.pt") == 1


def test_a_hidden_file_was_never_there(overlay: Overlay, home: Path) -> None:
    asked: list[str] = []
    overlay.on_missing = asked.append
    overlay.hide("last.pt")
    overlay.hide(home / "runs")
    write("last.pt", "new", "x")
    assert read("last.pt") == "new"
    assert asked == []
    assert not os.path.exists("latest/events")
    assert not os.path.exists("runs")
    os.makedirs("runs/exp1")
    assert os.listdir("latest") == []
    assert asked == [f"{home}/runs/exp1/events", f"{home}/runs"]


def test_the_first_read_of_an_original_is_told_once(overlay: Overlay, home: Path) -> None:
    told: list[str] = []
    overlay.on_read = told.append
    write("best.pt", "new")
    write("log.csv", "1,0.5\n", "a")
    for name in ("best.pt", "last.pt", "latest/events", "last.pt"):
        read(name)
    assert told == [f"{home}/last.pt", f"{home}/runs/exp1/events"]
    read("log.csv")
    assert told[2:] == [f"{home}/log.csv"]
    write("notes.txt", "x", "r+")
    assert told[3:] == [f"{home}/notes.txt"]


def test_a_csv_open_for_the_whole_run_is_read_while_it_grows(overlay: Overlay) -> None:
    with open("log.csv", "w", newline="") as file:
        writer = csv.writer(file)
        for epoch in range(3):
            writer.writerow([epoch, 0.5])
            file.flush()
            assert len(read("log.csv").splitlines()) == epoch + 1


def test_a_database_is_copied_before_it_is_opened(home: Path, tmp_path: Path) -> None:
    with sqlite3.connect("results.db") as connection:
        connection.execute("create table t (x)")
    connection.close()
    before = tree(home)
    with Overlay(tmp_path / "overlay"):
        for address, options in (("results.db", {}), (f"file:{home}/results.db?mode=rw", {"uri": True})):
            connection = sqlite3.connect(address, **options)
            connection.execute("insert into t values (1)")
            connection.commit()
            connection.close()
        connection = sqlite3.connect("results.db")
        assert connection.execute("select count(*) from t").fetchone() == (2,)
        connection.close()
        with pytest.raises(sqlite3.OperationalError, match="unable to open"):
            sqlite3.connect("none/results.db")
    assert tree(home) == before


def test_devices_and_pipes_and_descriptors_pass(overlay: Overlay) -> None:
    with open(os.devnull, "w") as file:
        file.write("x")
    reading, writing = os.pipe()
    with open(writing, "w") as file:
        file.write("x")
    assert os.read(reading, 1) == b"x"
    os.close(reading)
    assert overlay.written == {}


def test_chosen_folders_pass(home: Path, tmp_path: Path) -> None:
    with Overlay(tmp_path / "overlay", pass_through=[home / "data"]) as overlay:
        write("data/result", "x")
        os.rename("data/result", "data/results")
        os.rename("data/results", "moved")
        shutil.copy("moved", "data/kept")
        assert not os.path.exists("data/results")
    assert (home / "data/kept").read_text() == "x"
    assert list(overlay.written) == [f"{home}/moved"]
    assert not (home / "moved").exists()


def test_temporary_folders_are_real_ones_that_other_programs_find(overlay: Overlay) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(f"{folder}/x", "x")
        assert subprocess.check_output(["cat", f"{folder}/x"]) == b"x"
    assert not os.path.exists(folder)
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    assert ("subprocess.Popen", f"cat {folder}/x") in overlay.escapes


def test_a_socket_of_multiprocessing_has_its_short_path(overlay: Overlay) -> None:
    folder = tempfile.mkdtemp(prefix="pymp-")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/listener")
    shutil.rmtree(folder)
    assert not os.path.exists(folder)


def test_a_command_is_noted_as_an_escape(overlay: Overlay) -> None:
    os.system("true")
    assert ("os.system", "true") in overlay.escapes


def test_a_write_that_cannot_be_redirected_is_refused(overlay: Overlay, home: Path) -> None:
    with pytest.raises(PermissionError, match="does not let it change"):
        io.FileIO("best.pt", "w")
    import posix

    with pytest.raises(PermissionError, match="does not let it change"):
        posix.remove("best.pt")
    assert overlay.escapes == [("refused", f"open {home}/best.pt"), ("refused", f"os.remove {home}/best.pt")]


def test_a_forked_child_writes_to_the_overlay_too(overlay: Overlay) -> None:
    child = os.fork()
    if not child:
        write("best.pt", "child")
        os._exit(0)
    os.waitpid(child, 0)
    assert read("best.pt") == "child"


def test_the_working_directory_may_be_one_that_only_the_overlay_has(overlay: Overlay, home: Path) -> None:
    os.makedirs("only/here")
    os.chdir("only")
    assert os.getcwd() == f"{home}/only"
    assert os.getcwdb() == os.fsencode(f"{home}/only")
    assert os.listdir() == ["here"]
    assert Path("here").resolve() == home / "only/here"
    assert sorted(entry.path for entry in os.scandir("../data")) == ["../data/a.txt", "../data/b.txt"]
    os.chdir(home)
    assert os.getcwd() == str(home)


def test_an_unchanged_folder_is_listed_natively(overlay: Overlay) -> None:
    with os.scandir("data") as entries:
        assert all(type(entry) is os.DirEntry for entry in entries)
    with os.scandir("latest") as entries:
        assert all(type(entry) is os.DirEntry for entry in entries)


def test_names_imported_before_and_during_are_patched_and_restored(home: Path, tmp_path: Path) -> None:
    natives = builtins.open, os.open, os.stat, tarfile.bltn_open, os.supports_dir_fd.copy()  # type: ignore[attr-defined]
    overlay = Overlay(tmp_path / "overlay")
    overlay.install()
    overlay.install()
    assert builtins.open is io.open is tarfile.bltn_open  # type: ignore[attr-defined]
    assert builtins.open is not natives[0]
    assert os.open in os.supports_dir_fd
    module = type(sys)("taken_meanwhile")
    sys.modules["taken_meanwhile"] = module
    exec("from os import stat", module.__dict__)
    overlay.remove()
    overlay.remove()
    del sys.modules["taken_meanwhile"]
    assert module.stat is os.stat
    assert natives == (builtins.open, os.open, os.stat, tarfile.bltn_open, os.supports_dir_fd)  # type: ignore[attr-defined]


def test_a_patched_function_is_pickled_by_name_and_is_no_method(overlay: Overlay) -> None:
    class Opener:
        opener = open

    assert pickle.loads(pickle.dumps(os.remove)) is os.remove
    with Opener().opener("best.pt") as file:
        assert file.read() == "best"


def test_two_overlays_in_one_process_are_refused(overlay: Overlay, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another overlay"):
        Overlay(tmp_path / "second").install()


def test_no_bytecode_is_written_beside_an_imported_file(home: Path, tmp_path: Path) -> None:
    (home / "helper_of_the_script.py").write_text("x = 1\n")
    before = tree(home)
    script = (
        "import sys; from pathlib import Path; from flor.launch.overlay import Overlay\n"
        "sys.path.insert(0, '.'); Overlay(Path(sys.argv[1])).install(); import helper_of_the_script\n"
    )
    source = str(Path(__file__).parents[2] / "src")
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "overlay")], check=True, env=os.environ | {"PYTHONPATH": source}
    )
    assert tree(home) == before


def test_files_are_compared_in_the_view(overlay: Overlay) -> None:
    write("copy.pt", "best")
    assert filecmp.cmp("copy.pt", "best.pt", shallow=False)
    assert os.path.samefile("best-link.pt", "best.pt")
    assert shutil.disk_usage("copy.pt").total > 0


def test_a_loop_of_links_is_an_error_as_ever(overlay: Overlay) -> None:
    os.symlink("one", "two")
    os.symlink("two", "one")
    with pytest.raises(OSError, match="Too many levels of symbolic links: 'one'"):
        read("one")
