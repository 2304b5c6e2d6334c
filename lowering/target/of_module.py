"""The target that a pass lowers a module for."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.target import Target

# A module's own target, as text; a build for the default target is for it.
ATTRIBUTE = "tir.target"


def target_of(module: ir.Operation, given: str | Target = "") -> Target:
    """Return the target given, else the one a module carries, else the default one.

    Args:
        module: a `builtin.module`.
        given: the option of a pass, or a target; "" where there is none.

    Raises:
        PipelineError: the text names what there is not.
    """
    if given:
        return Target(given)
    if ATTRIBUTE in module.attributes:
        return Target(ir.StringAttr(module.attributes[ATTRIBUTE]).value)
    return Target.default()


def annotate_target(module: ir.Operation, target: Target) -> None:
    """Let a module that carries a target carry this one."""
    if ATTRIBUTE in module.attributes:
        module.attributes[ATTRIBUTE] = ir.StringAttr.get(str(target), module.context)
