"""What passes made of a program reads back from its script as the same program."""

import pytest

from relax_mlir import transform
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source, script_with_metadata

PARAMETERS = (
    'x: R.Tensor(("n", 4), "float32"), g: R.Tensor((4,), "float32"), '
    'q: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((2, 3, 3, 3), "float32"), '
    'ix: R.Tensor(("n",), "int64"), h: R.Tensor((1, 8, 2, 4), "float32"), '
    'c: R.Tensor((3,), "float32"), u: R.Tensor'
)
EXPRESSIONS = (
    "R.exp(x)", "R.nn.gelu(x)", "R.nn.softmax(x)", "R.nn.log_softmax(x)", "R.sign(x)",
    "R.nn.layer_norm(x, g, g, axes=[-1])", "R.nn.rms_norm(x, g, axes=[-1])",
    "R.nn.batch_norm(q, c, c, c, c)", "R.argmax(x, axis=1)", "R.argmin(x)", "R.std(x, axis=[1])",
    "R.variance(x)", "R.mean(x)", "R.floor_divide(x, x)", "R.floor_mod(x, x)",
    "R.nn.max_pool2d(q, (2, 2))", "R.nn.avg_pool2d(q, (2, 2))",
    "R.nn.adaptive_avg_pool2d(q, (2, 2))", "R.image.resize2d(q, (5, 9))",
    "R.image.resize2d(u, (5, 9), roi=[0, 0, 1, 0.5])", "R.nn.conv2d(q, w)",
    "R.nn.pad(x, (1, 1, 2, 2))", "R.matmul(x, R.permute_dims(x))",
    "R.einsum((x, x), 'ij,kj->ik')", "R.nn.attention(h, h, h)",
    "R.where(x > x, x, x)", "R.clip(x, 0, 1)", "R.cumsum(x, axis=0)", "R.take(x, ix, axis=0)",
    "R.scatter_elements(x, R.astype(x, 'int64'), x, 0)", "R.concat((x, x))",
    "R.split(x, 2, axis=1)", "R.topk(x, 2)", "R.unique(ix)", "x[1:3]",
    "R.log(u)", "R.sum(u, axis=[0])", "R.add(u, x)",
)  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_kernels_and_library_calls(expression) -> None:
    source = f"@R.function\ndef main({PARAMETERS}):\n    return {expression}\n"
    module = transform.LegalizeOps()(from_source(source))
    text, metadata = script_with_metadata(module)
    again = from_source(text, {"metadata": metadata})
    assert_structural_equal(again, module)
    assert script_with_metadata(again)[0] == text


def test_another_order_of_stores_is_another_program() -> None:
    """Scalar expressions have no order; what they load does."""
    kernel = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        {}
"""
    load = "v = A[i]"
    first, second = "A[i] = B[i]", "B[i] = v"
    programs = [
        from_source(kernel.format("\n        ".join(lines)))
        for lines in ((load, first, second), (first, load, second))
    ]
    with pytest.raises(ValueError, match="not structurally equal"):
        assert_structural_equal(*programs)


def test_numbers_between_buffers_go_behind_them() -> None:
    text = """
@I.ir_module
class Module:
    @T.prim_func(private={private})
    def shift(A: T.Buffer((10,), "float32"), n: T.int64, B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[T.min(i + n, 9)]

    @R.function
    def main(x: R.Tensor((10,), "float32"), s: R.Shape(["n"])):
        n = T.int64()
        return R.call_tir(Module.shift, (x, n), out_ty=R.Tensor((4,), "float32"))
"""
    # Nothing but the call needs a private function in the order that was written.
    private = from_source(text.format(private=True))
    assert private.function_names == ["shift", "main"]
    assert [each.name for each in private["shift"].params] == ["A", "B", "n"]
    assert_structural_equal(from_source(private.script()), private)
    public = from_source(text.format(private=False))
    assert sorted(public.function_names) == ["main", "shift", "shift_buffers_first"]
