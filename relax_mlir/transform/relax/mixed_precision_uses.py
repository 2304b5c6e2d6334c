"""Which operations compute in half precision, and which values only these read."""

from typing import TypeAlias, Union

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.elementwise import BinaryOp, CastOp, UnaryOp
from relax_mlir.dialects.relax.side_effects import captured_values
from relax_mlir.dialects.relax.tuples import field_types, is_make_tuple
from relax_mlir.lowering.walk import collect

# What is known of the uses of a tensor: 0 none, 16 narrow ones only, 32 others too. Of a tuple it
# is that of each field.
Need: TypeAlias = Union[int, list["Need"]]  # noqa: UP007 - a quoted name takes no `|`

_ALWAYS = frozenset(
    ["attention", "linear", "matmul", "outer"]
    + [f"conv{rank}d{transposed}" for rank in (1, 2, 3) for transposed in ("", "_transpose")]
)
# Those that are not elementwise.
_FOLLOW = frozenset(
    (
        "affine_grid", "arange", "broadcast_to", "concat", "dropout", "dynamic_strided_slice",
        "ewise_fma", "expand_dims", "eye", "flatten", "full", "full_like", "grid_sample",
        "group_norm", "instance_norm", "layer_norm", "layout_transform", "meshgrid", "ones",
        "permute_dims", "reshape", "resize2d", "resize3d", "rms_norm", "roi_align", "roi_pool",
        "split", "squeeze", "stack", "strided_slice", "zeros",
        *(f"{kind}_pool{n}d" for kind in ("avg", "max", "adaptive_avg") for n in (1, 2, 3)),
    )
)  # fmt: skip


def policy_of(op: ir.Operation) -> str:
    """Return `always`, `follow` or `never`: TVM's policies by operation."""
    name = op.name.removeprefix("relax.")
    if name in _ALWAYS:
        return "always"
    cls = COMPUTE_OPS.get(name)
    if name in _FOLLOW or (cls is not None and issubclass(cls, (UnaryOp, BinaryOp, CastOp))):
        return "follow"
    return "never"


def narrow_only(func: ir.Operation) -> dict[ir.Value, Need]:
    """Return what is known of the uses of each value that a dataflow block reads."""
    needs: dict[ir.Value, Need] = {}

    def note(value: ir.Value, need: Need) -> None:
        needs[value] = _merge(needs[value], need) if value in needs else need

    def visit(op: ir.Operation) -> None:
        if is_make_tuple(op):
            fields = needs.get(op.results[0], _of(op.results[0].type, 0))
            for value, need in zip(op.operands, _fields(fields), strict=True):
                note(value, need)
        elif op.name == "relax.tuple_get_item":
            wanted = _fields(_of(op.operands[0].type, 0))
            wanted[op.attributes["index"].value] = needs.get(op.results[0], 0)
            note(op.operands[0], wanted)
        else:
            bits = 16 if policy_of(op) == "always" else 32
            for value in op.operands:
                note(value, _of(value.type, bits))
            for value in captured_values(op) if len(op.regions) else ():
                note(value, _of(value.type, 32))

    blocks = collect(func, lambda op: op.name == "relax.dataflow")
    inside = set(blocks)
    for op in reversed(collect(func, lambda op: op.name != "func.func")):
        parent = op.parent.operation
        if parent in inside:
            visit(op)
        elif op not in inside:
            for value in op.operands:
                note(value, _of(value.type, 32))
    return needs


def _of(type_: ir.Type, bits: int) -> Need:
    if isinstance(type_, ir.TupleType):
        return [_of(field, bits) for field in field_types(type_)]
    return bits if T.is_tensor(type_) else 32


def _fields(need: Need) -> list[Need]:
    assert isinstance(need, list)
    return need


def _merge(one: Need, other: Need) -> Need:
    if isinstance(one, list) and isinstance(other, list):
        return [_merge(*pair) for pair in zip(one, other, strict=True)]
    assert isinstance(one, int)
    assert isinstance(other, int)
    return max(one, other)
