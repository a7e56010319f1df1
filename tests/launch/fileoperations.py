"""What scripts do to files, and all that can be told of a tree of them."""

from __future__ import annotations

import builtins
import bz2
import fileinput
import glob
import gzip
import io
import json
import logging
import logging.handlers
import lzma
import os
import pickle
import shelve
import shutil
import sqlite3
import stat
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path


def tree(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything about every file below: kind, mode, times, owner, content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        held = (
            os.readlink(path) if path.is_symlink() else sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        )
        found[str(path)] = (
            status.st_mode,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_nlink,
            status.st_uid,
            held,
        )
    return found


def read(path: str | Path) -> str:
    with open(path) as file:
        return file.read()


def write(path: str | Path, text: str, mode: str = "w") -> None:
    with open(path, mode) as file:
        file.write(text)


def descriptor_write(path: str, flags: int, data: bytes) -> None:
    descriptor = os.open(path, flags, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def rotate() -> None:
    for epoch in range(3):
        if os.path.exists("last.pt"):
            os.rename("last.pt", "prev.pt")
        write("last.pt", f"epoch {epoch}")


def keep_two_best() -> None:
    for epoch in range(5):
        write(f"ckpt_{epoch}.pt", str(epoch))
        for old in sorted(glob.glob("ckpt_*.pt"))[:-2]:
            os.remove(old)


def save_atomically() -> None:
    with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
        file.write("new best")
    os.replace(file.name, "best.pt")


def save_atomically_through_tmp() -> None:
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write("new best")
    shutil.move(file.name, "best.pt")


def log_to_file(handler: logging.Handler) -> None:
    logger = logging.Logger("train")
    logger.addHandler(handler)
    for epoch in range(30):
        logger.info("epoch %d", epoch)
    handler.close()


def database() -> None:
    with sqlite3.connect("runs/results.db") as connection:
        connection.execute("create table results (epoch, loss)")
        connection.execute("insert into results values (1, 0.5)")
    connection.close()


def zip_it() -> None:
    with zipfile.ZipFile("out.zip", "w") as archive:
        archive.write("best.pt")
    with zipfile.ZipFile("out.zip") as archive:
        archive.extractall("unzipped")
    assert read("unzipped/best.pt") == "best"


def tar_it() -> None:
    with tarfile.open("out.tar.gz", "w:gz") as archive:
        archive.add("data")
    with tarfile.open("out.tar.gz") as archive:
        archive.extractall("untarred", filter="data")
    assert read("untarred/data/b.txt") == "b"


def edit_in_place() -> None:
    with fileinput.input("notes.txt", inplace=True) as lines:
        for line in lines:
            sys.stdout.write(line.upper())
    assert read("notes.txt") == "ONE\nTWO\n"


def through_a_descriptor() -> None:
    descriptor = os.open("best.pt", os.O_RDONLY)
    os.fchmod(descriptor, 0o600)
    os.utime(descriptor, (1, 1))
    os.chmod(descriptor, 0o640)
    os.close(descriptor)
    assert stat.S_IMODE(os.stat("best.pt").st_mode) == 0o640
    assert os.stat("best.pt").st_mtime == 1


def relative_to_a_folder() -> None:
    folder = os.open("runs", os.O_RDONLY)
    os.mkdir("new", dir_fd=folder)
    os.rename("exp1/events", "new/events", src_dir_fd=folder, dst_dir_fd=folder)
    os.unlink("new/events", dir_fd=folder)
    os.rmdir("new", dir_fd=folder)
    os.symlink("exp1", "again", dir_fd=folder)
    os.close(os.open("touched", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    assert sorted(os.listdir(folder)) == ["again", "exp1", "touched"]
    os.close(folder)


def write_then_shelve() -> None:
    with shelve.open("shelf", flag="n") as shelf:
        shelf["a"] = 1


def extended_attributes() -> None:
    try:
        os.setxattr("best.pt", "user.note", b"1")
    except OSError:
        return  # not on this file system
    assert os.getxattr("best.pt", "user.note") == b"1"
    os.removexattr("best.pt", "user.note")


def many_threads_append() -> None:
    threads = [threading.Thread(target=write, args=("log.csv", f"{n}\n", "a")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read("log.csv").splitlines()) == 10


def in_a_new_folder() -> None:
    os.makedirs("made/here")
    os.chdir("made/here")
    write("x.txt", "x")
    assert os.listdir() == ["x.txt"]
    assert read("../../best.pt") == "best"
    os.chdir("../..")
    assert read("made/here/x.txt") == "x"


OPERATIONS: dict[str, Callable[[], object]] = {
    "open w": lambda: write("best.pt", "new"),
    "open w of a new file": lambda: write("new.pt", "new"),
    "open x": lambda: write("new.pt", "new", "x"),
    "open a": lambda: write("log.csv", "1,0.5\n", "a"),
    "open r+": lambda: write("log.csv", "E", "r+"),
    "open w+": lambda: write("log.csv", "E", "w+"),
    "open a+": lambda: write("log.csv", "E", "a+"),
    "open of bytes": lambda: builtins.open(b"best.pt", "wb").close(),
    "open of an absolute path": lambda: write(os.path.abspath("best.pt"), "new"),
    "open through a folder link": lambda: write("latest/events", "new"),
    "open through a file link": lambda: write("best-link.pt", "new"),
    "open through dots": lambda: write("runs/../latest/../../best.pt", "new"),
    "io.open": lambda: io.open("best.pt", "wb").close(),  # noqa: UP020
    "os.open truncating": lambda: descriptor_write("best.pt", os.O_WRONLY | os.O_TRUNC, b"new"),
    "os.open appending": lambda: descriptor_write("best.pt", os.O_WRONLY | os.O_APPEND, b"new"),
    "os.open creating": lambda: descriptor_write("new.pt", os.O_WRONLY | os.O_CREAT | os.O_EXCL, b"new"),
    "os.open read and write": lambda: descriptor_write("best.pt", os.O_RDWR, b"n"),
    "os.remove": lambda: os.remove("best.pt"),
    "os.unlink of a link": lambda: os.unlink("best-link.pt"),
    "os.rename": lambda: os.rename("last.pt", "prev.pt"),
    "os.rename over a file": lambda: os.rename("last.pt", "best.pt"),
    "os.rename of a folder": lambda: os.rename("runs", "old-runs"),
    "os.rename over an empty folder": lambda: os.rename("runs", "empty"),
    "os.renames": lambda: os.renames("last.pt", "a/b/prev.pt"),
    "os.replace": lambda: os.replace("last.pt", "best.pt"),
    "os.mkdir": lambda: os.mkdir("new"),
    "os.makedirs": lambda: os.makedirs("runs/exp2/deep", exist_ok=True),
    "os.rmdir": lambda: os.rmdir("empty"),
    "os.removedirs": lambda: os.removedirs("empty"),
    "os.link": lambda: os.link("best.pt", "hard.pt"),
    "os.symlink": lambda: os.symlink("best.pt", "soft.pt"),
    "os.chmod": lambda: os.chmod("best.pt", 0o600),
    "os.chmod of a folder": lambda: os.chmod("runs", 0o700),
    "os.chown": lambda: os.chown("best.pt", os.getuid(), os.getgid()),
    "os.utime": lambda: os.utime("best.pt"),
    "os.utime of a link": lambda: os.utime("best-link.pt", (1, 1), follow_symlinks=False),
    "os.truncate": lambda: os.truncate("best.pt", 1),
    "os.mkfifo": lambda: os.mkfifo("pipe"),
    "os.setxattr": extended_attributes,
    "through a descriptor": through_a_descriptor,
    "relative to a folder": relative_to_a_folder,
    "shutil.copy": lambda: shutil.copy("last.pt", "best.pt"),
    "shutil.copy2": lambda: shutil.copy2("last.pt", "data"),
    "shutil.copyfile": lambda: shutil.copyfile("last.pt", "copy.pt"),
    "shutil.copymode": lambda: shutil.copymode("last.pt", "best.pt"),
    "shutil.copystat": lambda: shutil.copystat("last.pt", "best.pt"),
    "shutil.copytree": lambda: shutil.copytree("runs", "runs-copy"),
    "shutil.copytree over": lambda: shutil.copytree("runs", "data", dirs_exist_ok=True),
    "shutil.move": lambda: shutil.move("last.pt", "runs"),
    "shutil.move of a folder": lambda: shutil.move("runs", "data"),
    "shutil.rmtree": lambda: shutil.rmtree("runs"),
    "shutil.make_archive": lambda: shutil.make_archive("packed", "zip", "runs"),
    "Path.write_text": lambda: Path("best.pt").write_text("new"),
    "Path.write_bytes": lambda: Path("new.pt").write_bytes(b"new"),
    "Path.open": lambda: Path("best.pt").open("w").close(),
    "Path.unlink": lambda: Path("best.pt").unlink(),
    "Path.unlink of nothing": lambda: Path("none.pt").unlink(missing_ok=True),
    "Path.rename": lambda: Path("last.pt").rename("prev.pt"),
    "Path.replace": lambda: Path("last.pt").replace("best.pt"),
    "Path.touch": lambda: Path("best.pt").touch(),
    "Path.touch of a new file": lambda: Path("new.pt").touch(),
    "Path.mkdir": lambda: Path("a/b/c").mkdir(parents=True, exist_ok=True),
    "Path.rmdir": lambda: Path("empty").rmdir(),
    "Path.chmod": lambda: Path("best.pt").chmod(0o600),
    "Path.symlink_to": lambda: Path("soft").symlink_to("runs"),
    "Path.hardlink_to": lambda: Path("hard").hardlink_to("best.pt"),
    "gzip": lambda: gzip.open("log.gz", "wt").close(),
    "bz2": lambda: bz2.open("log.bz2", "wt").close(),
    "lzma": lambda: lzma.open("log.xz", "wt").close(),
    "zipfile": zip_it,
    "tarfile": tar_it,
    "fileinput in place": edit_in_place,
    "shelve": write_then_shelve,
    "pickle": lambda: Path("best.pt").write_bytes(pickle.dumps({"a": 1})),
    "json": lambda: Path("best.pt").write_text(json.dumps({"a": 1})),
    "sqlite3": database,
    "logging.FileHandler": lambda: log_to_file(logging.FileHandler("notes.txt")),
    "RotatingFileHandler": lambda: log_to_file(
        logging.handlers.RotatingFileHandler("notes.txt", maxBytes=64, backupCount=2)
    ),
    "tempfile in the project": save_atomically,
    "tempfile elsewhere": save_atomically_through_tmp,
    "a rotation": rotate,
    "the two best": keep_two_best,
    "threads": many_threads_append,
    "a folder that only the overlay has": in_a_new_folder,
}
