"""Types of packed functions' results that follow from the arguments: TVM's `derive_func`."""

from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.errors import did_you_mean

# What is known of an argument: its type, and its text where it is one.
Argument = tuple[ir.Type, str]


def _view(args: Sequence[Argument]) -> ir.Type:
    if len(args) != 4:
        raise InferError(f"a view takes a tensor, a shape, a dtype and an offset, got {len(args)}")
    (data, _), (shape, _), (_, dtype), _ = args
    attrs = {"dtype": dtype or None, "relative_byte_offset": None}
    return COMPUTE_OPS["memory_view"].result_type([data, shape], attrs)


# The second name is that of older versions.
_RULES: dict[str, Callable[[Sequence[Argument]], ir.Type]] = dict.fromkeys(
    ("tvm.relax.type.infer_view_ty", "tvm.relax.struct_info.infer_view_sinfo"), _view
)


def derived_type(name: str, args: Sequence[Argument]) -> ir.Type:
    """Return the type of a packed function's result.

    Args:
        name: of the rule, the function's `derive_func`.
        args: the arguments of the call.

    Raises:
        InferError: there is no such rule, or the arguments do not fit it.
    """
    rule = _RULES.get(name)
    if rule is None:
        raise InferError(f"there is no derive_func '{name}'{did_you_mean(name, _RULES)}")
    return rule(args)


def word_of(value: ir.Value) -> str:
    """Return the text that a value is, `""` for any other."""
    op = value.owner
    if isinstance(op, ir.Block) or op.name != "relax.call_pure_packed":
        return ""
    is_word = ir.StringAttr(op.attributes["func"]).value == "vm.builtin.word"
    return ir.StringAttr(op.attributes["static_args"][0]).value if is_word else ""
