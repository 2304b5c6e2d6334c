"""StableHLO programs as Relax programs, under TVM's name: `from_stablehlo(module)`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule


def from_stablehlo(
    stablehlo_module: Any, input_info: Sequence[tuple[Sequence[Any], str]] | None = None
) -> "IRModule":
    """Import a StableHLO program, as TVM's function of that name does.

    Args:
        stablehlo_module: text, bytecode, a portable artifact, a path or a module, as for
            `frontend.from_mlir`, which also takes the other dialects.
        input_info: shapes and dtypes of the inputs of `main` instead of those in the program.

    Raises:
        UnsupportedOpError: operations cannot be imported; names all of them with their lines.
        ModelError: the program cannot be read, or not be imported.
    """
    from relax_mlir.frontend.mlir.program import from_mlir

    shapes = {f"arg{index}": shape for index, (shape, _) in enumerate(input_info or ())}
    return from_mlir(stablehlo_module, shapes or None)
