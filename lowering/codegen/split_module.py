"""Large kernels in modules of their own: each is lowered, optimised, emitted and cached alone.

LLVM compiles one while the next is lowered. A module depends on its kernel alone, so that equal
kernels of two programs are the same LLVM IR, and every machine makes the same objects.
"""

from collections.abc import Container

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import by_name, function_name

# Operations from which on a module is cut, and a kernel is a part.
_MIN_MODULE = 1 << 11
_MIN_PART = 1 << 7
# What names a symbol, and by which attribute; other names than these keep a kernel where it is.
_REFERENCES = {"func.call": "callee", "memref.get_global": "name"}
_OTHER_REFERENCES = ("func.constant", "llvm.call", "llvm.mlir.addressof")
_LINKAGE = "llvm.linkage"
_HIDDEN = 1


def take_large_kernels(module: ir.Operation) -> dict[str, tuple[ir.Module, set[str]]]:
    """Move large kernels out of a module, which declares them instead.

    A kernel stays that calls a function of the module or shares a variable with one.

    Args:
        module: kernels that nothing will change together: `check-allocs` has run.

    Returns:
        A module of each, and the names of the operations in it, by its name, the largest first.
    """
    block = module.regions[0].blocks[0]
    symbols = {function_name(view.operation): view.operation for view in block.operations}
    inside = {name: by_name(op) for name, op in symbols.items() if _is_defined(op)}
    sizes = {name: sum(map(len, ops.values())) for name, ops in inside.items()}
    parts: dict[str, tuple[ir.Module, set[str]]] = {}
    if sum(sizes.values()) < _MIN_MODULE:
        return parts
    for name in sorted(sizes, key=lambda each: -sizes[each]):
        ops = inside[name]
        needed = {
            ir.FlatSymbolRefAttr(op.attributes[attribute]).value
            for kind, attribute in _REFERENCES.items()
            for op in ops.get(kind, ())
        }
        independent = not any(_is_defined(symbols[each]) for each in needed)
        if (
            sizes[name] < _MIN_PART
            or not independent
            or not ops.keys().isdisjoint(_OTHER_REFERENCES)
        ):
            continue
        kernel = symbols[name]
        with kernel.location:
            part = ir.Module.create()
            _declare(kernel)
        for each in sorted(needed):
            part.body.append(symbols[each].clone())
        part.body.append(kernel.detach_from_parent())
        parts[name] = part, {*ops}
    return parts


def publish(module: ir.Operation, names: Container[str]) -> None:
    """Let the other objects of a library, and nobody else, see functions of the LLVM dialect."""
    for view in module.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == "llvm.func" and function_name(op) in names:
            op.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<external>", op.context)
            hidden = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, op.context), _HIDDEN)
            op.attributes["visibility_"] = hidden


def _is_defined(op: ir.Operation) -> bool:
    """Whether an operation is a function with a body, or a variable, which is there once."""
    if op.name == "memref.global":
        return "constant" not in op.attributes
    return bool(op.regions) and bool(op.regions[0].blocks)


def _declare(kernel: ir.Operation) -> None:
    with ir.InsertionPoint(kernel):
        made = ir.Operation.create("func.func", attributes=dict(kernel.attributes), regions=1)
    made.attributes["sym_visibility"] = ir.StringAttr.get("private")
    if _LINKAGE in made.attributes:
        del made.attributes[_LINKAGE]
