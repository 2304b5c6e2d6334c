"""`relax.build`: whole programs from MLIR text to results, and what is said of bad ones."""

import gc
import re
from pathlib import Path

import numpy as np
import pytest
from relax_text import (
    MARK,
    SN,
    TM,
    TN,
    X3,
    X6,
    X23,
    function,
    m,
    machine,
    n,
    names_called,
    shape,
    tensor,
    tuple_of,
)

from relax_mlir import IRModule, register_func, relax
from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE, lower, stages
from relax_mlir.errors import (
    ArgumentTypeError,
    CompileError,
    FunctionNotFoundError,
    PassError,
    PipelineError,
    ShapeMismatchError,
    VMError,
)
from relax_mlir.runtime import Tensor
from relax_mlir.script import from_source
from relax_mlir.transform import PassContext


@pytest.fixture(autouse=True)
def _packed_functions() -> None:
    register_func("test_build.same", lambda x: x, override=True)


# What functions may return


def assert_same_memory(result: np.ndarray, argument: np.ndarray) -> None:
    """A result that is an argument is a tensor of ours over the argument's memory."""
    assert isinstance(result, Tensor)
    assert result.__array_interface__ == argument.__array_interface__


def test_returns_its_parameter() -> None:
    f = function(f"func.func @f(%x: {TN}) -> {TN} {MARK} {{ return %x : {TN} }}")
    assert_same_memory(f(X3), X3)


@pytest.mark.parametrize(
    ("type_", "value", "wanted"),
    [
        ("tensor<3xf32>", "dense<[1.0, 2.0, 3.0]>", np.array([1, 2, 3], "float32")),
        ("tensor<f32>", "dense<1.5>", np.float32(1.5)),
        ("tensor<i1>", "dense<true>", np.bool_(True)),
        ("tensor<2xi1>", "dense<[true, false]>", np.array([True, False])),
        ("tensor<2xf16>", "dense<[1.0, 6.0e-8]>", np.array([1, 6e-8], "float16")),
        ("tensor<3xi64>", "dense<-7>", np.full(3, -7)),
        ("tensor<2xui8>", "dense<[1, 255]>", np.array([1, 255], "uint8")),
        ("tensor<0xf32>", "dense<>", np.zeros(0, "float32")),
        ("tensor<1000xf64>", "dense<2.0>", np.full(1000, 2.0)),
    ],
)
def test_returns_a_constant(type_: str, value: str, wanted: np.ndarray) -> None:
    f = function(
        f"func.func @f() -> {type_} {MARK} {{\n"
        f'  %c = "relax.constant"() {{value = {value} : {type_}}} : () -> {type_}\n'
        f"  return %c : {type_} }}"
    )
    got = f()
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(got, wanted)
    if got.size:
        got[...] = 0
        np.testing.assert_array_equal(f(), wanted)  # the constant itself is nobody's to write to


def test_returns_shapes_and_integers() -> None:
    s = shape(n * m, m + 2, 4)
    f = function(
        f"func.func @f(%x: {tensor(n, m)}) -> tuple<{s}, i64> {MARK} {{\n"
        f'  %s = "relax.shape_expr"() : () -> {s}\n'
        '  %i = "relax.prim_value"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0 - 5)>>}'
        f" : () -> i64\n  {tuple_of('%t', ('%s', s), ('%i', 'i64'))}\n"
        f"  return %t : tuple<{s}, i64> }}"
    )
    assert f(X23) == ((6, 5, 4), -3)


def test_returns_nothing() -> None:
    assert function(f"func.func @f(%x: {TN}) {MARK} {{ return }}")(X3) is None


def test_tuples_in_and_out() -> None:
    inner = f"tuple<{TN}, {SN}>"
    outer = f"tuple<{TN}, {inner}>"
    f = function(
        f"func.func @f(%p: {outer}) -> {outer} {MARK} {{\n"
        f'  %a = "relax.tuple_get_item"(%p) {{index = 0 : i64}} : ({outer}) -> {TN}\n'
        f'  %i = "relax.tuple_get_item"(%p) {{index = 1 : i64}} : ({outer}) -> {inner}\n'
        f'  %b = "relax.tuple_get_item"(%i) {{index = 0 : i64}} : ({inner}) -> {TN}\n'
        f'  %c = "relax.add"(%a, %b) : ({TN}, {TN}) -> {TN}\n'
        f"  {tuple_of('%t', ('%c', TN), ('%i', inner))}\n  return %t : {outer} }}"
    )
    total, (same, size) = f((X3, (X3, (3,))))
    np.testing.assert_array_equal(total, 2 * X3)
    assert_same_memory(same, X3)
    assert size == (3,)
    for bad, message in [
        ((X3, (X6, (3,))), "field 1, field 0: dimension 0 is 6, expected 3"),
        ((X3, (X3, (4,))), "field 1, field 1: dimension 0 is 4, expected 3"),
        ((X3, X3), "field 1: expected a tuple of 2"),
        ((X3, (X3, X3)), "field 1, field 1: expected a shape"),
        (X3, "expected a tuple of 2"),
    ]:
        with pytest.raises(VMError, match=message):
            f(bad)


# Control flow and calls


def test_nested_branches() -> None:
    f = function(f"""func.func @f(%c: tensor<i1>, %d: tensor<i1>, %x: {TN}) -> {TN} {MARK} {{
      %r = "relax.if"(%c) ({{
        %e = "relax.add"(%x, %x) : ({TN}, {TN}) -> {TN}
        %q = "relax.if"(%d) ({{
          %z = "relax.multiply"(%e, %x) : ({TN}, {TN}) -> {TN}
          "relax.yield"(%z) : ({TN}) -> ()
        }}, {{ "relax.yield"(%e) : ({TN}) -> () }}) : (tensor<i1>) -> {TN}
        "relax.yield"(%q) : ({TN}) -> ()
      }}, {{ "relax.yield"(%x) : ({TN}) -> () }}) : (tensor<i1>) -> {TN}
      return %r : {TN} }}""")
    for c, d, wanted in [(0, 0, X3), (0, 1, X3), (1, 0, 2 * X3), (1, 1, 2 * X3 * X3)]:
        np.testing.assert_array_equal(f(np.bool_(c), np.bool_(d), X3), wanted)
    with pytest.raises(ArgumentTypeError, match=r"'arg0'.*expected dtype bool, got int32"):
        f(np.int32(1), np.bool_(0), X3)


def test_symbols_bound_in_branches() -> None:
    unknown = "tensor<?xf32>"
    f = function(f"""func.func @f(%c: tensor<i1>, %x: {unknown}) -> {unknown} {MARK} {{
      %r = "relax.if"(%c) ({{
        %u = "relax.unique"(%x) : ({unknown}) -> {unknown}
        %m = "relax.match_cast"(%u) : ({unknown}) -> {TM}
        %v = "relax.add"(%m, %m) : ({TM}, {TM}) -> {TM}
        %w = "relax.match_cast"(%v) : ({TM}) -> {unknown}
        "relax.yield"(%w) : ({unknown}) -> ()
      }}, {{
        %m = "relax.match_cast"(%x) : ({unknown}) -> {TM}
        %v = "relax.exp"(%m) : ({TM}) -> {TM}
        %w = "relax.match_cast"(%v) : ({TM}) -> {unknown}
        "relax.yield"(%w) : ({unknown}) -> ()
      }}) : (tensor<i1>) -> {unknown}
      return %r : {unknown} }}""")
    x = np.array([1, 0, 1], "float32")
    np.testing.assert_array_equal(f(np.bool_(1), x), [0, 2])
    np.testing.assert_allclose(f(np.bool_(0), x), np.exp(x), rtol=1e-6)


def test_recursion() -> None:
    arguments = tuple_of("%a", ("%no", "tensor<i1>"), ("%e", TN))
    f = function(f"""func.func @f(%c: tensor<i1>, %x: {TN}) -> {TN} {MARK} {{
      %no = "relax.constant"() {{value = dense<false> : tensor<i1>}} : () -> tensor<i1>
      %r = "relax.if"(%c) ({{
        %e = "relax.add"(%x, %x) : ({TN}, {TN}) -> {TN}
        {arguments}
        %q = "relax.call"(%a) {{callee = @f}} : (tuple<tensor<i1>, {TN}>) -> {TN}
        "relax.yield"(%q) : ({TN}) -> ()
      }}, {{ "relax.yield"(%x) : ({TN}) -> () }}) : (tensor<i1>) -> {TN}
      return %r : {TN} }}""")
    np.testing.assert_array_equal(f(np.bool_(1), X3), 2 * X3)


def test_endless_recursion_is_an_error() -> None:
    f = function(f"""func.func @f(%x: {TN}) -> {TN} {MARK} {{
      {tuple_of("%a", ("%x", TN))}
      %q = "relax.call"(%a) {{callee = @f}} : (tuple<{TN}>) -> {TN}
      return %q : {TN} }}""")
    # What earlier tests left would be freed where the stack ends, and say so on stderr.
    gc.collect()
    with pytest.raises(VMError, match="too deeply"):
        f(X3)


def test_functions_call_with_tuples() -> None:
    pair = f"tuple<{TN}, {TN}>"
    pair_m = f"tuple<{TM}, {TM}>"
    f = function(f"""func.func @f(%x: {TN}) -> {TN} {MARK} {{
      {tuple_of("%i", ("%x", TN), ("%x", TN))}
      {tuple_of("%a", ("%i", pair))}
      %q = "relax.call"(%a) {{callee = @g}} : (tuple<{pair}>) -> {pair}
      %b = "relax.tuple_get_item"(%q) {{index = 1 : i64}} : ({pair}) -> {TN}
      return %b : {TN} }}
    func.func private @g(%t: {pair_m}) -> {pair_m} {MARK} {{
      %0 = "relax.tuple_get_item"(%t) {{index = 0 : i64}} : ({pair_m}) -> {TM}
      %e = "relax.exp"(%0) : ({TM}) -> {TM}
      {tuple_of("%i", ("%0", TM), ("%e", TM))}
      return %i : {pair_m} }}""")
    np.testing.assert_allclose(f(X3), np.exp(X3), rtol=1e-6)


# Calls of packed functions and prim funcs


def test_packed_functions_may_return_their_argument() -> None:
    f = function(f"""func.func @f(%x: {TN}) -> {TN} {MARK} {{
      %e = "relax.exp"(%x) : ({TN}) -> {TN}
      {tuple_of("%a", ("%e", TN))}
      %s = "relax.call_packed"(%a) {{func = "test_build.same"}} : (tuple<{TN}>) -> {TN}
      %l = "relax.log"(%s) : ({TN}) -> {TN}
      {tuple_of("%b", ("%s", TN), ("%l", TN))}
      %t = "relax.tuple_get_item"(%b) {{index = 0 : i64}} : (tuple<{TN}, {TN}>) -> {TN}
      return %t : {TN} }}""")
    np.testing.assert_allclose(f(X3), np.exp(X3), rtol=1e-6)


def test_impure_calls_are_neither_merged_nor_dropped() -> None:
    calls: list[float] = []
    register_func("test_build.count", lambda x: calls.append(float(x.sum())), override=True)

    def update(x: np.ndarray) -> None:
        x[...] = 7

    register_func("test_build.update", update, override=True)
    pair = f"tuple<{TN}, {TN}>"
    f = function(f"""func.func @f(%x: {TN}) -> {pair} {MARK} {{
      %d = "relax.dataflow"() ({{
        %e1 = "relax.add"(%x, %x) : ({TN}, {TN}) -> {TN}
        %e2 = "relax.add"(%x, %x) : ({TN}, {TN}) -> {TN}
        {tuple_of("%o", ("%e1", TN), ("%e2", TN))}
        "relax.output"(%o) : ({pair}) -> ()
      }}) : () -> {pair}
      %a = "relax.tuple_get_item"(%d) {{index = 0 : i64}} : ({pair}) -> {TN}
      %b = "relax.tuple_get_item"(%d) {{index = 1 : i64}} : ({pair}) -> {TN}
      {tuple_of("%u", ("%a", TN))}
      %c1 = "relax.call_packed"(%u) {{func = "test_build.count"}} : (tuple<{TN}>) -> !relax.object
      %c2 = "relax.call_packed"(%u) {{func = "test_build.count"}} : (tuple<{TN}>) -> !relax.object
      %c3 = "relax.call_packed"(%u) {{func = "test_build.update"}} : (tuple<{TN}>) -> !relax.object
      {tuple_of("%r", ("%a", TN), ("%b", TN))}
      return %r : {pair} }}""")
    updated, other = f(X3)
    assert calls == [6.0, 6.0]
    np.testing.assert_array_equal(updated, [7, 7, 7])
    np.testing.assert_array_equal(other, 2 * X3)


def test_unused_match_cast_still_checks() -> None:
    f = function(f"""func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {MARK} {{
      %y = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<3xf32>
      return %x : tensor<?xf32> }}""")
    assert_same_memory(f(X3), X3)
    with pytest.raises(ShapeMismatchError, match="dimension 0 is 6, expected 3"):
        f(X6)


def test_equal_pure_bindings_are_computed_once() -> None:
    vm = machine(f"""func.func @f(%x: tensor<?xf32>) -> {TN} {MARK} {{
      %a = "relax.unique"(%x) : (tensor<?xf32>) -> tensor<?xf32>
      %b = "relax.unique"(%x) : (tensor<?xf32>) -> tensor<?xf32>
      %c = "relax.match_cast"(%a) : (tensor<?xf32>) -> {TN}
      %d = "relax.match_cast"(%b) : (tensor<?xf32>) -> {TN}
      %e = "relax.add"(%c, %d) : ({TN}, {TN}) -> {TN}
      return %e : {TN} }}""")
    assert names_called(vm).count("vm.op.unique") == 1
    np.testing.assert_array_equal(vm["f"](X3), 2 * X3)


_N = '#relax.dims<["n"], affine_map<()[s0] -> (s0)>>'
_PARAM = f'memref<?xf32> {{tir.name = "%s", tir.shape = {_N}, tir.dtype = "float32"}}'
_PRIM = f"""func.func %s @%s(%%A: {_PARAM % "A"}, %%B: {_PARAM % "B"})
    attributes {{tir.prim_func}} {{
  %%n = "tir.symbol"() {{value = {_N}}} : () -> index
  %%c0 = arith.constant 0 : index
  "tir.for"(%%c0, %%n) ({{ ^bb(%%i: index):
    "tir.block"(%%i, %%n) ({{ ^bb(%%v: index):
      %%x = memref.load %%A[%%v] : memref<?xf32>
      %%y = arith.addf %%x, %%x : f32
      memref.store %%y, %%B[%%v] : memref<?xf32>
      "tir.yield"() : () -> ()
    }}, {{}}) {{block_name = "b", iter_types = ["spatial"]}} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }}) {{kind = "serial"}} : (index, index) -> ()
  return
}}
"""


def _prim(name: str, visibility: str = "") -> str:
    return _PRIM % (visibility, name)


def _calls(
    callee: str, arguments: str = "%a", types: str = f"tuple<{TN}>", result: str = TN
) -> str:
    return f"""func.func @f(%x: {TN}) -> {result} {MARK} {{
      {tuple_of("%a", ("%x", TN))}
      {tuple_of("%b", ("%x", TN), ("%x", TN))}
      %s = "relax.shape_expr"() : () -> {SN}
      %r = "relax.call_tir"(%s, {arguments}) {{callee = @{callee}}} : ({SN}, {types}) -> {result}
      return %r : {result} }}"""


def test_prim_funcs_are_compiled_when_reachable() -> None:
    vm = machine(
        _prim("open") + _prim("hidden", "private") + _prim("unused", "private") + _calls("hidden")
    )
    np.testing.assert_array_equal(vm["f"](X3), 2 * X3)
    out = np.zeros(3, "float32")
    vm["open"](X3, out)
    np.testing.assert_array_equal(out, 2 * X3)
    with pytest.raises(FunctionNotFoundError):
        vm["unused"]
    with pytest.raises(ShapeMismatchError):
        vm["open"](X6, out)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_calls("double"), "calls @double, which is not in the module"),
        (_calls("f"), "calls @f, which is not a prim func"),
        (_prim("p") + _calls("p", "%b", f"tuple<{TN}, {TN}>"), "passes 2 arguments, 1 outputs"),
        (
            _prim("p") + _calls("p", result="tensor<?x!relax.any_dtype>"),
            r"cannot allocate R.Tensor\(\(n,\)\): give the result's dtype",
        ),
    ],
)
def test_wrong_programs(text: str, message: str) -> None:
    with pytest.raises(PassError, match=message) as caught:
        machine(text)
    assert re.search(r":\d+:\d+: error: ", str(caught.value))


def test_what_is_no_program() -> None:
    for bad in (3, None, "text"):
        with pytest.raises(TypeError, match="expected a module"):
            relax.build(bad)
    with pytest.raises(CompileError, match="neither a Relax function"):
        machine("func.func @f(%x: i32) -> i32 { return %x : i32 }")
    with pytest.raises(CompileError, match=r"'f' at .* returns 2 values; return one tuple"):
        machine(f"func.func @f(%x: {TN}) -> ({TN}, {TN}) {MARK} {{ return %x, %x : {TN}, {TN} }}")
    with pytest.raises(CompileError, match=r"'relax.constant' at .*was it elided"):
        machine(
            f"func.func @f() -> tensor<3xf32> {MARK} {{\n"
            '  %c = "relax.constant"() {value = dense_resource<__elided__> : tensor<3xf32>}'
            " : () -> tensor<3xf32>\n  return %c : tensor<3xf32> }"
        )
    assert machine("").functions == ()


def test_missing_packed_function() -> None:
    f = function(f"""func.func @f(%x: {TN}) -> {TN} {MARK} {{
      {tuple_of("%a", ("%x", TN))}
      %s = "relax.call_packed"(%a) {{func = "test_build.sane"}} : (tuple<{TN}>) -> {TN}
      return %s : {TN} }}""")
    with pytest.raises(FunctionNotFoundError, match=r"did you mean 'test_build.same'"):
        f(X3)


# The pipeline


def test_build_leaves_the_module_as_it_was() -> None:
    module = IRModule.parse(_prim("p") + _calls("p"))
    before = str(module)
    relax.build(module)
    assert str(module) == before


def test_pipeline_is_a_list_of_names() -> None:
    module = IRModule.parse(_prim("p") + _calls("p"))
    names = [name for name in DEFAULT_PIPELINE if name != "OutlineNative"]
    executable = relax.build(
        module, relax_pipeline=[*names[:2], "func.func(cse,canonicalize)", *names[2:]]
    )
    np.testing.assert_array_equal(relax.VirtualMachine(executable)["f"](X3), 2 * X3)
    with pytest.raises(PipelineError, match="did you mean 'VMShapeLower'"):
        relax.build(module, relax_pipeline=["VMShapeLowr"])
    with pytest.raises(CompileError, match=r"is symbolic \(n\); run VMShapeLower first"):
        relax.build(module, relax_pipeline=["CallTIRRewrite", "VMMemoryLower"])
    with pytest.raises(PipelineError, match="unknown target"):
        relax.build(module, target="toaster")


def test_log(tmp_path: Path) -> None:
    log = relax.BuildLog(tmp_path / "dump")
    with PassContext(opt_level=3):
        relax.build(IRModule.parse(_prim("p") + _calls("p")), log=log)
    names = [stage.name for stage in log.stages]
    assert names[: len(DEFAULT_PIPELINE) + 2] == ["input", *DEFAULT_PIPELINE, "CodeGenVM"]
    assert log.seconds == pytest.approx(sum(stage.seconds for stage in log.stages))
    texts = {stage.name: stage.path.read_text() for stage in log.stages if stage.path}
    assert "relax.call_tir" in texts["input"]
    assert "vm.alloc_storage" in texts["VMMemoryLower"]
    assert "vm.load_shape" in texts["VMShapeLower"]
    assert "define" in texts["llvm-optimize"]


def test_what_any_stage_leaves_can_be_built() -> None:
    program = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.nn.relu(R.multiply(x, w))
            b = R.add(a, R.const(1.0))
            R.output(b)
        return b, R.unique(R.flatten(b))
""")
    x, w = np.ones((3, 4), "float32"), np.arange(4, dtype="float32")
    wanted = relax.VirtualMachine(relax.build(program))["main"](x, w)
    # Earlier ones leave no calls by name.
    for stage in stages()[-6:]:
        lowered = lower(program, stage)
        got = relax.VirtualMachine(relax.build(lowered))["main"](x, w)
        for result, expected in zip(got, wanted, strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-6, err_msg=stage)
