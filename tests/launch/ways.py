"""Ways to write to a file outside: Python, C and Rust libraries, children, links, descriptors, /proc.

Each way is a text of Python that runs in a folder of its own. The folder holds `old.txt` ("old") and `sub/old.txt`.
A way changes or makes files there and ends with an expression-like `seen = ...`: what it reads back of its own change.
The expected value is behind the arrow of its header line.
"""

from __future__ import annotations

import re

TEXT = r"""
--- open for writing -> 'new'
open("old.txt", "w").write("new"); seen = open("old.txt").read()
--- open for appending -> 'oldnew'
open("old.txt", "a").write("new"); seen = open("old.txt").read()
--- open for updating -> 'new'
with open("old.txt", "r+") as file: file.write("new")
seen = open("old.txt").read()
--- open exclusively -> 'new'
open("new.txt", "x").write("new"); seen = open("new.txt").read()
--- os.open and os.write -> 'new'
fd = os.open("old.txt", os.O_WRONLY); os.write(fd, b"new"); os.close(fd); seen = open("old.txt").read()
--- os.pwrite -> 'newd'
open("old.txt", "w").write("oldd"); fd = os.open("old.txt", os.O_RDWR); os.pwrite(fd, b"new", 0); seen = os.read(fd, 9).decode()
--- pathlib -> 'new'
Path("old.txt").write_text("new"); seen = Path("old.txt").read_text()
--- remove -> False
os.remove("old.txt"); seen = os.path.exists("old.txt")
--- rename -> ['moved.txt', 'sub']
os.rename("old.txt", "moved.txt"); seen = sorted(os.listdir("."))
--- replace by a temporary file -> 'new'
open("new.tmp", "w").write("new"); os.replace("new.tmp", "old.txt"); seen = open("old.txt").read()
--- rename a folder -> ['gone']
os.rename("sub", "moved"); os.remove("old.txt"); os.rename("moved", "gone"); seen = os.listdir(".")
--- write through a hard link -> 'new'
os.link("old.txt", "link.txt"); open("link.txt", "r+").write("new"); seen = open("link.txt").read()
--- write through a symbolic link -> 'new'
os.symlink("old.txt", "link.txt"); open("link.txt", "w").write("new"); seen = open("old.txt").read()
--- truncate -> 0
os.truncate("old.txt", 0); seen = os.path.getsize("old.txt")
--- ftruncate -> 1
fd = os.open("old.txt", os.O_RDWR); os.ftruncate(fd, 1); os.close(fd); seen = os.path.getsize("old.txt")
--- posix_fallocate -> 100
fd = os.open("old.txt", os.O_RDWR); os.posix_fallocate(fd, 0, 100); os.close(fd); seen = os.path.getsize("old.txt")
--- chmod -> '0o600'
os.chmod("old.txt", 0o600); seen = oct(os.stat("old.txt").st_mode & 0o777)
--- fchmod -> '0o600'
fd = os.open("old.txt", os.O_RDONLY); os.fchmod(fd, 0o600); seen = oct(os.stat("old.txt").st_mode & 0o777)
--- utime -> 1.0
os.utime("old.txt", (1, 1)); seen = os.stat("old.txt").st_mtime
--- extended attributes -> b'1'
os.setxattr("old.txt", "user.flor-test", b"1"); seen = os.getxattr("old.txt", "user.flor-test")
--- make a folder -> True
os.makedirs("a/b"); seen = os.path.isdir("a/b")
--- remove a tree -> ['old.txt']
shutil.rmtree("sub"); seen = os.listdir(".")
--- remove a tree and make it anew -> ['new.txt']
shutil.rmtree("sub"); os.mkdir("sub"); open("sub/new.txt", "w").close(); seen = os.listdir("sub")
--- copy over -> 'old'
open("sub/old.txt", "w").write("x"); shutil.copy("old.txt", "sub/old.txt"); seen = open("sub/old.txt").read()
--- copy a tree -> 'old'
shutil.copytree("sub", "copy"); seen = open("copy/old.txt").read()
--- move into a folder -> ['moved.txt', 'old.txt']
shutil.move("old.txt", "sub/moved.txt"); seen = sorted(os.listdir("sub"))
--- a fifo -> ['fifo', 'old.txt', 'sub']
os.mkfifo("fifo"); seen = sorted(os.listdir("."))
--- a unix socket -> True
import socket; end = socket.socket(socket.AF_UNIX); end.bind("s"); seen = os.path.exists("s")
--- a shared mapping -> 'new'
import mmap
with open("old.txt", "r+b") as file: mmap.mmap(file.fileno(), 0)[:3] = b"new"
seen = open("old.txt").read()
--- sendfile -> 'oldold'
source = os.open("sub/old.txt", os.O_RDONLY); fd = os.open("new.txt", os.O_WRONLY | os.O_CREAT)
os.write(fd, b"old"); os.sendfile(fd, source, 0, 3); seen = open("new.txt").read()
--- copy_file_range -> 'old'
source = os.open("old.txt", os.O_RDONLY); fd = os.open("new.txt", os.O_WRONLY | os.O_CREAT)
os.copy_file_range(source, fd, 3); seen = open("new.txt").read()
--- a file relative to an open folder -> 'new'
folder = os.open("sub", os.O_RDONLY); fd = os.open("old.txt", os.O_WRONLY | os.O_TRUNC, dir_fd=folder)
os.write(fd, b"new"); seen = open("sub/old.txt").read()
--- a removal relative to an open folder -> []
folder = os.open("sub", os.O_RDONLY); os.unlink("old.txt", dir_fd=folder); seen = os.listdir("sub")
--- a path through /proc/self/cwd -> 'new'
open("/proc/self/cwd/old.txt", "w").write("new"); seen = open("old.txt").read()
--- a path through a descriptor -> 'new'
folder = os.open(".", os.O_RDONLY); open(f"/proc/self/fd/{folder}/old.txt", "w").write("new"); seen = open("old.txt").read()
--- a file opened again for writing -> 'new'
fd = os.open("old.txt", os.O_RDONLY); open(f"/proc/self/fd/{fd}", "w").write("new"); seen = open("old.txt").read()
--- O_PATH opened again -> 'new'
fd = os.open("old.txt", os.O_PATH); open(f"/dev/fd/{fd}", "w").write("new"); seen = open("old.txt").read()
--- a path through a thread's folder -> 'new'
open(f"/proc/self/task/{os.getpid()}/cwd/old.txt", "w").write("new"); seen = open("old.txt").read()
--- an unnamed file that gets a name -> 'new'
fd = os.open(".", os.O_TMPFILE | os.O_RDWR); os.write(fd, b"new")
import ctypes; ctypes.CDLL(None).linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, b"named.txt", 0x400); seen = open("named.txt").read()
--- tempfile in a folder -> b'new'
import tempfile; file = tempfile.NamedTemporaryFile(dir=".", delete=False); file.write(b"new"); file.close()
seen = open(file.name, "rb").read()
--- fileinput in place -> 'OLD\n'
import fileinput
open("old.txt", "w").write("old\n")
for line in fileinput.input("old.txt", inplace=True): print(line.upper(), end="")
seen = open("old.txt").read()
--- logging to a file -> 'new\n'
import logging; handler = logging.FileHandler("log.txt"); logging.Logger("x").addHandler(handler)
handler.emit(logging.makeLogRecord({"msg": "new"})); seen = open("log.txt").read()
--- sqlite -> [(1,)]
import sqlite3; base = sqlite3.connect("base.db"); base.execute("create table t (x)"); base.execute("insert into t values (1)")
base.commit(); seen = base.execute("select * from t").fetchall()
--- sqlite attach -> True
import sqlite3; base = sqlite3.connect(":memory:"); base.execute("attach 'other.db' as other")
base.execute("create table other.t (x)"); base.commit(); base.close(); seen = os.path.getsize("other.db") > 0
--- sqlite vacuum into -> True
import sqlite3; base = sqlite3.connect(":memory:"); base.execute("create table t (x)"); base.commit()
base.execute("vacuum into 'copy.db'"); seen = os.path.getsize("copy.db") > 0
--- shelve -> 1
import shelve
with shelve.open("shelf") as shelf: shelf["a"] = 1
with shelve.open("shelf") as shelf: seen = shelf["a"]
--- zip -> ['a']
import zipfile
with zipfile.ZipFile("z.zip", "w") as file: file.writestr("a", "b")
seen = zipfile.ZipFile("z.zip").namelist()
--- tar that is unpacked -> 'old'
import tarfile
with tarfile.open("t.tar", "w") as file: file.add("old.txt")
with tarfile.open("t.tar") as file: file.extractall("out", filter="data")
seen = open("out/old.txt").read()
--- numpy save -> 3
import numpy; numpy.save("a.npy", numpy.arange(3)); seen = len(numpy.load("a.npy"))
--- numpy tofile -> 24
import numpy; numpy.arange(3, dtype="i8").tofile("a.bin"); seen = os.path.getsize("a.bin")
--- numpy memmap -> 7
import numpy; held = numpy.memmap("a.map", "u1", "w+", shape=3); held[1] = 7; held.flush(); seen = open("a.map", "rb").read()[1]
--- torch save -> 3
import torch; torch.save(torch.arange(3), "a.pt"); seen = len(torch.load("a.pt"))
--- a torch storage in a file -> 5
import torch; held = torch.UntypedStorage.from_file("a.bin", True, 8); held[0] = 5; seen = open("a.bin", "rb").read()[0]
--- safetensors -> 3
import torch, safetensors.torch as st; st.save_file({"a": torch.arange(3)}, "a.safetensors"); seen = len(st.load_file("a.safetensors")["a"])
--- h5py -> 3
import h5py
with h5py.File("a.h5", "w") as file: file["a"] = [1, 2, 3]
with h5py.File("a.h5") as file: seen = len(file["a"])
--- pyarrow parquet -> 3
import pyarrow, pyarrow.parquet as pq; pq.write_table(pyarrow.table({"a": [1, 2, 3]}), "a.parquet"); seen = pq.read_table("a.parquet").num_rows
--- pyarrow files -> 'new'
import pyarrow
with pyarrow.OSFile("a.bin", "wb") as file: file.write(b"new")
seen = open("a.bin").read()
--- a tokenizer -> True
from tokenizers import Tokenizer, models; Tokenizer(models.WordLevel({"a": 0}, "a")).save("tokenizer.json")
seen = os.path.getsize("tokenizer.json") > 0
--- a picture -> (2, 2)
from PIL import Image; Image.new("L", (2, 2)).save("a.png"); seen = Image.open("a.png").size
--- a data frame -> 2
import pandas; pandas.DataFrame({"a": [1, 2]}).to_csv("a.csv"); seen = len(pandas.read_csv("a.csv"))
--- libc open and write -> 'new'
import ctypes; libc = ctypes.CDLL(None); fd = libc.open(b"old.txt", os.O_WRONLY); libc.write(fd, b"new", 3); seen = open("old.txt").read()
--- libc fopen -> 'new'
import ctypes; libc = ctypes.CDLL(None); libc.fopen.restype = ctypes.c_void_p; libc.fputs.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
libc.fclose.argtypes = [ctypes.c_void_p]; file = libc.fopen(b"c.txt", b"w") or 1 / 0; libc.fputs(b"new", file); libc.fclose(file); seen = open("c.txt").read()
--- libc unlink and mkdir -> ['made', 'sub']
import ctypes; libc = ctypes.CDLL(None); libc.unlink(b"old.txt"); libc.mkdir(b"made", 0o755); seen = sorted(os.listdir("."))
--- a system call by number -> 'new'
import ctypes; fd = os.open("old.txt", os.O_RDWR); ctypes.CDLL(None).syscall(1, fd, b"new", 3); seen = open("old.txt").read()
--- a shell -> 'new\n'
os.system("echo new > old.txt"); seen = open("old.txt").read()
--- subprocess -> 'OLD'
import subprocess; subprocess.run(["sed", "-i", "s/old/OLD/", "old.txt"], check=True); seen = open("old.txt").read()
--- posix_spawn -> True
pid = os.posix_spawn("/bin/sh", ["sh", "-c", "echo new > new.txt"], os.environ); os.waitpid(pid, 0); seen = os.path.exists("new.txt")
--- a forked child -> 'new'
pid = os.fork()
if not pid: open("old.txt", "w").write("new"); os._exit(0)
os.waitpid(pid, 0); seen = open("old.txt").read()
--- fork and exec -> True
pid = os.fork()
if not pid: os.execv("/bin/sh", ["sh", "-c", "echo new > new.txt"])
os.waitpid(pid, 0); seen = os.path.exists("new.txt")
--- a grandchild in a session of its own -> True
pid = os.fork()
if not pid:
    os.setsid()
    grandchild = os.fork()
    if not grandchild: open("late.txt", "w").write("new"); os._exit(0)
    os.waitpid(grandchild, 0); os._exit(0)
os.waitpid(pid, 0); seen = os.path.exists("late.txt")
--- multiprocessing by fork -> True
import multiprocessing; child = multiprocessing.get_context("fork").Process(target=Path("new.txt").write_text, args=("x",)); child.start(); child.join(); seen = os.path.exists("new.txt")
--- multiprocessing by spawn -> True
import multiprocessing; child = multiprocessing.get_context("spawn").Process(target=Path("new.txt").write_text, args=("x",)); child.start(); child.join(); seen = os.path.exists("new.txt")
--- multiprocessing by a fork server -> True
import multiprocessing; child = multiprocessing.get_context("forkserver").Process(target=Path("new.txt").write_text, args=("x",)); child.start(); child.join(); seen = os.path.exists("new.txt")
--- a thread -> 'new'
import threading; thread = threading.Thread(target=Path("old.txt").write_text, args=("new",)); thread.start(); thread.join(); seen = open("old.txt").read()
--- git -> True
os.system("git init -q . && git -c user.name=a -c user.email=a commit -q --allow-empty -m a"); seen = os.path.isdir(".git")
--- the root of a process outside -> None
try: open(f"/proc/{OUTSIDE}/root{os.getcwd()}/old.txt", "w").write("new")
except OSError: pass
seen = None
--- the folder of a process outside -> None
try: open(f"/proc/{OUTSIDE}/cwd/old.txt", "w").write("new")
except OSError: pass
seen = None
--- an unmount -> None
os.system("umount -l /tmp 2>/dev/null; umount -l / 2>/dev/null; mount -o remount,rw / 2>/dev/null")
import ctypes; ctypes.CDLL(None).umount2(os.getcwd().encode(), 2)
try: open("old.txt", "w").write("new")
except OSError: pass
seen = None
--- the mount namespace of a process outside -> None
os.system(f"nsenter -t {OUTSIDE} -m sh -c 'echo new > {os.getcwd()}/old.txt' 2>/dev/null")
seen = None
"""

WAYS: dict[str, tuple[str, str]] = {
    match[1]: (match[3].strip(), match[2]) for match in re.finditer(r"--- (.+) -> (.+)\n((?:(?!--- ).*\n)+)", TEXT)
}
"""Name -> code, and the repr of what it should see."""
