"""The kinds of readings whose value is not a plain number or text, or that do more than tell it."""

from __future__ import annotations

import datetime
import json
import os
import random
import sys
from collections.abc import Callable
from typing import Any

from flor.model.records import Atom
from flor.runtime.interrupts import deliver, pending
from flor.runtime.readings import Given, Options, Reading


class Clock(Reading):
    """A number of seconds or nanoseconds."""

    clock = True


class Converter(Reading):
    """Tells the time only where none is given to it: `time.strftime(format)`, `time.ctime()`."""

    def __init__(self, function: Any, module: str, name: str, given: int = 0) -> None:
        super().__init__(function, module, name)
        self.given = given  # how many arguments leave the time open

    def asks(self, args: Given, options: Options) -> bool:
        """True if no time is given."""
        return len(args) <= self.given or args[self.given] is None


class Measured(Reading):
    """A measurement: numbers, or a tuple of them with names; its class is that of a present one."""

    plain = False

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """Measure."""
        value = self.call(*args, **options)
        try:
            return value, json.dumps(value)
        except (TypeError, ValueError):
            return value, value  # which is not kept

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """The measurement of then; the function is called, since it may do what it measures."""
        return _like(self.call(*args, **options), json.loads(str(kept)))


class TimeTuple(Measured):
    """`time.localtime()` and `time.gmtime()`, which convert a time that is given."""

    def asks(self, args: Given, options: Options) -> bool:
        """True if no time is given."""
        return not args or args[0] is None

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """The time, with the zone's name and offset, which are no elements of it."""
        value = self.call(*args)
        return value, json.dumps([list(value), value.tm_zone, value.tm_gmtoff])

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """The time of then."""
        parts, zone, offset = json.loads(str(kept))
        return type(self.call())(parts, {"tm_zone": zone, "tm_gmtoff": offset})


def _like(now: Any, then: Any) -> Any:
    """What was measured then, in the class of what is measured now."""
    if isinstance(now, tuple) and isinstance(then, list):
        kind: Any = type(now)
        return kind._make(then) if hasattr(kind, "_make") else kind(then)
    return then


class Seeding(Reading):
    """Seeds a generator, or makes one, from entropy if nothing is given: we draw the entropy and hand it over."""

    plain = False

    def __init__(self, function: Any, module: str, name: str, seed: Callable[[int], Any] = int) -> None:
        super().__init__(function, module, name)
        self.seed = seed  # what the function takes, made of a large number

    def asks(self, args: Given, options: Options) -> bool:
        """True if no seed is given."""
        return all(value is None for value in (*args, *options.values()))

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """Draw."""
        entropy = int.from_bytes(os.urandom(16), "little")
        return self.call(self.seed(entropy)), entropy

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """Seed as it was seeded."""
        assert isinstance(kept, int)
        return self.call(self.seed(kept))


def as_words(entropy: int) -> list[int]:
    """Entropy as numbers of 32 bits, for numpy's older generators."""
    return [entropy >> 32 * n & 0xFFFFFFFF for n in range(4)]


class Reseeding(Reading):
    """`torch.seed()` and `generator.seed()`: they tell the seed that they have drawn."""

    def __init__(self, function: Any, module: str, name: str, put: Callable[[int], Any]) -> None:
        super().__init__(function, module, name)
        self.put = put

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """Seed with what was drawn then."""
        assert isinstance(kept, int)
        self.put(kept)
        return kept


class Chosen(Reading):
    """`secrets.choice`: kept is the index."""

    plain = False

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """Choose one."""
        sequence = args[0] if args else options["seq"]
        index = self.call(range(len(sequence)))
        return sequence[index], index

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """The one that was chosen."""
        return (args[0] if args else options["seq"])[kept]


class Identifier(Reading):
    """`uuid.uuid4()` and its like."""

    plain = False

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """A new one."""
        value = self.call(*args, **options)
        return value, value.bytes

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """The same one."""
        return type(self.call(*args, **options))(bytes=kept)


class Date(Reading):
    """`now`, `utcnow` and `today` of a class of dates."""

    plain = False

    def __init__(self, function: Any, owner: Any) -> None:
        name: str = function.__name__
        super().__init__(function, owner.__module__, name)
        self.__qualname__ = f"{owner.__qualname__}.{name}"
        self.owner = owner

    @property
    def title(self) -> str:
        """What the method is called."""
        return f"{self.__module__}.{self.__qualname__}"

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """The time without its zone, which is given again."""
        value = self.call(*args, **options)
        zoned = isinstance(value, datetime.datetime)
        text = (value.replace(tzinfo=None) if zoned else value).isoformat()
        return value, text + "+" * value.fold if zoned else text

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """The time of then."""
        text = str(kept)
        value = self.owner.fromisoformat(text.rstrip("+"))
        zone = args[0] if args else options.get("tz")
        return (
            value.replace(tzinfo=zone, fold=1) if text.endswith("+") else value.replace(tzinfo=zone) if zone else value
        )

    def __reduce__(self) -> Any:
        return getattr, (self.owner, self.__name__)


def date_method(value: Any) -> Date | None:
    """The stand-in of `datetime.now` and its like, which is a new object each time that it is looked up."""
    owner = getattr(value, "__self__", None)
    if not (isinstance(owner, type) and issubclass(owner, datetime.date)):
        return None
    if getattr(value, "__name__", "") not in ("now", "utcnow", "today") or not _isoformat_is_pythons(owner):
        return None
    key = (owner, value.__name__)
    if key not in _DATES:
        _DATES[key] = Date(value, owner)
    return _DATES[key]


def _isoformat_is_pythons(owner: type) -> bool:
    """True unless a library's class of dates reads texts in its own way."""
    first = next((cls for cls in owner.__mro__ if "fromisoformat" in vars(cls)), object)
    return first.__module__ == "datetime"


_DATES: dict[tuple[type, str], Date] = {}
MEASURING = ("psutil", "torch.cuda", "torch.mps", "torch.xpu", "torch._C")


def measuring_method(value: Any) -> Reading | None:
    """The stand-in of a method that measures, or that seeds a generator from entropy."""
    owner, name = getattr(value, "__self__", None), getattr(value, "__name__", "")
    if owner is None or isinstance(owner, type) or not name:
        return None
    module = type(owner).__module__
    if name == "seed":
        return _seed_method(value, owner, module)
    if not module.startswith(MEASURING):
        return None
    return Measured(value, module, f"{type(owner).__qualname__}.{name}")


def _seed_method(value: Any, owner: Any, module: str) -> Reading | None:
    if module.startswith("torch") and hasattr(owner, "manual_seed"):
        return Reseeding(value, "torch", "Generator.seed", owner.manual_seed)
    if type(owner) is random.Random:
        return Seeding(value, "random", "Random.seed")
    if module.startswith("numpy"):
        return Seeding(value, "numpy.random", "RandomState.seed", as_words)
    return None


class Prompt(Reading):
    """`input()`: kept is the line, behind a letter for who showed the prompt: a terminal, or sys.stdout."""

    plain = False

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """Ask the user."""
        shown = "t" if _at_terminal() else "s"
        try:
            value = self.call(*args)
        except EOFError as end:
            return end, None
        return value, shown + value

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """What the user said; the prompt is written as it was."""
        if args and (kept is None or str(kept)[:1] == "s"):
            sys.stdout.write(str(args[0]))
            sys.stdout.flush()
        return EOFError("EOF when reading a line") if kept is None else str(kept)[1:]

    def __call__(self, *args: Any, **options: Any) -> Any:
        value = super().__call__(*args, **options)
        if isinstance(value, EOFError):
            raise value
        return value


def _at_terminal() -> bool:
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (AttributeError, ValueError):
        return False


class Kill(Reading):
    """`os.kill` where the script was told the process id of the recorded run: that is this process."""

    plain = False

    def __init__(self, function: Any, module: str, name: str, then: int) -> None:
        super().__init__(function, module, name)
        self.then = then
        self.call = self._kill

    def _kill(self, pid: int, signal: int) -> None:
        """Send the signal; a handler for it in this process has run when the script goes on."""
        self.__wrapped__(os.getpid() if pid == self.then else pid, signal)
        if pending:
            deliver()

    def asks(self, args: Given, options: Options) -> bool:
        """It tells nothing."""
        return False


class Process(Reading):
    """`psutil.Process(pid)`: the recorded process id is that of this process."""

    plain = False

    def __init__(self, function: Any, module: str, name: str, then: int) -> None:
        super().__init__(function, module, name)
        self.call = lambda pid=None: function(None if pid == then else pid)

    def asks(self, args: Given, options: Options) -> bool:
        """It tells nothing."""
        return False


class SystemRandomMaker(Reading):
    """Makes a `random.SystemRandom` whose two sources of numbers are readings."""

    plain = False

    def __init__(self, function: Any, module: str, name: str) -> None:
        super().__init__(function, module, name)
        self.call = self._make

    def asks(self, args: Given, options: Options) -> bool:
        """Making one draws nothing."""
        return False

    def _make(self, *args: Any) -> random.SystemRandom:
        made = self.__wrapped__(*args)
        made.random = Reading(made.random, "random", "SystemRandom.random")
        made.getrandbits = Reading(made.getrandbits, "random", "SystemRandom.getrandbits")
        return made  # type: ignore[no-any-return]


def stand_in(stream: Any, name: str = "stdin") -> Stdin:
    """A stand-in for a stream, of a class that is called as the stream's."""
    cls = type(stream)
    made: type[Stdin] = type(cls.__name__, (Stdin,), {"__module__": cls.__module__})
    return made(stream, name)


class Stdin:
    """Stands for `sys.stdin` in the project's code: what is read from it are readings, all else is the stream's own."""

    def __init__(self, stream: Any, name: str) -> None:
        self.__wrapped__ = stream
        for method in ("read", "readline", "readlines", "__next__"):
            kind = Lines if method == "readlines" else NextLine if method == "__next__" else Reading
            found = getattr(stream, method)
            vars(self)[method] = kind(found, "sys", f"{name}.{method}")

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            vars(self)["buffer"] = stand_in(self.__wrapped__.buffer, "stdin.buffer")
            return vars(self)["buffer"]
        return getattr(self.__wrapped__, name)

    def __iter__(self) -> Stdin:
        return self

    def __next__(self) -> Any:
        line = vars(self)["__next__"]()
        if line is None:
            raise StopIteration
        return line


class Lines(Reading):
    """All lines that are left of a stream."""

    plain = False

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """Read them."""
        value = self.call(*args)
        joined: Any = b"" if value and isinstance(value[0], bytes) else ""
        return value, joined.join(value)

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """The lines of then."""
        assert isinstance(kept, str | bytes)
        return kept.splitlines(keepends=True)


class NextLine(Reading):
    """A line of a stream that is iterated over; its end is a reading too."""

    plain = False

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """Read one; kept as None is the end."""
        value = next(self.__wrapped__.__self__, None)
        return value, value

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """The line of then."""
        return kept
