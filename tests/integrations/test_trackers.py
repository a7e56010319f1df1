"""The real wandb, MLflow, trackio and TensorBoard: values are recorded, replays are exact and reach none of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flor.query.runs import run as open_run
from tests.replay.conftest import Done, Workshop

for package in ("wandb", "mlflow", "trackio", "tensorboard"):
    pytest.importorskip(package)

TRACKERS = """
import os, random, sys
import torch, mlflow, trackio, wandb
from torch.utils.tensorboard import SummaryWriter

SERVER = os.environ.get("WITNESS")  # set on replay only: there the script asks for servers
MODE = "online" if SERVER else "offline"
os.environ["WANDB_MODE"] = MODE
wandb.login(key="0" * 40) if SERVER else None
for options in ({"mode": MODE}, {"settings": wandb.Settings(mode=MODE)}, {"dir": "elsewhere", "mode": MODE}):
    with wandb.init(project="several", **options) as one:
        print("one of several", one.id)
run = wandb.init(project="p", name="first", config={"lr": 0.1})
mlflow.set_tracking_uri(SERVER or "sqlite:///mlflow.db")
mlflow.set_experiment("exp")
active = mlflow.start_run()
server = {"server_url": f"{SERVER}/?write_token=x"} if SERVER else {}
tracked = trackio.init(project="p", config={"lr": 0.1}, **server)
writer = SummaryWriter()
print("wandb", run.id, run.name, run.dir, wandb.run is run, wandb.config["lr"])
print("mlflow", mlflow.active_run().info.run_id, active.info.run_name, active.info.experiment_id)
print("trackio", tracked.name, tracked.id, "tensorboard", writer.log_dir, random.random())
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=wandb.config.lr)
wandb.watch(model, log="all", log_freq=2)
run.define_metric("loss", summary="min")
mlflow.log_params({"lr": 0.1})
mlflow.set_tag("kind", "linear")
for epoch in range(4):
    print("before", model.bias.item())  #@
    for step in range(3):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        norm = model.weight.grad.norm().item()  #@
        wandb.log({"norm": norm})  #@
        mlflow.log_metric("norm", norm, step=step)  #@
        trackio.log({"norm": norm})  #@
        writer.add_scalar("norm", norm, step)  #@
        print("inside", norm)  #@
    weights = wandb.Histogram(model.weight.detach().numpy())
    table = wandb.Table(columns=["epoch", "loss"], data=[[epoch, loss.item()]])
    run.log({"loss": loss.item(), "weights": weights, "table": table})
    mlflow.log_metrics({"loss": loss.item()}, step=epoch)
    trackio.log({"loss": loss.item(), "weights": trackio.Histogram(model.weight.detach().numpy())})
    writer.add_scalar("loss", loss.item(), epoch)
    torch.save(model.state_dict(), os.path.join(run.dir, "model.pt"))
    artifact = wandb.Artifact("model", type="model")
    artifact.add_file(os.path.join(run.dir, "model.pt"))
    run.log_artifact(artifact)
    mlflow.log_artifact(os.path.join(run.dir, "model.pt"))
    print("behind", model.weight.norm().item())  #@
run.summary["best"] = loss.item()
print("at the end", model.bias.item())  #@
mlflow.end_run()
trackio.finish()
wandb.finish()
print(*sys.argv[1:])
"""


@dataclass
class Witness:
    """A server that says no to everything, and remembers that it was asked."""

    url: str
    asked: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    asked: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(1 << 16)
            if self.raw_requestline and self.parse_request():
                asked.append(self.requestline)
                self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Witness(f"http://127.0.0.1:{server.server_address[1]}", asked)
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass(frozen=True)
class Desk(Workshop):
    """A workshop whose trackers keep everything in its own folder, or are told to use a server."""

    def run(self, *words: str, **more: str) -> Done:
        """Run a command there."""
        mine = {"OMP_NUM_THREADS": "1", "HOME": str(self.folder), "TRACKIO_DIR": str(self.folder / "trackio"), **more}
        dropped = ("PYTHONHASHSEED", "WANDB_MODE", "MLFLOW_TRACKING_URI")
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        done = subprocess.run(
            [sys.executable, *words], cwd=self.folder, env={**kept, **mine}, capture_output=True, text=True, timeout=200
        )
        return Done(done.stdout, done.stderr, done.returncode)

    def replayed(self, text: str, place: Path, *options: str, **more: str) -> Done:
        """Replay with the probes, in a fresh copy of the folder, and require that no file of it has changed."""
        shutil.copytree(self.folder, place, symlinks=True)
        desk = Desk(place)
        desk.program(text, probed=True)
        before = desk.files()
        done = desk.run("-m", "flor", "replay", *options, **more)
        assert desk.files() == before
        return done

    def files(self) -> dict[str, bytes | str]:
        """Every file and folder outside of the store, with its bytes."""
        found: dict[str, bytes | str] = {}
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder).as_posix()
            if not name.startswith(".flor"):
                found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        return found


@dataclass(frozen=True)
class Recorded:
    """A run without the probes, and what a full run with them prints."""

    desk: Desk
    stdout: str


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    desk = Desk(tmp_path_factory.mktemp("recorded"))
    (desk.folder / "elsewhere").mkdir()
    desk.program(TRACKERS, probed=False)
    done = desk.flor("record", "--overhead", "inf", "train.py")
    assert done.code == 0, done.stderr
    oracle = Desk(tmp_path_factory.mktemp("oracle"))
    (oracle.folder / "elsewhere").mkdir()
    oracle.program(TRACKERS, probed=True)
    full = oracle.run("train.py")
    assert full.code == 0, full.stderr
    return Recorded(desk, full.stdout)


PROBES = ("before ", "inside ", "behind ", "at the end ")


def probes(stdout: str) -> list[str]:
    return [line for line in stdout.splitlines() if line.startswith(PROBES)]


def test_the_values_of_a_recorded_run_are_in_its_logs(recorded: Recorded) -> None:
    rows = list(open_run(store=recorded.desk.folder / ".flor").logs("loss", "lr", "kind", "weights", "table"))
    losses = {channel: [row.value for row in rows if (row.channel, row.name) == (channel, "loss")] for channel in CALLS}
    assert len(losses["wandb"]) == 4
    assert all(values == losses["wandb"] for values in losses.values())
    assert [row.value for row in rows if row.name in ("lr", "kind")] == [0.1, "linear"]
    histograms = [row.value for row in rows if row.name == "weights"]
    assert len(histograms) == 8
    assert all(sum(each["histogram"]) == 4 for each in histograms)
    assert [row.value["data"][0][0] for row in rows if row.name == "table"] == [0, 1, 2, 3]


CALLS = ("wandb", "mlflow", "trackio", "tensorboard")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_replay_is_exact_and_reaches_no_folder_and_no_server(
    recorded: Recorded, witness: Witness, tmp_path: Path, workers: str
) -> None:
    done = recorded.desk.replayed(
        TRACKERS, tmp_path / "copy", "-j", workers, "--json", WITNESS=witness.url, WANDB_BASE_URL=witness.url
    )
    assert done.code == 0, done.stderr
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    summary = objects.pop()["summary"]
    assert summary["verdict"] == "exact"
    assert summary["restores"] or workers == "1"
    assert not any("wandb" in escape for escape in summary["escapes"])
    printed = [each["value"] for each in objects if each["channel"] == "stdout"]
    assert printed == probes(recorded.stdout)
    norms = [float(line.split()[1]) for line in printed if line.startswith("inside")]
    assert {channel: [each["value"] for each in objects if each["channel"] == channel] for channel in CALLS} == (
        dict.fromkeys(CALLS, norms)
    )
    assert witness.asked == []


READING = """
import os
import torch, mlflow

mlflow.set_tracking_uri(os.environ.get("WITNESS", "sqlite:///mlflow.db"))
model = torch.nn.Linear(2, 1)
with mlflow.start_run() as run:
    for epoch in range(3):
        with torch.no_grad():
            model.weight += 1
        mlflow.log_metric("sum", model.weight.sum().item(), step=epoch)
        print("behind", model.weight.sum().item())  #@
print(mlflow.get_run(run.info.run_id).data.metrics)
"""


@pytest.mark.long
@pytest.mark.parametrize("store", ["sqlite:///mlflow.db", "mlruns"])
def test_what_is_read_back_from_mlflow_is_what_was_logged(tmp_path: Path, witness: Witness, store: str) -> None:
    desk = Desk(tmp_path / "work")
    text = READING.replace("sqlite:///mlflow.db", store)
    desk.program(text, probed=False)
    done = desk.run("-m", "flor", "record", "--overhead", "inf", "train.py", MLFLOW_ALLOW_FILE_STORE="true")
    assert done.code == 0, done.stderr
    again = desk.replayed(text, tmp_path / "copy", "-j", "2", "--all", WITNESS=witness.url)
    assert (again.code, again.stdout.splitlines()[-1]) == (0, done.stdout.splitlines()[-1]), again.stderr
    assert witness.asked == []


@pytest.mark.long
def test_the_witness_would_see_a_request(tmp_path: Path, witness: Witness) -> None:
    desk = Desk(tmp_path)
    desk.program(READING, probed=False)
    assert desk.run("train.py", WITNESS=witness.url).code != 0
    assert witness.asked
    witness.asked.clear()


@pytest.mark.long
def test_what_only_the_server_knows_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "work")
    text = """
        import torch, wandb
        run = wandb.init(mode="offline")
        for epoch in range(2):
            run.log({"epoch": epoch})
            print("probe", epoch)  #@
        run.finish()
        try:
            wandb.Api()
        except wandb.errors.UsageError:
            pass
    """
    desk.program(text, probed=False)
    assert desk.flor("record", "train.py").code == 0
    done = desk.replayed(text, tmp_path / "copy")
    assert done.code == 1
    assert "[tracker-needed]" in done.stderr
    assert done.stdout == "probe 0\nprobe 1\n"


KILLED = """
import os, time
import torch, wandb
wandb.init(mode="offline", project="p")
torch.manual_seed(0)
weight = torch.zeros(3)
for epoch in range(5):
    for batch in range(4):
        weight += torch.rand(3)
        time.sleep(0.02)
    wandb.log({"sum": weight.sum().item()})
    print(epoch, weight.tolist(), flush=True)
    if epoch == 3 and os.path.exists("kill"):
        os.remove("kill"), os.kill(os.getpid(), 9)
"""


@pytest.mark.long
def test_a_resumed_run_begins_one_run_of_the_tracker(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "work")
    desk.program(KILLED, probed=False)
    (desk.folder / "kill").touch()
    assert desk.run("-m", "flor", "record", "--overhead", "inf", "train.py").code == -9
    before = set((desk.folder / "wandb").glob("offline-run-*"))
    done = desk.run("-m", "flor", "resume")
    assert done.code == 0 and done.stdout.startswith("3 "), done.stderr
    assert len(before) == 1 and len(set((desk.folder / "wandb").glob("offline-run-*"))) == 2
