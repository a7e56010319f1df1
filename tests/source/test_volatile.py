"""Log statements that differ from run to run are recognised, others are not."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from flor.source.volatile import volatile_lines


def marked(text: str) -> tuple[set[int], set[int]]:
    """The lines found volatile in a text, and those that end in `# V`."""
    text = dedent(text)
    wanted = {n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# V")}
    return {line for _, line in volatile_lines({"train.py": text})}, wanted


@pytest.mark.parametrize(
    "expression",
    [
        "time.time()",
        "f'{perf_counter() - 3:.1f}'",
        "datetime.now().strftime('%H')",
        "os.getpid()",
        "id(net)",
        "psutil.virtual_memory().percent",
        "torch.cuda.max_memory_allocated() / 2**20",
        "socket.gethostname()",
        "time.strftime('%H:%M')",
        "tempfile.mkdtemp()",
    ],
)
def test_a_print_of_the_clock_or_the_machine_is_volatile(expression: str) -> None:
    imports = "import os, time, psutil, torch, socket, tempfile\nfrom datetime import datetime\n"
    text = f"{imports}from time import perf_counter\nprint('a', {expression})\nprint('b')\n"
    assert volatile_lines({"t.py": text}) == {("t.py", 4)}


def test_a_clock_goes_through_assignments_and_not_to_its_neighbours() -> None:
    found, wanted = marked(
        """
        import time
        start, losses = time.time(), []
        for i in range(3):
            tick = time.perf_counter()
            losses.append(i)
            print(i, losses)
            took = time.perf_counter() - tick
            print(f"{i}: {took:.2f} s")  # V
        total = time.time() - start
        rate = len(losses) / total
        print("rate", rate)  # V
        print("losses", losses, len(losses))
        """
    )
    assert found == wanted


def test_a_meter_that_is_given_times_is_volatile_and_another_of_its_class_is_not() -> None:
    found, wanted = marked(
        """
        import time
        class AverageMeter:
            def update(self, val, n=1):
                self.sum += val * n
                self.count += n
            def value(self):
                return self.sum / self.count
        class Progress:
            def __init__(self, meters):
                self.meters = meters
            def display(self, batch):
                entries = [str(meter) for meter in self.meters]
                print(" ".join(entries))  # V
        batch_time, losses = AverageMeter(), AverageMeter()
        progress = Progress([batch_time, losses])
        end = time.time()
        for x in data:
            losses.update(x)
            batch_time.update(time.time() - end)
            end = time.time()
            print(losses.sum, losses.value())
            print(batch_time.sum)  # V
            print(batch_time.value())  # V
            progress.display(x)
        """
    )
    assert found == wanted


def test_one_time_in_a_dict_does_not_taint_the_rest_of_it() -> None:
    found, wanted = marked(
        """
        import time
        history = {"loss": [], "time": []}
        args.started = time.time()
        net = build(args)
        history["loss"].append(1)
        history["time"].append(time.time())
        print(history["loss"], args.lr, net)
        print(history["time"][-1])  # V
        print(history)  # V
        print(args)  # V
        """
    )
    assert found == wanted


def test_a_function_that_returns_a_time_taints_that_element_only() -> None:
    found, wanted = marked(
        """
        import time
        def now():
            return time.time()
        def train(net):
            begun = now()
            loss = net()
            return loss, now() - begun
        def say(text, seconds):
            print(text)
            print(seconds)  # V
        loss, seconds = train(net)
        print(loss)
        print(seconds)  # V
        say(loss, seconds)
        """
    )
    assert found == wanted


def test_attributes_are_followed_within_a_class() -> None:
    found, wanted = marked(
        """
        import time
        class Trainer:
            def begin(self):
                self.start = time.time()
                self.loss = 0.0
            def end(self):
                print(self.loss)
                print(time.time() - self.start)  # V
                print(self.start)  # V
        """
    )
    assert found == wanted


def test_a_log_statement_under_a_condition_on_the_clock_is_volatile() -> None:
    found, wanted = marked(
        """
        import time
        last = time.time()
        for i in range(3):
            if time.time() - last > 10:
                print("still here", i)  # V
            if i % 2:
                print(i)
        """
    )
    assert found == wanted


def test_a_logger_whose_folder_has_the_date_in_it_logs_no_volatile_values() -> None:
    found, wanted = marked(
        """
        from datetime import datetime
        name = f"run-{datetime.now():%H%M}"
        writer = SummaryWriter(name)
        writer.add_scalar("loss", 1.0, 0)
        print("writing to", name)  # V
        """
    )
    assert found == wanted


def test_every_line_of_a_long_statement_is_volatile() -> None:
    text = "import time\nprint(\n    'a',\n    time.time(),\n)\n"
    assert volatile_lines({"t.py": text}) == {("t.py", line) for line in (2, 3, 4, 5)}


def test_a_function_of_another_file_is_followed() -> None:
    sources = {"clock.py": "import time\ndef stamp():\n    return time.time()\n", "t.py": "print(stamp())\nprint(1)\n"}
    assert volatile_lines(sources) == {("t.py", 1)}


def test_sleeping_and_converting_are_not_volatile() -> None:
    found, wanted = marked("import time\nprint(time.sleep(1), time.strftime('%H', time.gmtime(0)))\n")
    assert found == wanted


PROGRAMS = Path(__file__).parents[3] / "shared" / "acceptance" / "programs"


@pytest.mark.skipif(not PROGRAMS.is_dir(), reason="the acceptance programs are not beside the repository")
def test_of_the_acceptance_programs_only_one_has_volatile_lines() -> None:
    found = {}
    for folder in PROGRAMS.iterdir():
        files = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.py")}
        lines = {files[file].splitlines()[line - 1].strip() for file, line in volatile_lines(files)}
        found |= {folder.name: sorted(line[:20] for line in lines)} if lines else {}
    assert found == {
        "15_elapsed_time": [
            'print("started", dat', 'print(f"  batch {i}:', 'print(f"epoch {epoch', 'print(f"finished in ',
        ]
    }  # fmt: skip
