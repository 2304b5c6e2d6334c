"""What a build works on where the module's context is full of constants: a copy in another."""

import numpy as np
import pytest

import relax_mlir
from relax_mlir import IRModule, relax
from relax_mlir.compiler.working_copy import working_copy
from relax_mlir.dialects import context as contexts
from relax_mlir.dialects import context_memory
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.ir import structural_equal
from relax_mlir.relax import op
from relax_mlir.runtime import VirtualMachine
from relax_mlir.script import relax as R

DTYPES = (
    "float16", "float32", "float64", "bfloat16", "bool",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip


@pytest.fixture
def full(monkeypatch):
    monkeypatch.setattr(context_memory, "MAX_BYTES", 0)


def _constants(mod: IRModule) -> list[ir.Attribute]:
    found = []

    def visit(each: ir.Operation) -> ir.WalkResult:
        if each.name == "relax.constant":
            found.append(each.attributes["value"])
        return ir.WalkResult.ADVANCE

    mod.mlir_module.operation.walk(visit)
    return found


def _module(arrays: list[np.ndarray]) -> IRModule:
    builder = relax.BlockBuilder()
    with builder.function("main", [relax.Var("x", R.Tensor((2,), "float32"))]):
        builder.emit_func_output(relax.Tuple([relax.const(array) for array in arrays]))
    return builder.get()


def test_nothing_moves_while_there_is_room(monkeypatch):
    # Other tests of this process may have filled the context.
    monkeypatch.setattr(context_memory, "MAX_BYTES", 1 << 60)
    mod = _module([np.arange(6.0)])
    assert working_copy(mod).context == mod.context


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (7, 5, 3)])
def test_constants_are_shared_and_not_copied(full, shape):
    from relax_mlir.dialects.relax.constants import numpy_dtype

    count = int(np.prod(shape, dtype=int))
    arrays = [np.arange(count).astype(numpy_dtype(dtype)).reshape(shape) for dtype in DTYPES]
    mod = _module([*arrays, arrays[0], *(array + array for array in arrays)])
    text, before = str(mod), _constants(mod)
    copy = working_copy(mod)
    assert copy.context != mod.context
    assert str(mod) == text
    copy.verify()
    assert structural_equal(copy, mod)
    after = _constants(copy)
    assert len({str(each) for each in after}) == len({str(each) for each in before})
    for mine, theirs in zip(after, before, strict=True):
        one, other = constant_array(mine), constant_array(theirs)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()
        if one.size > 1 and one.dtype != np.bool_:
            assert np.shares_memory(one, other)


def test_resources_of_a_text_with_two_types_and_without_data(full):
    mod = IRModule.parse(
        """
        func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> attributes {relax.function} {
          %a = "relax.constant"() {value = dense_resource<w> : tensor<4xf32>} : () -> tensor<4xf32>
          %b = "relax.constant"() {value = dense_resource<w> : tensor<2x2xf32>}
               : () -> tensor<2x2xf32>
          %c = "relax.constant"() {value = dense_resource<none> : tensor<9xf32>}
               : () -> tensor<9xf32>
          return %a : tensor<4xf32>
        }
        {-# dialect_resources: { builtin: {
          w: "0x040000000000803F000000400000404000008040"
        } } #-}
        """
    )
    first, second, third = _constants(working_copy(mod))
    assert constant_array(first).tolist() == [1, 2, 3, 4]
    assert str(second.type) == "tensor<2x2xf32>"
    with pytest.raises(ValueError, match="no data"):
        constant_array(third)


def test_what_a_new_context_does_not_know_stays(full):
    context = contexts.make_context()
    context.allow_unregistered_dialects = True
    mod = IRModule.parse('"own.operation"() : () -> ()', context)
    copy = working_copy(mod)
    assert copy.context == context
    assert str(copy) == str(mod)


def test_a_build_gives_the_same_and_names_the_same_places(full, tmp_path):
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((256, 64)).astype("float32")
    x = relax.Var("x", R.Tensor((3, 256), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        y = builder.emit(op.matmul(x, relax.const(weight)))
        builder.emit_func_output(builder.emit(op.add(y, relax.const(weight[0]))))
    mod = builder.get()
    moved = relax.build(mod)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context_memory, "MAX_BYTES", 1 << 60)
        stayed = relax.build(mod)
    assert moved.as_text() == stayed.as_text()
    assert moved.metadata == stayed.metadata
    value = rng.standard_normal((3, 256)).astype("float32")
    got, expected = (VirtualMachine(each)["main"](value) for each in (moved, stayed))
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_allclose(got, value @ weight + weight[0], rtol=1e-4, atol=1e-4)


def test_errors_are_those_of_a_build_in_place(full):
    mod = IRModule.parse(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.function} {\n"
        "return %x : tensor<2xf32>\n}"
    )
    mod["main"].mlir_op.attributes["relax.function"] = ir.Attribute.parse("1 : i64", mod.context)
    messages = []
    for most in (0, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(context_memory, "MAX_BYTES", most)
            try:
                relax.build(mod)
                messages.append("")
            except relax_mlir.errors.RelaxMLIRError as error:
                messages.append(str(error))
    assert messages[0] == messages[1]
