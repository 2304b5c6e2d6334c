"""ONNX models in with one call: dynamic dimensions stay symbols, results are the model's."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import MissingPackageError, ModelError, UnsupportedOpError
from relax_mlir.frontend import detach_params, registry
from relax_mlir.frontend.onnx import from_onnx
from relax_mlir.ir import assert_structural_equal, structural_equal, structural_hash

RNG = np.random.default_rng(0)


def model(text: str, opset: int = 21, **weights: np.ndarray) -> onnx.ModelProto:
    made = parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')
    for name, array in weights.items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return made


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


CLASSIFIER = """
g (float[n,3,8,8] x) => (float[n,4] y) <float[4,3,3,3] w, float[4] b, float[64,4] v> {
    c = Conv<pads = [1,1,1,1]>(x, w, b)
    r = Relu(c)
    p = MaxPool<kernel_shape = [2,2], strides = [2,2]>(r)
    s = Shape(p)
    zero = Constant<value = int64 {0}>()
    n0 = Gather(s, zero)
    axes = Constant<value = int64[1] {0}>()
    n1 = Unsqueeze(n0, axes)
    rest = Constant<value = int64[1] {-1}>()
    sizes = Concat<axis = 0>(n1, rest)
    f = Reshape(p, sizes)
    y = MatMul(f, v)
}"""


def classifier() -> onnx.ModelProto:
    return model(CLASSIFIER, w=normal(4, 3, 3, 3), b=normal(4), v=normal(64, 4))


def test_a_path_compiles_and_runs_for_every_batch(tmp_path: Path) -> None:
    onnx.save(classifier(), tmp_path / "model.onnx")
    main = relax_mlir.compile(tmp_path / "model.onnx")
    reference = ReferenceEvaluator(str(tmp_path / "model.onnx"))
    for n in (1, 5):
        x = normal(n, 3, 8, 8)
        (expected,) = reference.run(None, {"x": x})
        np.testing.assert_allclose(main(x), expected, rtol=1e-4, atol=1e-5)


def test_what_a_model_computes_of_shapes_stays_symbolic() -> None:
    text = from_onnx(classifier()).script()
    assert "R.reshape(gv2, R.shape([n, 64]))" in text
    assert "shape_of" not in text


def test_shape_dict_replaces_the_shape_of_an_input() -> None:
    text = from_onnx(classifier(), shape_dict={"x": [2, 3, 8, 8]}).script()
    assert 'R.Tensor((2, 4), dtype="float32")' in text


def test_weights_can_stay_parameters() -> None:
    proto = classifier()
    given = from_onnx(proto, keep_params_in_input=True)
    mod, params = detach_params(given)
    assert [param.name_hint for param in mod["main"].params] == ["x", "w", "b", "v"]
    weights = [onnx.numpy_helper.to_array(each) for each in proto.graph.initializer]
    for array, weight in zip(params["main"], weights, strict=True):
        np.testing.assert_array_equal(array.numpy(), weight)
    assert (list(given["main"].attrs), list(mod["main"].attrs)) == (
        ["global_symbol", "num_input", "params"],
        ["global_symbol", "num_input"],
    )
    again = from_onnx(proto, keep_params_in_input=True)
    assert_structural_equal(again, given)
    assert structural_hash(again) == structural_hash(given) != structural_hash(mod)
    other = {"params": [*weights[:2], weights[2] + 1]}
    assert not structural_equal(given["main"].with_attr(other), given["main"])
    x = normal(2, 3, 8, 8)
    (expected,) = ReferenceEvaluator(proto).run(None, {"x": x})
    for each in (given, mod):
        got = relax.VirtualMachine(relax.build(each))["main"](x, *params["main"])
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_one_error_names_every_operation_that_is_missing() -> None:
    broken = model("g (float[2] x) => (float[2] y) { a = Foo(x) b = Foo(a) y = Bar(b) }")
    with pytest.raises(UnsupportedOpError) as caught:
        from_onnx(broken)
    assert caught.value.missing == (
        "Foo (version 21), 2 times, first at Foo 'a'",
        "Bar (version 21), once, first at Bar 'y'",
    )


def test_the_report_is_a_table() -> None:
    lines = str(relax_mlir.frontend.report(classifier())).splitlines()
    assert lines[0].split() == ["operation", "version", "count", "by", "first", "at"]
    assert any(line.startswith("Constant") and "converter" in line for line in lines)


def test_without_the_package_an_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingPackageError, match=r"pip install relax-mlir\[onnx\]"):
        from_onnx("model.onnx")


def test_the_frontend_is_imported_without_onnx() -> None:
    code = "import relax_mlir.frontend.loaders, sys; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_dtype_dict_takes_precedence_by_name() -> None:
    text = "g (float[n] x) => (float[n] y) { y = Relu(x) }"
    module = from_onnx(model(text), dtype_dict={"x": "float64"})
    assert relax_mlir.compile(module)(np.ones(3)).dtype == "float64"
    with pytest.raises(ModelError, match="dtype_dict has 'z'; the inputs of the model are x"):
        from_onnx(model(text), dtype_dict={"z": "float64"})


def test_compare_names_the_first_node_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    proto, x = classifier(), normal(2, 3, 8, 8)
    relax_mlir.testing.compare(proto, (x,)).check()
    wrong = {1: lambda node: relax.op.negative(node.x())}
    monkeypatch.setitem(registry.CONVERTERS, ("onnx", "Relu"), wrong)
    found = relax_mlir.testing.compare(proto, (x,))
    assert [each.agrees for each in found.outputs] == [False]
    assert found.first is not None
    assert found.first.startswith("Relu 'r': largest error")
    with pytest.raises(ModelError, match=r"1 inputs \(x\), got 0"):
        relax_mlir.testing.compare(proto, ())


def test_functions_have_defaults_of_attributes() -> None:
    """The defaults reach calls in graphs, in branches and in other functions."""
    made = parse_model("""<ir_version: 9, opset_import: ["" : 21, "my" : 1]>
    g (float[n,4] x, bool c) => (float[n,4] y, float[n,4] z) {
        y = my.outer(x)
        z = If(c) <then_branch = t () => (float[n,4] u) { u = my.inner<alpha = 3.0>(x) },
                   else_branch = e () => (float[n,4] v) { v = my.inner(x) }>
    }
    <domain: "my", opset_import: ["" : 21]> inner <axis: int = 0, alpha: float = 2.0> (a) => (b) {
        k = Constant<value_float: float = @alpha>()
        s = Softmax<axis: int = @axis>(a)
        b = Mul(s, k)
    }
    <domain: "my", opset_import: ["" : 21, "my" : 1]> outer (a) => (b) { b = my.inner(a) }""")
    before = made.SerializeToString()
    main = relax_mlir.compile(made)
    assert made.SerializeToString() == before
    for n, condition in ((3, True), (1, False)):
        x = normal(n, 4)
        soft = np.exp(x) / np.exp(x).sum(0)
        results = main(x, np.array(condition))
        for result, factor in zip(results, (2, 3 if condition else 2), strict=True):
            np.testing.assert_allclose(result, soft * factor, rtol=1e-5)
