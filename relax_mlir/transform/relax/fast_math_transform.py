"""The pass `fast-math-transform`: kernels of elementary functions by topi's fast ones."""

from relax_mlir import topi
from relax_mlir.dialects.bindings import ir
from relax_mlir.transform.relax.custom_legalization import customize


def fast_math_transform(module: ir.Operation) -> None:
    """Call prim funcs of `topi.fast_exp`, `fast_erf`, `fast_tanh` and `nn.fast_softmax`.

    Those are what a build makes of `exp`, `erf`, `tanh` and `softmax` anyway: vectors of
    polynomials, of the accuracy that docs/numerics.md says. So a program gives the same numbers as
    without the pass; it lowers these operations before others, as TVM's does.

    Raises:
        ExprError: the shape of a tensor is not known symbolically.
    """
    elementwise = {"exp": topi.fast_exp, "erf": topi.fast_erf, "tanh": topi.fast_tanh}
    customize(
        module,
        {
            "relax.nn.softmax": lambda builder, call: builder.call_te(
                topi.nn.fast_softmax, call.args[0], call.attrs["axis"]
            ),
            **{
                f"relax.{name}": lambda builder, call, function=function: builder.call_te(
                    function, call.args[0]
                )
                for name, function in elementwise.items()
            },
        },
    )
