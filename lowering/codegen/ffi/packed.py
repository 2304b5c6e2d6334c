"""Functions that call packed functions for prim funcs, as LLVM-dialect text.

Layouts are those of the TVM FFI and DLPack, as `ffi_argument_check` has them. A buffer is passed as a
tensor object over its memory, which is the prim func's: it is invalid after the call.
"""
# ruff: noqa: E501  (one operation of the text below is one line)

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.codegen.ffi.argument_check import (
    ARGUMENT_BYTES,
    DEVICE_CPU,
    KIND_BOOL,
    KIND_FLOAT,
    KIND_INT,
    KIND_TENSOR,
)
from relax_mlir.lowering.codegen.ffi.errors import fail, text
from relax_mlir.lowering.codegen.ffi.llvm_text import FunctionText
from relax_mlir.lowering.codegen.ffi.table import Strings, dlpack_dtype
from relax_mlir.lowering.tir_to_vector.generic import PACKED

# Noted on the module: each such function's symbol, whom it calls, what for, and with what.
PACKED_CALLS = "tir.packed_calls"
_KIND_TEXT = 8
_FIRST_OBJECT = 64
# A managed tensor of DLPack: a DLTensor, a context, a deleter; its shape and strides follow.
_MANAGED_BYTES = 64


def take_packed(module: ir.Operation) -> None:
    """Note on the module what its declarations of packed functions say."""
    calls = []
    for view in module.regions[0].blocks[0].operations:
        attributes = view.operation.attributes
        if view.operation.name == "func.func" and PACKED in attributes:
            calls.append(
                ir.ArrayAttr.get([attributes["sym_name"], *attributes[PACKED]], module.context)
            )
            del attributes[PACKED]
    if calls:
        module.attributes[PACKED_CALLS] = ir.ArrayAttr.get(calls, module.context)


def define_packed(module: ir.Operation, strings: Strings) -> list[str]:
    """Return the functions that the module declares for its packed calls; erases these."""
    if PACKED_CALLS not in module.attributes:
        return []
    rows = [[ir.StringAttr(each).value for each in row] for row in module.attributes[PACKED_CALLS]]
    del module.attributes[PACKED_CALLS]
    table = ir.SymbolTable(module)
    for symbol, *_ in rows:
        table.erase(table[symbol])
    texts = [_Call(name, func, result, kinds).text(strings) for name, func, result, *kinds in rows]
    return [_CALL.format(missing=_missing(strings)), *texts]


def _missing(strings: Strings) -> str:
    return fail(strings, "%missing", "packed", ("ptr", "%name"))


_CALL = """
llvm.func @TVMFFIFunctionGetGlobal(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
llvm.func @TVMFFIObjectDecRef(!llvm.ptr) -> i32
llvm.func @TVMFFITensorFromDLPack(!llvm.ptr, i32, i32, !llvm.ptr) -> i32
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func internal @relax_ffi_packed(%name: !llvm.ptr, %length: i64, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 attributes {{passthrough = ["noinline"]}} {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %minus = llvm.mlir.constant(-1 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %bytes = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
  %cell = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %name, %bytes : !llvm.ptr, !llvm.ptr
  %size = llvm.getelementptr %bytes[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %length, %size : i64, !llvm.ptr
  llvm.store %null, %cell : !llvm.ptr, !llvm.ptr
  %found = llvm.call @TVMFFIFunctionGetGlobal(%bytes, %cell) : (!llvm.ptr, !llvm.ptr) -> i32
  %good = llvm.icmp "eq" %found, %zero : i32
  llvm.cond_br %good, ^look, ^failed
^look:
  %function = llvm.load %cell : !llvm.ptr -> !llvm.ptr
  %none = llvm.icmp "eq" %function, %null : !llvm.ptr
  llvm.cond_br %none, ^absent, ^call
^absent:
{missing}
  llvm.return %missing : i32
^call:
  %status = llvm.call @TVMFFIFunctionCall(%function, %args, %count, %result) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  %freed = llvm.call @TVMFFIObjectDecRef(%function) : (!llvm.ptr) -> i32
  %fine = llvm.icmp "eq" %status, %zero : i32
  llvm.cond_br %fine, ^done, ^failed
^done:
  llvm.return %zero : i32
^failed:
  llvm.return %minus : i32
}}"""


class _Call(FunctionText):
    """Writes the function for one sort of call."""

    def __init__(self, symbol: str, callee: str, result: str, kinds: list[str]) -> None:
        super().__init__()
        self._symbol, self._callee, self._result, self._kinds = symbol, callee, result, kinds
        self._params: list[str] = []
        self._tensors: list[str] = []

    def text(self, strings: Strings) -> str:
        """Return the function."""
        args = self._bytes(ARGUMENT_BYTES * (len(self._kinds) + 1))
        for number, kind in enumerate(self._kinds):
            self._argument(strings, kind, args, ARGUMENT_BYTES * number)
        result = self._at(args, ARGUMENT_BYTES * len(self._kinds))
        self._put(result, 0, self._constant(0), "i64")
        self._put(result, 8, self._constant(0), "i64")
        cell = self._param("!llvm.ptr")
        length = self._constant(len(self._callee.encode()))
        name, count = self._text(strings, self._callee), self._constant(len(self._kinds), "i32")
        status = self._emit(
            f"llvm.call @relax_ffi_packed({name}, {length}, {args}, {count}, {result}) : "
            "(!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr) -> i32"
        )
        zero = self._constant(0, "i32")
        for tensor in self._tensors:
            self._emit(f"llvm.call @TVMFFIObjectDecRef({tensor}) : (!llvm.ptr) -> i32")
        good = self._emit(f'llvm.icmp "eq" {status}, {zero} : i32')
        self._lines += [f"  llvm.cond_br {good}, ^good, ^bad", "^good:"]
        kind = self._emit(f"llvm.load {result} : !llvm.ptr -> i32")
        value = self._emit(f"llvm.load {self._at(result, 8)} : !llvm.ptr -> i64")
        first = self._constant(_FIRST_OBJECT, "i32")
        is_object = self._emit(f'llvm.icmp "sge" {kind}, {first} : i32')
        # A number is what is wanted; any object is let go, and counts as 0.
        self._lines += [f"  llvm.cond_br {is_object}, ^object, ^number", "^object:"]
        pointer = self._emit(f"llvm.inttoptr {value} : i64 to !llvm.ptr")
        self._emit(f"llvm.call @TVMFFIObjectDecRef({pointer}) : (!llvm.ptr) -> i32")
        type_ = "f64" if self._result == "f" else "i64"
        nothing = self._constant(0)
        self._lines += [
            f"  llvm.store {nothing}, {cell} : i64, !llvm.ptr", f"  llvm.return {zero} : i32",
            "^number:",
        ]  # fmt: skip
        is_float = self._emit(f'llvm.icmp "eq" {kind}, {self._constant(KIND_FLOAT, "i32")} : i32')
        real = self._emit(f"llvm.bitcast {value} : i64 to f64")
        if type_ == "f64":
            other = self._emit(f"llvm.sitofp {value} : i64 to f64")
            final = self._emit(f"llvm.select {is_float}, {real}, {other} : i1, f64")
        else:
            saturated = '"llvm.fptosi.sat.i64.f64"'
            other = self._emit(f"llvm.call_intrinsic {saturated}({real}) : (f64) -> i64")
            final = self._emit(f"llvm.select {is_float}, {other}, {value} : i1, i64")
        minus = self._constant(-1, "i32")
        self._lines += [
            f"  llvm.store {final}, {cell} : {type_}, !llvm.ptr", f"  llvm.return {zero} : i32",
            "^bad:", f"  llvm.return {minus} : i32", "}",
        ]  # fmt: skip
        head = f"llvm.func internal @{self._symbol}({', '.join(self._params)}) -> i32 {{"
        return "\n".join([head, *self._constant_lines(), *self._lines])

    def _param(self, type_: str) -> str:
        name = f"%p{len(self._params)}"
        self._params.append(f"{name}: {type_}")
        return name

    def _bytes(self, count: int) -> str:
        size = self._constant(max(count, 8))
        return self._emit(f"llvm.alloca {size} x i8 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr")

    def _put(self, base: str, offset: int, value: str, type_: str) -> None:
        place = self._at(base, offset) if offset else base
        self._lines.append(f"  llvm.store {value}, {place} : {type_}, !llvm.ptr")

    def _text(self, strings: Strings, value: str) -> str:
        name = self._fresh()
        self._lines.append(text(strings, name, value))
        return name

    def _argument(self, strings: Strings, kind: str, args: str, place: int) -> None:
        """Store one argument: the index of its type, and its value."""
        if kind[0] == "s":
            index, value, type_ = _KIND_TEXT, self._text(strings, kind[1:]), "!llvm.ptr"
        elif kind[0] == "t":
            index, value, type_ = KIND_TENSOR, self._tensor(*kind[1:].split(",")), "!llvm.ptr"
        else:
            type_ = "f64" if kind == "f" else "i64"
            index = {"f": KIND_FLOAT, "b": KIND_BOOL, "i": KIND_INT}[kind]
            value = self._param(type_)
        self._put(args, place, self._constant(index), "i64")
        self._put(args, place + 8, value, type_)

    def _tensor(self, dtype: str, rank: str, strided: str) -> str:
        """Return a tensor object over a buffer's memory; what it is described by is its own."""
        numbers = int(rank) * (2 if strided == "1" else 1)
        managed = self._emit(
            f"llvm.call @malloc({self._constant(_MANAGED_BYTES + 8 * numbers)}) : (i64) -> !llvm.ptr"
        )
        null = self._emit("llvm.mlir.zero : !llvm.ptr")
        self._put(managed, 0, self._param("!llvm.ptr"), "!llvm.ptr")
        self._put(managed, 8, self._constant(DEVICE_CPU), "i64")
        self._put(managed, 16, self._constant(int(rank), "i32"), "i32")
        self._put(managed, 20, self._constant(dlpack_dtype(dtype), "i32"), "i32")
        for position in range(numbers):
            self._put(managed, _MANAGED_BYTES + 8 * position, self._param("i64"), "i64")
        strides = self._at(managed, _MANAGED_BYTES + 8 * int(rank)) if strided == "1" else null
        self._put(managed, 24, self._at(managed, _MANAGED_BYTES), "!llvm.ptr")
        self._put(managed, 32, strides, "!llvm.ptr")
        self._put(managed, 40, self._constant(0), "i64")
        self._put(managed, 48, null, "!llvm.ptr")
        self._put(managed, 56, self._emit("llvm.mlir.addressof @free : !llvm.ptr"), "!llvm.ptr")
        cell, zero = self._bytes(8), self._constant(0, "i32")
        status = self._emit(
            f"llvm.call @TVMFFITensorFromDLPack({managed}, {zero}, {zero}, {cell}) : "
            "(!llvm.ptr, i32, i32, !llvm.ptr) -> i32"
        )
        label = f"^t{self._next}"
        good = self._emit(f'llvm.icmp "eq" {status}, {zero} : i32')
        self._lines += [f"  llvm.cond_br {good}, {label}, ^bad", f"{label}:"]
        self._tensors.append(self._emit(f"llvm.load {cell} : !llvm.ptr -> !llvm.ptr"))
        return self._tensors[-1]
