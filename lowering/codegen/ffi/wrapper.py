"""The exported function of one prim func: checks arguments, solves symbols, calls the kernel."""

import functools

from relax_mlir.dialects.symbolic.atoms import Extremum
from relax_mlir.dialects.symbolic.binding import solutions
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.parse import leaf
from relax_mlir.errors import CompileError
from relax_mlir.lowering.codegen.ffi.argument_check import (
    KIND_BOOL,
    KIND_FLOAT,
    KIND_INT,
    RECORD_BYTES,
)
from relax_mlir.lowering.codegen.ffi.arguments import STRIDE, ArgumentText
from relax_mlir.lowering.codegen.ffi.errors import fail, text
from relax_mlir.lowering.codegen.ffi.signature import (
    STAGE,
    BufferParam,
    Dim,
    ScalarParam,
    Signature,
)
from relax_mlir.lowering.codegen.ffi.table import (
    CONSTANT,
    FLOAT,
    SCALAR,
    STRIDED,
    WHOLE,
    Strings,
    Table,
    dlpack_dtype,
)
from relax_mlir.lowering.target.target import Target

SYMBOL_PREFIX = "__tvm_ffi_"
# Spilled vectors that straddle cache lines made a matrix product up to 1.8 times slower, depending
# on where the caller's stack happened to be; this aligns the stack where vectors are spilled.
REALIGN = "stackrealign"


class Wrapper(ArgumentText):
    """Writes one exported function as LLVM-dialect text."""

    def __init__(self, signature: Signature, strings: Strings, number: int, fallible: bool) -> None:
        super().__init__(signature)
        self._fallible = fallible
        self._strings = strings
        self._table = Table(strings.offset(signature.name))
        self._table_name = f"relax_ffi_table{number}"
        self._values: dict[str, str] = {}  # symbol -> SSA name
        self._sources: dict[str, tuple[int, int]] = {}  # symbol -> (parameter, axis)

    def text(self, target: Target) -> str:
        """Return the function and its table."""
        self._fill()
        self._check()
        self._solve()
        self._check_expressions()
        skips = self._skip()
        self._call(skips)
        name = quoted(SYMBOL_PREFIX + self._signature.name)
        head = (
            f"llvm.func @{name}(%self: !llvm.ptr, %args: !llvm.ptr, %count: i32, "
            "%result: !llvm.ptr) -> i32 attributes "
            f'{{prefer_vector_width = "{target.vector_bits}", passthrough = ["{REALIGN}"]}} {{'
        )
        minus = self._constant(-1, "i32")
        tail = ["^bad:", f"  llvm.return {minus} : i32", *self._cold(), "}"]
        function = [head, *self._constant_lines(), *self._lines, *tail]
        return "\n".join([self._table.definition(self._table_name), *function])

    def _branch(self, good: str, bad: str) -> None:
        label = f"^b{self._next}"
        self._lines.append(f"  llvm.cond_br {good}, {label}, {bad}")
        self._lines.append(f"{label}:")

    def _fill(self) -> None:
        """Write the table: all that needs no arithmetic."""
        table, strings = self._table, self._strings
        for number, param in enumerate(self._signature.params):
            name = strings.offset(param.name)
            if isinstance(param, BufferParam):
                dtype = dlpack_dtype(param.dtype), strings.offset(param.dtype)
                rank = len(param.dims) + (0 if param.strides is None else STRIDED)
                table.params.append((name, *dtype, rank))
            elif param.is_float:
                table.params.append((name, FLOAT, 0, 0))
            else:
                table.params.append((name, SCALAR, *param.range))
                if param.dtype == "int64":
                    self._sources.setdefault(param.name, (number, WHOLE))
        for number, param in self._buffers():
            for axis, dim in enumerate(param.dims):
                if dim.symbol is not None:
                    self._sources.setdefault(dim.symbol, (number, axis))
        for number, param in self._buffers():
            for axis, stride in enumerate(param.strides or ()):
                if stride.symbol is not None:
                    self._sources.setdefault(stride.symbol, (number, STRIDE + axis))
        for number, param in self._buffers():
            for axis, dim in enumerate(param.dims):
                meaning = "" if dim.constant is not None else f" ({_render(dim)})"
                if dim.constant is not None:
                    wanted = (CONSTANT, dim.constant)
                elif dim.symbol is not None and self._sources[dim.symbol] != (number, axis):
                    wanted = self._sources[dim.symbol]
                else:
                    continue
                table.dims.append((number, axis, *wanted, strings.offset(meaning)))
        if not self._signature.inplace:
            table.pairs += self._overlaps()

    def _overlaps(self) -> list[tuple[int, int]]:
        buffers = self._buffers()
        return [
            (j, i) if second.written else (i, j)
            for later, (j, second) in enumerate(buffers)
            for i, first in buffers[:later]
            if first.written or second.written
        ]

    def _check(self) -> None:
        size = self._constant(RECORD_BYTES * max(1, len(self._signature.params)))
        records = self._emit(
            f"llvm.alloca {size} x i8 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr"
        )
        self._slots = [
            self._at(records, number * RECORD_BYTES)
            for number in range(len(self._signature.params))
        ]
        table = self._emit(f"llvm.mlir.addressof @{self._table_name} : !llvm.ptr")
        texts = self._emit(f"llvm.mlir.addressof @{self._strings.symbol} : !llvm.ptr")
        status = self._emit(
            f"llvm.call @relax_ffi_check({table}, {texts}, %args, %count, {records}) : "
            "(!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32"
        )
        zero = self._constant(0, "i32")
        self._branch(self._emit(f'llvm.icmp "eq" {status}, {zero} : i32'), "^bad")
        for symbol, place in self._sources.items():
            self._values[symbol] = self._extent(*place)

    def _cold(self) -> list[str]:
        lines = []
        if self._fallible:
            lines += [
                "^bad_status(%status: i32):",
                text(self._strings, "%failed_function", self._signature.name),
                "  %failed = llvm.call @relax_ffi_status(%failed_function, %status) : "
                "(!llvm.ptr, i32) -> i32",
                "  llvm.return %failed : i32",
            ]
        if any("^bad_size(" in line for line in self._lines):
            names = "%size_name", "%size_axis", "%size_meaning", "%size_got"
            types = "ptr", "i64", "ptr", "i64"
            arguments = zip(names, ("!llvm.ptr", "i64", "!llvm.ptr", "i64"), strict=True)
            lines += [
                f"^bad_size({', '.join(f'{name}: {type_}' for name, type_ in arguments)}):",
                *self._fail("%bad_size", "size", *zip(types, names, strict=True)),
            ]
        for label, kind in (("bad_dim", "dim"), ("bad_step", "step")):
            if not any(f"^{label}(" in line for line in self._lines):
                continue
            lines += [
                f"^{label}(%{kind}_name: !llvm.ptr, %{kind}_axis: i64, %{kind}_wanted: i64, "
                f"%{kind}_meaning: !llvm.ptr, %{kind}_got: i64):",
                *self._fail(
                    f"%{label}", kind, ("ptr", f"%{kind}_name"), ("i64", f"%{kind}_axis"),
                    ("i64", f"%{kind}_wanted"), ("ptr", f"%{kind}_meaning"),
                    ("i64", f"%{kind}_got"),
                ),
            ]  # fmt: skip
        return lines

    def _fail(self, status: str, name: str, *values: tuple[str, str]) -> list[str]:
        function = f"{status}_function"
        return [
            text(self._strings, function, self._signature.name),
            fail(self._strings, status, name, ("ptr", function), *values),
            f"  llvm.return {status} : i32",
        ]

    def _solve(self) -> None:
        """Give symbols that occur only in expressions the values that these determine.

        Whether the division leaves a remainder shows when the dimension is checked.
        """
        places: list[tuple[int, int]] = []
        dims: list[SymExpr] = []
        for number, param in self._buffers():
            for axis, dim in enumerate(param.dims):
                if dim.symbolic is not None:
                    places.append((number, axis))
                    dims.append(dim.symbolic)
        for number, param in self._buffers():
            for axis, stride in enumerate(param.strides or ()):
                if stride.symbolic is not None:
                    places.append((number, STRIDE + axis))
                    dims.append(stride.symbolic)
        for solution in solutions(dims, self._values):
            rest = self._symbolic(solution.rest)
            value = self._emit(f"llvm.sub {self._extent(*places[solution.index])}, {rest} : i64")
            factor = solution.factor
            if factor < 0:
                value = self._emit(f"llvm.sub {self._constant(0)}, {value} : i64")
            if abs(factor) != 1:
                value = self._floor(value, self._constant(abs(factor)))[0]
            # No size is negative: then the dimension that is checked is another one.
            value = self._emit(f"llvm.intr.smax({value}, {self._constant(0)}) : (i64, i64) -> i64")
            self._values[solution.symbol] = value

    def _symbolic(self, expr: SymExpr) -> str:
        """Return the value of an expression; KeyError with the name of a symbol without one."""
        leaves = sorted(expr.leaves)
        affine = expr.to_affine({name: i for i, name in enumerate(leaves)})
        return self._expression(affine, {i: self._leaf(name) for i, name in enumerate(leaves)})

    def _leaf(self, name: str) -> str:
        atom = leaf(name).atom
        if not isinstance(atom, Extremum):
            return self._values[name]
        function = f"llvm.intr.s{atom.kind}"
        values = [self._symbolic(part) for part in atom.parts]
        return functools.reduce(
            lambda a, b: self._emit(f"{function}({a}, {b}) : (i64, i64) -> i64"), values
        )

    def _check_expressions(self) -> None:
        for number, param in self._buffers():
            for axis, dim in enumerate(param.dims):
                if dim.expr is None or dim.symbol is not None or dim.constant is not None:
                    continue
                got, wanted = self._extent(number, axis), self._evaluate(dim, param)
                name, meaning = self._fresh(), self._fresh()
                self._lines.append(text(self._strings, name, param.name))
                self._lines.append(text(self._strings, meaning, f" ({_render(dim)})"))
                fits = self._fits()
                if fits:
                    passed = ", ".join([name, self._constant(axis), meaning, got])
                    self._branch(fits, f"^bad_size({passed} : !llvm.ptr, i64, !llvm.ptr, i64)")
                passed = ", ".join([name, self._constant(axis), wanted, meaning, got])
                same = self._emit(f'llvm.icmp "eq" {got}, {wanted} : i64')
                self._branch(same, f"^bad_dim({passed} : !llvm.ptr, i64, i64, !llvm.ptr, i64)")
            for axis, stride in enumerate(param.strides or ()):
                self._check_stride(number, param, axis, stride)

    def _check_stride(self, number: int, param: BufferParam, axis: int, stride: Dim) -> None:
        """Check a stride, which matters only where there are elements, and more than one index."""
        if stride.expr is None or self._sources.get(stride.symbol or "") == (
            number, STRIDE + axis
        ):  # fmt: skip
            return
        got, wanted = self._extent(number, STRIDE + axis), self._evaluate(stride, param)
        name, meaning = self._fresh(), self._fresh()
        self._lines.append(text(self._strings, name, param.name))
        rendered = "" if stride.constant is not None else f" ({_render(stride)})"
        self._lines.append(text(self._strings, meaning, rendered))
        passed = ", ".join([name, self._constant(axis), wanted, meaning, got])
        same = self._emit(f'llvm.icmp "eq" {got}, {wanted} : i64')
        fits = self._fits()
        same = self._emit(f"llvm.and {same}, {fits} : i1") if fits else same
        one = self._constant(1)
        single = self._emit(f'llvm.icmp "sle" {self._extent(number, axis)}, {one} : i64')
        begin = self._emit(f"llvm.load {self._at(self._slots[number], 8)} : !llvm.ptr -> i64")
        empty = self._emit(f'llvm.icmp "eq" {begin}, {self._constant(0)} : i64')
        good = self._emit(f"llvm.or {same}, {self._emit(f'llvm.or {single}, {empty} : i1')} : i1")
        self._branch(good, f"^bad_step({passed} : !llvm.ptr, i64, i64, !llvm.ptr, i64)")

    def _evaluate(self, dim: Dim, param: BufferParam) -> str:
        expr = dim.symbolic
        assert expr is not None  # only promised dimensions are checked
        self._overflows.clear()
        try:
            return self._symbolic(expr)
        except KeyError as missing:
            name = missing.args[0]
            raise CompileError(
                STAGE,
                f"prim func '{self._signature.name}': buffer '{param.name}' has a dimension "
                f"'{_render(dim)}', and no dimension or integer argument gives '{name}' a value",
            ) from None

    def _fits(self) -> str:
        """Return whether the expression evaluated last fits 64 bits, nothing where it must."""
        if not self._overflows:
            return ""
        every = functools.reduce(lambda a, b: self._emit(f"llvm.or {a}, {b} : i1"), self._overflows)
        return self._emit(f"llvm.xor {every}, {self._constant(1, 'i1')} : i1")

    def _skip(self) -> bool:
        """Go to the end if all that is written is empty: 2^60 rows of nothing take years."""
        if not self._signature.skips_empty:
            return False
        buffers = self._buffers()[:-1] if self._signature.has_arena else self._buffers()
        written = [(number, param) for number, param in buffers if param.written]
        every, zero = "", self._constant(0)
        for number, param in written:
            empty = ""
            for axis, size in enumerate(param.static):
                if size in (None, 0):
                    extent = self._extent(number, axis)
                    is_zero = self._emit(f'llvm.icmp "eq" {extent}, {zero} : i64')
                    empty = self._emit(f"llvm.or {empty}, {is_zero} : i1") if empty else is_zero
            every = self._emit(f"llvm.and {every}, {empty} : i1") if every else empty
        label = f"^b{self._next}"
        self._lines += [f"  llvm.cond_br {every}, ^done, {label}", f"{label}:"]
        return True

    def _call(self, skips: bool) -> None:
        given = []
        for number, param in enumerate(self._signature.params):
            if not isinstance(param, BufferParam):
                given.append(self._number(number, param))
                continue
            data = self._emit(f"llvm.load {self._slots[number]} : !llvm.ptr -> !llvm.ptr")
            sizes = [
                self._extent(number, axis) if size is None else self._constant(size)
                for axis, size in enumerate(param.static)
            ]
            given += [data, data, self._constant(0), *sizes, *self._strides(param, sizes)]
        if self._signature.returns is not None:
            cell = self._emit(f"llvm.alloca {self._constant(8)} x i8 {{alignment = 8 : i64}} : "
                              "(i64) -> !llvm.ptr")  # fmt: skip
            self._lines.append(f"  llvm.store {self._constant(0)}, {cell} : i64, !llvm.ptr")
            given += [cell, cell, self._constant(0)]
        types = ", ".join(kernel_types(self._signature))
        kernel = quoted(self._signature.kernel)
        call = f"llvm.call @{kernel}({', '.join(given)}) : ({types}) -> "
        if self._fallible:
            zero, status = self._constant(0, "i32"), self._emit(call + "i32")
            good = self._emit(f'llvm.icmp "eq" {status}, {zero} : i32')
            self._branch(good, f"^bad_status({status} : i32)")
        else:
            self._lines.append(f"  {call}()")
        if skips:
            self._lines += ["  llvm.br ^done", "^done:"]
        kind, value = 0, self._constant(0)
        if self._signature.returns is not None:
            kind, value = self._boxed(self._signature.returns.dtype, given[-3])
        type_ = "f64" if kind == KIND_FLOAT else "i64"
        self._lines.append(f"  llvm.store {self._constant(kind)}, %result : i64, !llvm.ptr")
        self._lines.append(f"  llvm.store {value}, {self._at('%result', 8)} : {type_}, !llvm.ptr")
        self._lines.append(f"  llvm.return {self._constant(0, 'i32')} : i32")

    def _boxed(self, dtype: str, cell: str) -> tuple[int, str]:
        """Return how the FFI calls the kind of a number in memory, and the number in 64 bits."""
        number = ScalarParam("", dtype)
        type_ = "i8" if dtype == "bool" else number.type
        value = self._emit(f"llvm.load {cell} : !llvm.ptr -> {type_}")
        if number.is_float:
            wide = value if type_ == "f64" else self._emit(f"llvm.fpext {value} : {type_} to f64")
            return KIND_FLOAT, wide
        extend = "zext" if dtype.startswith("uint") or dtype == "bool" else "sext"
        wide = value if type_ == "i64" else self._emit(f"llvm.{extend} {value} : {type_} to i64")
        return KIND_BOOL if dtype == "bool" else KIND_INT, wide


def _render(dim: Dim) -> str:
    text = str(dim.expr)
    for position in reversed(range(len(dim.names))):
        text = text.replace(f"s{position}", f"\0{position}\0")
    for position, name in enumerate(dim.names):
        text = text.replace(f"\0{position}\0", name)
    return text


def kernel_types(signature: Signature) -> list[str]:
    """Return the types of a kernel's parameters in the LLVM dialect."""
    types = []
    for param in signature.passed:
        if isinstance(param, BufferParam):
            types += ["!llvm.ptr"] * 2 + ["i64"] * (1 + 2 * len(param.dims))
        else:
            types.append(param.type)
    return types


def quoted(symbol: str) -> str:
    """Return a symbol as it is written after `@`."""
    return '"' + symbol.replace("\\", "\\\\").replace('"', '\\"') + '"'
