"""StableHLO operations against StableHLO's own evaluator, and programs of dynamic shapes."""

# ruff: noqa: E501

import math
import re

import numpy as np
import pytest

import relax_mlir
from relax_mlir import frontend
from relax_mlir.errors import ModelError
from relax_mlir.frontend.mlir.evaluator import run

RNG = np.random.default_rng(0)


def _floats(*shape):
    return RNG.normal(size=shape).astype("float32")


def _integers(low, high, *shape):
    return RNG.integers(low, high, shape).astype("int32")


# What the cases compute with, by name.
VALUES = {
    "x": _floats(5, 3), "y": _floats(5, 3), "p": np.abs(_floats(5, 3)) + np.float32(0.1),
    "v": _floats(3), "cube": _floats(2, 3, 4), "other": _floats(4, 2, 5), "four": _floats(4, 3, 5, 2),
    "s": np.array(0.5, "float32"), "i": _integers(-99, 99, 7), "j": _integers(1, 20, 7),
    "k": np.array(9, "int32"), "n": np.array(-3, "int32"), "one": np.array(1, "int32"),
    "t": RNG.integers(0, 2, (5, 3)).astype(bool), "u": RNG.integers(0, 2, (5, 3)).astype(bool),
    "nan": np.array([1, 2, np.nan, 0, -0.0], "float32"), "half": np.array([0.5, 2.5, -0.5, 0.49999997, -1.5], "float32"),
    "image": _floats(1, 6, 7, 3), "kernel": _floats(3, 2, 3, 4), "wide": _floats(1, 3, 6),
    "narrow": _floats(4, 3, 3), "at": np.array([[0], [2], [1], [7], [-3]], "int32"),
    "ats": _integers(-2, 5, 5, 2), "batched": _integers(-2, 5, 2, 5, 1), "rows": _floats(5, 3),
    "u8": np.array([0, 5, 200, 255], "uint8"),
}  # fmt: skip
_SPELLED = {"float32": "f32", "int32": "i32", "bool": "i1", "uint8": "ui8"}


def _type(array):
    return f"tensor<{'x'.join([*map(str, array.shape), _SPELLED[str(array.dtype)]])}>"


def _program(cases):
    """Return a program of which every case is a result, and the names of its inputs."""
    lines, results, types = [], [], []
    for number, (body, *given) in enumerate(cases):
        body = re.sub(r"%(\w+)(:\d+)? =", rf"%c{number}\1\2 =", body)
        for name in {*re.findall(rf"%c{number}(\w+)(?::\d+)? =", body)}:
            body = re.sub(rf"%{name}(?![\w])", f"%c{number}{name}", body)
        lines.append(body)
        values = (
            [f"%c{number}r"] if len(given) == 1 else [f"%c{number}r#{i}" for i in range(len(given))]
        )
        results += values
        types += [f"tensor<{each}>" for each in given]
    text = "\n".join(lines)
    names = [name for name in VALUES if re.search(rf"%{name}(?!\w)", text)]
    params = ", ".join(f"%{name}: {_type(VALUES[name])}" for name in names)
    return (
        f"func.func @main({params}) -> ({', '.join(types)}) {{\n{text}\n"
        f"return {', '.join(results)} : {', '.join(types)}\n}}"
    ), names


def _unary(names, operand="x"):
    type_ = _type(VALUES[operand])
    return [(f"%r = stablehlo.{n} %{operand} : {type_}", type_[7:-1]) for n in names.split()]


def _binary(names, left, right):
    type_ = _type(VALUES[left])
    return [(f"%r = stablehlo.{n} %{left}, %{right} : {type_}", type_[7:-1]) for n in names.split()]


def _compare(direction):
    types = f"({_type(VALUES['nan'])}, {_type(VALUES['nan'])})"
    return f"%r = stablehlo.compare {direction}, %nan, %half : {types} -> tensor<5xi1>", "5xi1"


def _reduced(op, first, element="f32", operand="x"):
    return (
        f"%i = stablehlo.constant dense<{first}> : tensor<{element}>\n"
        f"%r = stablehlo.reduce(%{operand} init: %i) applies stablehlo.{op} across dimensions = [1]"
        f" : (tensor<5x3x{element}>, tensor<{element}>) -> tensor<5x{element}>"
    ), f"5x{element}"


def _window(op, first, window, strides, pads, result, operand="image"):
    source, rank = _type(VALUES[operand]), VALUES[operand].ndim
    return (
        f"%i = stablehlo.constant dense<{first}> : tensor<f32>\n"
        f'%r = "stablehlo.reduce_window"(%{operand}, %i) <{{window_dimensions = array<i64: {window}>, '
        f"window_strides = array<i64: {strides}>, padding = dense<{pads}> : tensor<{rank}x2xi64>}}> ({{\n"
        f"^bb0(%aa: tensor<f32>, %bb: tensor<f32>):\n%m = stablehlo.{op} %aa, %bb : tensor<f32>\n"
        f"stablehlo.return %m : tensor<f32>\n}}) : ({source}, tensor<f32>) -> tensor<{result}>"
    ), result


def _scattered(op):
    body = f"%m = stablehlo.{op} %aa, %bb : tensor<f32>\nstablehlo.return %m : tensor<f32>"
    return (
        '%r = "stablehlo.scatter"(%x, %at, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1>}> ({\n^bb0(%aa: tensor<f32>, %bb: tensor<f32>):\n"
        f"{body if op else 'stablehlo.return %bb : tensor<f32>'}\n"
        "}) : (tensor<5x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<5x3xf32>"
    ), "5x3xf32"


def _gathered(operand, at, numbers, sizes, result):
    return (
        f'%r = "stablehlo.gather"(%{operand}, %{at}) <{{dimension_numbers = #stablehlo.gather<'
        f"{numbers}>, slice_sizes = array<i64: {sizes}>}}> : "
        f"({_type(VALUES[operand])}, {_type(VALUES[at])}) -> tensor<{result}>"
    ), result


GROUPS = {
    "unary": [
        *_unary("abs ceil cosine exponential exponential_minus_one floor negate round_nearest_even "
                "sign sine tanh logistic cbrt tan"),
        *_unary("sqrt rsqrt log log_plus_one", "p"),
        *_unary("round_nearest_even round_nearest_afz sign", "half"),
        *_unary("popcnt count_leading_zeros not negate sign abs", "i"), *_unary("not", "t"),
        ("%r = stablehlo.is_finite %nan : (tensor<5xf32>) -> tensor<5xi1>", "5xi1"),
    ],
    "binary": [
        *_binary("add subtract multiply divide maximum minimum remainder atan2", "x", "y"),
        *_binary("power", "p", "y"), *_binary("maximum minimum", "nan", "half"),
        *_binary("add subtract multiply divide maximum minimum remainder and or xor shift_left "
                 "shift_right_arithmetic shift_right_logical", "i", "j"),
        *_binary("add multiply and or xor maximum minimum", "t", "u"),
        *(_compare(direction) for direction in ("EQ", "NE", "LT", "LE", "GT", "GE")),
    ],
    "conversion": [
        ("%r = stablehlo.select %t, %x, %y : tensor<5x3xi1>, tensor<5x3xf32>", "5x3xf32"),
        ("%l = stablehlo.negate %s : tensor<f32>\n"
         "%r = stablehlo.clamp %l, %x, %s : (tensor<f32>, tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xf32>",
         "5x3xf32"),
        ("%w = stablehlo.multiply %x, %x : tensor<5x3xf32>\n"
         "%r = stablehlo.convert %w : (tensor<5x3xf32>) -> tensor<5x3xi32>", "5x3xi32"),
        ("%r = stablehlo.convert %u8 : (tensor<4xui8>) -> tensor<4xf32>", "4xf32"),
        ("%r = stablehlo.convert %t : (tensor<5x3xi1>) -> tensor<5x3xf32>", "5x3xf32"),
        ("%r = stablehlo.bitcast_convert %x : (tensor<5x3xf32>) -> tensor<5x3xi32>", "5x3xi32"),
        ("%r = stablehlo.reduce_precision %x, format = e5m10 : tensor<5x3xf32>", "5x3xf32"),
        ('%r = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({\n'
         "^bb0(%aa: tensor<f32>, %bb: tensor<f32>):\n%m = stablehlo.multiply %aa, %bb : tensor<f32>\n"
         "%o = stablehlo.sine %m : tensor<f32>\nstablehlo.return %o : tensor<f32>\n"
         "}) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>", "5x3xf32"),
    ],
    "shape": [
        ("%r = stablehlo.iota dim = 1 : tensor<2x5xi32>", "2x5xi32"),
        ("%r = stablehlo.transpose %cube, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>",
         "4x2x3xf32"),
        ("%r = stablehlo.reshape %cube : (tensor<2x3x4xf32>) -> tensor<6x4xf32>", "6x4xf32"),
        ("%r = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<5x3xf32>) -> tensor<3x2x5xf32>",
         "3x2x5xf32"),
        ("%r = stablehlo.concatenate %x, %x, dim = 1 : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x6xf32>",
         "5x6xf32"),
        ("%r = stablehlo.slice %x [1:3, 0:3:2] : (tensor<5x3xf32>) -> tensor<2x2xf32>", "2x2xf32"),
        ("%r = stablehlo.reverse %x, dims = [0, 1] : tensor<5x3xf32>", "5x3xf32"),
        *(("%d = stablehlo.dynamic_slice %x, %A, %B, sizes = [2, 2] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>)"
           " -> tensor<2x2xf32>\n"
           "%r = stablehlo.dynamic_update_slice %y, %d, %B, %A : (tensor<5x3xf32>, tensor<2x2xf32>, "
           "tensor<i32>, tensor<i32>) -> tensor<5x3xf32>".replace("%A", a).replace("%B", b), "5x3xf32")
          for a, b in (("%one", "%one"), ("%k", "%n"), ("%n", "%k"))),
        ("%r = stablehlo.pad %x, %s, low = [1, -1], high = [2, 3], interior = [0, 2] : "
         "(tensor<5x3xf32>, tensor<f32>) -> tensor<8x9xf32>", "8x9xf32"),
        ("%c = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>\n"
         "%r = stablehlo.add %c, %c : tensor<2x2xi32>", "2x2xi32"),
    ],
    "contraction": [
        ("%r = stablehlo.dot_general %cube, %other, batching_dims = [0] x [1], contracting_dims = [2] x [0] : "
         "(tensor<2x3x4xf32>, tensor<4x2x5xf32>) -> tensor<2x3x5xf32>", "2x3x5xf32"),
        ("%r = stablehlo.dot_general %cube, %four, contracting_dims = [1, 2] x [1, 0] : "
         "(tensor<2x3x4xf32>, tensor<4x3x5x2xf32>) -> tensor<2x5x2xf32>", "2x5x2xf32"),
        ("%r = stablehlo.dot_general %v, %v, contracting_dims = [0] x [0] : "
         "(tensor<3xf32>, tensor<3xf32>) -> tensor<f32>", "f32"),
        ("%r = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
         "window = {stride = [2, 1], pad = [[1, 0], [2, 1]], rhs_dilate = [1, 2]} "
         "{feature_group_count = 1 : i64, batch_group_count = 1 : i64} : "
         "(tensor<1x6x7x3xf32>, tensor<3x2x3x4xf32>) -> tensor<1x3x8x4xf32>", "1x3x8x4xf32"),
        ("%r = stablehlo.convolution(%wide, %narrow) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], "
         "window = {pad = [[2, -1]], lhs_dilate = [2], reverse = [true]} "
         "{feature_group_count = 1 : i64, batch_group_count = 1 : i64} : "
         "(tensor<1x3x6xf32>, tensor<4x3x3xf32>) -> tensor<1x4x10xf32>", "1x4x10xf32"),
    ],
    "reduction": [
        _reduced("add", "0.0"), _reduced("add", "2.0"), _reduced("multiply", "1.0"),
        _reduced("maximum", "0xFF800000"), _reduced("minimum", "0x7F800000"),
        _reduced("and", "true", "i1", "t"), _reduced("or", "false", "i1", "t"),
        _window("maximum", "0xFF800000", "1, 2, 2, 1", "1, 2, 2, 1", "[[0, 0], [0, 0], [0, 1], [0, 0]]",
                "1x3x4x3xf32"),
        _window("add", "0.0", "1, 2, 2, 1", "1, 2, 2, 1", "[[0, 0], [0, 0], [0, 1], [0, 0]]", "1x3x4x3xf32"),
        _window("add", "0.0", "5, 1", "1, 1", "[[4, 0], [0, 0]]", "5x3xf32", "x"),
        _window("multiply", "1.0", "2, 2", "1, 1", "[[0, 0], [0, 0]]", "4x2xf32", "x"),
        ("%v0 = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
         "%k0 = stablehlo.constant dense<0> : tensor<i32>\n"
         "%io = stablehlo.iota dim = 1 : tensor<5x3xi32>\n"
         "%r:2 = stablehlo.reduce(%x init: %v0), (%io init: %k0) across dimensions = [1] : "
         "(tensor<5x3xf32>, tensor<5x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)\n"
         "reducer(%a0: tensor<f32>, %a1: tensor<f32>) (%b0: tensor<i32>, %b1: tensor<i32>) {\n"
         "%w = stablehlo.compare GT, %a0, %a1 : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
         "%q0 = stablehlo.select %w, %a0, %a1 : tensor<i1>, tensor<f32>\n"
         "%q1 = stablehlo.select %w, %b0, %b1 : tensor<i1>, tensor<i32>\n"
         "stablehlo.return %q0, %q1 : tensor<f32>, tensor<i32>\n}", "5xf32", "5xi32"),
        ('%io = stablehlo.iota dim = 0 : tensor<5x3xi32>\n'
         '%r:2 = "stablehlo.sort"(%x, %io) <{dimension = 0 : i64, is_stable = true}> ({\n'
         "^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %b0: tensor<i32>, %b1: tensor<i32>):\n"
         "%c = stablehlo.compare GT, %a0, %a1 : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
         "stablehlo.return %c : tensor<i1>\n"
         "}) : (tensor<5x3xf32>, tensor<5x3xi32>) -> (tensor<5x3xf32>, tensor<5x3xi32>)",
         "5x3xf32", "5x3xi32"),
    ],
    "index": [
        _gathered("x", "at", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                  "index_vector_dim = 1", "1, 3", "5x3xf32"),
        _gathered("cube", "ats", "offset_dims = [1, 2], collapsed_slice_dims = [1], start_index_map = [0, 2], "
                  "index_vector_dim = 1", "2, 1, 2", "5x2x2xf32"),
        _gathered("cube", "batched", "offset_dims = [1], collapsed_slice_dims = [1], operand_batching_dims = [0], "
                  "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2",
                  "1, 1, 4", "2x4x5xf32"),
        *map(_scattered, ("", "add", "multiply", "maximum")),
    ],
    "control": [
        ("%z = stablehlo.constant dense<0> : tensor<i32>\n"
         "%r:2 = stablehlo.while(%i0 = %z, %x0 = %v) : tensor<i32>, tensor<3xf32>\n"
         "cond { %c = stablehlo.compare LT, %i0, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
         "stablehlo.return %c : tensor<i1> }\n"
         "do { %o = stablehlo.constant dense<1> : tensor<i32>\n%j0 = stablehlo.add %i0, %o : tensor<i32>\n"
         "%y0 = stablehlo.cosine %x0 : tensor<3xf32>\n"
         "stablehlo.return %j0, %y0 : tensor<i32>, tensor<3xf32> }", "i32", "3xf32"),
        *((f'%r = "stablehlo.case"(%{index}) ({{\nstablehlo.return %v : tensor<3xf32>\n}}, {{\n'
           "%y0 = stablehlo.negate %v : tensor<3xf32>\nstablehlo.return %y0 : tensor<3xf32>\n}, {\n"
           "%y0 = stablehlo.cosine %v : tensor<3xf32>\nstablehlo.return %y0 : tensor<3xf32>\n"
           "}) : (tensor<i32>) -> tensor<3xf32>", "3xf32") for index in ("one", "k", "n")),
    ],
}  # fmt: skip


@pytest.mark.parametrize("group", GROUPS)
def test_operations_give_what_the_evaluator_gives(group):
    text, names = _program(GROUPS[group])
    inputs = [VALUES[name] for name in names]
    expected = run(text, inputs)
    with relax_mlir.transform.PassContext(opt_level=0):
        results = relax_mlir.compile(text)(*inputs)
    for number, (actual, wanted) in enumerate(zip(results, expected, strict=True)):
        assert actual.dtype == wanted.dtype
        np.testing.assert_allclose(actual, wanted, 1e-5, 1e-6, err_msg=f"{group} {number}\n{text}")


X = VALUES["p"][0]
# Programs of one result that the evaluator does not run, with what numpy gives.
OTHERS = {
    **{
        name: (f"%r = chlo.{name} %a : tensor<3xf32> -> tensor<3xf32>", "3xf32", [X], expected)
        for name, expected in (
            ("erf", np.vectorize(math.erf)(X)), ("erfc", np.vectorize(math.erfc)(X)),
            ("lgamma", np.vectorize(math.lgamma)(X)), ("sinh", np.sinh(X)), ("atan", np.arctan(X)),
            ("asinh", np.arcsinh(X)), ("square", X * X),
        )
    },
    "broadcast_add": (
        "%r = chlo.broadcast_add %a, %b : (tensor<5x3xf32>, tensor<3xf32>) -> tensor<5x3xf32>",
        "5x3xf32", [VALUES["x"], VALUES["v"]], VALUES["x"] + VALUES["v"],
    ),
    "top_k": (
        "%r, %i = chlo.top_k(%a, k = 2) : tensor<5x3xf32> -> (tensor<5x2xf32>, tensor<5x2xi32>)",
        "5x2xf32", [VALUES["x"]], -np.sort(-VALUES["x"], 1)[:, :2],
    ),
    "einsum": (
        '%r = "stablehlo.einsum"(%a, %b) <{einsum_config = "ij,kj->ik"}> : '
        "(tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x5xf32>",
        "5x5xf32", [VALUES["x"], VALUES["y"]], VALUES["x"] @ VALUES["y"].T,
    ),
    "batch_norm": (
        '%r = "stablehlo.batch_norm_inference"(%a, %b, %b, %b, %b) <{epsilon = 0.5 : f32, '
        "feature_index = 1 : i64}> : (tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, "
        "tensor<3xf32>) -> tensor<5x3xf32>",
        "5x3xf32", [VALUES["x"], X], (VALUES["x"] - X) / np.sqrt(X + 0.5) * X + X,
    ),
    "sort as JAX has it": (
        '%r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({\n'
        "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%e = stablehlo.compare EQ, %x, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "%x1 = stablehlo.select %e, %z, %x : tensor<i1>, tensor<f32>\n"
        "%e2 = stablehlo.compare EQ, %y, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "%y1 = stablehlo.select %e2, %z, %y : tensor<i1>, tensor<f32>\n"
        "%c = stablehlo.compare LT, %x1, %y1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %c : tensor<i1>\n}) : (tensor<5x3xf32>) -> tensor<5x3xf32>",
        "5x3xf32", [VALUES["x"]], np.sort(VALUES["x"], 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_evaluator_does_not_run(name):
    body, result, inputs, expected = OTHERS[name]
    params = ", ".join(f"%{n}: {_type(x)}" for n, x in zip("ab", inputs, strict=False))
    text = f"func.func @main({params}) -> tensor<{result}> {{\n{body}\nreturn %r : tensor<{result}>\n}}"
    with relax_mlir.transform.PassContext(opt_level=0):
        actual = relax_mlir.compile(text)(*inputs)
    np.testing.assert_allclose(actual, expected, 1e-5, 1e-6)


DYNAMIC = """
func.func private @relu(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shape = shape.shape_of %x : tensor<?x8xf32> -> tensor<2xindex>
  %zeros = stablehlo.dynamic_broadcast_in_dim %zero, %shape, dims = [] : (tensor<f32>, tensor<2xindex>) -> tensor<?x8xf32>
  %r = stablehlo.maximum %x, %zeros : tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
func.func @main(%x: tensor<?x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<?x2xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  %n = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %eight = stablehlo.constant dense<8> : tensor<1xi32>
  %shape = stablehlo.concatenate %n1, %eight, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %bias = stablehlo.dynamic_broadcast_in_dim %b, %shape, dims = [1] : (tensor<8xf32>, tensor<2xi32>) -> tensor<?x8xf32>
  %1 = stablehlo.add %0, %bias : tensor<?x8xf32>
  %2 = func.call @relu(%1) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %one = stablehlo.constant dense<0> : tensor<i32>
  %ok = stablehlo.compare GE, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %rows = stablehlo.multiply %n, %four : tensor<i32>
  %rows1 = stablehlo.reshape %rows : (tensor<i32>) -> tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %flat = stablehlo.concatenate %rows1, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %3 = stablehlo.dynamic_reshape %2, %flat : (tensor<?x8xf32>, tensor<2xi32>) -> tensor<?x2xf32>
  return %3 : tensor<?x2xf32>
}
"""


def test_dynamic_shapes_stay_symbolic():
    module = frontend.stablehlo.from_stablehlo(DYNAMIC)
    script = module.script()
    print(script)
    assert 'R.Tensor((n0 * 4, 2), dtype="float32")' in script
    assert "broadcast_to" not in script
    model = relax_mlir.compile(module)
    w, b = _floats(4, 8), _floats(8)
    for n in (0, 1, 7, 65):
        x = _floats(n, 4)
        np.testing.assert_allclose(
            model(x, w, b), np.maximum(x @ w + b, 0).reshape(-1, 2), 1e-5, 1e-6
        )
    fixed = frontend.stablehlo.from_stablehlo(DYNAMIC, [((3, 4), "float32")])
    assert "R.Tensor((12, 2)" in fixed.script()


def test_sizes_that_only_run_time_knows():
    model = relax_mlir.compile("""
func.func @main(%x: tensor<?xf32>, %shape: tensor<2xi32>) -> tensor<?x?xf32> {
  %r = stablehlo.dynamic_reshape %x, %shape : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}""")
    x = _floats(12)
    for shape in ((3, 4), (12, 1), (1, 12)):
        np.testing.assert_array_equal(model(x, np.array(shape, "int32")), x.reshape(shape))


def test_shape_assertions_are_checked_at_run_time():
    model = relax_mlir.compile("""
func.func @main(%x: tensor<3xf32>, %n: tensor<i32>) -> tensor<3xf32> {
  %four = stablehlo.constant dense<4> : tensor<i32>
  %ok = stablehlo.compare LT, %n, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%ok, %n) {error_message = "n is {0}, not small", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  return %x : tensor<3xf32>
}""")
    x = _floats(3)
    np.testing.assert_array_equal(model(x, np.array(3, "int32")), x)
    with pytest.raises(AssertionError, match="n is 4, not small"):
        model(x, np.array(4, "int32"))


def test_sizes_are_divided_towards_zero():
    model = relax_mlir.compile("""
func.func @main(%x: tensor<?xf32>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %less = stablehlo.constant dense<-2> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %m = stablehlo.negate %n : tensor<i32>
  %d = stablehlo.subtract %five, %n : tensor<i32>
  %0 = stablehlo.divide %m, %two : tensor<i32>
  %1 = stablehlo.remainder %m, %two : tensor<i32>
  %2 = stablehlo.divide %d, %less : tensor<i32>
  %3 = stablehlo.remainder %d, %less : tensor<i32>
  return %0, %1, %2, %3 : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
}""")
    for n in range(9):
        rest = 5 - n
        expected = [-(n // 2), -(n % 2), -int(rest / 2), int(np.fmod(rest, 2))]
        assert [int(each) for each in model(np.zeros(n, "float32"))] == expected


# As JAX exports windows of symbolic sizes; a count of columns says how much is at the end.
WINDOWS = """
func.func private @sum(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %s = stablehlo.add %a, %b : tensor<f32>
  return %s : tensor<f32>
}
func.func @main(%x: tensor<?x?xf32>, %end: tensor<1xi32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %number = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.broadcast_in_dim %number, dims = [] : (tensor<f32>) -> tensor<f32>
  %size = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
  %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %none = stablehlo.constant dense<0> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %ones = stablehlo.constant dense<1> : tensor<2xi32>
  %first = stablehlo.subtract %n, %one : tensor<1xi32>
  %window = stablehlo.concatenate %one, %n, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %before = stablehlo.concatenate %none, %none, %first, %none, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
  %edges = stablehlo.reshape %before : (tensor<4xi32>) -> tensor<2x2xi32>
  %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %window, %ones, %ones, %ones, %edges) {called_computations = [@sum]} : (tensor<?x?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x?xf32>
  %three = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %strides = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %after = stablehlo.concatenate %none, %none, %one, %end, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
  %ends = stablehlo.reshape %after : (tensor<4xi32>) -> tensor<2x2xi32>
  %1 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %three, %strides, %ones, %ones, %ends) {called_computations = [@sum]} : (tensor<?x?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x?xf32>
  return %0, %1 : tensor<?x?xf32>, tensor<?x?xf32>
}"""


def test_windows_of_symbolic_sizes():
    model = relax_mlir.compile(WINDOWS)
    for shape, end in (((2, 5), 1), ((1, 1), 3), ((3, 4), 0)):
        x = _floats(*shape)
        sums, pooled = model(x, np.array([end], "int32"))
        np.testing.assert_allclose(sums, np.cumsum(x, 1), 1e-5, 1e-6)
        wide = np.pad(x, ((0, 0), (1, end)))
        windows = np.lib.stride_tricks.sliding_window_view(wide, 3, axis=1)[:, ::2]
        np.testing.assert_allclose(pooled, windows.sum(-1), 1e-5, 1e-6)
    with pytest.raises(ModelError, match="windows of symbolic sizes are sums or products"):
        frontend.from_mlir(WINDOWS.replace("stablehlo.add", "stablehlo.maximum"))


def test_portable_artifacts_and_exports():
    from relax_mlir.frontend.mlir.reading import read_module, stablehlo

    text, names = _program(_unary("sine tanh"))
    module, _ = read_module(text)
    artifact = stablehlo().serialize_portable_artifact(module, stablehlo().get_current_version())

    class Exported:
        mlir_module_serialized = artifact

    inputs = [VALUES[name] for name in names]
    # Writing an artifact changes the module.
    for model in (artifact, Exported(), read_module(text)[0]):
        made = relax_mlir.compile(frontend.from_mlir(model))
        np.testing.assert_allclose(made(*inputs)[0], np.sin(inputs[0]), 1e-5, 1e-6)
