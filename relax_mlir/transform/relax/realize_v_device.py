"""The pass `realize-v-device`: hints about devices are taken out."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.relax.dpl import is_op, rewrite_in_place, wildcard

_X = wildcard()
_HINT = is_op("relax.hint_on_device")(_X)


def realize_v_device(module: ir.Operation) -> None:
    """Replace `hint_on_device(x)` by `x`.

    Where programs run is no part of their types, as they run on CPUs: a hint of another device is
    an error where it is written. `to_vdevice` stays; it gives its operand.
    """
    for func in functions_to_optimize(module):
        rewrite_in_place(_HINT, lambda expr, matches: matches[_X], module, func)
