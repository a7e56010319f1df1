"""Sparse tensors: indices and values as tensors of their own, made anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flor.state import loaded
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot


def _parts(tensor: Any) -> list[Any]:
    torch = loaded.torch()
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout is torch.sparse_csr:
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    raise Refused(f"tensors of layout {tensor.layout} are not kept")


class SparseHandler(Handler):
    """COO and CSR tensors, such as the gradients of a sparse embedding."""

    kind = "sparse"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The parts and the shape."""
        if obj.grad_fn is not None or obj.requires_grad:
            raise Refused("sparse tensors that require grad are not kept")
        meta = {"layout": str(obj.layout), "shape": list(obj.size()), "coalesced": None}
        if obj.layout is loaded.torch().sparse_coo:
            meta["coalesced"] = obj.is_coalesced()
        return Node(self.kind, type_name(obj), meta, [walk.slot(part) for part in _parts(obj)])

    def accepts(self, node: Node, live: Any) -> bool:
        """A sparse tensor is made anew: its parts may have another length."""
        return False

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """None: see accepts."""
        return iter(())

    def needs(self, node: Node) -> Iterable[Slot]:
        """The parts."""
        return node.items

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """A new tensor over the restored parts."""
        assert live is MISSING
        torch, parts = loaded.torch(), [load(slot) for slot in node.items]
        if node.meta["coalesced"] is None:
            return torch.sparse_csr_tensor(*parts, size=node.meta["shape"], check_invariants=False)
        made = torch.sparse_coo_tensor(*parts, size=node.meta["shape"], check_invariants=False)
        return made._coalesced_(node.meta["coalesced"])

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Nothing is left to fill; an index outside of the shape would have torch read beside its memory."""
        torch, parts = loaded.torch(), _parts(obj)
        coo = node.meta["coalesced"] is not None
        check = torch._validate_sparse_coo_tensor_args if coo else torch._validate_sparse_csr_tensor_args
        check(*parts, obj.size())
