"""Libraries that write in C++, in Rust or by their own layers write to the overlay as well."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

from flor.launch.overlay import Overlay

matplotlib.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.jit is, and scripts use it


def content(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below with its time and bytes."""
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the files that a run left."""
    home = tmp_path / "home"
    (home / "runs").mkdir(parents=True)
    monkeypatch.chdir(home)
    torch.save({"epoch": torch.tensor(0)}, "model.pt")
    torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 1), torch.zeros(1, 2)), "traced.pt")
    safetensors.torch.save_file({"w": torch.zeros(3)}, "model.safetensors")
    np.save("a.npy", np.zeros(4))
    np.zeros(4).tofile("a.bin")
    return home


@pytest.fixture
def overlay(home: Path, tmp_path: Path) -> Iterator[Overlay]:
    """An overlay in force; afterwards everything outside must be as it was."""
    before = content(home)
    with Overlay(tmp_path / "overlay") as overlay:
        yield overlay
    assert content(home) == before
    assert sorted(os.listdir(home / "runs")) == []
    assert [escape for escape in overlay.escapes if escape.what == "refused"] == []


@pytest.mark.parametrize("path", ["model.pt", "new.pt", Path("model.pt"), "runs/modèle.pt"])
def test_torch_save_and_load(path: str | Path, overlay: Overlay, home: Path) -> None:
    for epoch in range(2):
        torch.save({"epoch": torch.tensor(epoch + 7)}, path)
        assert torch.load(path)["epoch"] == epoch + 7
        assert torch.load(path, mmap=True)["epoch"] == epoch + 7
    assert list(overlay.written) == [str(home / path)]


def test_torch_save_in_the_old_format_and_to_a_file(overlay: Overlay) -> None:
    torch.save({"epoch": 1}, "model.pt", _use_new_zipfile_serialization=False)
    assert torch.load("model.pt") == {"epoch": 1}
    with open("model.pt", "wb") as file:
        torch.save({"epoch": 2}, file)
    assert torch.load("model.pt") == {"epoch": 2}


def test_the_saved_bytes_are_those_of_a_plain_save(overlay: Overlay, home: Path, tmp_path: Path) -> None:
    torch.save({"w": torch.ones(3)}, "model.pt")
    replayed = Path("model.pt").read_bytes()
    overlay.remove()
    (tmp_path / "plain").mkdir()
    torch.save({"w": torch.ones(3)}, tmp_path / "plain/model.pt")
    assert replayed == (tmp_path / "plain/model.pt").read_bytes()


def test_a_removed_checkpoint_cannot_be_loaded(overlay: Overlay) -> None:
    for name, load in (("model.pt", torch.load), ("traced.pt", torch.jit.load), ("model.safetensors", _safe_load)):
        assert load(name) is not None
        os.remove(name)
        with pytest.raises((FileNotFoundError, ValueError), match=name):
            load(name)


def _safe_load(name: str) -> object:
    return safetensors.torch.load_file(name)


def test_a_traced_module(overlay: Overlay) -> None:
    traced = torch.jit.trace(torch.nn.Linear(2, 1), torch.zeros(1, 2))
    torch.jit.save(traced, "traced.pt")
    assert torch.equal(torch.jit.load("traced.pt").weight, traced.weight)
    torch.jit.trace(lambda x: x + 1, torch.zeros(1)).save("runs/function.pt")
    assert torch.jit.load("runs/function.pt")(torch.zeros(1)) == 1
    traced.save("runs/again.pt")
    assert torch.equal(torch.jit.load("runs/again.pt").weight, traced.weight)


def test_a_tensor_on_a_file(overlay: Overlay) -> None:
    mapped = torch.from_file("a.bin", shared=True, size=4, dtype=torch.float64)
    mapped.fill_(5)
    assert np.fromfile("a.bin").tolist() == [5.0] * 4


def test_safetensors(overlay: Overlay, home: Path) -> None:
    safetensors.torch.save_file({"w": torch.ones(3)}, "model.safetensors")
    safetensors.torch.save_file({"w": torch.ones(3)}, Path("runs/new.safetensors"))
    for name in ("model.safetensors", "runs/new.safetensors"):
        assert safetensors.torch.load_file(name)["w"].tolist() == [1, 1, 1]
    assert sorted(overlay.written) == [f"{home}/model.safetensors", f"{home}/runs/new.safetensors"]


def _memmap() -> object:
    mapped = np.memmap("a.bin", dtype=np.float64, mode="r+")
    mapped[:] = 3
    mapped.flush()
    return np.memmap("a.bin", dtype=np.float64, mode="r").tolist()


def _npz() -> object:
    np.savez("b.npz", x=np.full(4, 3.0))
    with np.load("b.npz") as held:
        return held["x"].tolist()


def _tofile() -> object:
    np.full(4, 3.0).tofile("a.bin")
    return np.fromfile("a.bin").tolist()


def _save() -> object:
    np.save("a.npy", np.full(4, 3.0))
    return np.load("a.npy").tolist()


def _text() -> object:
    np.savetxt("a.txt", np.full(4, 3.0))
    return np.loadtxt("a.txt").tolist()


def _open_memmap() -> object:
    mapped = np.lib.format.open_memmap("a.npy", mode="w+", dtype=np.float64, shape=(4,))
    mapped[:] = 3
    mapped.flush()
    return np.load("a.npy", mmap_mode="r").tolist()


def _frame() -> object:
    pd.DataFrame({"x": [3.0] * 4}).to_csv("runs/a.csv", index=False)
    return pd.read_csv("runs/a.csv")["x"].tolist()


@pytest.mark.parametrize("step", [_memmap, _npz, _tofile, _save, _text, _open_memmap, _frame])
def test_numpy_and_pandas(step: Callable[[], object], overlay: Overlay) -> None:
    assert step() == [3.0] * 4
    assert len(overlay.written) == 1


def test_a_figure(overlay: Overlay, home: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    axes.plot([1, 2])
    figure.savefig("runs/loss.png")
    figure.savefig("runs/loss.pdf")
    pyplot.close(figure)
    assert {f"{home}/runs/loss.png", f"{home}/runs/loss.pdf"} <= set(overlay.written)


def test_tensorboard_events(overlay: Overlay, home: Path) -> None:
    writer = SummaryWriter("runs/exp")
    writer.add_scalar("loss", 1.0, 0)
    writer.close()
    assert len(os.listdir("runs/exp")) == 1
    assert all(path.startswith(f"{home}/runs/exp/events") for path in overlay.written)


def test_a_profile(overlay: Overlay, home: Path) -> None:
    with torch.autograd.profiler.profile() as profile:
        torch.zeros(2).add(1)
    profile.export_chrome_trace("runs/trace.json")
    assert os.path.getsize("runs/trace.json") > 0
    assert list(overlay.written) == [f"{home}/runs/trace.json"]


class Written(torch.utils.data.Dataset[int]):
    """A dataset that caches what it computed in files."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        torch.save(torch.full((3,), index), f"runs/{index}.pt")
        return torch.load(f"runs/{index}.pt")


def test_workers_of_a_data_loader(overlay: Overlay) -> None:
    batches = list(DataLoader(Written(), num_workers=1, batch_size=2))
    assert [batch[:, 0].tolist() for batch in batches] == [[0, 1], [2, 3]]
    assert len(overlay.written) == 4


def test_torch_is_as_it_was_afterwards(home: Path, tmp_path: Path) -> None:
    natives = torch.save, torch.serialization.save, torch._C.PyTorchFileWriter, safetensors.torch.serialize_file
    with Overlay(tmp_path / "overlay") as overlay:
        overlay.patch_torch(torch)
        assert torch.save is torch.serialization.save
        assert torch.save is not natives[0]
    now = torch.save, torch.serialization.save, torch._C.PyTorchFileWriter, safetensors.torch.serialize_file
    assert now == natives
