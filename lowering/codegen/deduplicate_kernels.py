"""Kernels that differ only in name are compiled once."""

import re
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.codegen.ffi.signature import BufferParam, Signature
from relax_mlir.lowering.walk import named

# The symbols of a shape that a buffer was declared with, in quotes.
_SYMBOLS = re.compile(r"(?<=#relax\.dims<\[)[^]]*")


def deduplicate_kernels(module: ir.Operation, signatures: list[Signature]) -> list[Signature]:
    """Erase kernels that equal an earlier one; return the signatures, theirs with that kernel.

    Args:
        module: the kernels, after `take_signatures`.
        signatures: how they are called.
    """
    by_kernel = {signature.kernel: signature for signature in signatures}
    alike: dict[tuple[object, ...], list[ir.Operation]] = {}
    for view in module.regions[0].blocks[0].operations:
        op = view.operation
        signature = by_kernel.get(_name(op))
        if signature is not None and op.regions[0].blocks:
            # Printing a kernel takes long; most differ in their types.
            alike.setdefault((op.attributes["function_type"], signature.inplace), []).append(op)
    if all(len(kernels) == 1 for kernels in alike.values()):
        return signatures
    calls: dict[str, list[tuple[str, ir.Operation]]] = {}
    for op in (op for kernels in alike.values() for op in kernels):
        for call in named(op, ("func.call",)):
            callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
            calls.setdefault(callee, []).append((_name(op), call))
    first: dict[tuple[object, ...], str] = {}
    shared: dict[str, str] = {}
    for op in (op for kernels in alike.values() if len(kernels) > 1 for op in kernels):
        name = _name(op)
        kept = first.setdefault(_key(op, name, by_kernel[name]), name)
        if kept != name:
            shared[name] = kept
            op.erase()
            # At once: functions may be equal as what they call is one.
            for caller, call in calls.pop(name, ()):
                if caller not in shared:
                    call.attributes["callee"] = ir.FlatSymbolRefAttr.get(kept, module.context)
                    calls.setdefault(kept, []).append((caller, call))
    return [replace(s, shared=shared[s.kernel]) if s.kernel in shared else s for s in signatures]


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _key(op: ir.Operation, name: str, signature: Signature) -> tuple[object, ...]:
    """Return what makes a kernel: its body, and what it may take for granted of its arguments."""
    body = op.get_asm(assume_verified=True, enable_debug_info=False, use_local_scope=True)
    _, _, rest = body.partition(f"@{name}(")
    # What symbols are called makes no difference, only which of them are the same.
    order: dict[str, str] = {}
    rest = _SYMBOLS.sub(
        lambda match: ", ".join(
            order.setdefault(symbol, str(len(order))) for symbol in match[0].split(", ")
        ),
        rest,
    )
    # A name that has to be quoted is left in, so such a kernel equals no other; nor does one that
    # asserts, which says its name when it fails.
    rest = "" if "tir.assert" in rest else rest
    written = tuple(isinstance(p, BufferParam) and p.written for p in signature.passed)
    return rest or body, signature.inplace, written
