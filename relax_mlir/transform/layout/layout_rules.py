"""How operations of one tensor read it with its axes in another order, for ConvertLayout.

Axis `i` of the tensor in the other order is axis `order[i]` of the tensor as the program has it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr

Order = tuple[int, ...]
# Given the attributes and the order, return the attributes then and the order of the result's axes.
Rule = Callable[[dict[str, Any], Order], tuple[dict[str, Any], Order] | None]


def new_axis(axis: int, order: Order) -> int:
    """Return where an axis of the program is in the other order."""
    return order.index(axis % len(order))


def _axis(name: str) -> Rule:
    def rule(attrs: dict[str, Any], order: Order) -> tuple[dict[str, Any], Order] | None:
        if attrs[name] is None:
            return None
        return {**attrs, name: new_axis(attrs[name], order)}, order

    return rule


def _axes(*names: str) -> Rule:
    def rule(attrs: dict[str, Any], order: Order) -> tuple[dict[str, Any], Order]:
        result = dict(attrs)
        for name in names:
            value = attrs[name]
            if isinstance(value, int):
                result[name] = new_axis(value, order)
            else:
                result[name] = [new_axis(axis, order) for axis in value]
        return result, order

    return rule


def _layout(attrs: dict[str, Any], order: Order) -> tuple[dict[str, Any], Order] | None:
    if attrs.get("out_layout") not in (None, "", attrs["layout"]) or any(attrs.get("roi") or ()):
        return None
    layout = "".join(attrs["layout"][axis] for axis in order)
    changed = {"layout": layout, **({"out_layout": ""} if "out_layout" in attrs else {})}
    return {**attrs, **changed}, order


def _expand_dims(attrs: dict[str, Any], order: Order) -> tuple[dict[str, Any], Order]:
    rank = len(order) + len(attrs["axis"])
    added = {axis % rank for axis in attrs["axis"]}
    kept = [axis for axis in range(rank) if axis not in added]
    moved = iter([kept[axis] for axis in order])
    return attrs, tuple(axis if axis in added else next(moved) for axis in range(rank))


def _tile(attrs: dict[str, Any], order: Order) -> tuple[dict[str, Any], Order]:
    repeats = list(attrs["repeats"])
    whole = [1] * (len(order) - len(repeats)) + repeats
    added = len(whole) - len(order)
    moved = [whole[added + axis] for axis in order]
    result = (*range(added), *(added + axis for axis in order))
    return {**attrs, "repeats": whole[:added] + moved}, result


def squeeze(
    attrs: dict[str, Any], order: Order, dims: Sequence[SymExpr] | None
) -> tuple[dict[str, Any], Order] | None:
    """Return what `squeeze` is; without axes it takes out those that are known to be of size 1."""
    rank = len(order)
    axes = attrs["axis"]
    if axes is None:
        if dims is None or not all(dim.is_const for dim in dims):
            return None
        axes = [axis for axis, dim in enumerate(dims) if dim.value == 1]
    gone = {axis % rank for axis in axes}
    kept = [axis for axis in order if axis not in gone]
    ranks = sorted(kept)
    attrs = {**attrs, "axis": sorted(order.index(axis) for axis in gone)}
    return attrs, tuple(ranks.index(axis) for axis in kept)


ONE_TENSOR: dict[str, Rule] = {
    **{f"adaptive_avg_pool{rank}d": _layout for rank in (1, 2, 3)},
    "expand_dims": _expand_dims,
    "flip": _axis("axis"),
    "group_norm": _axes("channel_axis", "axes"),
    "instance_norm": _axes("channel_axis", "axes"),
    "prelu": _axis("axis"),
    "repeat": _axis("axis"),
    "resize2d": _layout,
    "strided_slice": _axes("axes"),
    "tile": _tile,
}
# Operations whose operands are all of one order, and the attribute that names an axis.
SAME_ORDER: dict[str, str] = {
    "concat": "axis",
    "ewise_fma": "",
    "gather_elements": "axis",
    "scatter_elements": "axis",
    "where": "",
}


def permuted_type(type_: ir.Type, order: Order) -> ir.Type:
    """Return the type of a tensor with its axes in another order."""
    dims = T.tensor_dims(type_)
    moved = None if dims is None else [dims[axis] for axis in order]
    return T.tensor_type(moved, T.tensor_dtype(type_), len(order))
