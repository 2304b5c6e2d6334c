"""Load dialects made from Python into contexts: from bytecode of IRDL after the first time."""

import io
from typing import Any

from relax_mlir.dialects.bindings import ext, ir, submodule

# What a dialect is loaded from, and its operations: writing that anew takes four times as long.
_KNOWN: dict[type[Any], tuple[bytes, list[type[Any]]]] = {}


def load_definition(dialect: type[Any]) -> None:
    """Load a dialect into the current context, which does not have it.

    Args:
        dialect: a class of the bindings' `ext.Dialect`.
    """
    if dialect not in _KNOWN:
        dialect.load()
        buffer = io.BytesIO()
        dialect._mlir_module.operation.write_bytecode(buffer)
        _KNOWN[dialect] = buffer.getvalue(), list(dialect.operations)
        # It would keep its context for ever.
        dialect._mlir_module = None
        return
    bytecode, operations = _KNOWN[dialect]
    with ir.Location.unknown():
        submodule("dialects.irdl").load_dialects(ir.Module.parse(bytecode))
    for operation in operations:
        operation._attach_traits()
    # Classes of operations are registered once for the process, those of types for each context.
    register = ext._cext.register_type_caster
    for type_ in dialect.types:
        register(ir.DynamicType.lookup_typeid(type_.type_name), replace=True)(type_)
    for attribute in dialect.attributes:
        register(ir.DynamicAttr.lookup_typeid(attribute.attr_name), replace=True)(attribute)
