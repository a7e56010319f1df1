"""Which of some files were read, by whatever code of this process and its children."""

from __future__ import annotations

from flor.launch.inotify import ACCESS, CLOSE_NOWRITE, OVERFLOW, Inotify


class Readings:
    """Watches files until they are read or replaced."""

    def __init__(self) -> None:
        self.kernel = Inotify()
        self.watched: dict[int, str] = {}
        self.read: list[str] = []
        self.overflowed = False  # so much happened that the kernel has dropped some of it

    def watch(self, path: str) -> bool:
        """Watch one more file; False if that is not possible."""
        number = self.kernel.watch(path, ACCESS | CLOSE_NOWRITE)
        if number is not None:
            self.watched[number] = path
        return number is not None

    def replaced(self, path: str) -> None:
        """The script gives the file a content of its own: to read that is no matter."""
        if path in self.watched.values():
            self.found()
            self.watched = {number: watched for number, watched in self.watched.items() if watched != path}

    def forget(self) -> None:
        """What was read until now does not count, and nothing is watched any more."""
        self.found()
        self.watched, self.read, self.overflowed = {}, [], False

    def found(self) -> list[str]:
        """The files that were read so far, in the order of their first reading; all, if that can't be told."""
        for event in self.kernel.events():
            path = self.watched.get(event.watch) if event.what & (ACCESS | CLOSE_NOWRITE) else None
            self.overflowed |= bool(event.what & OVERFLOW)
            if path is not None and path not in self.read:
                self.read.append(path)
        return [*self.read, *(self.watched.values() if self.overflowed else ())]
