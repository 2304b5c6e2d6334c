"""The pipelines of the two documents: what is enabled, what it does and computes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source

SOURCE = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3, 12, 12), "float32")):
        with R.dataflow():
            s = R.exp(R.const([0.5, 0.25]))
            a = R.nn.conv2d(x, stem, padding=1, strides=2)
            b = R.nn.relu(a)
            c = R.nn.conv2d(b, weight, padding=1)
            d = R.multiply(R.nn.batch_norm(c, gamma, beta, mean, var, training=False)[0], R.sum(s))
            e = R.nn.conv2d(b, weight, padding=1)
            f = R.nn.batch_norm(e, gamma, beta, mean, var, training=False)
            g = R.add(d, f[0])
            h = R.nn.max_pool2d(R.add(g, b), pool_size=2, strides=2)
            y: R.Tensor = R.mean(h, axis=[2, 3])
            R.output(y)
        return y
"""


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    parameters = {name: rng.random(8, dtype="float32") for name in ("gamma", "beta", "mean", "var")}
    return parameters | {
        "stem": rng.standard_normal((8, 3, 3, 3), dtype="float32"),
        "weight": rng.standard_normal((8, 8, 3, 3), dtype="float32"),
    }


@pytest.fixture(scope="module")
def module() -> IRModule:
    return from_source(SOURCE, arrays())


def run(module: IRModule) -> list[np.ndarray]:
    vm = relax.VirtualMachine(relax.build(module))
    rng = np.random.default_rng(1)
    return [vm["main"](rng.random((n, 3, 12, 12), dtype="float32")) for n in (0, 1, 3)]


@pytest.fixture(scope="module")
def expected(module):
    return run(module)


def operations(module: IRModule) -> list[str]:
    return re.findall(r'"relax\.(\w+)"', str(module))


def document() -> transform.Sequential:
    return transform.Sequential(
        [
            relax.transform.InferType(),
            relax.transform.FoldConstant(),
            relax.transform.EliminateCommonSubexpr(),
            relax.transform.AlterOpLayout(),
        ]
    )


def check(module: IRModule, expected: list[np.ndarray]) -> None:
    for got, want in zip(run(module), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


def test_document_pipeline_at_level_3(module, expected):
    before = str(module)
    with transform.build_config(opt_level=3):
        result = document()(module)
    assert str(module) == before
    found = operations(result)
    # FoldConstant: the exponential and its sum are gone. The convolution that occurred twice is
    # there once. Layouts: the first one hands on NHWC, so that only weights are transposed.
    assert "exp" not in found
    assert found.count("conv2d") == 2
    assert found.count("batch_norm") == 1
    assert 'out_layout = "NHWC"' in str(result)
    assert 'layout = "NHWC"' in str(result)
    # InferType: the annotation that said nothing says what follows.
    assert '-> tensor<?x8xf32, #relax.dims<["n"]' in str(result)
    check(result, expected)


def test_document_pipeline_without_one_pass(module, expected):
    with transform.build_config(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
        result = document()(module)
    found = operations(result)
    assert found.count("conv2d") == 3
    assert found.count("batch_norm") == 2
    assert "exp" not in found
    check(result, expected)


def test_document_pipeline_at_the_default_level(module, expected):
    # Merging and layouts ask for level 3, folding for 2.
    result = document()(module)
    assert operations(result).count("conv2d") == 3
    assert "NHWC" not in str(result)
    assert "exp" not in operations(result)
    with transform.PassContext(opt_level=1):
        assert "exp" in operations(document()(module))
    check(result, expected)


def test_print_ir_in_the_middle(module, capfd):
    passes = document().passes
    with transform.PassContext(opt_level=3):
        transform.Sequential([*passes[:2], transform.PrintIR("folded"), *passes[2:]])(module)
    text = capfd.readouterr().err
    assert text.startswith("PrintIR(folded):\n")
    assert text.count('"relax.conv2d"') == 3
    assert '"relax.exp"' not in text


def test_second_document_ends_with_dead_code(module, expected):
    passes = [*document().passes, transform.DeadCodeElimination()]
    with transform.PassContext(opt_level=3):
        result = transform.Sequential(passes)(module)
    check(result, expected)


def test_fold_scale_axis_is_a_sequence(module, expected):
    fold = relax.transform.FoldScaleAxis()
    assert isinstance(fold, transform.Sequential)
    assert [each.info.name for each in fold.passes] == [
        "BackwardFoldScaleAxis",
        "ForwardFoldScaleAxis",
    ]
    prepare = [transform.SimplifyInference(), transform.FoldConstant()]
    simple = transform.Sequential(prepare)(module)
    assert operations(simple).count("multiply") == 3
    folded = transform.Sequential([fold, transform.FoldConstant()])
    with transform.PassContext(opt_level=3):
        result = folded(simple)
    assert "multiply" not in operations(result)
    assert "reshape" not in operations(result)
    check(result, expected)
    # Called directly it runs whatever the level; in a Sequential the level decides.
    assert operations(fold(simple)).count("multiply") > 3
    assert operations(folded(simple)).count("multiply") == 3


def test_everything_together(module, expected):
    seq = transform.Sequential(
        [
            transform.InferType(),
            transform.SimplifyInference(),
            transform.FoldConstant(),
            transform.FoldScaleAxis(),
            transform.EliminateCommonSubexpr(),
            transform.AlterOpLayout(),
            transform.FoldConstant(),
            transform.CanonicalizeBindings(),
            transform.DeadCodeElimination(),
        ]
    )
    with transform.PassContext(opt_level=3):
        result = seq(module)
    found = operations(result)
    assert not {"multiply", "permute_dims", "reshape", "batch_norm", "exp"} & set(found)
    check(result, expected)


LAYOUTS = [
    {"relax.nn.conv2d": ["NHWC", "HWIO"]},
    {"relax.nn.conv2d": ["NHWC", "default"], "relax.nn.max_pool2d": "NHWC"},
    {"nn.conv2d": ["NHWC", "OHWI"], "max_pool2d": ["NCHW"]},
    {"conv2d": ["NCHW", "HWIO"]},
    {"conv2d": ["HWNC", "IHWO"]},
]


@pytest.mark.parametrize("layouts", LAYOUTS)
def test_convert_layout_keeps_results(module, expected, layouts):
    convert = transform.ConvertLayout(layouts)
    result = transform.Sequential([convert, transform.FoldConstant()])(module)
    data, kernel = (*layouts.get("relax.nn.conv2d", layouts.get("conv2d", ["NHWC", "OHWI"])),)
    kernel = {"default": "HWIO"}.get(kernel, kernel)
    found = re.findall(r'kernel_layout = "(\w+)"', str(result))
    assert found == [kernel] * 3
    check(result, expected)
    again = transform.Pipeline.parse(f"builtin.module({convert})")
    assert str(again) == f"builtin.module({convert})"


def test_layout_goes_through_batch_norm(module, expected):
    result = transform.Sequential([transform.ConvertLayout(), transform.FoldConstant()])(module)
    # The image comes in and nothing goes out transposed.
    assert operations(result).count("permute_dims") == 1
    assert "axis = 3" in str(result)
    check(result, expected)


def test_convert_layout_reads_both_spellings(module):
    for text in ("conv2d=NHWC,OHWI", "relax.nn.conv2d=NHWC,OHWI"):
        a = transform.ConvertLayout(desired_layouts=text)(module)
        b = transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(module)
        assert operations(a) == operations(b)


def test_convert_layout_errors(module):
    from relax_mlir.errors import PassError

    with pytest.raises(PassError, match="'conv2' has no layout; did you mean 'conv2d'"):
        transform.ConvertLayout({"relax.nn.conv2": ["NHWC"]})(module)
    with pytest.raises(PassError, match="letters of 'NCHW', got 'NHWX'"):
        transform.ConvertLayout({"relax.nn.conv2d": ["NHWX"]})(module)


# Every shape of program that the layout and scale passes look at, with odd sizes and groups.
VARIANTS = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def grouped(x: R.Tensor((2, 8, 7, 5), "float32")):
        a = R.nn.conv2d(x, wg, groups=4, padding=[1, 0, 2, 1])
        b = R.multiply(a, twice)
        c = R.nn.avg_pool2d(b, pool_size=[2, 3], strides=[2, 1], padding=1)
        d = R.nn.softmax(c, axis=1)
        return R.sum(d, axis=[0, 1], keepdims=True)

    @R.function
    def residual(x: R.Tensor((2, 8, 7, 5), "float32"), flag: R.Tensor((), "bool")):
        a = R.nn.conv2d(x, weight, padding=1)
        b = R.nn.relu(R.multiply(a, 0.5))
        if flag:
            r = R.nn.conv2d(R.multiply(b, per_channel), weight)
        else:
            r = R.nn.conv2d(R.add(b, x), weight)
        return (R.max(r, axis=[1, 3]), R.permute_dims(R.add(r, r), [0, 2, 3, 1]), b)

    @R.function
    def symbolic(
        x: R.Tensor(("n", 8, "h", "w"), "float32"),
        s: R.Tensor((8, 1, 1), "float32"),
        w: R.Tensor((8, 8, 3, 3), "float32"),
    ):
        with R.dataflow():
            a = R.nn.conv2d(R.multiply(s, x), w, strides=2)
            b = R.multiply(R.add(a, per_channel), R.exp(s))
            c = R.astype(R.astype(b, "float64"), "float32")
            d = R.nn.conv2d(R.nn.max_pool2d(c, pool_size=2), w, padding=1)
            R.output(c, d)
        return (c, d)
"""


def test_layouts_and_scales_of_other_programs():
    rng = np.random.default_rng(2)
    weights = arrays() | {
        "wg": rng.standard_normal((16, 2, 3, 3), dtype="float32"),
        "per_channel": np.abs(rng.standard_normal((1, 8, 1, 1), dtype="float32")),
    }
    weights["twice"] = np.concatenate([weights["per_channel"]] * 2, 1)
    module = from_source(VARIANTS, weights)
    x = rng.standard_normal((2, 8, 7, 5), dtype="float32")
    s = rng.random((8, 1, 1), dtype="float32")
    w = rng.standard_normal((8, 8, 3, 3), dtype="float32")

    def results(module: IRModule) -> list[np.ndarray]:
        vm = relax.VirtualMachine(relax.build(module))
        found = [vm["grouped"](x)]
        for flag in (True, False):
            found += vm["residual"](x, np.array(flag))
        for shape in ((1, 8, 9, 11), (3, 8, 5, 8)):
            found += vm["symbolic"](rng_image(shape), s, w)
        return found

    def rng_image(shape: tuple[int, ...]) -> np.ndarray:
        return np.random.default_rng(3).standard_normal(shape, dtype="float32")

    expected = results(module)
    for names in (
        ["AlterOpLayout"],
        ["FoldScaleAxis"],
        ["FoldScaleAxis", "FoldConstant", "AlterOpLayout", "FoldConstant", "CanonicalizeBindings"],
    ):
        passes = [getattr(transform, name)() for name in names]
        with transform.PassContext(opt_level=3):
            result = transform.Sequential(passes)(module)
        for got, want in zip(results(result), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
