"""Prim funcs over memrefs, as text, to native code in this process."""

import ctypes
from pathlib import Path

import llvmlite.binding as llvm
import tvm_ffi

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.codegen.native import NativeCode, compile_module
from relax_mlir.lowering.target.target import Target


def compile_text(text: str, target: Target | None = None) -> NativeCode:
    with make_context(), ir.Location.unknown():
        return compile_module(ir.Module.parse(text), target)


def load(code: NativeCode) -> dict[str, tvm_ffi.Function]:
    """Link the object into the process; the functions keep it alive."""
    (library,) = (Path(tvm_ffi.__file__).parent / "lib").glob("libtvm_ffi.*")
    raise_ = ctypes.CDLL(str(library)).TVMFFIErrorSetRaisedFromCStr
    jit = llvm.create_lljit_compiler(code.target.machine())
    builder = llvm.JITLibraryBuilder().add_object_img(code.object).add_current_process()
    builder.import_symbol(
        "TVMFFIErrorSetRaisedFromCStr", ctypes.cast(raise_, ctypes.c_void_p).value
    )
    for symbol in code.symbols:
        builder.export_symbol(symbol)
    linked = builder.link(jit, "test")
    return {
        name: tvm_ffi.Function.__from_extern_c__(linked[symbol], keep_alive_object=(linked, jit))
        for name, symbol in zip(code.names, code.symbols, strict=True)
    }


def buffer(name: str, names: str, exprs: str, type_: str, dtype: str) -> str:
    """Return one buffer parameter; `exprs` is over s0, s1, ... for the comma-separated names."""
    symbols = names.split(",") if names else []
    quoted = ", ".join(f'"{symbol}"' for symbol in symbols)
    numbered = ", ".join(f"s{i}" for i in range(len(symbols)))
    dims = f"#relax.dims<[{quoted}], affine_map<()[{numbered}] -> ({exprs})>>"
    return f'%{name}: {type_} {{tir.name = "{name}", tir.shape = {dims}, tir.dtype = "{dtype}"}}'


def elementwise(name: str, element: str, dtype: str, body: str) -> str:
    """Return `Y[i] = body(%a, %b)` over one dynamic dimension; the body yields `%r`."""
    memref = f"memref<?x{element}>"
    params = ", ".join(buffer(p, "n", "s0", memref, dtype) for p in "ABY")
    return f"""func.func @{name}({params}) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c0 : {memref}
  scf.for %i = %c0 to %n step %c1 {{
    %a = memref.load %A[%i] : {memref}
    %b = memref.load %B[%i] : {memref}
    {body}
    memref.store %r, %Y[%i] : {memref}
  }}
  return
}}
"""


def unary(name: str, element: str, dtype: str) -> str:
    return elementwise(name, element, dtype, f"%r = math.{name} %a : {element}")
