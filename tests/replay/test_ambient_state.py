"""State that no variable of the script holds: attributes of libraries, settings of the process."""

from __future__ import annotations

import pytest

from tests.replay.conftest import Workshop

ATTRIBUTES = """
import builtins, collections, json, random, sys, textwrap, time
import json.decoder
import numpy as np
from collections import ChainMap as Ordered

np.counter = 0
builtins.STEP = 0
Encoder = json.JSONEncoder
Encoder.calls = []
sys.temporary = "there"
table = Ordered({"a": 1})
total = 0.0

def shout(text, plain=textwrap.fill):
    return plain(text).upper()

random.seed(1)
for epoch in range(5):
    for batch in range(4):
        np.counter += 1
        builtins.STEP = STEP + 2
        json.JSONEncoder.calls.append(batch)
        setattr(json.decoder, "level", (epoch, batch))
        vars(collections)["note"] = f"{epoch}/{batch}"
        type(table).seen = random.random()
        if epoch == 1 and batch == 2:
            del sys.temporary
            textwrap.fill = shout
        total += np.counter * random.random()
        time.sleep(0.02)
    print(f"epoch {epoch} {total:.9f}")
    print("probe", epoch, np.counter, STEP, Encoder.calls, json.decoder.level, collections.note, Ordered.seen)  #@
    print("probe", epoch, hasattr(sys, "temporary"), textwrap.fill("word"))  #@
"""

SETTINGS = """
import decimal, gc, locale, os, random, socket, sys, time, warnings
import numpy as np
import torch

random.seed(1)
os.environ["FLOR_PHASE"] = "begin"
os.environ["FLOR_GONE"] = "there"
total = decimal.Decimal(1)
for epoch in range(5):
    for batch in range(4):
        total = total / 3 + decimal.Decimal(random.random())
        if epoch == 1 and batch == 2:
            del os.environ["FLOR_GONE"]
            os.environ["FLOR_PHASE"] = "later"
            os.environ["FLOR_NEW"] = "new"
            os.umask(0o027)
            np.set_printoptions(formatter={"float": lambda number: f"<{number:.1f}>"})
            np.seterrcall(lambda kind, flag: print("numpy", kind))
            warnings.filterwarnings("error", category=DeprecationWarning, message="old")
            torch.backends.mkldnn.enabled = False
            torch.backends.cudnn.benchmark = True
            torch.set_num_threads(2)
            torch.set_default_device("meta")
            decimal.getcontext().traps[decimal.Inexact] = False
            decimal.getcontext().flags[decimal.Clamped] = True
            locale.setlocale(locale.LC_ALL, "C.UTF-8")
            gc.set_threshold(901, 11, 12)
            socket.setdefaulttimeout(17.5)
            sys.setswitchinterval(0.004)
        time.sleep(0.02)
    print(f"epoch {epoch} {total:.9f}")
    print("probe", epoch, os.environ["FLOR_PHASE"], os.environ.get("FLOR_GONE"), os.environ.get("FLOR_NEW"))  #@
    print("probe", epoch, np.array([1.0, 2.0]), np.geterrcall() is None, [str(f[1]) for f in warnings.filters])  #@
    print("probe", epoch, torch.backends.mkldnn.enabled, torch.backends.cudnn.benchmark, torch.get_num_threads())  #@
    print("probe", epoch, torch.zeros(1).device, sorted(map(str, decimal.getcontext().flags.items())))  #@
    print("probe", epoch, locale.setlocale(locale.LC_ALL), gc.get_threshold(), socket.getdefaulttimeout())  #@
    print("probe", epoch, round(sys.getswitchinterval(), 6))  #@
"""


GRAPHS = """
import time
import torch

torch.manual_seed(1)
weight, buffer = torch.randn(4, requires_grad=True), torch.zeros(4)
for epoch in range(4):
    for batch in range(4):
        loss = (weight * batch).sin().sum()
        buffer += loss.detach()
        time.sleep(0.02)
    print(f"epoch {epoch} {loss.item():.6f}")
    print("probe", epoch, loss.grad_fn.name(), loss.grad_fn.next_functions[0][0].name(), buffer._version)  #@
"""


@pytest.mark.parametrize("program", [ATTRIBUTES, SETTINGS, GRAPHS], ids=["attributes", "settings", "graphs"])
def test_what_no_variable_holds_is_as_in_a_full_run(workshop: Workshop, program: str) -> None:
    done = workshop.judged(program)
    assert "exact" in done.stderr, done.stderr
