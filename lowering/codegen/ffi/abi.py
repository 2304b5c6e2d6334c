"""Exported functions: each prim func gets a C symbol that checks its arguments and calls it.

`__tvm_ffi_<name>(self, args, count, result) -> i32` is the calling convention of apache-tvm-ffi:
zero, or -1 with a Python exception set. Nothing of a buffer is touched before
all checks have passed.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.codegen.ffi.errors import fail_status
from relax_mlir.lowering.codegen.ffi.linked_checks import DECLARATIONS
from relax_mlir.lowering.codegen.ffi.packed import define_packed
from relax_mlir.lowering.codegen.ffi.signature import (
    KERNEL_PREFIX,
    BufferParam,
    Signature,
)
from relax_mlir.lowering.codegen.ffi.table import (
    Strings,
)
from relax_mlir.lowering.codegen.ffi.wrapper import REALIGN, Wrapper, kernel_types, quoted
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.annotate_invariant_loads import INVARIANT_LOADS
from relax_mlir.lowering.tir_to_llvm.check_allocs import ASSERTS


def emit_wrappers(module: ir.Operation, signatures: list[Signature], target: Target) -> None:
    """Add the exported functions to a module in the LLVM dialect.

    Raises:
        CompileError: a symbol of a shape that no argument gives a value.
    """
    strings = Strings()
    fallible = _fallible(module)
    exported = [signature for signature in signatures if not signature.internal]
    wrappers = [
        Wrapper(signature, strings, number, signature.kernel in fallible).text(target)
        for number, signature in enumerate(exported)
    ]
    raising = fail_status(strings, _asserts(module))
    shared = [DECLARATIONS, raising, *define_packed(module, strings)]
    parts = [*shared, *wrappers, strings.definition()]
    by_name = {signature.kernel: signature for signature in signatures}
    block = module.regions[0].blocks[0]
    with module.location:
        if not exported:
            return
        # The kernels' declarations let the text parse by itself; the real ones are in the module.
        parsed = ir.Module.parse(
            "\n".join([*parts, *sorted({_declaration(s, s.kernel in fallible) for s in exported})])
        )
        first = block.operations[0].operation
        for op in list(parsed.body.operations):
            name = _symbol(op)
            if name not in by_name and not _is_there(module, op.operation, name):
                op.operation.move_before(first)


def describe_kernels(module: ir.Operation, signatures: list[Signature], target: Target) -> None:
    """Tell LLVM what callers of a module's functions ensure."""
    by_name = {signature.kernel: signature for signature in signatures}
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "llvm.func" and _symbol(op) in by_name:
            _describe(op.operation, by_name[_symbol(op)], target)


def _asserts(module: ir.Operation) -> list[tuple[str, str]]:
    """Return the kernel and the message of each assertion, as `check-allocs` numbered them."""
    if ASSERTS not in module.attributes:
        return []
    pairs = [
        [ir.StringAttr(text).value for text in ir.ArrayAttr(pair)]
        for pair in ir.ArrayAttr(module.attributes[ASSERTS])
    ]
    del module.attributes[ASSERTS]
    return [(name.removeprefix(KERNEL_PREFIX), message) for name, message in pairs]


def _symbol(op: ir.OpView) -> str:
    return ir.StringAttr(op.operation.attributes["sym_name"]).value


def _is_there(module: ir.Operation, op: ir.Operation, name: str) -> bool:
    # A program may itself declare what the helpers declare; then the one declaration serves both.
    is_declaration = op.name == "llvm.func" and not op.regions[0].blocks
    return is_declaration and name in ir.SymbolTable(module)


def _fallible(module: ir.Operation) -> set[str]:
    """Return the functions that `check-allocs` gave a status to return."""
    return {
        _symbol(op)
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "llvm.func"
        and str(op.operation.attributes["function_type"]).startswith("!llvm.func<i32 ")
    }


def _declaration(signature: Signature, fallible: bool) -> str:
    result = " -> i32" if fallible else ""
    types = ", ".join(kernel_types(signature))
    return f"llvm.func @{quoted(signature.kernel)}({types}){result}"


def _describe(function: ir.Operation, signature: Signature, target: Target) -> None:
    attrs = []
    for param in signature.passed:
        if isinstance(param, BufferParam):
            promises = (
                {} if signature.inplace else {"llvm.noalias": ir.UnitAttr.get(function.context)}
            )
            if not param.written:
                promises["llvm.readonly"] = ir.UnitAttr.get(function.context)
            # the second pointer is the one that is accessed; the first is only ever freed
            attrs += [{}, promises] + [{}] * (1 + 2 * len(param.dims))
        else:
            attrs.append({})
    with function.location:
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attrs])
        width = str(target.vector_bits)
        function.attributes["prefer_vector_width"] = ir.StringAttr.get(width)
        # Inlined into its only caller, a kernel would be optimised a second time there.
        names = [REALIGN, "noinline"]
        if INVARIANT_LOADS in function.attributes:
            del function.attributes[INVARIANT_LOADS]
            names.append(INVARIANT_LOADS)
        function.attributes["passthrough"] = ir.ArrayAttr.get([*map(ir.StringAttr.get, names)])
