"""The passes `decompose-ops-for-inference` and `decompose-ops-for-training`."""

from collections.abc import Callable

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, read_attributes
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import FunctionKeyError, did_you_mean
from relax_mlir.lowering.relax_to_tir.decompose import constant
from relax_mlir.lowering.walk import named
from relax_mlir.relax.expr.places import operations_within
from relax_mlir.transform.relax.infer_type import settle_result
from relax_mlir.transform.relax.rebuild import symbols_of

Rule = Callable[[ir.Operation], ir.Value | None]


def decompose_ops_for_inference(module: ir.Operation, func_name: str = "") -> None:
    """Write batch normalization by the running statistics, and shapes out of tensors as calls.

    An operation whose operands are known too little stays. SimplifyInference writes fewer
    operations for each element; this is TVM's decomposition.

    Args:
        module: a `builtin.module`.
        func_name: the function; by default all.

    Raises:
        FunctionKeyError: there is none of that name.
    """
    rules = {"relax.batch_norm": _for_inference, "relax.tensor_to_shape": _tensor_to_shape}
    _decompose(module, func_name, rules)


def decompose_ops_for_training(module: ir.Operation, func_name: str = "") -> None:
    """Write batch normalization by the statistics of the batch, and layer normalization.

    The second and third result of a batch normalization are the running statistics, brought up to
    date by its momentum.

    Args:
        module: a `builtin.module`.
        func_name: the function; by default all.

    Raises:
        FunctionKeyError: there is none of that name.
    """
    rules = {"relax.batch_norm": _for_training, "relax.layer_norm": _layer_norm}
    _decompose(module, func_name, {**rules, "relax.tensor_to_shape": _tensor_to_shape})


def _decompose(module: ir.Operation, func_name: str, rules: dict[str, Rule]) -> None:
    functions = {func.attributes["sym_name"].value: func for func in functions_to_optimize(module)}
    if func_name and func_name not in functions:
        raise FunctionKeyError(f"no function '{func_name}'{did_you_mean(func_name, functions)}")
    for name, func in functions.items():
        if func_name not in ("", name):
            continue
        for op in named(func, rules):
            with ir.InsertionPoint(op), op.location:
                made = rules[op.name](op)
            if made is not None:
                op.results[0].replace_all_uses_with(made)
                op.erase()
        settle_result(func)


def _attributes(op: ir.Operation) -> dict:
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)


def _op(name: str, *operands: ir.Value, **attrs: object) -> ir.Value:
    return build(name, operands, attrs)


def _around(op: ir.Operation) -> list[int] | None:
    """Return all axes but that of the channels, None where the rank or the dtype is unknown."""
    data = op.operands[0].type
    ndim = T.tensor_ndim(data)
    if ndim < 0 or not T.tensor_dtype(data):
        return None
    axis = _attributes(op)["axis"] % ndim
    return [i for i in range(ndim) if i != axis]


def _for_inference(op: ir.Operation) -> ir.Value | None:
    axes = _around(op)
    if axes is None:
        return None
    mean, var = list(op.operands)[3:]
    return make_tuple([_normalized(op, mean, var, axes), mean, var])


def _for_training(op: ir.Operation) -> ir.Value | None:
    axes = _around(op)
    if axes is None:
        return None
    data, momentum = op.operands[0], _attributes(op)["momentum"]
    dtype = T.tensor_dtype(data.type)
    mean, var = (_op(name, data, axis=axes, keepdims=False) for name in ("mean", "variance"))
    out = _normalized(op, mean, var, axes)
    running = [
        _op(
            "add",
            _op("multiply", constant(1 - momentum, dtype), before),
            _op("multiply", constant(momentum, dtype), now),
        )
        for before, now in zip(list(op.operands)[3:], (mean, var), strict=True)
    ]
    return make_tuple([out, *running])


def _normalized(op: ir.Operation, mean: ir.Value, var: ir.Value, axes: list[int]) -> ir.Value:
    """Return `(x - mean) / sqrt(var + epsilon) * gamma + beta`, the vectors along the channels."""

    def along(value: ir.Value) -> ir.Value:
        return _op("expand_dims", value, axis=axes) if axes else value

    return _affine(op, lambda: along(mean), lambda: along(var), along)


def _layer_norm(op: ir.Operation) -> ir.Value | None:
    data, axes = op.operands[0], _attributes(op)["axes"]
    if T.tensor_ndim(data.type) < 0 or not T.tensor_dtype(data.type):
        return None
    ndim = T.tensor_ndim(data.type)
    if [axis % ndim for axis in axes] != list(range(ndim - len(axes), ndim)):
        # Gamma and beta have the axes in the order given, and broadcast to the last ones.
        return None

    def statistic(name: str) -> ir.Value:
        return _op(name, data, axis=list(axes), keepdims=True)

    return _affine(op, lambda: statistic("mean"), lambda: statistic("variance"))


def _affine(
    op: ir.Operation,
    mean: Callable[[], ir.Value],
    var: Callable[[], ir.Value],
    along: Callable[[ir.Value], ir.Value] = lambda value: value,
) -> ir.Value:
    attrs = _attributes(op)
    data, gamma, beta = list(op.operands)[:3]
    centred = _op("subtract", data, mean())
    epsilon = constant(attrs["epsilon"], T.tensor_dtype(data.type))
    out = _op("divide", centred, _op("sqrt", _op("add", var(), epsilon)))
    if attrs["scale"]:
        out = _op("multiply", out, along(gamma))
    if attrs["center"]:
        out = _op("add", out, along(beta))
    return out


def _tensor_to_shape(op: ir.Operation) -> ir.Value | None:
    ndim = T.shape_ndim(op.results[0].type)
    if ndim < 0:
        return None
    shape = ir.Operation.create(
        "relax.call_pure_packed",
        results=[T.shape_type(None, ndim)],
        operands=[make_tuple([op.operands[0]])],
        attributes={"func": ir.StringAttr.get("vm.builtin.tensor_to_shape")},
    ).result
    bound = T.shape_type([SymExpr.var(name) for name in _fresh(op, ndim)])
    ir.Operation.create("relax.match_cast", results=[bound], operands=[shape])
    return ir.Operation.create("relax.shape_expr", results=[bound]).result


def _fresh(op: ir.Operation, count: int) -> list[str]:
    """Return names that no symbol of the function has."""
    func = op
    while func.name != "func.func":
        func = func.parent.operation
    taken = {name for a in func.regions[0].blocks[0].arguments for d in type_dims(a.type)
             for name in d.symbols}  # fmt: skip
    for inner in operations_within(func):
        taken.update(symbols_of(inner))
    names: list[str] = []
    number = 0
    while len(names) < count:
        if (name := f"x{number or ''}") not in taken:
            names.append(name)
        number += 1
    return names
