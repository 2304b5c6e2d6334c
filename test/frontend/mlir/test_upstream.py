"""Programs of linalg, tensor, arith, scf and TOSA against numpy."""

# ruff: noqa: E501

import numpy as np
import pytest
from mlir_programs import MATMUL, SOFTMAX_TOSA

import relax_mlir

RNG = np.random.default_rng(0)


def _floats(*shape):
    return RNG.normal(size=shape).astype("float32")


def _check(text, inputs, *expected):
    with relax_mlir.transform.PassContext(opt_level=0):
        result = relax_mlir.compile(text)(*inputs)
    results = result if len(expected) > 1 else [result]
    for actual, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, 1e-4, 1e-5)


def test_generic_and_named_operations_of_any_size():
    run = relax_mlir.compile(MATMUL)
    for m, k, n in ((0, 3, 2), (1, 1, 1), (5, 7, 4), (37, 0, 3), (65, 33, 97)):
        a, b = _floats(m, k), _floats(k, n)
        expected = np.maximum(a @ b, 0) + (m - np.arange(m, dtype="float32"))[:, None]
        np.testing.assert_allclose(run(a, b), expected, 1e-4, 1e-5)


def test_what_a_reduction_starts_from_is_added():
    a, b, c = _floats(5, 7), _floats(7, 4), _floats(5, 4)
    _check("""
func.func @main(%a: tensor<5x7xf32>, %b: tensor<7x4xf32>, %c: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<5xf32>) {
  %r = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x4xf32>) outs(%c : tensor<5x4xf32>) -> tensor<5x4xf32>
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<5xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %m = linalg.reduce { arith.maximumf } ins(%r : tensor<5x4xf32>) outs(%f : tensor<5xf32>) dimensions = [1]
  return %r, %m : tensor<5x4xf32>, tensor<5xf32>
}""", [a, b, c], a @ b + c, (a @ b + c).max(1))  # fmt: skip


def test_slices_pads_loops_and_branches():
    text = """
func.func @main(%a: tensor<?x7xf32>, %k: index, %up: i1) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant 1.5 : f32
  %n = tensor.dim %a, %c0 : tensor<?x7xf32>
  %l = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> tensor<?x7xf32> {
    %t = scf.if %up -> tensor<?x7xf32> {
      %u = arith.addf %x, %x : tensor<?x7xf32>
      scf.yield %u : tensor<?x7xf32>
    } else {
      scf.yield %x : tensor<?x7xf32>
    }
    scf.yield %t : tensor<?x7xf32>
  }
  %s = tensor.extract_slice %l[0, 1] [%n, 3] [1, 2] : tensor<?x7xf32> to tensor<?x3xf32>
  %p = tensor.pad %s low[1, 0] high[0, %k] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<?x3xf32> to tensor<?x?xf32>
  return %p : tensor<?x?xf32>
}"""
    run = relax_mlir.compile(text)
    a = _floats(5, 7)
    for k, factor in ((2, 8), (0, 1)):
        expected = np.pad(a[:, 1::2] * factor, ((1, 0), (0, k)), constant_values=1.5)
        np.testing.assert_allclose(run(a, np.int64(k), np.bool_(factor > 1)), expected)


def test_rank_reducing_slices_and_shapes():
    a = _floats(4, 1, 6)
    _check("""
func.func @main(%a: tensor<4x1x6xf32>, %b: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<4x3x2xf32>, tensor<4x6xf32>) {
  %0 = tensor.extract_slice %a[2, 0, 0] [1, 1, 6] [1, 1, 1] : tensor<4x1x6xf32> to tensor<6xf32>
  %1 = tensor.collapse_shape %a [[0, 1], [2]] : tensor<4x1x6xf32> into tensor<4x6xf32>
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [4, 3, 2] : tensor<4x6xf32> into tensor<4x3x2xf32>
  %3 = tensor.insert_slice %b into %1[1, 2] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x6xf32>
  return %0, %2, %3 : tensor<6xf32>, tensor<4x3x2xf32>, tensor<4x6xf32>
}""", [a, b := _floats(2, 3)], a[2, 0], a.reshape(4, 3, 2), _inserted(a.reshape(4, 6), b))  # fmt: skip


def _inserted(a, b):
    made = a.copy()
    made[1:3, 2:5] = b
    return made


def test_unsigned_and_bool_arithmetic():
    i, j = np.array([-7, 7, 100], "int32"), np.array([2, -2, 7], "int32")
    u, v = i.view("uint32"), j.view("uint32")
    _check("""
func.func @main(%i: tensor<3xi32>, %j: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi1>, tensor<3xi32>, tensor<3xf32>, tensor<3xi32>) {
  %0 = arith.divui %i, %j : tensor<3xi32>
  %1 = arith.remsi %i, %j : tensor<3xi32>
  %2 = arith.cmpi ult, %i, %j : tensor<3xi32>
  %3 = arith.extsi %2 : tensor<3xi1> to tensor<3xi32>
  %4 = arith.uitofp %2 : tensor<3xi1> to tensor<3xf32>
  %5 = arith.ceildivsi %i, %j : tensor<3xi32>
  return %0, %1, %2, %3, %4, %5 : tensor<3xi32>, tensor<3xi32>, tensor<3xi1>, tensor<3xi32>, tensor<3xf32>, tensor<3xi32>
}""", [i, j], (u // v).view("int32"), np.fmod(i, j), u < v, -(u < v).astype("int32"),
        (u < v).astype("float32"), -(-i // j))  # fmt: skip


def test_tosa_with_a_dynamic_batch():
    run = relax_mlir.compile(SOFTMAX_TOSA)
    w, b = _floats(1, 7, 4), _floats(1, 4)
    for n in (1, 5, 33):
        a = _floats(n, 7)
        e = np.exp(a @ w[0] + b)
        np.testing.assert_allclose(run(a, w, b), e / e.sum(1, keepdims=True), 1e-4, 1e-5)


def test_tosa_convolution_pooling_argmax_and_gather():
    image, kernel, bias, rows = (
        _floats(1, 8, 8, 3),
        _floats(4, 3, 3, 3),
        _floats(4),
        _floats(1, 6, 2),
    )
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    made = sum(
        np.einsum("bhwc,oc->bhwo", padded[:, i : i + 8, j : j + 8], kernel[:, i, j])
        for i in range(3)
        for j in range(3)
    )
    made = np.maximum(made + bias, 0)
    _check("""
func.func @main(%a: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %v: tensor<1x6x2xf32>, %i: tensor<1x3xi32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4xi32>, tensor<1x3x2xf32>) {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %m = tosa.conv2d %a, %w, %b, %zp, %zp {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  %c = tosa.clamp %m {min_val = 0.0 : f32, max_val = 1.0e9 : f32} : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %p = tosa.max_pool2d %c {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32>
  %k = tosa.argmax %p {axis = 3 : i32} : (tensor<1x4x4x4xf32>) -> tensor<1x4x4xi32>
  %g = tosa.gather %v, %i : (tensor<1x6x2xf32>, tensor<1x3xi32>) -> tensor<1x3x2xf32>
  return %p, %k, %g : tensor<1x4x4x4xf32>, tensor<1x4x4xi32>, tensor<1x3x2xf32>
}""", [image, kernel, bias, rows, np.array([[0, 5, 2]], "int32")],
        pooled := made.reshape(1, 4, 2, 4, 2, 4).max((2, 4)), pooled.argmax(3),
        rows[:, [0, 5, 2]])  # fmt: skip


def test_our_own_modules_stay_as_they_are():
    text = """
module {
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> attributes {relax.function} {
    %0 = "relax.exp"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}"""
    x = _floats(3)
    np.testing.assert_allclose(relax_mlir.compile(text)(x), np.exp(x), 1e-6)


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_files(tmp_path, suffix):
    from relax_mlir.frontend.mlir.reading import read_module

    path = tmp_path / f"model{suffix}"
    if suffix == ".mlir":
        path.write_text(MATMUL)
    else:
        with path.open("wb") as file:
            read_module(MATMUL)[0].operation.write_bytecode(file)
    a, b = _floats(2, 3), _floats(3, 4)
    expected = np.maximum(a @ b, 0) + np.array([[2], [1]], "float32")
    np.testing.assert_allclose(relax_mlir.compile(path)(a, b), expected, 1e-5)
