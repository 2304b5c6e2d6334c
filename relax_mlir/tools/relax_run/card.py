"""`--info`: a model card of an executable: inputs, symbols, kernels, memory."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from relax_mlir.runtime.bytecode.instructions import Opcode
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.vm.signature import Parameter, parameters
from relax_mlir.text_table import text_table

# Functions of the library that serves what has no kernel.
_LIBRARY = "vm.op."
_SHAPE = re.compile(r"\(\(([^)]*)\)")


def card(executable: Executable) -> str:
    """Return what an executable is, as text."""
    private = set(executable.metadata.get("private", ()))
    functions = [func for func in executable.global_funcs if func.name not in private]
    inputs = {func.name: parameters(executable, func) for func in functions}
    symbols = sorted({s for params in inputs.values() for p in params for s in _symbols(p)})
    weights = [each for each in executable.constants if isinstance(each, np.ndarray)]
    facts = [
        ("target", str(executable.metadata.get("target", "unknown"))),
        ("symbols", ", ".join(symbols) or "none"),
        ("constants", f"{len(weights)} tensors, {sum(each.nbytes for each in weights)} bytes"),
        ("native code", f"{sum(len(each.data) for each in executable.native)} bytes"),
    ]
    lines = [f"{name}({', '.join(map(declared, params))})" for name, params in inputs.items()]
    lines += ["", text_table(facts)]
    lines += _kernels(executable) + _memory(executable)
    return "\n".join(lines)


def declared(param: Parameter) -> str:
    """Return a parameter with its type, where that is known."""
    return f"{param.name}: {param.declared}" if param.declared else param.name


def _symbols(param: Parameter) -> Iterable[str]:
    shape = _SHAPE.search(param.declared)
    return re.findall(r"[A-Za-z_]\w*", shape.group(1)) if shape else ()


def _kernels(executable: Executable) -> list[str]:
    """Return a table of the kernels and library functions that the bytecode calls."""
    calls: Counter[str] = Counter()
    for func in executable.global_funcs:
        for instr in executable.instructions(func):
            if instr.op is Opcode.CALL:
                calls[executable.func_names[instr.func_idx]] += 1
    known: dict[str, Any] = executable.metadata.get("kernels", {})
    rows = [("kernel", "calls", "operations", "bytes")]
    for name, count in calls.most_common():
        if name.startswith(_LIBRARY):
            rows.append((f"{name} (library)", str(count), "", ""))
        elif name in known and not name.startswith("shape_func"):
            facts = known[name]
            work, moved = str(facts.get("flops", "")), str(facts.get("bytes", ""))
            rows.append((name, str(count), work, moved))
    return ["", text_table(rows, right=(1,))] if len(rows) > 1 else []


def _memory(executable: Executable) -> list[str]:
    rows = [("memory of", "planned", "without planning", "at one time")]
    for name, (planned, unplanned, needed) in executable.metadata.get("memory", {}).items():
        rows.append((name, str(planned), str(unplanned), str(needed)))
    return ["", text_table(rows)] if len(rows) > 1 else []
