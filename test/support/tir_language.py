"""Programs in the TIR language, read, printed, read back and run."""

import textwrap
from typing import Any

from relax_mlir import ir, relax
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source, script

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n"


def source(name: str, signature: str, body: str) -> str:
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"@T.prim_func\ndef {name}({signature}):\n{text}\n"


def read(text: str) -> IRModule:
    """Read a module whose printed form reads back as the same."""
    module = from_source(HEAD + text)
    printed = script(module)
    back = from_source(printed)
    ir.assert_structural_equal(module, back)
    assert script(back) == printed
    return module


def run(signature: str, body: str, *args: Any) -> None:
    relax.VirtualMachine(relax.build(read(source("f", signature, body))))["f"](*args)
