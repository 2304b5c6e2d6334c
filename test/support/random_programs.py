"""Random Relax programs as script text, from a list of small integers that can be shrunk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

DOUBLE = "test.random_programs.double"
HEAD = """from relax_mlir.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def bump(a: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] * T.float32(0.5) + T.float32(1)
    @R.function
    def half(v: R.Tensor(("p", "q"), "float32")) -> R.Tensor(("p", "q"), "float32"):
        w = R.multiply(v, R.const(0.5, "float32"))
        return w
"""
# What is there beside the functions that are asked for.
HELPERS = ("half", "bump")
PARAMS = (
    ("flag", (), "bool"), ("x", ("n", "4"), "float32"), ("y", ("n", "m"), "float32"),
    ("w", ("4",), "float32"), ("mask", ("n", "4"), "bool"), ("ints", ("n", "4"), "int64"),
)  # fmt: skip
UNARY = (
    "R.tanh({})", "R.sigmoid({})", "R.abs({})", "R.negative({})", "R.nn.relu({})", "R.nn.silu({})",
    "R.erf({})", "R.exp(R.tanh({}))", "R.sqrt(R.abs({}))", "R.square(R.tanh({}))", "R.nn.gelu({})",
    "{} * 1.5", "{} + 0.25", "1.0 - {}", "R.clip({}, -1.0, 1.0)", "R.sin({})",
)  # fmt: skip
BINARY = (
    "R.add({}, {})", "R.subtract({}, {})", "R.multiply({}, {})", "R.maximum({}, {})",
    "R.minimum({}, {})", "R.divide({}, R.abs({}) + 1.0)",
)  # fmt: skip
INT_BINARY = (
    "R.add({}, {})", "R.multiply({}, {})", "R.maximum({}, {})", "R.subtract({}, {})",
    "R.floor_divide({}, R.abs({}) + 1)",
)  # fmt: skip
COMPARE = ("R.less({}, {})", "R.equal({}, {})", "R.greater_equal({}, {})")


@dataclass(frozen=True)
class Value:
    """A name in scope; `dims` is None where the program forgot them."""

    name: str
    dims: tuple[str, ...] | None
    dtype: str

    @property
    def annotation(self) -> str:
        dims = ", ".join(dim if dim.isdigit() else f'"{dim}"' for dim in self.dims or ())
        return f'R.Tensor(({dims}{"," if self.dims else ""}), "{self.dtype}")'


def broadcast(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the shape of an elementwise result, None when it is not certain to exist."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    result = list(longer)
    for index in range(1, len(shorter) + 1):
        left, right = longer[-index], shorter[-index]
        if left != right and "1" not in (left, right):
            return None
        result[-index] = right if left == "1" else left
    return tuple(result)


class Writer:
    """Writes one function; a step is (kind, a, b), modulo what there is to choose from."""

    def __init__(self, name: str, steps: Sequence[tuple[int, int, int]]) -> None:
        self.name, self.count, self.depth, self.pure = name, 0, 2, False
        # Values with a tensor of their own, which may be written to.
        self.owned: set[str] = set()
        self.lines: list[str] = []
        self.values = [Value(n, dims, dtype) for n, dims, dtype in PARAMS]
        self._steps = list(steps)
        self._write()

    def text(self) -> str:
        """Return the function's source."""
        signature = ", ".join(f"{v.name}: {v.annotation}" for v in map(lambda p: Value(*p), PARAMS))
        return "\n".join(["    @R.function", f"    def {self.name}({signature}):", *self.lines])

    def _write(self) -> None:
        while self._steps:
            self._step()
        chosen = [v for v in self.values[len(PARAMS) :]][-4:] or [self.values[1]]
        self._line(f"return ({', '.join(v.name for v in chosen)},)")

    def _step(self) -> None:
        kind, a, b = self._steps.pop(0)
        KINDS[kind % len(KINDS)](self, a, b)

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def _bind(self, text: str, dims: tuple[str, ...] | None, dtype: str = "float32") -> Value:
        value = Value(self._new(), dims, dtype)
        self._line(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def _pick(
        self, a: int, accept: Callable[[Value], bool] = lambda v: True, dtype: str = "float32"
    ) -> Value | None:
        fitting = [v for v in self.values if v.dtype == dtype and v.dims is not None and accept(v)]
        # Late values first, so that chains grow.
        return fitting[-1 - a % len(fitting)] if fitting else None

    def _ranked(self, a: int, ndim: int = 1) -> Value:
        value = self._pick(a, lambda v: len(v.dims or ()) >= ndim)
        assert value is not None  # the parameters have every rank
        return value

    def unary(self, a: int, b: int) -> None:
        value = self._ranked(a, 0)
        self.owned.add(self._bind(UNARY[b % len(UNARY)].format(value.name), value.dims).name)

    def binary(self, a: int, b: int, dtype: str = "float32") -> None:
        forms = BINARY if dtype == "float32" else INT_BINARY
        left = self._pick(a, dtype=dtype)
        if left is None:
            return
        right = self._pick(b, lambda v: broadcast(left.dims or (), v.dims or ()) is not None, dtype)
        if right is not None:
            text = forms[(a + b) % len(forms)].format(left.name, right.name)
            self._bind(text, broadcast(left.dims or (), right.dims or ()), dtype)

    def integers(self, a: int, b: int) -> None:
        self.binary(a, b, "int64")

    def compare(self, a: int, b: int) -> None:
        left = self._pick(a, dtype="int64")
        right = left and self._pick(b, lambda v: v.dims == left.dims, "int64")
        if left and right:
            text = COMPARE[(a + b) % len(COMPARE)].format(left.name, right.name)
            self._bind(text, left.dims, "bool")

    def where(self, a: int, b: int) -> None:
        mask = self._pick(a, lambda v: v.name != "flag", "bool")
        value = mask and self._pick(b, lambda v: v.dims == mask.dims)
        if mask and value:
            self._bind(f"R.where({mask.name}, {value.name}, R.negative({value.name}))", mask.dims)

    def convert(self, a: int, b: int) -> None:
        value = self._pick(a, dtype=("int64", "bool")[b % 2])
        if value is not None:
            self._bind(f'R.astype({value.name}, "float32")', value.dims)

    def reduce(self, a: int, b: int) -> None:
        value = self._ranked(a)
        dims = list(value.dims or ())
        axis = b % len(dims)
        name = ("sum", "mean", "max")[b % 3] if dims[axis].isdigit() else "sum"
        keep = (a + b) % 2 == 0
        dims[axis : axis + 1] = ["1"] if keep else []
        self._bind(f"R.{name}({value.name}, axis={axis}, keepdims={keep})", tuple(dims))

    def softmax(self, a: int, b: int) -> None:
        value = self._ranked(a)
        form = ("R.nn.softmax", "R.nn.log_softmax", "R.cumsum")[b % 3]
        self._bind(f"{form}({value.name}, axis={b % len(value.dims or ())})", value.dims)

    def transpose(self, a: int, b: int) -> None:
        value = self._ranked(a)
        dims = value.dims or ()
        turn = b % len(dims)
        order = [(axis + turn) % len(dims) for axis in range(len(dims))]
        self._bind(f"R.permute_dims({value.name}, axes={order})", tuple(dims[i] for i in order))

    def rearrange(self, a: int, b: int) -> None:
        value = self._ranked(a)
        dims, name = value.dims or (), value.name
        axis = a % len(dims)
        fixed = [i for i, dim in enumerate(dims) if dim.isdigit() and int(dim) >= 2]
        kind = b % 7
        if kind == 0 and len(dims) < 4:
            self._bind(f"R.expand_dims({name}, axis={axis})", (*dims[:axis], "1", *dims[axis:]))
        elif kind == 1 and "1" in dims:
            at = dims.index("1")
            self._bind(f"R.squeeze({name}, axis=[{at}])", dims[:at] + dims[at + 1 :])
        elif kind == 2:
            self._bind(f"R.flip({name}, axis={axis})", dims)
        elif kind == 3 and fixed:
            at, size = fixed[0], int(dims[fixed[0]])
            text = f"R.strided_slice({name}, axes=[{at}], begin=[1], end=[{size}])"
            self._bind(text, (*dims[:at], str(size - 1), *dims[at + 1 :]))
        elif kind == 4 and fixed:
            at, size = fixed[-1], int(dims[fixed[-1]])
            indices = [(a + i) % size for i in range(1 + b % 3)]
            text = f'R.take({name}, R.const({indices}, "int64"), axis={at})'
            self._bind(text, (*dims[:at], str(len(indices)), *dims[at + 1 :]))
        elif kind == 5 and fixed and int(dims[fixed[0]]) % 2 == 0:
            at, size = fixed[0], int(dims[fixed[0]])
            pieces = self._new()
            self._line(f"{pieces} = R.split({name}, 2, axis={at})")
            self._bind(f"{pieces}[{a % 2}]", (*dims[:at], str(size // 2), *dims[at + 1 :]))
        elif kind == 6:
            self._bind(f"R.concat([{name}, R.negative({name})], axis={axis})",
                       (*dims[:axis], f"2 * ({dims[axis]})" if not dims[axis].isdigit()
                        else str(2 * int(dims[axis])), *dims[axis + 1 :]))  # fmt: skip

    def matmul(self, a: int, b: int) -> None:
        left = self._ranked(a, 2)
        inner = (left.dims or ())[-1]
        right = self._pick(b, lambda v: len(v.dims or ()) == 2 and (v.dims or ())[0] == inner)
        if right is None:
            self._bind(f"R.matmul(R.permute_dims({left.name}), {left.name})",
                       (inner, inner)) if len(left.dims or ()) == 2 else None  # fmt: skip
        else:
            dims = (*(left.dims or ())[:-1], (right.dims or ())[1])
            self._bind(f"R.tanh(R.matmul({left.name}, {right.name}))", dims)

    def tuples(self, a: int, b: int) -> None:
        left, right = self._ranked(a, 0), self._ranked(b, 0)
        pair = self._new()
        self._line(f"{pair} = ({left.name}, ({right.name}, {left.name}))")
        self._bind(f"{pair}[1][0]", right.dims)

    def forget(self, a: int, b: int) -> None:
        value = self._ranked(a)
        lost = self._new()
        form = ("R.Tensor", 'R.Tensor(dtype="float32")',
                f'R.Tensor(ndim={len(value.dims or ())}, dtype="float32")')[b % 3]  # fmt: skip
        self._line(f"{lost}: {form} = R.multiply({value.name}, {value.name})")
        more = self._new()
        self._line(f"{more} = {('R.tanh({})', 'R.add({0}, {0})')[a % 2].format(lost)}")
        self._bind(f"R.match_cast({more}, {value.annotation})", value.dims)

    def call(self, a: int, b: int) -> None:
        value = self._pick(a, lambda v: len(v.dims or ()) == 2)
        if value is not None and not self.pure:
            self._bind(f"Module.half({value.name})", value.dims)

    def branch(self, a: int, b: int) -> None:
        if self.pure or self.depth > 3:
            return
        value, name = self._ranked(a), self._new()
        self._line("if flag:")
        left = self._inside(b % 4, value)
        self._line(f"    {name} = R.negative({left})")
        self._line("else:")
        right = self._inside(a % 3, value)
        self._line(f"    {name} = R.abs({right})")
        self.values.append(Value(name, value.dims, "float32"))

    def loop(self, a: int, b: int) -> None:
        if self.pure or self.depth > 3:
            return
        value, name = self._ranked(a), self._new()
        self._line(f"{name} = R.tanh({value.name})")
        self._line(f"for i{name} in range({a % 4}):")
        inner = self._inside(b % 4, Value(name, value.dims, "float32"))
        self._line(f"    {name} = R.multiply({inner}, R.const(0.75, 'float32'))")
        self.values.append(Value(name, value.dims, "float32"))

    def carry(self, a: int, b: int) -> None:
        """A loop that carries a nested tuple, whose fields change places."""
        if self.pure or self.depth > 3:
            return
        value, state, count = self._ranked(a), self._new(), self._new()
        first, second = self._new(), self._new()
        self._line(f"{first} = R.tanh({value.name})")
        self._line(f"{state} = ({first}, ({value.name}, {first}))")
        turns = a % 4
        if b % 3 == 0:
            self._line(f"for {count} in range({turns}):")
        else:
            start, more = (
                ("0", "1") if b % 3 == 1 else ('R.const(0, "int64")', 'R.const(1, "int64")')
            )
            stop = str(turns) if b % 3 == 1 else f'R.const({turns}, "int64")'
            self._line(f"{count} = {start}")
            self._line(f"while {count} < {stop}:")
        self._line(f"    {second} = {state}[{b % 2}]{'[0]' if b % 2 else ''}")
        inner = self._inside(b % 4, Value(second, value.dims, "float32"))
        scaled = f"R.multiply({inner}, R.const(0.75, 'float32'))"
        self._line(f"    {state} = ({scaled}, ({second}, {state}[0]))")
        if b % 3:
            self._line(f"    {count} = {count} + {more}")
        for field in ("[0]", "[1][0]", "[1][1]")[: 1 + b % 3]:
            self._bind(state + field, value.dims)

    def write(self, a: int, b: int) -> None:
        """An impure call that doubles a tensor, which may be known by other names as well."""
        value = None if self.pure else self._pick(a, lambda v: v.name in self.owned)
        if value is not None:
            self._bind(f'R.call_packed("{DOUBLE}", {value.name}, '
                       f"sinfo_args={value.annotation})", value.dims)  # fmt: skip

    def inplace(self, a: int, b: int) -> None:
        """A call that may overwrite what nobody needs any more."""
        value = self._pick(a, lambda v: b % 2 == 0 or len(v.dims or ()) == 2)
        if value is None:
            return
        if b % 2:
            text = (
                f"R.call_tir_inplace(Module.bump, ({value.name},), inplace_indices=[0], out_sinfo="
            )
        else:
            text = (
                f'R.call_inplace_packed("{DOUBLE}", {value.name}, inplace_indices=[0], sinfo_args='
            )
        self._bind(f"{text}{value.annotation})", value.dims)

    def nested(self, a: int, b: int) -> None:
        """A function written in place, which sees the values around it."""
        if self.pure or self.depth > 3:
            return
        value, name, parameter = self._ranked(a), self._new(), self._new()
        self._line("@R.function")
        self._line(f"def {name}({parameter}: {value.annotation}) -> {value.annotation}:")
        self.pure = True
        inner = self._inside(b % 4, Value(parameter, value.dims, "float32"))
        self.pure = False
        self._line(f"    return R.add({inner}, {self._ranked(b, 0).name})") if broadcast(
            value.dims or (), self._ranked(b, 0).dims or ()
        ) == value.dims else self._line(f"    return R.sin({inner})")
        for _ in range(1 + a % 2):
            self._bind(f"{name}({value.name})", value.dims)

    def dataflow(self, a: int, b: int) -> None:
        if self.pure:
            return
        outside = list(self.values)
        self._line("with R.dataflow():")
        self.depth += 1
        self.pure = True
        first = self._bind(f"R.tanh({self._ranked(a).name})", self._ranked(a).dims)
        self._take(b % 6)
        made = [v for v in self.values if v not in outside]
        kept = [first, *made[-1 - a % 2 :]] if made[-1] != first else [first]
        kept = list(dict.fromkeys(kept))
        self._line(f"R.output({', '.join(v.name for v in kept)})")
        self.pure = False
        self.depth -= 1
        self.values = [*outside, *kept]

    def _inside(self, count: int, value: Value) -> str:
        """Write some steps in a nested scope; return a value there of that value's shape."""
        outside = list(self.values)
        self.values.append(value)
        self.depth += 1
        self._take(count)
        found = self._pick(0, lambda v: v.dims == value.dims) or value
        self.depth -= 1
        self.values = outside
        return found.name

    def _take(self, count: int) -> None:
        for _ in range(min(count, len(self._steps))):
            if self._steps:
                self._step()


KINDS = (
    Writer.unary, Writer.binary, Writer.unary, Writer.binary, Writer.reduce, Writer.softmax,
    Writer.transpose, Writer.rearrange, Writer.rearrange, Writer.matmul, Writer.tuples,
    Writer.forget, Writer.call, Writer.branch, Writer.loop, Writer.dataflow, Writer.where,
    Writer.convert, Writer.integers, Writer.compare, Writer.carry, Writer.write, Writer.inplace,
    Writer.nested, Writer.carry, Writer.write,
)  # fmt: skip


def program(functions: Sequence[Sequence[tuple[int, int, int]]]) -> str:
    """Return the source of a module with the functions `f0`, `f1`, ..."""
    return HEAD + "\n".join(Writer(f"f{i}", steps).text() for i, steps in enumerate(functions))


def arguments(n: int, m: int, flag: bool, seed: int = 0) -> list[np.ndarray]:
    """Return what the functions take, for one choice of the symbols."""
    rng = np.random.default_rng(seed)
    sizes = {"n": n, "m": m, "4": 4}
    made = []
    for name, dims, dtype in PARAMS:
        shape = tuple(sizes[dim] for dim in dims)
        if name == "flag":
            made.append(np.array(flag))
        elif dtype == "bool":
            made.append(rng.random(shape) < 0.5)
        elif dtype == "int64":
            made.append(rng.integers(-5, 6, shape))
        else:
            made.append(rng.standard_normal(shape).astype(dtype))
    return made
