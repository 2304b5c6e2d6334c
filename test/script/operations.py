# RUN: %PYTHON %s | FileCheck %s
"""What script makes of operations: the result types that follow, and how they are printed."""

# ruff: noqa: E501

from relax_mlir.script import from_source, script
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Module:
    # CHECK-LABEL: def create(
    @R.function
    def create(x: R.Tensor(("n", "m"), "float32"), i: R.Tensor(("k",), "int64")):
        # CHECK: zeros: R.Tensor((n, 4), dtype="int32") = R.zeros(R.shape([n, 4]), dtype="int32")
        zeros = R.zeros((n, 4), dtype="int32")
        # CHECK: ones: R.Tensor((n, m), dtype="float32") = R.ones_like(x)
        ones = R.ones_like(x)
        # CHECK: full: R.Tensor((n, 4), dtype="float32") = R.full(R.shape([n, 4]), R.const(1.5, "float32"))
        full = R.full((n, 4), 1.5)
        # CHECK: more: R.Tensor((n, m), dtype="int8") = R.full_like(x, R.const(2.0, "float32"), dtype="int8")
        more = R.full_like(x, 2, dtype="int8")
        # CHECK: count: R.Tensor((n,), dtype="int64") = R.arange(start=n)
        count = R.arange(n)
        # CHECK: steps: R.Tensor((((n * 2 + 2) // 3),), dtype="int32") = R.arange(start=0, end=n * 2, step=3, dtype="int32")
        steps = R.arange(0, n * 2, 3, dtype="int32")
        # CHECK: halves: R.Tensor((4,), dtype="float32") = R.arange(start=0, end=2, step=0.5)
        halves = R.arange(0, 2, 0.5)
        # CHECK: unit: R.Tensor((n, m), dtype="float32") = R.eye(n=n, m=m, k=1)
        unit = R.eye(n, m, k=1)
        # CHECK: lower: R.Tensor((n, m), dtype="float32") = R.tril(x, k=-1)
        lower = R.tril(x, -1)
        # CHECK: hot: R.Tensor((k, 10), dtype="float32") = R.one_hot(i, on_value=1.0, off_value=0.0, depth=10)
        hot = R.one_hot(i, 1.0, 0.0, 10)
        return x

    # CHECK-LABEL: def join(
    @R.function
    def join(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k", "m"), "float32"), u: R.Tensor):
        # CHECK: both: R.Tensor((k + n, m), dtype="float32") = R.concat((x, y))
        both = R.concat((x, y))
        # CHECK: pair: R.Tensor((n, m * 2), dtype="float32") = R.concat((x, x), axis=1)
        pair = R.concat(R.tuple(x, x), axis=1)
        # CHECK: pile: R.Tensor((n, m, 2), dtype="float32") = R.stack((x, x), axis=-1)
        pile = R.stack([x, x], axis=-1)
        # CHECK: loose: R.Tensor(ndim=2) = R.concat((x, u))
        loose = R.concat([x, u])
        # CHECK: parts: R.Tuple(R.Tensor((n, ((m + 1) // 2)), dtype="float32"), R.Tensor((n, -((m + 1) // 2) + m), dtype="float32")) = R.split(x, indices_or_sections=2, axis=1)
        parts = R.split(x, 2, axis=1)
        last = parts[1]
        # CHECK: cut: R.Tuple(R.Tensor((T.min(2, n), m), dtype="float32"), R.Tensor((T.max(0, n - 2), m), dtype="float32")) = R.split(x, indices_or_sections=[2])
        cut = R.split(x, [2], axis=0)
        # CHECK: inner: R.Tensor((T.max(0, n - 2), m), dtype="float32") = R.strided_slice(x, axes=[0], begin=[1], end=[n - 1])
        inner = R.strided_slice(x, axes=[0], begin=[1], end=[n - 1])
        # CHECK: tvm: R.Tensor((T.min(k, n), m), dtype="float32") = R.strided_slice(x, axes=[0], begin=[0], end=[k])
        tvm = R.strided_slice(x, (R.prim_value(0),), (R.prim_value(0),), (k,), assume_inbound=False)
        # CHECK: back: R.Tensor((n, m), dtype="float32") = R.strided_slice(x, axes=[1], begin=[-1], end=[-9223372036854775807], strides=[-1])
        back = R.strided_slice(x, [1], [-1], [-9223372036854775807], [-1])
        return x

    # CHECK-LABEL: def manipulate(
    @R.function
    def manipulate(
        x: R.Tensor(("n", "m"), "float32"), o: R.Tensor(("n", 1, 4), "int8"), u: R.Tensor
    ):
        # CHECK: rows: R.Tensor((((m * n) // 2), 2), dtype="float32") = R.reshape(x, R.shape([((m * n) // 2), 2]))
        rows = R.reshape(x, (-1, 2))
        # CHECK: same: R.Tensor((n, 4), dtype="int8") = R.reshape(o, R.shape([n, 4]))
        same = R.reshape(o, (0, -1))
        # CHECK: later: R.Tensor(ndim=2) = R.reshape(u, gv)
        later = R.reshape(u, (0, -1))
        # CHECK: wide: R.Tensor((n, m, 4), dtype="int8") = R.broadcast_to(o, R.shape([n, m, 4]))
        wide = R.broadcast_to(o, (n, m, 4))
        # CHECK: thin: R.Tensor((n, 4), dtype="int8") = R.squeeze(o, axis=[1])
        thin = R.squeeze(o, axis=1)
        # CHECK: new: R.Tensor((1, n, m), dtype="float32") = R.expand_dims(x, axis=[0])
        new = R.expand_dims(x, 0)
        # CHECK: tiles: R.Tensor((n * 2, m * 3), dtype="float32") = R.tile(x, repeats=[2, 3])
        tiles = R.tile(x, (2, 3))
        # CHECK: twice: R.Tensor((n * 2, m), dtype="float32") = R.repeat(x, repeats=2, axis=0)
        twice = R.repeat(x, 2, axis=0)
        # CHECK: turned: R.Tensor((n, m), dtype="float32") = R.flip(x, axis=1)
        turned = R.flip(x, axis=1)
        # CHECK: moved: R.Tensor((n, m), dtype="float32") = R.roll(x, shift=1, axis=0)
        moved = R.roll(x, 1, axis=0)
        # CHECK: padded: R.Tensor((n + 2, m), dtype="float32") = R.nn.pad(x, pad_width=[1, 1, 0, 0], pad_value=float("-inf"))
        padded = R.nn.pad(x, [1, 1, 0, 0], pad_value=float("-inf"))
        return x

    # CHECK-LABEL: def index(
    @R.function
    def index(
        x: R.Tensor(("n", "m"), "float32"),
        i: R.Tensor(("k",), "int64"),
        j: R.Tensor(("k", "m"), "int64"),
        y: R.Tensor(("k", "m"), "float32"),
    ):
        # CHECK: rows: R.Tensor((k, m), dtype="float32") = R.take(x, i, axis=0)
        rows = R.take(x, i, axis=0)
        # CHECK: near: R.Tensor((n, k), dtype="float32") = R.take(x, i, axis=1, mode="clip")
        near = R.take(x, i, axis=1, mode="clip")
        # CHECK: flat: R.Tensor((k, m), dtype="float32") = R.take(x, j)
        flat = R.take(x, j)
        # CHECK: some: R.Tensor((k, m), dtype="float32") = R.gather_elements(x, j)
        some = R.gather_elements(x, j, axis=0)
        # CHECK: each: R.Tensor((k, m), dtype="float32") = R.gather_nd(x, gv)
        each = R.gather_nd(x, R.expand_dims(i, 1))
        # CHECK: put: R.Tensor((n, m), dtype="float32") = R.scatter_elements(x, j, y, reduction="add")
        put = R.scatter_elements(x, j, y, axis=0, reduction="add")
        # CHECK: sums: R.Tensor((n, m), dtype="float32") = R.scatter_nd(x, gv1, y, reduction="add")
        sums = R.scatter_nd(x, R.expand_dims(i, 1), y, reduction="add")
        # CHECK: at: R.Tensor((k,), dtype="float32") = R.index_tensor(x, (i, i))
        at = R.index_tensor(x, (i, i))
        # CHECK: grid: R.Tuple(R.Tensor((k, k), dtype="int64"), R.Tensor((k, k), dtype="int64")) = R.meshgrid((i, i), indexing="xy")
        grid = R.meshgrid((i, i), indexing="xy")
        return x


text = script(Module)
print(text)
# CHECK: the same again
assert script(from_source(text)) == text
print("the same again")
