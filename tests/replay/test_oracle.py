"""The judge of a replay: a full run with the statement in place from the start."""

from __future__ import annotations

from tests.replay.conftest import Workshop

NESTED = """
import random, time
random.seed(1)
weights, history, best = [0.0] * 4, [], None
for epoch in range(6):
    total = 0.0
    for batch in range(5):
        noise = random.gauss(0, 1)
        weights[batch % 4] += noise
        total += noise
        time.sleep(0.02)
        print("inner", epoch, batch, noise, weights)  #@
    history.append(total)
    best = total if best is None else max(best, total)
    print(f"epoch {epoch} total {total:.6f} best {best:.6f}")
print(len(history), sum(weights))
"""

OUTER = NESTED.replace('        print("inner", epoch, batch, noise, weights)  #@\n', "").replace(
    "    history.append(total)\n",
    '    print("outer", epoch, weights, noise, batch)  #@\n    history.append(total)\n',
)


def test_an_inner_probe_gives_what_a_full_run_prints(workshop: Workshop) -> None:
    done = workshop.judged(NESTED)
    assert len(done.stdout.splitlines()) == 30
    assert "exact" in done.stderr


def test_an_outer_probe_skips_the_inner_loops(workshop: Workshop) -> None:
    done = workshop.judged(OUTER)
    assert len(done.stdout.splitlines()) == 6
    summary = workshop.summary("-j", "1")
    assert summary["verdict"] == "exact"
    assert int(str(summary["blocks_skipped"])) >= 3


def test_two_workers_print_what_one_prints(workshop: Workshop) -> None:
    one = workshop.judged(NESTED)
    two = workshop.flor("replay", "-j", "2")
    assert (two.stdout, two.code) == (one.stdout, 0), two.stderr
    assert workshop.summary("-j", "2")["workers"] == 2


def test_some_epochs_only(workshop: Workshop) -> None:
    workshop.judged(NESTED)
    done = workshop.flor("replay", "--epochs", "2:4", "-j", "1")
    assert {line.split()[1] for line in done.stdout.splitlines()} == {"2", "3"}
    assert done.code == 0, done.stderr


def test_a_while_loop_resumes_with_its_locals(workshop: Workshop) -> None:
    workshop.judged("""
        import random, time

        def train(limit):
            step, state, log = 0, {"x": 1.0}, []
            while True:
                state["x"] = 0.9 * state["x"] + random.random()
                time.sleep(0.03)
                print("state", step, state["x"])  #@
                step += 1
                log.append(step)
                if step >= limit:
                    break
            return state, log

        random.seed(3)
        state, log = train(25)
        print(f"{state['x']:.9f}", len(log))
    """)


def test_an_unseeded_script_replays_as_it_ran(workshop: Workshop) -> None:
    text = """
        import random, time
        total = 0
        for step in range(8):
            total += random.random()
            time.sleep(0.03)
            print("total", total)
            print("again", total)  #@
    """
    workshop.program(text, probed=False)
    recorded = workshop.flor("record", "--overhead", "10", "train.py")
    workshop.program(text, probed=True)
    replayed = workshop.flor("replay", "-j", "1")
    assert replayed.stdout == recorded.stdout.replace("total", "again")
    assert replayed.code == 0, replayed.stderr


def test_sets_of_strings_come_in_the_recorded_order(workshop: Workshop) -> None:
    text = """
        import time
        vocabulary = list({"the", "cat", "sat", "on", "a", "mat", "and", "slept"})
        for word in vocabulary:
            print(word)
            print("again", word)  #@
    """
    workshop.program(text, probed=False)
    recorded = workshop.flor("record", "--overhead", "10", "train.py")
    workshop.program(text, probed=True)
    replayed = workshop.flor("replay", "-j", "1")
    assert replayed.stdout == "".join(f"again {word}\n" for word in recorded.stdout.split())
    assert replayed.code == 0, replayed.stderr


def test_a_changed_constant_is_refused_with_a_diff(workshop: Workshop) -> None:
    workshop.write("lr = 0.1\nfor i in range(3):\n    print(i * lr)\n")
    workshop.flor("record", "--overhead", "10", "train.py")
    workshop.write("lr = 0.2\nfor i in range(3):\n    print(i * lr)\n")
    refused = workshop.flor("replay")
    assert refused.code == 1
    assert "[edit-refused]" in refused.stderr
    assert "+lr = 0.2" in refused.stderr
    assert workshop.flor("replay", "--force").code == 3


def test_a_probe_that_disturbs_training_is_told(workshop: Workshop) -> None:
    text = """
        import random, time
        random.seed(1)
        for epoch in range(4):
            for batch in range(4):
                value = random.random()
                time.sleep(0.02)
            print(epoch, value)
            print("sample", random.random())  #@
    """
    workshop.program(text, probed=False)
    workshop.flor("record", "--overhead", "10", "train.py")
    workshop.program(text, probed=True)
    told = workshop.flor("replay", "-j", "1")
    assert told.code in (1, 3), told.stderr
    assert told.stderr.strip()


def test_a_probe_that_raises_is_the_users_error(workshop: Workshop) -> None:
    text = """
        for i in range(3):
            print(i)
            print(1 / (i - 1))  #@
    """
    workshop.program(text, probed=False)
    workshop.flor("record", "--overhead", "10", "train.py")
    workshop.program(text, probed=True)
    failed = workshop.flor("replay")
    assert failed.code == 1
    assert "ZeroDivisionError" in failed.stderr
    assert "[probe-failed]" in failed.stderr


def test_files_are_left_alone_and_read_back(workshop: Workshop) -> None:
    text = """
        import os, time
        log = open("log.csv", "w")
        for epoch in range(6):
            for batch in range(3):
                time.sleep(0.02)
            log.write(f"{epoch}\\n")
            log.flush()
            with open("best.txt", "w") as best:
                best.write(f"best {epoch}")
            print("seen", open("best.txt").read(), len(open("log.csv").read().split()))  #@
        log.close()
        print(open("best.txt").read(), open("log.csv").read().split())
    """
    workshop.program(text, probed=False)
    workshop.flor("record", "--overhead", "10", "train.py")
    before = {path.name: path.read_text() for path in workshop.folder.glob("*.[ct]*v*t*")}
    workshop.program(text, probed=True)
    for options in (["-j", "1"], ["-j", "2"], ["--epochs", "4:6", "-j", "1"]):
        done = workshop.flor("replay", *options)
        assert done.code == 0, done.stderr
        want = range(4, 6) if "--epochs" in options else range(6)
        assert done.stdout == "".join(f"seen best {epoch} {epoch + 1}\n" for epoch in want)
    assert before == {path.name: path.read_text() for path in workshop.folder.glob("*.[ct]*v*t*")}


def test_a_script_that_resumes_itself_begins_as_it_had(workshop: Workshop) -> None:
    workshop.judged("""
        import json, os, time
        start = json.load(open("ckpt.json"))["step"] if os.path.exists("ckpt.json") else 0
        print("start", start)
        for step in range(start, 6):
            time.sleep(0.03)
            print("step", step)  #@
            json.dump({"step": step + 1}, open("ckpt.json", "w"))
            if step == 100:
                break
        os.remove("ckpt.json")
    """)


def test_a_run_that_raised_replays_up_to_there(workshop: Workshop) -> None:
    text = """
        import time
        for epoch in range(6):
            for batch in range(3):
                time.sleep(0.02)
                if epoch == 4:
                    raise RuntimeError("diverged")
            print("epoch", epoch)
            print("probe", epoch, batch)  #@
    """
    workshop.program(text, probed=False)
    assert workshop.flor("record", "--overhead", "10", "train.py").code == 1
    workshop.program(text, probed=True)
    done = workshop.flor("replay", "-j", "1")
    assert done.stdout == "".join(f"probe {epoch} 2\n" for epoch in range(4))
    assert done.code == 0, done.stderr


def test_without_a_new_statement_nothing_is_run(workshop: Workshop) -> None:
    workshop.write("print('once')\n")
    workshop.flor("record", "--overhead", "10", "train.py")
    done = workshop.flor("replay")
    assert (done.stdout, done.code) == ("", 0)
    assert workshop.flor("replay", "--all").stdout == "once\n"


def test_hindsight_values_join_the_runs_logs(workshop: Workshop) -> None:
    workshop.judged(OUTER)
    rows = workshop.flor("logs", "--json").stdout
    assert '"origin": "hindsight"' in rows
    assert '"origin": "recorded"' in rows


def test_a_killed_run_replays_up_to_where_it_came(workshop: Workshop) -> None:
    text = """
        import os, signal, time
        for epoch in range(9):
            for batch in range(3):
                time.sleep(0.03)
                if epoch == 5 and batch == 1:
                    time.sleep(1.5)
                    os.kill(os.getpid(), signal.SIGKILL)
            print("epoch", epoch, flush=True)
            print("probe", epoch, batch)  #@
    """
    workshop.program(text, probed=False)
    assert workshop.flor("record", "--overhead", "10", "train.py").code == -9
    workshop.program(text.replace("os.kill(os.getpid(), signal.SIGKILL)", "pass"), probed=True)
    assert workshop.flor("replay", "-j", "1").code == 1
    workshop.program(text, probed=True)
    done = workshop.flor("replay", "--epochs", "0:4", "-j", "1")
    assert done.stdout == "".join(f"probe {epoch} 2\n" for epoch in range(4))
    assert done.code == 0, done.stderr


def test_what_a_child_prints_is_not_in_the_record_and_that_is_told(workshop: Workshop) -> None:
    text = """
        import subprocess
        for i in range(3):
            subprocess.run(["echo", "from a child"])
            print(i, flush=True)
            print("probe", i, flush=True)  #@
    """
    workshop.program(text, probed=False)
    workshop.flor("record", "train.py")
    workshop.program(text, probed=True)
    probes = workshop.flor("replay", "-j", "1")
    assert (probes.stdout, probes.code) == ("probe 0\nprobe 1\nprobe 2\n", 0)
    everything = workshop.flor("replay", "-j", "1", "--all")
    assert everything.code == 3
    assert "stdout" in everything.stderr
