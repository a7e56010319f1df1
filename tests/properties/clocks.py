"""Pieces of training scripts that ask the world something: the clock, entropy, the process, the host, stdin.

Each has lines for the top of a script, for its inner loop, for its outer loop and for its end, and prints what it was
told. `program` puts some of them into one script.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent, indent


@dataclass(frozen=True)
class Piece:
    """One way to ask the world."""

    top: str = ""
    inner: str = ""
    outer: str = ""
    end: str = ""
    files: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    kept: bool = True  # False if no checkpoint can hold its state: replay executes all of it


PIECES: dict[str, Piece] = {
    "a run name made of the time": Piece(
        "import time\nrun_name = f'ppo__{int(time.time())}'", outer="print('run', run_name)"
    ),
    "a folder made of the date": Piece(
        """
        import os
        from datetime import datetime
        out_dir = os.path.join("runs", datetime.now().strftime("%b%d_%H-%M-%S.%f"))
        os.makedirs(out_dir)
        """,
        outer="open(os.path.join(out_dir, 'log.txt'), 'a').write(f'{epoch}\\n')",
        end="print(sorted(os.listdir('runs')), open(os.path.join(out_dir, 'log.txt')).read())",
    ),
    "an elapsed time in a line": Piece(
        "import time", outer="started = time.time()\nprint(f'took {time.time() - started:.9f} s')"
    ),
    "a limit on wall time": Piece(
        "import time\nlimit_from = time.monotonic()\nstopped_at = None",
        inner="if time.monotonic() - limit_from > 0.02 and stopped_at is None:\n    stopped_at = (epoch, step)",
        end="print('stopped', stopped_at)",
    ),
    "a while loop that ends by the clock": Piece(
        "from time import perf_counter as now",
        outer="begun, turns = now(), 0\nwhile now() - begun < 0.002:\n    turns += 1\nprint('turns', turns)",
    ),
    "iterations a second": Piece(
        "import time\nlast_tick = time.perf_counter()",
        inner="tick = time.perf_counter()\nprint(f'\\r{step}/3 {1 / (tick - last_tick):.1f} it/s', end='')"
        "\nlast_tick = tick",
        outer="print()",
    ),
    "nanoseconds": Piece("import time", inner="print(time.time_ns(), time.perf_counter_ns(), time.monotonic_ns())"),
    "processor time": Piece(
        "import time", outer="print(time.process_time(), time.thread_time(), time.process_time_ns())"
    ),
    "the time as text": Piece(
        "import time as clock_module",
        outer="print(clock_module.ctime(), clock_module.strftime('%X %x'), clock_module.asctime())",
    ),
    "the time in parts": Piece(
        "import time",
        outer="parts = time.localtime()\nprint(parts, parts.tm_zone, time.gmtime().tm_sec, time.gmtime(0).tm_year)",
    ),
    "dates with zones": Piece(
        "import datetime as dt",
        outer="print(dt.datetime.now(dt.timezone.utc), dt.date.today())\n"
        "print(dt.datetime.now(tz=dt.timezone(dt.timedelta(hours=2))))",
    ),
    "utcnow and today": Piece(
        "from datetime import datetime, date",
        outer="print(datetime.now().timestamp(), datetime.today().isoformat(), date.today().isoformat())",
    ),
    "a clock that is passed around": Piece(
        """
        import time
        def timed_by(work, clock=time.perf_counter):
            begun = clock()
            work()
            return clock() - begun
        """,
        inner="print('by', timed_by(lambda: sum(range(100))))",
    ),
    "a clock in a class": Piece(
        """
        import time
        class Stopwatch:
            now = time.perf_counter
            def __init__(self):
                self.laps = [self.now()]
            def lap(self):
                self.laps.append(self.now())
                return self.laps[-1] - self.laps[-2]
        stopwatch = Stopwatch()
        """,
        inner="print('lap', stopwatch.lap())",
        end="print(stopwatch.laps)",
    ),
    "a decorator that times": Piece(
        """
        import functools, time
        def timed(function):
            @functools.wraps(function)
            def wrapper(*args):
                begun = time.perf_counter()
                try:
                    return function(*args)
                finally:
                    wrapper.seconds += time.perf_counter() - begun
            wrapper.seconds = 0.0
            return wrapper
        @timed
        def double(x):
            return 2 * x
        """,
        inner="double(step)",
        outer="print('double', double.seconds)",
    ),
    "a context manager that times": Piece(
        """
        import contextlib, time
        @contextlib.contextmanager
        def measured(what, into):
            begun = time.monotonic()
            yield
            into.setdefault(what, []).append(time.monotonic() - begun)
        measures = {}
        """,
        inner="with measured('step', measures):\n    sum(range(50))",
        outer="print(measures['step'][-1], len(measures['step']))",
    ),
    "a moving average of the step time": Piece(
        """
        import time
        class AverageMeter:
            def __init__(self):
                self.average, self.since = 0.0, time.time()
            def update(self):
                now = time.time()
                self.average = 0.9 * self.average + 0.1 * (now - self.since)
                self.since = now
        meter = AverageMeter()
        """,
        inner="meter.update()",
        outer="print('average', meter.average)",
    ),
    "a default factory": Piece(
        """
        import time, uuid
        from dataclasses import dataclass, field
        from datetime import datetime
        @dataclass
        class Event:
            at: float = field(default_factory=time.time)
            on: datetime = field(default_factory=datetime.now)
            id: str = field(default_factory=lambda: uuid.uuid4().hex)
        """,
        outer="print(Event())",
    ),
    "a default of argparse": Piece(
        """
        import argparse, time
        parser = argparse.ArgumentParser()
        parser.add_argument("--run-id", default=f"exp-{time.time_ns():x}")
        parser.add_argument("--since", type=float, default=time.time())
        options = parser.parse_args([])
        """,
        outer="print(options.run_id, options.since)",
    ),
    "a closure": Piece(
        """
        import time
        def make_eta(total):
            begun, done = time.time(), 0
            def eta():
                nonlocal done
                done += 1
                return (time.time() - begun) / done * (total - done)
            return eta
        eta = make_eta(12)
        """,
        inner="print('eta', eta())",
    ),
    "a settings module": Piece(
        "import settings_of_run",
        outer="print(settings_of_run.STAMP, settings_of_run.since())",
        files={
            "settings_of_run.py": """
        import time
        from datetime import datetime
        STAMP = datetime.now().strftime("%Y%m%d-%H%M%S-%f")
        BEGUN = time.time()
        def since():
            return time.time() - BEGUN
        """
        },
    ),
    "a callback in another file": Piece(
        "from callbacks_of_run import Trainer, SpeedCallback\ntrainer = Trainer([SpeedCallback()])",
        inner="trainer.step()",
        files={
            "callbacks_of_run.py": """
        import time
        class SpeedCallback:
            def on_step(self, trainer):
                print('iter_dt', trainer.iter_dt)
        class Trainer:
            def __init__(self, callbacks):
                self.callbacks, self.iter_time, self.iter_dt = callbacks, time.time(), 0.0
            def step(self):
                now = time.time()
                self.iter_dt, self.iter_time = now - self.iter_time, now
                for callback in self.callbacks:
                    callback.on_step(self)
        """
        },
    ),
    "a name that another file imported": Piece(
        "from clock_of_run import perf_counter, stamp",
        outer="print(perf_counter(), stamp())",
        files={
            "clock_of_run.py": """
        from time import *
        from datetime import datetime
        def stamp(make=datetime.now):
            return make(), time()
        """
        },
    ),
    "time stamps of logging": Piece(
        """
        import logging, sys
        logging.basicConfig(stream=sys.stdout, level=logging.INFO, force=True,
                            format="%(asctime)s %(created).6f %(relativeCreated).3f %(process)d %(message)s")
        """,
        inner="logging.getLogger('train').info('step %d', step)",
        end="logging.warning('end')",
    ),
    "a formatter of its own": Piece(
        """
        import logging, sys
        own_logger = logging.getLogger("own")
        own_logger.propagate = False
        own_handler = logging.StreamHandler(sys.stdout)
        own_handler.setFormatter(logging.Formatter("[{asctime}] {msecs:.0f} {message}", "%H:%M:%S", style="{"))
        own_logger.addHandler(own_handler)
        """,
        outer="own_logger.error('epoch %d', epoch)",
    ),
    "a bar on stderr": Piece("from tqdm import tqdm", outer="for _ in tqdm(range(3)):\n    pass"),
    "comprehensions and lambdas": Piece(
        "import time\nwhen = lambda: time.time()",
        outer="print([time.time() for _ in range(2)], {n: when() for n in range(2)})\n"
        "print(list(map(lambda _: when(), range(2))))",
    ),
    "a key that is called by sorted": Piece(
        "import time", outer="print(sorted(range(3), key=lambda _: -time.perf_counter()))"
    ),
    "a generator": Piece(
        "import time\ndef ticks():\n    while True:\n        yield time.time()\nticking = ticks()",
        end="print(next(ticking), next(ticking))",
        kept=False,
    ),
    "a run id of uuid": Piece(
        "import uuid\nfrom uuid import uuid4", "print(uuid.uuid1())", "print(uuid4(), str(uuid.uuid4())[:8])"
    ),
    "secrets": Piece(
        "import secrets",
        outer="print(secrets.token_hex(4), secrets.token_urlsafe(3), secrets.randbelow(99), secrets.choice('abc'))",
    ),
    "a seed of the system's": Piece(
        "import os, random\nseed = int.from_bytes(os.urandom(4), 'little')\nseeded = random.Random(seed)",
        outer="print(seed, seeded.random())",
    ),
    "generators without a seed": Piece(
        "import random\nimport numpy as np\nunseeded = random.Random()\n"
        "rng, old = np.random.default_rng(), np.random.RandomState()",
        outer="print(unseeded.random(), rng.random(), old.rand())",
    ),
    "seeding from entropy": Piece(
        "import random, torch\nimport numpy as np\nrandom.seed()\nnp.random.seed()\nprint(torch.seed())",
        outer="print(random.random(), np.random.rand(), torch.rand(1).item())",
    ),
    "a generator of torch's": Piece(
        "import torch\ngenerator = torch.Generator()\nprint(generator.seed())",
        outer="print(torch.rand(1, generator=generator).item())",
    ),
    "SystemRandom": Piece(
        "import random\nfrom random import SystemRandom",
        outer="print(SystemRandom().random(), random.SystemRandom().randint(0, 99))",
    ),
    "the process": Piece("import os", outer="print(os.getpid(), os.getppid())"),
    "the host": Piece(
        "import getpass, os, platform, socket",
        outer="print(socket.gethostname(), platform.node(), os.uname().nodename, getpass.getuser(), os.getloadavg())",
    ),
    "measurements": Piece(
        "import resource, os\ndef rss():\n    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss",
        outer="print(rss(), os.times().elapsed)",
    ),
    "a temporary folder": Piece(
        "import os, tempfile\nscratch = tempfile.mkdtemp(prefix='run-')", outer="print(os.path.basename(scratch))"
    ),
    "questions to the user": Piece("answer = input('name? ')", outer="print(answer)", stdin="Ada\n"),
    "lines of stdin": Piece(
        "import sys\nfirst = sys.stdin.readline()\nothers = [line.strip() for line in sys.stdin]",
        outer="print(first, others)",
        stdin="one\ntwo\nthree\n",
    ),
}


def program(*names: str) -> str:
    """A script with these pieces in it; its probe goes to the line that says so."""
    pieces = [PIECES[name] for name in names]
    texts = {place: "\n".join(dedent(getattr(piece, place)).strip() for piece in pieces) for place in PLACES}
    return TEMPLATE.format(
        top=texts["top"],
        inner=indent(texts["inner"].strip(), " " * 8),
        outer=indent(texts["outer"].strip(), " " * 4),
        end=texts["end"],
    )


PLACES = ("top", "inner", "outer", "end")
TEMPLATE = """\
import random as random_numbers
import time as sleeping
{top}
numbers, total = random_numbers.Random(5), 0.0
for epoch in range(4):
    for step in range(3):
        total += numbers.random()
        sleeping.sleep(0.002)
{inner}
{outer}
    # probe
{end}
"""
PROBE = 'print("probe", epoch, total)'
