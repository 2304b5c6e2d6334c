"""The `T` of a script: `@T.prim_func` and the names of the TIR language."""

# Made by .ci/stubs, do not edit.
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, overload

from relax_mlir.ir.module import IRModule
from relax_mlir.script.macro import macro as inline
from relax_mlir.script.macro import macro as macro
from relax_mlir.tir import (
    Add,
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Div,
    FloorDiv,
    FloorMod,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    RShift,
    Sub,
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ceil,
    ceildiv,
    clz,
    copysign,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    exp10,
    fabs,
    floor,
    floordiv,
    floormod,
    fmod,
    hypot,
    ldexp,
    log,
    log1p,
    log2,
    log10,
    max,
    min,
    nearbyint,
    nextafter,
    popcount,
    pow,
    power,
    round,
    rsqrt,
    shift_left,
    shift_right,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.tir.stmt import Buffer as _Buffer

@overload
def prim_func(fn: Callable[..., Any]) -> IRModule:
    """Parse a TIR prim func; alone it gives an `IRModule` that holds it."""

@overload
def prim_func(
    *, private: builtins.bool = False, s_tir: builtins.bool = True
) -> Callable[[Callable[..., Any]], IRModule]: ...

func = prim_func

class _Number(PrimExpr):
    """A number of a dtype: the annotation of a parameter, or a value converted to it."""

    def __init__(self, value: Any = ...) -> None: ...

class handle(PrimExpr):
    """A pointer: a parameter that `match_buffer` makes a buffer of."""

    def __init__(self, dtype: str = "void", storage_scope: str = "global") -> None: ...

class let:
    """The annotation of a name that stands for one value."""

class Buffer(_Buffer):
    """A buffer of a shape and dtype, as a parameter, or a view of the memory of `data`."""

    def __init__(
        self,
        shape: Sequence[Any] | Any,
        dtype: str = "float32",
        data: Any = None,
        strides: Sequence[Any] | None = None,
        elem_offset: Any = None,
        scope: str = "global",
        align: int = 0,
        offset_factor: int = 0,
        buffer_type: str = "",
        axis_separators: Sequence[int] | None = None,
    ) -> None: ...

buffer = Buffer
buffer_decl = Buffer
decl_buffer = Buffer

def match_buffer(
    param: Any,
    shape: Sequence[Any] | Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Sequence[int] | None = None,
) -> _Buffer:
    """Make a buffer of a handle, or of a region of a buffer; new sizes in the shape are defined."""

def alloc_buffer(
    shape: Sequence[Any] | Any, dtype: str = "float32", scope: str = "global"
) -> _Buffer:
    """Allocate a buffer."""

sblock_alloc_buffer = alloc_buffer

def alloc_local(shape: Sequence[Any] | Any, dtype: str = "float32") -> _Buffer:
    """Allocate a buffer of one thread."""

def alloc_shared(shape: Sequence[Any] | Any, dtype: str = "float32") -> _Buffer:
    """Allocate a buffer that threads share."""

def allocate(extents: Sequence[Any], dtype: str, scope: str = "global") -> Any:
    """Allocate memory for the statements that follow."""

def allocate_const(data: Sequence[Any], dtype: str, extents: Sequence[Any]) -> Any:
    """Memory that holds numbers known here."""

def alloc_scalar(dtype: str) -> Any:
    """A variable that statements assign."""

local_scalar = alloc_scalar
shared_scalar = alloc_scalar

def buffer_store(buffer: _Buffer, value: Any, indices: Sequence[Any]) -> None:
    """Store a value: `buffer[indices] = value`."""

def BufferLoad(buffer: _Buffer, indices: Sequence[Any]) -> PrimExpr:
    """An element of a buffer: `buffer[indices]`."""

def serial(
    start: Any, stop: Any = None, *, annotations: Mapping[str, Any] | None = None
) -> Iterable[PrimExpr]:
    """A loop in order."""

def parallel(
    start: Any, stop: Any = None, *, annotations: Mapping[str, Any] | None = None
) -> Iterable[PrimExpr]:
    """A loop whose iterations threads share."""

def vectorized(
    start: Any, stop: Any = None, *, annotations: Mapping[str, Any] | None = None
) -> Iterable[PrimExpr]:
    """A loop whose iterations are the lanes of a vector."""

def unroll(
    start: Any, stop: Any = None, *, annotations: Mapping[str, Any] | None = None
) -> Iterable[PrimExpr]:
    """A loop that is written out."""

def thread_binding(
    start: Any,
    stop: Any = None,
    thread: str = "",
    *,
    annotations: Mapping[str, Any] | None = None,
) -> Iterable[PrimExpr]:
    """A loop over an axis of threads."""

def grid(*extents: Any) -> Iterable[Any]:
    """Nested loops: `for i, j in T.grid(n, m)`."""

def env_thread(thread: str) -> PrimExpr:
    """The number of a thread along an axis."""

def launch_thread(thread: Any, extent: Any) -> AbstractContextManager[PrimExpr]:
    """Start threads along an axis."""

def block(name: str = "", no_realize: builtins.bool = False) -> AbstractContextManager[None]:
    """A unit that schedules: iterators, regions and a body."""

sblock = block

class axis:
    """Iterators of a block and the values that loops give them."""

    @staticmethod
    def spatial(domain: Any, value: Any) -> PrimExpr:
        """An iterator whose instances write different elements."""

    @staticmethod
    def reduce(domain: Any, value: Any) -> PrimExpr:
        """An iterator along which elements are combined."""

    @staticmethod
    def scan(domain: Any, value: Any) -> PrimExpr:
        """An iterator whose instances run in order."""

    @staticmethod
    def opaque(domain: Any, value: Any) -> PrimExpr:
        """An iterator of which nothing is known."""

    @staticmethod
    def remap(kinds: str, values: Sequence[Any]) -> Any:
        """Iterators over whole loops: `vi, vk = T.axis.remap("SR", [i, k])`."""

    S = spatial
    R = reduce

def reads(*regions: Any) -> None:
    """The regions that a block reads."""

def writes(*regions: Any) -> None:
    """The regions that a block writes."""

def where(predicate: Any) -> None:
    """The instances of a block that run."""

def init() -> AbstractContextManager[None]:
    """What a reduction block does before the first element."""

def block_attr(attributes: Mapping[str, Any]) -> None:
    """Annotations of the block around it."""

sblock_attr = block_attr

def func_attr(attributes: Mapping[str, Any]) -> None:
    """Attributes of the function around it."""

def attr(node: Any, key: str = "", value: Any = None) -> AbstractContextManager[None]:
    """Annotations of the statements in it."""

def hint(*notes: Any, **values: Any) -> AbstractContextManager[None]:
    """Annotations of the statements in it."""

def If(condition: Any) -> AbstractContextManager[None]:
    """A condition; `T.Then` and `T.Else` hold its branches."""

def Then() -> AbstractContextManager[None]:
    """The branch of a condition that holds."""

def Else() -> AbstractContextManager[None]:
    """The branch of a condition that does not hold."""

def While(condition: Any) -> AbstractContextManager[None]:
    """A loop while a condition holds."""

def Break() -> None:
    """Leave the loop around it."""

break_loop = Break

def Continue() -> None:
    """Go on with the next iteration of the loop around it."""

continue_loop = Continue

def Return(value: Any = 0) -> None:
    """Leave the function."""

ret = Return

def thread_return() -> None:
    """Leave the function."""

def evaluate(value: Any) -> None:
    """Compute a value for its effects."""

def Assert(condition: Any, message: str = "") -> Any:
    """Raise an error with the message where the condition is false."""

def assume(condition: Any) -> None:
    """Say that a condition holds."""

def static_assert(condition: builtins.bool, message: str = "") -> None:
    """Raise while parsing where the condition is false."""

def bind(value: Any, *, var: Any = None) -> PrimExpr:
    """A name for a value."""

Bind = bind

def Let(value: Any, where: Mapping[Any, Any]) -> PrimExpr:
    """An expression of names for values."""

def LetStmt(value: Any, var: Any = None) -> Any:
    """A name for a value in the statements that follow."""

def var(dtype: str, name: str = "") -> PrimExpr:
    """A symbol."""

Var = var

def meta_var(value: Any) -> Any:
    """A value of Python."""

def cast(value: Any, dtype: str) -> PrimExpr:
    """Convert to another dtype."""

def Cast(dtype: str, value: Any) -> PrimExpr:
    """Convert to another dtype."""

def IntImm(dtype: str, value: int) -> PrimExpr:
    """An integer of a dtype."""

def FloatImm(dtype: str, value: builtins.float) -> PrimExpr:
    """A floating-point number of a dtype."""

def bool(value: Any = ...) -> PrimExpr:
    """A truth value."""

boolean = bool

def reinterpret(dtype: str, value: Any) -> PrimExpr:
    """The bits of a value as another dtype."""

def undef(dtype: str = "float32") -> PrimExpr:
    """A value of which nothing is known."""

def Select(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:
    """One of two values, both computed."""

def if_then_else(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:
    """One of two values, of which only that is computed."""

def And(a: Any, b: Any) -> PrimExpr:
    """Whether both hold."""

def Or(a: Any, b: Any) -> PrimExpr:
    """Whether one of them holds."""

def Not(a: Any) -> PrimExpr:
    """Whether it does not hold."""

def EQ(a: Any, b: Any) -> PrimExpr:
    """`a == b`."""

def NE(a: Any, b: Any) -> PrimExpr:
    """`a != b`."""

def LT(a: Any, b: Any) -> PrimExpr:
    """`a < b`."""

def LE(a: Any, b: Any) -> PrimExpr:
    """`a <= b`."""

def GT(a: Any, b: Any) -> PrimExpr:
    """`a > b`."""

def GE(a: Any, b: Any) -> PrimExpr:
    """`a >= b`."""

def likely(condition: Any) -> PrimExpr:
    """A condition that mostly holds."""

def ignore_loop_partition(condition: Any) -> PrimExpr:
    """A condition that LoopPartition leaves alone."""

def isfinite(x: Any) -> PrimExpr:
    """Whether a number is neither infinite nor NaN."""

def isinf(x: Any) -> PrimExpr:
    """Whether a number is infinite."""

def isnan(x: Any) -> PrimExpr:
    """Whether a number is NaN."""

def infinity(dtype: str) -> PrimExpr:
    """Infinity of a dtype."""

def max_value(dtype: str) -> PrimExpr:
    """The largest number of a dtype."""

def min_value(dtype: str) -> PrimExpr:
    """The smallest number of a dtype."""

def fma(a: Any, b: Any, c: Any) -> PrimExpr:
    """`a * b + c`, rounded once."""

def dp4a(a: Any, b: Any, c: Any = 0) -> PrimExpr:
    """`c` and the dot product of four bytes with four."""

def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> PrimExpr:
    """`round(x * y * 2 ** -s)` of fixed-point numbers with `q` fractional bits."""

def q_multiply_shift_per_axis(
    x: Any, y: Any, ls: Any, rs: Any, q: Any, is_lshift_required: Any, is_rshift_required: Any
) -> PrimExpr:
    """`q_multiply_shift` with shifts to the left and to the right."""

def Ramp(base: Any, stride: Any, lanes: int) -> PrimExpr:
    """A vector of numbers at equal distances."""

ramp = Ramp

def Broadcast(value: Any, lanes: int) -> PrimExpr:
    """A vector of one number."""

broadcast = Broadcast

def Shuffle(vectors: Sequence[Any], indices: Sequence[int]) -> PrimExpr:
    """A vector of lanes of others."""

def vectorlow(dtype: str, vector: Any) -> PrimExpr:
    """The lower half of a vector."""

def vectorhigh(dtype: str, vector: Any) -> PrimExpr:
    """The upper half of a vector."""

def vectorcombine(dtype: str, low: Any, high: Any) -> PrimExpr:
    """A vector of two halves."""

def call_packed(name: str, *args: Any) -> PrimExpr:
    """Call a packed function of the runtime's registry."""

call_cpacked = call_packed
tvm_call_packed = call_packed
tvm_call_cpacked = call_packed

def call_extern(dtype: str, name: str, *args: Any) -> PrimExpr:
    """Call a function of C."""

def call_pure_extern(dtype: str, name: str, *args: Any) -> PrimExpr:
    """Call a function of C that has no effects."""

def call_intrin(dtype: str, name: str, *args: Any) -> PrimExpr:
    """Call an intrinsic by its name."""

def address_of(element: Any) -> PrimExpr:
    """The address of an element."""

def tvm_access_ptr(ptype: Any, data: Any, offset: Any, extent: Any, rw_mask: int) -> PrimExpr:
    """The address of a part of a buffer."""

def type_annotation(dtype: str) -> Any:
    """A dtype as an argument."""

def Bool(*args: Any) -> PrimExpr: ...
def ctz(x: Any) -> PrimExpr: ...
def expm1(x: Any) -> PrimExpr: ...
def float(*args: Any) -> PrimExpr: ...
def neg(x: Any) -> PrimExpr: ...

class bfloat16(_Number): ...
class bf16(_Number): ...
class f16(_Number): ...
class f32(_Number): ...
class f64(_Number): ...
class i8(_Number): ...
class i16(_Number): ...
class i32(_Number): ...
class i64(_Number): ...
class u8(_Number): ...
class u16(_Number): ...
class u32(_Number): ...
class u64(_Number): ...
class float16(_Number): ...
class float32(_Number): ...
class float64(_Number): ...
class int8(_Number): ...
class int16(_Number): ...
class int32(_Number): ...
class int64(_Number): ...
class uint8(_Number): ...
class uint16(_Number): ...
class uint32(_Number): ...
class uint64(_Number): ...
class float16x2(_Number): ...
class float16x4(_Number): ...
class float16x8(_Number): ...
class float16x16(_Number): ...
class float16x32(_Number): ...
class float16x64(_Number): ...
class float32x2(_Number): ...
class float32x4(_Number): ...
class float32x8(_Number): ...
class float32x16(_Number): ...
class float32x32(_Number): ...
class float32x64(_Number): ...
class float64x2(_Number): ...
class float64x4(_Number): ...
class float64x8(_Number): ...
class float64x16(_Number): ...
class float64x32(_Number): ...
class float64x64(_Number): ...
class int8x2(_Number): ...
class int8x4(_Number): ...
class int8x8(_Number): ...
class int8x16(_Number): ...
class int8x32(_Number): ...
class int8x64(_Number): ...
class int16x2(_Number): ...
class int16x4(_Number): ...
class int16x8(_Number): ...
class int16x16(_Number): ...
class int16x32(_Number): ...
class int16x64(_Number): ...
class int32x2(_Number): ...
class int32x4(_Number): ...
class int32x8(_Number): ...
class int32x16(_Number): ...
class int32x32(_Number): ...
class int32x64(_Number): ...
class int64x2(_Number): ...
class int64x4(_Number): ...
class int64x8(_Number): ...
class int64x16(_Number): ...
class int64x32(_Number): ...
class int64x64(_Number): ...
class uint8x2(_Number): ...
class uint8x4(_Number): ...
class uint8x8(_Number): ...
class uint8x16(_Number): ...
class uint8x32(_Number): ...
class uint8x64(_Number): ...
class uint16x2(_Number): ...
class uint16x4(_Number): ...
class uint16x8(_Number): ...
class uint16x16(_Number): ...
class uint16x32(_Number): ...
class uint16x64(_Number): ...
class uint32x2(_Number): ...
class uint32x4(_Number): ...
class uint32x8(_Number): ...
class uint32x16(_Number): ...
class uint32x32(_Number): ...
class uint32x64(_Number): ...
class uint64x2(_Number): ...
class uint64x4(_Number): ...
class uint64x8(_Number): ...
class uint64x16(_Number): ...
class uint64x32(_Number): ...
class uint64x64(_Number): ...

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "Assert",
    "Bind",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Bool",
    "Break",
    "Broadcast",
    "Buffer",
    "BufferLoad",
    "Cast",
    "Continue",
    "Div",
    "Else",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "If",
    "IntImm",
    "LShift",
    "Let",
    "LetStmt",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "RShift",
    "Ramp",
    "Return",
    "Select",
    "Shuffle",
    "Sub",
    "Then",
    "Var",
    "While",
    "_Number",
    "abs",
    "acos",
    "acosh",
    "address_of",
    "alloc_buffer",
    "alloc_local",
    "alloc_scalar",
    "alloc_shared",
    "allocate",
    "allocate_const",
    "asin",
    "asinh",
    "assume",
    "atan",
    "atan2",
    "atanh",
    "attr",
    "axis",
    "bf16",
    "bfloat16",
    "bind",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "block",
    "block_attr",
    "bool",
    "boolean",
    "break_loop",
    "broadcast",
    "buffer",
    "buffer_decl",
    "buffer_store",
    "call_cpacked",
    "call_extern",
    "call_intrin",
    "call_packed",
    "call_pure_extern",
    "cast",
    "ceil",
    "ceildiv",
    "clz",
    "continue_loop",
    "copysign",
    "cos",
    "cosh",
    "ctz",
    "decl_buffer",
    "dp4a",
    "env_thread",
    "erf",
    "evaluate",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "f16",
    "f32",
    "f64",
    "fabs",
    "float",
    "float16",
    "float16x2",
    "float16x4",
    "float16x8",
    "float16x16",
    "float16x32",
    "float16x64",
    "float32",
    "float32x2",
    "float32x4",
    "float32x8",
    "float32x16",
    "float32x32",
    "float32x64",
    "float64",
    "float64x2",
    "float64x4",
    "float64x8",
    "float64x16",
    "float64x32",
    "float64x64",
    "floor",
    "floordiv",
    "floormod",
    "fma",
    "fmod",
    "func",
    "func_attr",
    "grid",
    "handle",
    "hint",
    "hypot",
    "i8",
    "i16",
    "i32",
    "i64",
    "if_then_else",
    "ignore_loop_partition",
    "infinity",
    "init",
    "inline",
    "int8",
    "int8x2",
    "int8x4",
    "int8x8",
    "int8x16",
    "int8x32",
    "int8x64",
    "int16",
    "int16x2",
    "int16x4",
    "int16x8",
    "int16x16",
    "int16x32",
    "int16x64",
    "int32",
    "int32x2",
    "int32x4",
    "int32x8",
    "int32x16",
    "int32x32",
    "int32x64",
    "int64",
    "int64x2",
    "int64x4",
    "int64x8",
    "int64x16",
    "int64x32",
    "int64x64",
    "isfinite",
    "isinf",
    "isnan",
    "launch_thread",
    "ldexp",
    "let",
    "likely",
    "local_scalar",
    "log",
    "log1p",
    "log2",
    "log10",
    "macro",
    "match_buffer",
    "max",
    "max_value",
    "meta_var",
    "min",
    "min_value",
    "nearbyint",
    "neg",
    "nextafter",
    "parallel",
    "popcount",
    "pow",
    "power",
    "prim_func",
    "q_multiply_shift",
    "q_multiply_shift_per_axis",
    "ramp",
    "reads",
    "reinterpret",
    "ret",
    "round",
    "rsqrt",
    "sblock",
    "sblock_alloc_buffer",
    "sblock_attr",
    "serial",
    "shared_scalar",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "static_assert",
    "tan",
    "tanh",
    "thread_binding",
    "thread_return",
    "trunc",
    "truncdiv",
    "truncmod",
    "tvm_access_ptr",
    "tvm_call_cpacked",
    "tvm_call_packed",
    "type_annotation",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint8",
    "uint8x2",
    "uint8x4",
    "uint8x8",
    "uint8x16",
    "uint8x32",
    "uint8x64",
    "uint16",
    "uint16x2",
    "uint16x4",
    "uint16x8",
    "uint16x16",
    "uint16x32",
    "uint16x64",
    "uint32",
    "uint32x2",
    "uint32x4",
    "uint32x8",
    "uint32x16",
    "uint32x32",
    "uint32x64",
    "uint64",
    "uint64x2",
    "uint64x4",
    "uint64x8",
    "uint64x16",
    "uint64x32",
    "uint64x64",
    "undef",
    "unroll",
    "var",
    "vectorcombine",
    "vectorhigh",
    "vectorized",
    "vectorlow",
    "where",
    "writes",
]
