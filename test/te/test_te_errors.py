"""`te`: what makes no sense is refused at once, by a message that names the stage."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, te, tir, topi
from relax_mlir.errors import (
    BuilderError,
    ExprError,
    ExprTypeError,
    FunctionKeyError,
    PipelineError,
    ScheduleTypeError,
)
from relax_mlir.script import relax as R

N = 4


def _inputs() -> tuple[te.Tensor, te.Tensor]:
    return te.placeholder((N, 3), name="A"), te.placeholder((N,), "int32", name="B")


CASES: list[tuple[Callable[[Any, Any], Any], type[Exception], str]] = [
    (lambda A, B: te.compute((N,), lambda i: A[i], name="C"), ExprError,
     "in te.compute 'C': 'A' has 2 dimensions, it is indexed with 1"),
    (lambda A, B: te.compute((N,), lambda i: A[i, 3], name="C"), ExprError,
     "in te.compute 'C': index 3 is outside of dimension 1 of 'A', which has 3 elements"),
    (lambda A, B: te.compute((N,), lambda i: A[i, -1], name="C"), ExprError, "index -1 is outside"),
    (lambda A, B: te.compute((N,), lambda i: A[i + 1, 0], name="C"), ExprError,
     "in te.compute 'C', A[(i + 1), 0] reads outside of dimension 0 of 'A', which has 4 elements: "
     "the index goes from 1 to 4; guard it"),
    (lambda A, B: te.compute((N,), lambda i: A[i, A[i, 0]], name="C"), ExprTypeError,
     "index 1 of 'A' must be an integer, got A[i, 0] of float32; cast it"),
    (lambda A, B: te.compute((N,), lambda i: A[i, 0:2], name="C"), ExprTypeError,
     "read one element at a time"),
    (lambda A, B: te.compute((N,), lambda i, j: A[i, j], name="C"), ExprError,
     "te.compute 'C' has 1 dimensions, its function takes 2 indices"),
    (lambda A, B: te.compute((N, 2), lambda i: A[i, 0], name="C"), ExprError,
     "te.compute 'C' has 2 dimensions, its function takes 1 indices"),
    (lambda A, B: te.compute((N,), lambda i: "x", name="C"), ExprTypeError,
     "in te.compute 'C': 'x' is no scalar expression"),
    (lambda A, B: te.compute((N,), lambda i: A, name="C"), ExprTypeError,
     "in te.compute 'C': 'A' is a tensor of 2 dimensions; index it, as in A[i, j]"),
    (lambda A, B: te.compute((N,), lambda i: B[i] / 2, name="C"), ExprTypeError,
     "in te.compute 'C': '/' of int32 could mean two things"),
    (lambda A, B: te.compute((N,), lambda i: B[i] // 0, name="C"), ExprError, "divided by zero"),
    (lambda A, B: te.compute((N,), lambda i: A[i, 0] & 1, name="C"), ExprTypeError,
     "bitwise operations need integers or bools, got float32"),
    (lambda A, B: te.compute((N,), lambda i: tir.exp(B[i]), name="C"), ExprTypeError,
     "in te.compute 'C': 'exp' needs a floating-point operand, got int32"),
    (lambda A, B: te.compute((N,), lambda i: B[i] if A[i, 0] > 0 else 0, name="C"), ExprTypeError,
     "no truth value while it is being built: use tir.all, tir.any, tir.Not and tir.if_then_else"),
    (lambda A, B: te.compute((N,), lambda i: tir.if_then_else(A[i, 0], 1, 2), name="C"),
     ExprTypeError, "tir.if_then_else needs a condition of dtype bool, got A[i, 0] of float32"),
    (lambda A, B: te.compute((N,), lambda i: A[i, te.reduce_axis((0, 3), "k")], name="C"),
     ExprError, "in te.compute 'C', 'k' is reduced over by no reduction"),
    (lambda A, B: te.compute((N,), lambda i: B[te.compute((N,), lambda j: j).op.axis[0]],
                             name="C"),
     ExprError, "in te.compute 'C', 'j' is an axis of another stage"),
    (lambda A, B: te.compute((N,), lambda i: te.sum(A[i, k := te.reduce_axis((0, 3))], axis=k) + 1,
                             name="C"),
     ExprError, "te.compute 'C' has a reduction inside of another expression; give the reduction"),
    (lambda A, B: te.compute((N,), lambda i: te.sum(A[i, 0], axis=i), name="C"), ExprTypeError,
     "'sum' reduces over axes made by te.reduce_axis, got i"),
    (lambda A, B: te.compute((N,), lambda i: (te.sum(A[i, k := te.reduce_axis((0, 3))], axis=k), 1),
                             name="C"),
     ExprError, "the outputs of te.compute 'C' must all be values of one reduction, or none"),
    (lambda A, B: te.placeholder((2.5,), name="P"), ExprTypeError,
     "the shape of te.placeholder 'P' takes integers, tir.Var and expressions of them, got 2.5"),
    (lambda A, B: te.placeholder((-1,), name="P"), ExprError, "'P' has a negative size, -1"),
    (lambda A, B: te.placeholder((1,), "float31"), ExprError, "did you mean 'float32'"),
    (lambda A, B: te.reduce_axis(3), ExprTypeError, "te.reduce_axis takes a pair such as (0, n)"),
    (lambda A, B: te.reduce_axis((3, 1), "k"), ExprError, "reduce axis 'k' goes from 3 to 1"),
    (lambda A, B: te.const(300, "uint8"), ExprError, "300 does not fit uint8"),
    (lambda A, B: te.compute((N,), 3, name="C"), ExprTypeError, "takes a function of indices"),
    (lambda A, B: te.compute((N,), lambda i: te.const(1.0, "float16") + te.const(1.0, "bfloat16")),
     ExprTypeError, "neither of float16 and bfloat16 holds the other"),
    (lambda A, B: te.extern((N,), [A, B], lambda ins, outs: None, name="E"), ExprTypeError,
     "te.extern 'E' needs a dtype: its inputs have 2"),
    (lambda A, B: te.create_prim_func([A, 3]), ExprTypeError, "takes te tensors, got 3"),
    (lambda A, B: te.create_prim_func([A, A]), ExprError, "is given one tensor twice"),
    (lambda A, B: te.create_prim_func([te.compute((N,), lambda i: B[i])]), ExprError,
     "placeholder 'B' is read, but is not in the list"),
    (lambda A, B: tir.ir_builder.create(), BuilderError, "none is being written"),
    (lambda A, B: te.argmax(A[0, 0], axis=te.reduce_axis((0, 3))), ExprTypeError,
     "'argmax' cannot reduce this: "),
    (lambda A, B: te.comm_reducer(lambda x: x, lambda t: 0)(A[0, 0], te.reduce_axis((0, 3))),
     ExprTypeError, "a combiner takes two partial results"),
    (lambda A, B: te.sum(A[0, 0], axis=0), ExprTypeError,
     "'sum' reduces over axes made by te.reduce_axis, got axis=0"),
    (lambda A, B: te.const("x", "float32"), ExprTypeError, "tir.const takes a number, got 'x'"),
    (lambda A, B: te.const("x", "int32"), ExprTypeError, "takes an integer, got 'x'"),
    (lambda A, B: te.var("n") / 2, ExprTypeError, "// rounds down, tir.ceildiv up"),
    (lambda A, B: 1 / te.var("n"), ExprTypeError, "tir.Cast('float32', n)"),
    (lambda A, B: 0 < te.var("n") < 3, ExprTypeError, "join conditions by tir.all"),
    (lambda A, B: te.placeholder((1 << 63,), name="P"), ExprError, "that int64 does not hold"),
    (lambda A, B: topi.arange(2**64), ExprError, "that int64 does not hold"),
    (lambda A, B: topi.stack(A, 0), ExprTypeError, "topi.stack takes a list of tensors, got one"),
    (lambda A, B: topi.stack([1, 2], 0), ExprTypeError, "topi.stack takes a te.Tensor, got 1"),
    (lambda A, B: topi.stack([A, B], 0), ExprError,
     "topi.stack takes tensors of one shape, got [4, 3] and [4]"),
    (lambda A, B: topi.nn.conv2d(A, A, 1, 0, 1), ExprError, "kernels of 2 do not go together"),
    (lambda A, B: te.create_prim_func(A), ExprTypeError, "takes a list of tensors, [A, B], got"),
    (lambda A, B: te.create_prim_func([]), ExprError, "inputs and outputs, got an empty list"),
    (lambda A, B: te.extern((4,), A, lambda i, o: None), ExprTypeError, "a list of tensors, [A,"),
    (lambda A, B: te.create_prim_func([A, te.extern((4,), [A], lambda i, o: None)]), ExprError,
     "te.extern 'extern' writes nothing: its function stores by tir.ir_builder"),
    (lambda A, B: te.placeholder((4,), name=3), ExprTypeError, "the name of a stage is a string"),
    (lambda A, B: te.compute((4,), lambda i: 1.0, name=3), ExprTypeError, "name of a stage is"),
    (lambda A, B: tir.transform.Simplify(te.create_prim_func([A])), PipelineError,
     "takes 0 options, got 1; Simplify()(mod) runs it on a module"),
    (lambda A, B: relax_mlir.transform.FewShotTuning, AttributeError, "leave it out: kernels"),
    (lambda A, B: relax_mlir.compile(te.create_prim_func([A]), target="llvm -mcpu=qqqq"),
     PipelineError, "'native' is this machine's"),
    (lambda A, B: relax.get_pipeline("zerro"), PipelineError, "did you mean 'zero'"),
    (lambda A, B: relax.buildd, AttributeError, "did you mean 'build'?"),
    (lambda A, B: relax.op.vision.roi_alin, AttributeError, "did you mean 'roi_align'?"),
    (lambda A, B: relax_mlir.register_func(3, print), TypeError, "is a string, got 3"),
    (lambda A, B: relax.BlockBuilder().emit_te(3), ExprTypeError, "take a te function, topi.add"),
    (lambda A, B: tir.ProducerLoad(3, [1]), ExprTypeError, "A[i, j] makes one"),
    (lambda A, B: tir.ProducerLoad(A, 1), ExprTypeError, "takes a te.Tensor and its indices"),
    (lambda A, B: tir.IndexMap(3, 4), ExprTypeError, "IndexMap.from_func makes one of a function"),
    (lambda A, B: tir.IndexMap([A], []), ExprTypeError, "takes symbols by tir.Var or name"),
    (lambda A, B: tir.IndexMap.from_func("x"), ExprTypeError, "is a function of indices, such as"),
    (lambda A, B: tir.IndexMap.from_func(lambda i: "a"), ExprTypeError, "got 'a' of str"),
    (lambda A, B: tir.Trace(3, None), ScheduleTypeError, "takes a list of instructions, got 3"),
    (lambda A, B: tir.Trace([], 3), ScheduleTypeError, "are a dict by instruction, got 3"),
    (lambda A, B: te.create_schedule, AttributeError, "tir.Schedule(te.create_prim_func"),
    (lambda A, B: te.tanhh, AttributeError, "did you mean 'tanh'?"),
    (lambda A, B: tir.AttrStmt, AttributeError, "tir.Block are the statements there are"),
    (lambda A, B: tir.expp, AttributeError, "did you mean 'exp'?"),
    (lambda A, B: relax_mlir.relay, AttributeError, "models are Relax functions"),
    (lambda A, B: relax_mlir.compile(A), ExprTypeError, "te.create_prim_func([inputs"),
    (lambda A, B: relax_mlir.IRModule("x"), ExprTypeError, "script.from_source TVMScript"),
    (lambda A, B: relax_mlir.IRModule({"a": 3}), ExprTypeError, "expected a function"),
    (lambda A, B: te.create_prim_func([A]).module["x"], FunctionKeyError, "no function 'x'; there"),
    (lambda A, B: te.create_prim_func([A]).with_attr("x", object()), ExprTypeError,
     "an attribute is a string, a number"),
    (lambda A, B: relax_mlir.compile(te.create_prim_func([A]), target=3), PipelineError,
     "a target is a text such as 'llvm -mcpu=native', got int 3"),
    (lambda A, B: relax_mlir.compile(te.create_prim_func([A]), target={"kind": "llvm", "cpu": 1}),
     PipelineError, "did you mean '-mcpu'"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
def test_refused(case: int) -> None:
    make, kind, said = CASES[case]
    with pytest.raises(kind) as raised:
        make(*_inputs())
    assert said in str(raised.value)


def test_tensors_of_unknown_shape_are_to_be_cast_first() -> None:
    """A shape computed by code, or not known, is no te shape: the message says what to do."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(ndim=2, dtype="float32"))

    def twice(a: te.Tensor) -> te.Tensor:
        return te.compute(a.shape, lambda *i: a[i] * 2, name="twice")

    with bb.function("main", [x]):
        with pytest.raises(ExprError, match="match_cast first"):
            bb.emit_te(twice, x)
        known = bb.match_cast(x, R.Tensor(("n", "m"), "float32"))
        bb.emit_func_output(bb.emit_te(twice, known))
    value = np.ones((2, 3), "float32")
    got = relax.VirtualMachine(relax.build(bb.get()))["main"](value)
    np.testing.assert_array_equal(got, value * 2)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda A: topi.roll(3, 1), "topi.roll takes a te.Tensor as 'a', got 3"),
        (lambda A: topi.nn.dense(A, 0), "topi.nn.dense takes a te.Tensor as 'weight', got 0"),
        (lambda A: topi.nn.leaky_relu(A, A), "topi.nn.leaky_relu takes no tensor as 'alpha'"),
        (lambda A: topi.roll(A), r"topi.roll\(a, shift, axis=0\) cannot take .*: missing a"),
        (lambda A: topi.stack(np.zeros((2, 2)), 0), r"topi.stack\(tensors, axis=0\) cannot take"),
        (lambda A: topi.transpose(A, 1.5), r"topi.transpose\(a, axes=None\) cannot take"),
        (lambda A: topi.image.resize2d(A, A, 3, "NCHW"), "topi.image.resize2d"),
        (lambda A: topi.vision.get_valid_counts(A, A, 0, 1), "topi.vision.get_valid_counts"),
    ],
)
def test_operators_refuse_arguments_of_wrong_kinds(call: Callable[[Any], Any], why: str) -> None:
    with pytest.raises(ExprError, match=why):
        call(te.placeholder((4, 5), name="A"))
