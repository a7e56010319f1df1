"""An order for a worker, written and read as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from flor.model.checkpoints import execution_from_json
from flor.model.plan import Order, Plan, Segment


def write_order(order: Order, path: Path) -> None:
    """Write it for one worker."""
    values = asdict(order)
    main = order.plan.main
    values["plan"]["main"] = main and {"parent": main.parent, "loop": main.loop, "occurrence": main.occurrence}
    values["plan"]["executes"] = sorted(order.plan.executes)
    path.write_text(json.dumps(values))
    path.chmod(0o600)


def read_order(path: Path) -> Order:
    """What `write_order` wrote."""
    values = json.loads(path.read_text())
    plan = values["plan"]
    plan["main"] = plan["main"] and execution_from_json(plan["main"])
    plan["executes"] = frozenset(plan["executes"])
    plan["segments"] = tuple(Segment(**segment) for segment in plan["segments"])
    plan["reasons"] = tuple(plan["reasons"])
    values["plan"] = Plan(**plan)
    values["segment"] = Segment(**values["segment"])
    for name in ("argv", "never_skip", "without", "writes", "shown", "volatile"):
        values[name] = tuple(values[name])
    values["new_names"] = tuple((scope, name) for scope, name in values["new_names"])
    return Order(**values)
