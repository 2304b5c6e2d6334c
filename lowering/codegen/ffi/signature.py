"""The signature of a prim func for its exported function, read before lowering."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.buffer_writes import first_write
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.parse import read_affine
from relax_mlir.dialects.tir.ops import RETURNS
from relax_mlir.errors import CompileError
from relax_mlir.lowering.codegen.ffi.empty_calls import skip_empty_calls
from relax_mlir.lowering.codegen.ffi.packed import take_packed
from relax_mlir.lowering.tir_to_llvm.expand_copy import is_row_major
from relax_mlir.lowering.tir_to_vector.generic import name_externs
from relax_mlir.lowering.walk import by_name, rename_callees

STAGE = "calling convention"
KERNEL_PREFIX = "relax_kernel_"
_LARGEST = (1 << 63) - 1
# Functions that say how many threads there are, and which one this is.
_THREADS = ("omp_get_", "relax_mlir_")
# Instructions, and what keeps the order of some.
_HARMLESS = ("llvm.call_intrinsic", "llvm.inline_asm")

_DTYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
}  # fmt: skip


@dataclass(frozen=True)
class Dim:
    """One dimension: an affine expression over named symbols, or None where nothing is promised."""

    expr: ir.AffineExpr | None
    names: tuple[str, ...] = ()

    @property
    def constant(self) -> int | None:
        """The value of a constant dimension."""
        if self.expr is not None and isinstance(self.expr, ir.AffineConstantExpr):
            return ir.AffineConstantExpr(self.expr).value
        return None

    @property
    def symbol(self) -> str | None:
        """The name, where the dimension is one symbol and nothing else."""
        if self.expr is not None and isinstance(self.expr, ir.AffineSymbolExpr):
            name = self.names[ir.AffineSymbolExpr(self.expr).position]
            return name if name.isidentifier() else None
        return None

    @property
    def symbolic(self) -> SymExpr | None:
        """The dimension over its symbols, None where nothing is promised."""
        if self.expr is None:
            return None
        return read_affine(self.expr, list(self.names))


@dataclass(frozen=True)
class BufferParam:
    """A tensor argument.

    `static` holds each dimension of the memref type, None when dynamic. `strides` are what is
    promised of these; None for a buffer in row-major order without gaps.
    """

    name: str
    dtype: str
    dims: tuple[Dim, ...]
    static: tuple[int | None, ...]
    written: bool
    strides: tuple[Dim, ...] | None = None


@dataclass(frozen=True)
class ScalarParam:
    """A number; an `int64` also gives the symbol of its name a value."""

    name: str
    dtype: str = "int64"

    @property
    def is_float(self) -> bool:
        """Whether it is floating-point."""
        return "float" in self.dtype

    @property
    def bits(self) -> int:
        """The width of its type."""
        return 1 if self.dtype == "bool" else int(self.dtype.lstrip("abfilnotu"))

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest integer that it may be, as 64 bits with a sign hold them."""
        if self.dtype.startswith("uint") or self.dtype == "bool":
            return 0, min((1 << self.bits) - 1, _LARGEST)
        return -1 << (self.bits - 1), (1 << (self.bits - 1)) - 1

    @property
    def type(self) -> str:
        """Its type in MLIR."""
        if self.is_float:
            return "bf16" if self.dtype == "bfloat16" else f"f{self.bits}"
        return f"i{self.bits}"


@dataclass(frozen=True)
class Signature:
    """A function as callers see it.

    `returns`: the buffer for the number that it returns, which follows the parameters;
    `inplace`: its buffers may overlap each other; `internal`: only other native functions call it;
    `shared`: the kernel of another function, which does the same;
    `skips_empty`: all that it does is to write buffers, which may have no elements;
    `has_arena`: its last buffer is memory for what lies between.
    """

    name: str
    params: tuple[BufferParam | ScalarParam, ...]
    inplace: bool
    internal: bool
    shared: str | None = None
    returns: BufferParam | None = None
    skips_empty: bool = False
    has_arena: bool = False

    @property
    def passed(self) -> tuple[BufferParam | ScalarParam, ...]:
        """What the kernel takes: the parameters, and where the result goes."""
        return self.params if self.returns is None else (*self.params, self.returns)

    @property
    def written(self) -> list[tuple[int, BufferParam]]:
        """The buffers that it writes, and which of the parameters they are."""
        buffers = [(i, p) for i, p in enumerate(self.params) if isinstance(p, BufferParam)]
        return [(i, p) for i, p in buffers if p.written]

    @property
    def kernel(self) -> str:
        """The symbol of the function proper, which no library function can collide with."""
        return self.shared or KERNEL_PREFIX + self.name


def take_signatures(module: ir.Operation) -> list[Signature]:
    """Read the signatures of a module's prim funcs; strips their attributes and renames them.

    Raises:
        CompileError: a parameter of a kind that the calling convention does not carry.
    """
    every = [
        op for op in module.regions[0].blocks[0].operations if op.operation.name == "func.func"
    ]
    functions = [op for op in every if "tir.prim_func" in op.operation.attributes]
    # Found once: a walk over a large kernel takes a millisecond.
    calling = {_name(function): _calling(function.operation) for function in every}
    purity = _Purity({_name(f): calling[_name(f)] for f in functions if not f.is_external})
    result = [_signature(function, purity) for function in functions]
    calls = [op for each in calling.values() for op in each if op.name == "func.call"]
    skipping = [each for each in result if each.skips_empty]
    skip_empty_calls(calls, {f.name: [(i, p.static) for i, p in f.written] for f in skipping})
    rename_callees(calls, {signature.name: signature.kernel for signature in result})
    for function, signature in zip(functions, result, strict=True):
        ir.SymbolTable.set_symbol_name(function, signature.kernel)
        _strip(function)
    name_externs(module)
    take_packed(module)
    return result


def _name(function: ir.OpView) -> str:
    return ir.StringAttr(function.operation.attributes["sym_name"]).value


def _signature(function: ir.OpView, purity: "_Purity") -> Signature:
    name = _name(function)
    if len(function.type.results):
        raise CompileError(STAGE, f"prim func '{name}' returns values; results go into buffers")
    arguments = function.entry_block.arguments
    attrs = _argument_attributes(function)
    params = tuple(_param(name, arg, attrs[i], i) for i, arg in enumerate(arguments))
    returns = None
    if RETURNS in function.operation.attributes:
        *rest, returns = params
        params = tuple(rest)
        if not isinstance(returns, BufferParam) or returns.dims:
            raise CompileError(STAGE, f"prim func '{name}' returns what is not one number")
    has_arena = "tir.arena" in function.operation.attributes and any(
        param.name == "workspace" for param in params
    )
    buffers = [param for param in params if isinstance(param, BufferParam)]
    written = [p for p in (buffers[:-1] if has_arena else buffers) if p.written]
    can_be_empty = bool(written) and all({None, 0} & {*param.static} for param in written)
    return Signature(
        name,
        params,
        returns=returns,
        inplace=any("tir.inplace" in attr for attr in attrs),
        internal="tir.internal" in function.operation.attributes,
        skips_empty=can_be_empty and returns is None and purity.has(name),
        has_arena=has_arena,
    )


class _Purity:
    """Which functions do nothing but write buffers, nor do those that they call.

    Args:
        calling: the calls and assertions of each function that is defined.
    """

    def __init__(self, calling: Mapping[str, Sequence[ir.Operation]]) -> None:
        self._calling = calling
        self._known: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Whether a function does; one that is not defined does not."""
        if name not in self._known:
            calling = self._calling.get(name)
            self._known[name] = calling is not None and self._of(calling)
        return self._known[name]

    def _of(self, calling: Sequence[ir.Operation]) -> bool:
        if not {op.name for op in calling} <= {"func.call", *_HARMLESS}:
            return False
        callees = {_callee(op) for op in calling if op.name == "func.call"}
        return all(each.startswith(_THREADS) or self.has(each) for each in callees)


def _calling(function: ir.Operation) -> list[ir.Operation]:
    ops = by_name(function).items()
    return [op for name, each in ops if "call" in name or "assert" in name for op in each]


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def _argument_attributes(function: ir.OpView) -> list[dict[str, ir.Attribute]]:
    count = len(function.type.inputs)
    if "arg_attrs" not in function.operation.attributes:
        return [{} for _ in range(count)]
    attrs = ir.ArrayAttr(function.operation.attributes["arg_attrs"])
    return [{named.name: named.attr for named in ir.DictAttr(attr)} for attr in attrs]


def _param(
    function: str, arg: ir.Value, attrs: dict[str, ir.Attribute], number: int
) -> BufferParam | ScalarParam:
    name = ir.StringAttr(attrs["tir.name"]).value if "tir.name" in attrs else f"arg{number}"
    type_ = arg.type.maybe_downcast()
    if isinstance(type_, (ir.IntegerType, ir.FloatType)) and str(type_) in _DTYPES:
        dtype = ir.StringAttr(attrs["tir.dtype"]).value if "tir.dtype" in attrs else ""
        return ScalarParam(name, dtype or _DTYPES[str(type_)])
    strides = None if not isinstance(type_, ir.MemRefType) else _strides(type_, attrs)
    if not isinstance(type_, ir.MemRefType) or strides == ():
        raise CompileError(
            STAGE, f"prim func '{function}': parameter '{name}' of type {type_} is neither a "
            "buffer with plain strides nor a number"
        )  # fmt: skip
    element = str(type_.element_type)
    if "tir.dtype" in attrs:
        dtype = ir.StringAttr(attrs["tir.dtype"]).value
    elif element in _DTYPES:
        dtype = _DTYPES[element]
    else:
        raise CompileError(STAGE, f"prim func '{function}': buffer '{name}' holds {element}")
    static = tuple(
        None if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)
    )
    dims = _dims(attrs.get("tir.shape"), static)
    if len(dims) != type_.rank:
        raise CompileError(
            STAGE, f"prim func '{function}': buffer '{name}' has {type_.rank} dimensions and "
            f"'tir.shape' {len(dims)}"
        )  # fmt: skip
    written = "tir.readonly" not in attrs and first_write(arg) is not None
    return BufferParam(name, dtype, dims, static, written, strides)


def _strides(type_: ir.MemRefType, attrs: dict[str, ir.Attribute]) -> tuple[Dim, ...] | None:
    """Return what is promised of a buffer's strides; none at all for a layout that has none."""
    if is_row_major(type_):
        return None
    try:
        strides, offset = type_.get_strides_and_offset()
    except ir.MLIRError:
        return ()
    if offset != 0:
        return ()
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    known = tuple(None if stride == dynamic else stride for stride in strides)
    return _dims(attrs.get("tir.strides"), known)


def _dims(shape: ir.Attribute | None, static: tuple[int | None, ...]) -> tuple[Dim, ...]:
    if shape is None:
        return tuple(
            Dim(None if size is None else ir.AffineConstantExpr.get(size)) for size in static
        )
    names = tuple(ir.StringAttr(name).value for name in ir.ArrayAttr(shape.names))
    results = [expr.maybe_downcast() for expr in ir.AffineMapAttr(shape.exprs).value.results]
    return tuple(Dim(expr, names) for expr in results)


def _strip(function: ir.OpView) -> None:
    attributes = function.operation.attributes
    for name in [name for name in attributes if name.startswith(("tir.", "relax."))]:
        del attributes[name]
    if "arg_attrs" in attributes:
        del attributes["arg_attrs"]
    attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>", function.context)
