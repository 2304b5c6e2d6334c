"""Which passes run before a pass because it requires them: in order, once each, without cycles."""

from typing import TYPE_CHECKING

from relax_mlir.errors import PipelineError
from relax_mlir.transform import registry

if TYPE_CHECKING:
    from relax_mlir.transform.passes import Pass


def required_passes(wanted: "Pass", *, transitive: bool) -> "list[Pass]":
    """Return what to run before a pass.

    Args:
        wanted: the pass; it is not in the result.
        transitive: also what the required passes require, and each pass once; otherwise TVM's rule,
            the names in `wanted.info.required` as they stand (P14).

    Raises:
        PipelineError: a required pass does not exist, or passes require each other.
    """
    if not wanted.info.required:
        return []
    if not transitive:
        return [registry.get_pass(name) for name in wanted.info.required]
    found: dict[str, Pass] = {}
    path = [wanted.info.name]

    def visit(names: tuple[str, ...]) -> None:
        for name in names:
            each = registry.get_pass(name)
            own_name = each.info.name
            if own_name in path:
                circle = " -> ".join([*path[path.index(own_name) :], own_name])
                raise PipelineError(f"passes require each other: {circle}")
            if own_name in found:
                continue
            path.append(own_name)
            visit(each.info.required)
            path.pop()
            found[own_name] = each

    visit(wanted.info.required)
    return list(found.values())
