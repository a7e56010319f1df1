"""Files of a replay, put to what they held at a checkpoint; what is lost is told when the script reads it."""

from __future__ import annotations

import gc
import io
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from xxhash import xxh3_128_hexdigest

from flor.launch.overlay import native
from flor.launch.shapes import has_other_names, make_folders, part, put_shapes
from flor.launch.wall.choice import FileLayer
from flor.model.checkpoints import FileFact, FilesNow
from flor.model.records import Note


class Rewinder:
    """Brings the overlay to the state that the recorded run's files had."""

    def __init__(
        self, overlay: FileLayer, note: Callable[[Note], None], put: Callable[[int], None] = lambda _: None
    ) -> None:
        self.overlay = overlay
        self.note = note
        self.put_in_place = put  # told how old the youngest file is, whenever files were put in place
        self.lost: set[str] = set()
        overlay.on_read = overlay.on_missing = self._asked

    def begin(self, made: Mapping[str, str]) -> None:
        """Hide what the run itself made: at its beginning that was not there. What it overwrote is lost."""
        for path, change in made.items():
            if change in ("create", "mkdir"):
                self.overlay.hide(path)
            elif change in ("overwrite", "update", "remove"):
                self.lost.add(path)
        self._watch({})

    def restore(self, then: FilesNow) -> None:
        """Let each file hold what it held then, and let folders, links and permissions be as they were."""
        files, kept = then.facts, then.contents
        self.overlay.tell_reads()  # what a probe has read is in the log already
        self.overlay.forget_reads()
        make_folders(then.shapes)
        links = {path for path, shape in then.shapes.items() if shape.startswith(("link ", "folder "))}
        plain = {path: fact for path, fact in files.items() if path not in links}
        for path in plain:
            if has_other_names(path) and not open_streams(path):
                part(path)
        changed = {path: fact for path, fact in plain.items() if not self._holds(path, fact)}
        for path, fact in changed.items():
            self._put(path, fact, kept)
        put_shapes(then.shapes)
        self._set_times({path: fact[1] for path, fact in plain.items() if fact[0] >= 0 and path not in self.lost})
        self.put_in_place(max((time for size, time, _ in plain.values() if size >= 0), default=0))
        self._watch(files)

    def _watch(self, files: Mapping[str, FileFact]) -> None:
        """Hear of it if a lost file is read; it has the size and the age that it had."""
        for path in self.lost:
            size, time, _ = files.get(path, (-1, 0, ""))
            self.overlay.lose(path, size, time)

    def _set_times(self, times: Mapping[str, int]) -> None:
        """Let files seem as old as they were, and folders as their youngest file: scripts sort checkpoints by that."""
        folders: dict[str, int] = {}
        touched: set[str] = set()
        for path, time in times.items():
            folder = os.path.dirname(path)
            folders[folder] = max(time, folders.get(folder, 0))
            place = self.overlay.find(path)
            if place is not None and native.OS["stat"](place).st_mtime_ns != time:
                os.utime(path, ns=(time, time))
                touched.add(folder)
        for folder in touched:
            with suppress(OSError):  # behind the wall a folder with mounts in it, /tmp for one, can be read-only itself
                os.utime(folder, ns=(folders[folder], folders[folder]))

    def _holds(self, path: str, fact: FileFact) -> bool:
        """True if the script already sees this content."""
        size, _, digest = fact
        place = self.overlay.find(path)
        if place is None:
            return size < 0
        if native.OS["stat"](place).st_size != size or not digest:
            return False
        return xxh3_128_hexdigest(_read(str(place))) == digest

    def _put(self, path: str, fact: FileFact, kept: Mapping[str, bytes]) -> None:
        """From the checkpoint, or what the run left behind: the file itself, or its beginning if it was added to."""
        self.lost.discard(path)
        if fact[0] < 0:
            if self.overlay.find(path) is not None:
                os.remove(path)
            return
        content = content_then(self.overlay.original(path), fact, kept)
        if content is not None:
            self.put(path, content)
            return
        place = self.overlay.find(path)
        if place is not None and os.path.isdir(place):
            return  # an unnamed temporary file was opened in it
        self.lost.add(path)
        if place is not None and not open_streams(path):
            os.remove(path)  # what the replay itself wrote before the jump

    def put(self, path: str, content: bytes) -> None:
        """Let the script see this content; a file that it has open stays that file."""
        streams = open_streams(path)
        for stream in streams:
            stream.flush()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if streams and (place := self.overlay.find(path)) is not None:
            native.OS["truncate"](place, 0)
            with native.OPEN(place, "r+b") as file:  # the same file, since the script has it open
                file.write(content)
            for stream in streams:
                os.lseek(stream.fileno(), len(content), os.SEEK_SET)
        else:
            with open(path, "wb") as file:
                file.write(content)

    def _asked(self, path: str) -> None:
        """The script reads a file, or looks for one that is hidden."""
        if path in self.lost:
            self.note(Note("lost file", {"path": path}))


def content_then(path: str, fact: FileFact, kept: Mapping[str, bytes]) -> bytes | None:
    """What a file held at a checkpoint: from there, or from what is on disk; None if that is gone."""
    size, time, digest = fact
    content = kept.get(digest) if digest else None
    return _left_behind(path, size, time, digest) if content is None else content


def _left_behind(path: str, size: int, time: int, digest: str) -> bytes | None:
    """The bytes that the file had, if what is on disk now still has them."""
    try:
        found = native.OS["stat"](path)
        if (found.st_size, found.st_mtime_ns) == (size, time) and not digest:
            return _read(path)
        content = _read(path, size) if digest and found.st_size >= size else None
    except OSError:
        return None
    return content if content is not None and xxh3_128_hexdigest(content) == digest else None


def _read(path: str, size: int = -1) -> bytes:
    with native.OPEN(path, "rb") as file:
        data: bytes = file.read(size)
        return data


def open_streams(path: str) -> list[Any]:
    """The script's open files of that name which it writes to."""
    kinds = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
    found = []
    for thing in gc.get_objects():
        # type(), not isinstance(): that would ask lazy objects of libraries, some of which answer with a warning
        if issubclass(type(thing), kinds) and not thing.closed and _name(thing) == path and thing.writable():
            found.append(thing)
    return found


def _name(stream: Any) -> str:
    name = getattr(stream, "name", None)
    return os.path.realpath(name) if isinstance(name, str) else ""
