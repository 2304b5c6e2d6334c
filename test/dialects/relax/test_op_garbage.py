"""Arguments that mean nothing: operations refuse them by an error of ours, whatever they are."""

import random
from typing import Any

import pytest
from programs import tensor

from relax_mlir import relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax import SymExpr, build
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.params import REQUIRED
from relax_mlir.errors import ExprError, RelaxMLIRError
from relax_mlir.relax import op as relax_op
from relax_mlir.script import relax as R

n = SymExpr.var("n")
GARBAGE = (
    0, 1, -1, 2, -3, 2**31, 2**63 - 1, -(2**63), 2**64, 10**30, 1.5, float("nan"), float("inf"),
    True, None, "", "abc", "float32", "NHWC", "ij,jk->ik", "...->", b"x", [], [0], [1, 2], [-1],
    [0, 0], [1, 1, 1, 1], [2**63], [None], ["a"], [[1]], (), n, n * 2, [n, 1], object(), {},
)  # fmt: skip
ROUNDS = 1500


def _type(rng: random.Random) -> ir.Type:
    dtype = rng.choice(["float32", "float16", "int32", "int64", "bool", "uint8", ""])
    dims = rng.choices([0, 1, 2, 3, 7, "n", "m", n * 2], k=rng.randint(0, 4))
    kinds = [
        lambda: tensor(dims, dtype),
        lambda: tensor(dims, dtype),
        lambda: tensor(None, dtype, rng.randint(0, 4)),
        lambda: tensor(None, dtype),
        T.object_type,
        lambda: T.shape_type([n, 3]),
        lambda: T.shape_type(None, rng.choice([-1, 2])),
        lambda: ir.TupleType.get_tuple([tensor(dims, dtype)] * rng.randint(0, 3)),
    ]
    return rng.choice(kinds)()


def _value(rng: random.Random) -> ir.Value:
    return ir.Operation.create("test.value", results=[_type(rng)]).result


def _operand(rng: random.Random, kind: str) -> Any:
    if rng.random() < 0.1:
        return rng.choice(GARBAGE)
    if kind == "tensors":
        return [_value(rng) for _ in range(rng.randint(0, 3))]
    if kind == "shape" and rng.random() < 0.7:
        return rng.choice([[2, 3], [n, 2], [-1], [0, -1], [-3, -1], [2**62, 4]])
    return _value(rng)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(3))
def test_rules_and_verifiers_refuse_or_agree(seed: int) -> None:
    rng = random.Random(seed)
    with default_context(), ir.Location.unknown():
        module = ir.Module.create()
        for _ in range(ROUNDS):
            name = rng.choice(sorted(COMPUTE_OPS))
            params = COMPUTE_OPS[name].PARAMS
            with ir.InsertionPoint(module.body):
                operands = [_operand(rng, param.kind) for param in params if param.is_operand]
                attrs = {
                    param.name: rng.choice(GARBAGE)
                    for param in params
                    if not param.is_operand and (param.default is REQUIRED or rng.random() < 0.3)
                }
                try:
                    value = build(name, operands, attrs)
                except InferError:
                    continue
            assert value.owner.operation.verify(), (name, attrs)


@pytest.mark.filterwarnings("error")
def test_functions_refuse_or_infer() -> None:
    rng = random.Random(0)
    for _ in range(ROUNDS):
        name = rng.choice(sorted(COMPUTE_OPS))
        params = COMPUTE_OPS[name].PARAMS
        x = relax.Var("x", R.Tensor(("n", 4), rng.choice(["float32", "int64", "bool"])))
        args = [
            x if param.is_operand and rng.random() < 0.7 else rng.choice(GARBAGE)
            for param in params[: rng.randint(0, len(params))]
        ]
        try:
            assert getattr(relax_op, name)(*args).ty is not None
        except RelaxMLIRError:
            continue


def test_none_is_named() -> None:
    x = relax.Var("x", R.Tensor((3,), "float32"))
    with pytest.raises(ExprError, match=r"relax.op.repeat: repeats cannot be None"):
        _ = relax_op.repeat(x, None).ty
    with pytest.raises(ExprError, match=r"relax.op.reshape: .*cannot be -3"):
        _ = relax_op.reshape(x, (-1, -3)).ty
