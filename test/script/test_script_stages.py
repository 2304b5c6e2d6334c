"""Programs of every stage of a build are printed, read back, and built from there."""

import functools
import random
from collections.abc import Callable

import class_programs
import numpy as np
import pytest
import random_programs
import tvm_scripts

from relax_mlir import IRModule, instrument, relax, transform
from relax_mlir.compiler import pipeline
from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source, script_with_metadata
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

_WEIGHT = np.arange(200, dtype="float32").reshape(10, 20) / 200


@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor(("n", 10), "float32")):
        with R.dataflow():
            a = R.matmul(x, R.const(_WEIGHT))
            b = R.nn.softmax(a)
            c = R.nn.relu(b) + R.const(1.0, "float32")
            R.output(c)
        return c

    @R.function
    def loop(x: R.Tensor(("n", "m"), "float32"), k: R.Prim(value="k")):
        for _i in range(k):
            x = x * x
        y = R.concat((x, x), axis=0)
        return R.reshape(y, (-1,))

    @R.function
    def known(x: R.Tensor(("n",), "int64")):
        return R.unique(x)


_CHOICES = random.Random(3)
RANDOM = [[[_CHOICES.randrange(9999) for _ in range(3)] for _ in range(14)] for _ in range(2)]
# Programs of the suite, and how many stages are left out between those that are read back.
SUITE: dict[str, tuple[Callable[[], IRModule], int]] = {
    "classes": (class_programs.program, 10),
    "random": (lambda: from_source(random_programs.program(RANDOM)), 1),
    **{
        name: (functools.partial(from_source, text), 1)
        for name, text in tvm_scripts.PRINTED.items()
    },
}


@pytest.mark.parametrize("name", SUITE)
@pytest.mark.slow
def test_programs_of_the_suite_parse_back_after_each_pass(name: str) -> None:
    made, step = SUITE[name]
    seen: list[str] = []

    @instrument.pass_instrument
    class ReadsBack:
        def run_after_pass(self, mod: IRModule, info: transform.PassInfo) -> None:
            seen.append(info.name)
            if len(seen) % step and info.name != "VMShapeLower":
                return
            text, constants = script_with_metadata(mod)
            again = script_with_metadata(from_source(text, {"metadata": constants}))[0]
            # Constants are folded while a script is read.
            if again != text:
                text, again = again, script_with_metadata(
                    from_source(again, {"metadata": constants})
                )[0]  # fmt: skip
            assert again == text, info.name

    with transform.PassContext(opt_level=3, instruments=[ReadsBack()]):
        relax.get_pipeline("default")(made())
    assert set(pipeline.DEFAULT_PIPELINE) <= set(seen)


@pytest.mark.parametrize("stage", pipeline.stages())
def test_every_stage_parses_back(stage: str) -> None:
    text, constants = script_with_metadata(pipeline.lower(Program, stage))
    again = from_source(text, extra_vars={"metadata": constants})
    assert script_with_metadata(again)[0] == text


@pytest.mark.codegen
@pytest.mark.parametrize("stage", ["CallTIRRewrite", "VMShapeLower"])
def test_what_is_read_back_is_built(stage: str) -> None:
    text, constants = script_with_metadata(pipeline.lower(Program, stage))
    again = from_source(text, extra_vars={"metadata": constants})
    stages = pipeline.stages()
    vm = relax.VirtualMachine(relax.build(again, relax_pipeline=stages[stages.index(stage) + 1 :]))
    x = np.random.default_rng(0).random((3, 10), dtype="float32")
    powers = np.exp(x @ _WEIGHT)
    expected = powers / powers.sum(-1, keepdims=True) + 1
    np.testing.assert_allclose(np.asarray(vm["main"](x)), expected, rtol=1e-5)
    np.testing.assert_allclose(
        np.asarray(vm["loop"](x, 2)), np.concatenate([x**4] * 2).ravel(), rtol=1e-5
    )
    numbers = np.array([3, 1, 3, 2, 1])
    np.testing.assert_array_equal(np.asarray(vm["known"](numbers)), np.unique(numbers))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("R.vm.kill(x, x)", "takes 1"),
        ("R.vm.kill(x, slot=1)", "R.vm.kill has no argument 'slot'"),
        ("h = R.vm.alloc_shape_heap()", "needs argument 'size'"),
        ("h = R.vm.alloc_shape_heap(size='a')", "'size' of R.vm.alloc_shape_heap is no 'a'"),
        ("y = R.vm.reinterpret(x)", "needs a type"),
        ("y = R.builtin.alloc_tensor(x, 'float32')", "expected a shape"),
    ],
)
def test_wrong_lowered_operations(statement: str, message: str) -> None:
    text = f'@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    {statement}\n    return x\n'
    with pytest.raises(ScriptError, match=message):
        from_source(text)
