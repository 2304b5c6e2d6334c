"""The pass `attach-global-symbol`: every function can be called from outside."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError
from relax_mlir.lowering.walk import collect

# Of a module: what its prim funcs are called begins with this.
_PREFIX = "relax.system_lib_prefix"
_MARKERS = ("relax.function", "tir.prim_func")


def attach_global_symbol(module: ir.Operation) -> None:
    """Make private functions public, under their names.

    The module's attribute `system_lib_prefix` goes in front of the names of prim funcs.

    Raises:
        PassError: a name with the prefix is taken.
    """
    functions = [
        view.operation
        for view in module.regions[0].blocks[0].operations
        if any(marker in view.operation.attributes for marker in _MARKERS)
    ]
    prefix = module.attributes.get(_PREFIX)
    start = "" if prefix is None else ir.StringAttr(prefix).value
    names: dict[str, str] = {}
    taken = {ir.StringAttr(func.attributes["sym_name"]).value for func in functions}
    for func in functions:
        if "sym_visibility" in func.attributes:
            del func.attributes["sym_visibility"]
        name = ir.StringAttr(func.attributes["sym_name"]).value
        if start and "tir.prim_func" in func.attributes and not name.startswith(start):
            new = start + name
            if new in taken:
                raise PassError("AttachGlobalSymbol", f"the name '{new}' is taken")
            names[name] = new
            func.attributes["sym_name"] = ir.StringAttr.get(new)
    if not names:
        return
    for op in collect(module, lambda op: len(op.attributes) > 0):
        for key, attribute in op.attributes.items():
            if isinstance(attribute, ir.FlatSymbolRefAttr) and attribute.value in names:
                op.attributes[key] = ir.FlatSymbolRefAttr.get(names[attribute.value])
