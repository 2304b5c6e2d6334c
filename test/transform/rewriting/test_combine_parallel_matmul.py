"""`CombineParallelMatmul` and `FuseTransposeMatmul`: products with one matrix, and transposed."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import IRModule, relax, transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Products:
    @R.function
    def plain(x: R.Tensor(("n", 4), "float32"), a: R.Tensor((4, 3), "float32"),
              b: R.Tensor((4, 5), "float32")):  # fmt: skip
        with R.dataflow():
            y, z = R.matmul(x, a), R.matmul(x, b)
            R.output(y, z)
        return y, z

    @R.function
    def layers(
        x: R.Tensor(("n", 4), "float32"), a: R.Tensor((4, 3), "float32"),
        b: R.Tensor((4, 5), "float32"), c: R.Tensor((3,), "float32"), d: R.Tensor((5,), "float32"),
    ):  # fmt: skip
        with R.dataflow():
            y = R.nn.relu(R.add(R.matmul(x, a), c))
            z = R.nn.relu(R.add(R.matmul(x, b), d))
            R.output(y, z)
        return y, z

    @R.function
    def used_twice(x: R.Tensor((2, 4), "float32"), a: R.Tensor((4, 3), "float32"),
                   b: R.Tensor((4, 5), "float32")):  # fmt: skip
        with R.dataflow():
            p = R.matmul(x, a)
            y = R.nn.relu(p)
            z = R.nn.relu(R.matmul(x, b))
            R.output(p, y, z)
        return p, y, z

    @R.function
    def batches(x: R.Tensor((2, 3, 4), "float32"), a: R.Tensor((2, 4, 3), "float32"),
                b: R.Tensor((2, 4, 1), "float32")):  # fmt: skip
        with R.dataflow():
            y, z = R.matmul(x, a), R.matmul(x, b)
            R.output(y, z)
        return y, z

    @R.function
    def dynamic(x: R.Tensor((2, 4), "float32"), a: R.Tensor((4, "m"), "float32"),
                b: R.Tensor((4, 5), "float32"), c: R.Tensor((4, "k"), "float32")):  # fmt: skip
        with R.dataflow():
            y, z, u = R.matmul(x, a), R.matmul(x, b), R.matmul(x, c)
            R.output(y, z, u)
        return y, z, u


COMBINED = transform.CombineParallelMatmul()(Products)
# The sizes of symbols.
SIZES = {"n": 7, "m": 6, "k": 2}


@pytest.mark.parametrize(
    ("name", "products", "activations"),
    [("plain", 1, 0), ("layers", 1, 1), ("used_twice", 1, 2), ("batches", 1, 0), ("dynamic", 2, 0)],
)
def test_products_that_are_combined(name: str, products: int, activations: int) -> None:
    text = COMBINED[name].script()
    assert text.count("R.matmul(") == products
    assert text.count("R.nn.relu(") == activations


@pytest.mark.codegen
@pytest.mark.parametrize("name", ["plain", "layers", "used_twice", "batches", "dynamic"])
def test_the_same_numbers(name: str) -> None:
    generator, params = np.random.default_rng(11), Products[name].params
    shapes = [
        [SIZES.get(str(dim)) or dim.value for dim in p.ty.dims] for p in Products[name].params
    ]
    given = [generator.normal(size=shape).astype("float32") for shape in shapes]
    before, after = (
        relax.VirtualMachine(relax.build(mod))[name](*given) for mod in (Products, COMBINED)
    )
    for expected, got in zip(before, after, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_a_check_decides() -> None:
    seen: list[Any] = []

    def check(left: Any, rights: Any, biases: Any, values: Any) -> bool:
        seen.append((left.name_hint, [each.name_hint for each in rights], len(biases)))
        return False

    made = transform.CombineParallelMatmul(check)(Products)
    assert made.script() == Products.script()
    assert ("x", ["a", "b"], 2) in seen


@I.ir_module
class Transposed:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((6, 8), "float32")):
        with R.dataflow():
            y = R.matmul(x, R.permute_dims(w))
            R.output(y)
        return y


@pytest.mark.codegen
@pytest.mark.parametrize("rows", [0, 1, 33])
def test_transposed_matrices(rows: int) -> None:
    generator = np.random.default_rng(rows)
    x, w = (generator.normal(size=(size, 8)).astype("float32") for size in (rows, 6))
    main = relax.VirtualMachine(relax.build(transform.FuseTransposeMatmul()(Transposed)))["main"]
    np.testing.assert_allclose(main(x, w), x @ w.T, rtol=1e-5, atol=1e-5)


def test_products_of_other_dtypes_stay() -> None:
    x = relax.Var("x", R.Tensor((8, 16), "float32"))
    rights = [relax.Var(f"w{i}", R.Tensor((16, 4), dtype)) for i, dtype in enumerate(
        ("float16", "float32", "float32", "float32")
    )]  # fmt: skip
    results = ["float32", "float32", "float16", "float32"]
    pairs = zip(rights, results, strict=True)
    products = [relax.op.matmul(x, right, out_dtype=result) for right, result in pairs]
    func = relax.Function([x, *rights], relax.Tuple(products))
    mod = transform.ConvertToDataflow()(IRModule.from_expr(func))
    made = transform.CombineParallelMatmul()(mod)
    # The two of one dtype with one result are one.
    assert made.script().count("R.matmul") == 3
    assert made["main"].ret_type == mod["main"].ret_type
