"""Arguments that native code refuses, and those that it takes although they look odd."""

import numpy as np
import pytest
import tvm_ffi
from codegen_text import buffer, compile_text, load, unary


@pytest.fixture(scope="module")
def checked() -> dict[str, tvm_ffi.Function]:
    matrix = "memref<?x?xf32>"
    text = f"""
func.func @g({buffer("A", "m,n", "s0, s1", matrix, "float32")},
  {buffer("B", "n", "s0, 4", "memref<?x4xf32>", "float32")},
  {buffer("F", "m,n", "s0 * s1", "memref<?xf32>", "float32")},
  {buffer("Y", "k,n", "s0 + 1, s1 floordiv 2", matrix, "float32")},
  %k: i64 {{tir.name = "k"}}) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %x = memref.dim %Y, %c0 : {matrix}
  %v = arith.constant 1.0 : f32
  %some = arith.cmpi sgt, %x, %c0 : index
  scf.if %some {{
    memref.store %v, %Y[%c0, %c0] : {matrix}
  }}
  return
}}
{unary("exp", "f32", "float32")}
func.func @scalar({buffer("S", "", "", "memref<f32>", "float32")}) attributes {{tir.prim_func}} {{
  %v = arith.constant 2.5 : f32
  memref.store %v, %S[] : memref<f32>
  return
}}
func.func @heap(%heap: memref<?xi64>) attributes {{tir.prim_func}} {{
  %c2 = arith.constant 2 : index
  %v = arith.constant 9 : i64
  memref.store %v, %heap[%c2] : memref<?xi64>
  return
}}"""
    return load(compile_text(text))


def arguments(m: int = 3, n: int = 6, k: int = 2) -> list:
    shapes = ((m, n), (n, 4), (m * n,), (k + 1, n // 2))
    return [*(np.zeros(shape, np.float32) for shape in shapes), k]


def test_symbols_agree(checked: dict[str, tvm_ffi.Function]) -> None:
    given = arguments()
    checked["g"](*given)
    assert given[3][0, 0] == 1


def test_zero_dimensional_and_undeclared(checked: dict[str, tvm_ffi.Function]) -> None:
    scalar, heap = np.zeros((), np.float32), np.zeros(5, np.int64)
    checked["scalar"](scalar)
    checked["heap"](heap)
    assert scalar == 2.5
    assert heap.tolist() == [0, 0, 9, 0, 0]


@pytest.mark.parametrize(
    ("index", "value", "error", "message"),
    [
        (0, np.zeros((3, 5), np.float32), ValueError,
         "g: buffer 'B' dimension 0: expected 5 (n), got 6"),
        (1, np.zeros((6, 5), np.float32), ValueError,
         "g: buffer 'B' dimension 1: expected 4, got 5"),
        (2, np.zeros(17, np.float32), ValueError,
         "g: buffer 'F' dimension 0: expected 18 (m * n), got 17"),
        (3, np.zeros((3, 4), np.float32), ValueError,
         "g: buffer 'Y' dimension 1: expected 3 (n floordiv 2), got 4"),
        (4, 7, ValueError, "g: buffer 'Y' dimension 0: expected 8 (k + 1), got 3"),
        (4, 2.5, TypeError, "g: argument 'k': expected an integer, got a value of type float"),
        (0, 1, TypeError, "g: argument 'A': expected a tensor, got a value of type int"),
        (0, None, TypeError, "g: argument 'A': expected a tensor, got a value of type None"),
        (0, [1], TypeError, "g: argument 'A': expected a tensor, got a value of type Array"),
        (0, object(), TypeError,
         "g: argument 'A': expected a tensor, got a value of type Python object"),
        (0, tvm_ffi.device("cpu"), TypeError,
         "g: argument 'A': expected a tensor, got a value of type Device"),
        (4, "k", TypeError, "g: argument 'k': expected an integer, got a value of type str"),
        (0, np.zeros((3, 6)), TypeError, "g: buffer 'A': expected float32, got float64"),
        (0, np.zeros((3, 6), np.int32), TypeError, "g: buffer 'A': expected float32, got int32"),
        (0, np.zeros((3, 6), bool), TypeError, "g: buffer 'A': expected float32, got bool"),
        (0, np.zeros(18, np.float32), TypeError, "g: buffer 'A': expected 2 dimensions, got 1"),
        (0, np.zeros((6, 3), np.float32).T, ValueError,
         "g: buffer 'A' dimension 1: expected stride 1 of a row-major contiguous tensor, got 3"),
        (0, np.zeros((6, 6), np.float32)[::2], ValueError,
         "g: buffer 'A' dimension 0: expected stride 6 of a row-major contiguous tensor, got 12"),
    ],
)  # fmt: skip
def test_refused(
    checked: dict[str, tvm_ffi.Function],
    index: int,
    value: object,
    error: type[Exception],
    message: str,
) -> None:
    given = arguments()
    given[index] = value
    with pytest.raises(error) as caught:
        checked["g"](*given)
    assert str(caught.value) == message
    assert all(not array.any() for array in given[:4] if isinstance(array, np.ndarray))


def test_refused_count(checked: dict[str, tvm_ffi.Function]) -> None:
    with pytest.raises(TypeError, match=r"^g: expected 5 arguments, got 4$"):
        checked["g"](*arguments()[:4])


def test_division_by_a_symbol_that_is_zero() -> None:
    params = [
        buffer("A", "m,n", "s0, s1", "memref<?x?xf32>", "float32"),
        buffer(
            "B", "m,n", "s0 floordiv s1, s0 mod s1, s0 ceildiv s1", "memref<?x?x?xf32>", "float32"
        ),
    ]
    text = f"func.func @f({', '.join(params)}) attributes {{tir.prim_func}} {{ return }}"
    f = load(compile_text(text))["f"]
    f(np.zeros((7, 2), np.float32), np.zeros((3, 1, 4), np.float32))
    with pytest.raises(ValueError, match="B' dimension 0: expected 7"):
        f(np.zeros((7, 0), np.float32), np.zeros((0, 0, 0), np.float32))


def test_overlap_is_refused_where_it_would_matter(checked: dict[str, tvm_ffi.Function]) -> None:
    exp = checked["exp"]
    x = np.zeros(100, np.float32)
    for first, output in ((x, x), (x[:60], x[40:]), (x[40:], x[:60])):
        with pytest.raises(ValueError, match=r"^exp: buffer 'Y' overlaps buffer 'A' in memory$"):
            exp(first, first.copy(), output)
    assert not x.any()
    exp(x[:50], x[:50], x[50:])
    assert (x[50:] == 1).all()


def test_inplace_allows_overlap() -> None:
    text = unary("exp", "f32", "float32").replace('tir.name = "Y"', 'tir.inplace, tir.name = "Y"')
    f = load(compile_text(text))["exp"]
    x = np.zeros(33, np.float32)
    f(x, x, x)
    assert (x == 1).all()


def test_unaligned_data_is_refused(checked: dict[str, tvm_ffi.Function]) -> None:
    x = np.zeros(5, np.float32)
    unaligned = np.frombuffer(bytearray(21), np.uint8)[1:].view(np.float32)
    with pytest.raises(ValueError, match="exp: buffer 'A': expected data aligned to 4 bytes"):
        checked["exp"](unaligned, x, np.zeros(5, np.float32))


def test_strides_of_single_and_empty_dimensions_do_not_matter(
    checked: dict[str, tvm_ffi.Function],
) -> None:
    given = arguments(m=1)
    given[0] = np.zeros((9, 6), np.float32)[::9]
    checked["g"](*given)
    empty = np.zeros((4, 9), np.float32)[:, :0].T[:0, 0]
    checked["exp"](empty, empty, empty)


def test_sizes_that_do_not_fit_are_refused() -> None:
    cubes = load(
        compile_text(f"""
func.func @cubes({buffer("A", "n", "s0", "memref<?xf32>", "float32")},
  {buffer("B", "n", "s0 * s0 * s0", "memref<?xf32>", "float32")},
  {buffer("C", "n", "s0 * 4611686018427387904 + s0", "memref<?xf32>", "float32")}
  ) attributes {{tir.prim_func}} {{
  return
}}""")
    )["cubes"]
    nothing = np.zeros(0, "float32")
    cubes(nothing, nothing, nothing)
    cubes_of = {2: 8, 3: 27}
    for size, cube in cubes_of.items():
        with pytest.raises(ValueError, match="buffer 'C' dimension 0: expected a size that fits"):
            cubes(np.zeros(size, "float32"), np.zeros(cube, "float32"), nothing)
    with pytest.raises(ValueError, match=r"buffer 'B' dimension 0: expected 8 \(.*\), got 0"):
        cubes(np.zeros(2, "float32"), nothing, nothing)
    # 2^66 wraps to zero, 2^63 to a negative number.
    for size in (1 << 21, 1 << 22):
        with pytest.raises(ValueError, match="buffer 'B' dimension 0: expected a size that fits"):
            cubes(np.zeros(size, "float32"), nothing, nothing)
