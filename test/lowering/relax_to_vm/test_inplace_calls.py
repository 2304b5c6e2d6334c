"""Calls that may overwrite their arguments: only what nobody needs is overwritten."""

import numpy as np
import pytest

from relax_mlir import register_func, relax
from relax_mlir.errors import PassError, RelaxMLIRError, ScriptError
from relax_mlir.script import from_source

KERNELS = """
@I.ir_module
class Module:
    @T.prim_func
    def incr(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            with T.block("b"):
                vi = T.axis.spatial(n, i)
                A[vi] = A[vi] + T.float32(1)
    @T.prim_func
    def both(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("b"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * T.float32(10)
                A[vi] = A[vi] + T.float32(1)
    @R.function
"""
OUT = 'R.Tensor(("n",), "float32")'
INCR = f"R.call_tir_inplace(Module.incr, (%s,), inplace_indices=[0], out_sinfo={OUT})"


@pytest.fixture(autouse=True)
def _functions() -> None:
    def twice(x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        x *= 2
        return x

    def add_into(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        out[:] = x + y
        x += 100

    register_func("test_inplace.twice", twice, override=True)
    register_func("test_inplace.add_into", add_into, override=True)


def build(body: str, check: bool = True):
    text = KERNELS + "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    module = from_source(text)
    if check:
        assert from_source(module.script()).script() == module.script()
    return relax.build(module)


def run(body: str, value: float = 0.0):
    executable = build(body)
    x = np.full(5, value, np.float32)
    result = relax.VirtualMachine(executable)["main"](x)
    return result, x, "vm.builtin.copy" in executable.func_names


def test_what_was_made_here_is_overwritten() -> None:
    result, x, copied = run(f"""
def main(x: {OUT}):
    y = R.exp(x)
    return {INCR % "y"}
""")
    np.testing.assert_array_equal(result, np.full(5, 2))
    assert not copied
    assert not x.any()


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(f"return {INCR % 'x'}", 1, id="parameter"),
        pytest.param(
            f"y = R.exp(x)\n    z = {INCR % 'y'}\n    return R.add(y, z)", 3, id="used later"
        ),
        pytest.param(f"y = R.exp(x)\n    z = {INCR % 'y'}\n    return y, z", (1, 2), id="returned"),
        pytest.param(
            f"y = R.match_cast(x, {OUT})\n    return {INCR % 'y'}", 1, id="parameter by other name"
        ),
        pytest.param(
            f"y = R.exp(x)\n    t = (y, x)\n    z = {INCR % 'y'}\n    return t, z",
            ((1, 0), 2),
            id="in a tuple",
        ),
        pytest.param(
            "y = R.const([0, 0, 0, 0, 0], 'float32')\n    return "
            "R.call_tir_inplace(Module.incr, (y,), inplace_indices=[0], "
            'out_sinfo=R.Tensor((5,), "float32"))',
            1,
            id="constant",
        ),
        pytest.param(
            "y = R.exp(x)\n    return R.call_inplace_packed('test_inplace.twice', y, y, "
            f"inplace_indices=[0], sinfo_args={OUT})",
            2,
            id="given twice",
        ),
    ],
)
def test_what_somebody_needs_is_copied(body, wanted) -> None:
    result, x, copied = run(f"\ndef main(x: {OUT}):\n    {body}\n")

    def check(found, expected) -> None:
        if isinstance(expected, tuple):
            for pair in zip(found, expected, strict=True):
                check(*pair)
        else:
            np.testing.assert_array_equal(found, np.full(5, expected))

    check(result, wanted)
    assert copied
    assert not x.any()


def test_a_parameter_that_is_offered() -> None:
    result, x, copied = run(f"""
def main(x: {OUT}):
    R.func_attr({{"inplace_params": ["x"]}})
    return {INCR % "x"}
""")
    np.testing.assert_array_equal(result, np.ones(5))
    assert not copied
    np.testing.assert_array_equal(x, np.ones(5))


def test_old_and_new_outputs() -> None:
    result, x, copied = run(
        f"""
def main(x: {OUT}):
    with R.dataflow():
        y = R.add(x, x)
        t = R.call_tir_inplace(Module.both, (y,), inplace_indices=[0, -1], out_sinfo=[{OUT}, {OUT}])
        a = t[0]
        b = t[1]
        R.output(a, b)
    return a, b
""",
        2.0,
    )
    np.testing.assert_array_equal(result[0], np.full(5, 5))
    np.testing.assert_array_equal(result[1], np.full(5, 40))
    assert not copied
    np.testing.assert_array_equal(x, np.full(5, 2))


def test_packed_functions() -> None:
    body = f"""
def main(x: {OUT}):
    y = R.exp(x)
    a = R.call_inplace_packed("test_inplace.twice", y, inplace_indices=[0], sinfo_args={OUT})
    return a
"""
    result, x, copied = run(body)
    np.testing.assert_array_equal(result, np.full(5, 2))
    assert not copied
    result, x, copied = run(f"""
def main(x: {OUT}):
    y = R.exp(x)
    return R.call_dps_packed_inplace(
        "test_inplace.add_into", (y, x), inplace_indices=[0, -1], out_sinfo=[{OUT}, {OUT}])
""")
    np.testing.assert_array_equal(result[0], np.full(5, 101))
    np.testing.assert_array_equal(result[1], np.ones(5))
    assert not copied
    assert not x.any()


def test_in_a_branch() -> None:
    """What was made outside of a branch may be needed after it, or not at all in the other."""
    executable = build(f"""
def main(x: {OUT}, c: R.Tensor((), "bool")):
    y = R.exp(x)
    if c:
        z = {INCR % "y"}
    else:
        z = R.add(y, y)
    return z
""")
    main = relax.VirtualMachine(executable)["main"]
    x = np.zeros(3, np.float32)
    np.testing.assert_array_equal(main(x, np.bool_(True)), np.full(3, 2))
    np.testing.assert_array_equal(main(x, np.bool_(False)), np.full(3, 2))
    assert not x.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("inplace_indices=[1], ", "cannot overwrite argument 1, there are 1"),
        ("inplace_indices=[0, -1], ", "has 1 outputs, 'inplace_indices' has 2 numbers"),
        ("inplace_indices=[-1], ", "takes 1 buffers|overwrites no argument"),
        ("inplace_indices=['a'], ", "a number for each output"),
        ("", "needs argument 'inplace_indices'"),
    ],
)
def test_wrong_calls(call, message) -> None:
    with pytest.raises((ScriptError, RelaxMLIRError), match=message):
        build(
            f"\ndef main(x: {OUT}):\n    return R.call_tir_inplace(Module.incr, (x,), {call}"
            f"out_sinfo={OUT})\n",
            check=False,
        )


def test_a_prim_func_that_writes_more_than_offered() -> None:
    body = f"""
def main(x: {OUT}, y: {OUT}):
    return R.call_tir_inplace(Module.both, (x, y), inplace_indices=[1], out_sinfo={OUT})
"""
    with pytest.raises(PassError, match="passes argument 0 to @both, which writes it"):
        build(body)
