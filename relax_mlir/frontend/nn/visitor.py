"""Replacing parts of modules, by kind."""

from typing import Any

from relax_mlir.frontend.nn import core


class Mutator:
    """Visits a module and what is in it, and puts what the methods give in its place.

    Derived classes override the methods of the kinds that they replace; these call `visit` to go on
    inside.
    """

    def visit_module(self, name: str, node: core.Module) -> Any:
        """Return what replaces a module."""
        return self.visit(name, node)

    def visit_effect(self, name: str, node: core.Effect) -> Any:
        """Return what replaces an effect."""
        return node

    def visit_param(self, name: str, node: core.Parameter) -> Any:
        """Return what replaces a parameter."""
        return node

    def visit_moduledict(self, name: str, node: core.ModuleDict) -> Any:
        """Return what replaces a dictionary of modules."""
        return self.visit(name, node)

    def visit_modulelist(self, name: str, node: core.ModuleList) -> Any:
        """Return what replaces a list of modules."""
        return self.visit(name, node)

    def visit_parameterdict(self, name: str, node: core.ParameterDict) -> Any:
        """Return what replaces a dictionary of parameters."""
        return self.visit(name, node)

    def visit_parameterlist(self, name: str, node: core.ParameterList) -> Any:
        """Return what replaces a list of parameters."""
        return self.visit(name, node)

    def visit(self, name: str, node: Any) -> Any:
        """Replace what is inside of a module or container, and return it.

        Args:
            name: its dotted name, empty for the outermost.
            node: what is visited.
        """
        if not hasattr(node, "named_children"):
            return node
        for key, child in node.named_children():
            for kind, method in _METHODS:
                if isinstance(child, kind):
                    place = f"{name}.{key}" if name else key
                    node.set_child(key, getattr(self, method)(place, child))
                    break
        return node


_METHODS = (
    (core.ParameterDict, "visit_parameterdict"), (core.ParameterList, "visit_parameterlist"),
    (core.ModuleDict, "visit_moduledict"), (core.ModuleList, "visit_modulelist"),
    (core.Module, "visit_module"), (core.Effect, "visit_effect"),
    (core.Parameter, "visit_param"),
)  # fmt: skip
