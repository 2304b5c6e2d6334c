"""The pass `to-mixed-precision`: matrix products and convolutions of half-precision operands."""

from collections.abc import Callable, Sequence

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array, numpy_dtype
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, infer_result
from relax_mlir.dialects.relax.ops.elementwise import with_dtype
from relax_mlir.dialects.relax.side_effects import captured_values, functions_to_optimize
from relax_mlir.dialects.relax.tuples import field_types, is_make_tuple, known_fields, make_tuple
from relax_mlir.errors import PassError, did_you_mean
from relax_mlir.lowering.walk import collect, defining_op
from relax_mlir.transform.relax.dynamic_quantization import quantize_dynamically
from relax_mlir.transform.relax.infer_type import settle_result
from relax_mlir.transform.relax.mixed_precision_uses import Need, narrow_only, policy_of

_HALF = ("float16", "bfloat16")
_NARROW = (*_HALF, "int8")
_WIDE = "float32"


def to_mixed_precision(
    module: ir.Operation,
    out_dtype: str = _WIDE,
    fp16_input_names: Sequence[str] = (),
    dtype: str = "float16",
) -> None:
    """Compute matrix products, convolutions and attention in dataflow blocks on half precision.

    What they give is stored in half precision, and so is what only they read. Elementwise
    operations and others that lose little follow: in half precision where all their operands are,
    in float32 otherwise. The rest computes in float32: reductions, softmax, calls. What a block
    gives out keeps its dtype. The rules are those of TVM's pass.

    Args:
        module: a `builtin.module`.
        out_dtype: what products and convolutions accumulate in: float32, or that of `dtype`.
        fp16_input_names: parameters that the function takes in half precision from now on.
        dtype: the half precision, float16 or bfloat16; or int8, for products with weights that are
            quantized at run time (`quantize_dynamically`).

    Raises:
        PassError: a dtype is none of these, or no function has a parameter of such a name.
    """
    outs = (_WIDE,) if dtype == "int8" else (_WIDE, dtype)
    for name, given, allowed in (("dtype", dtype, _NARROW), ("out_dtype", out_dtype, outs)):
        if given not in allowed:
            raise PassError(
                "ToMixedPrecision", f"{name} is one of {', '.join(allowed)}, got {given!r}"
            )
    if dtype == "int8":
        if fp16_input_names:
            raise PassError("ToMixedPrecision", "fp16_input_names are for a half precision")
        quantize_dynamically(module)
        return
    names = _check_inputs(module, fp16_input_names)
    for func in functions_to_optimize(module):
        _Rewriter(func, dtype, out_dtype).run(names)


def _check_inputs(module: ir.Operation, names: Sequence[str]) -> set[str]:
    known = {name for func in functions_to_optimize(module) for name in _parameters(func)}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"; there are: {', '.join(sorted(known))}"
            raise PassError("ToMixedPrecision", f"no function has a parameter '{name}'{hint}")
    return set(names)


def _parameters(func: ir.Operation) -> list[str]:
    return [str(ir.StringAttr(each).value) for each in func.attributes.get("relax.params", ())]


class _Rewriter:
    """Works through one function, its operations changed in place.

    `_now` has what stands for a value whose dtype is another now, `_before` its type as it was.
    """

    def __init__(self, func: ir.Operation, half: str, out_dtype: str) -> None:
        self._func, self._half, self._out_dtype = func, half, out_dtype
        self._limit = float(_finfo(half).max)
        self._now: dict[ir.Value, ir.Value] = {}
        self._before: dict[ir.Value, ir.Type] = {}
        self._needs: dict[ir.Value, Need] = {}

    def run(self, half_inputs: set[str]) -> None:
        self._needs = narrow_only(self._func)
        self._retype_inputs(half_inputs)
        for op in collect(self._func, lambda op: op.name == "relax.dataflow"):
            self._block(op)
        settle_result(self._func)

    def _retype_inputs(self, names: set[str]) -> None:
        block = self._func.regions[0].blocks[0]
        chosen = [
            argument
            for argument, name in zip(block.arguments, _parameters(self._func), strict=False)
            if name in names and T.tensor_dtype(argument.type) == _WIDE
        ]
        for argument in chosen:
            outside = [use for use in argument.uses if not _is_in_dataflow(use.owner.operation)]
            self._before[argument] = argument.type
            argument.set_type(with_dtype(argument.type, self._half))
            if outside:
                with ir.InsertionPoint.at_block_begin(block), argument.location:
                    wide = build("astype", [argument], {"dtype": _WIDE})
                for use in outside:
                    use.owner.operation.operands[use.operand_number] = wide
        signature = ir.FunctionType(ir.TypeAttr(self._func.attributes["function_type"]).value)
        inputs = [argument.type for argument in block.arguments]
        self._func.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(inputs, signature.results)
        )

    def _block(self, dataflow: ir.Operation) -> None:
        block = dataflow.regions[0].blocks[0]
        *inner, end = [view.operation for view in block.operations]
        outputs = {value for value in end.operands}
        for value in list(end.operands):
            outputs.update(known_fields(value) or ())
        local = dict(self._now)
        with ir.InsertionPoint.at_block_begin(block), dataflow.location:
            for argument in self._func.regions[0].blocks[0].arguments:
                self._store(argument)
        for op in inner:
            self._operation(op, outputs)
        with ir.InsertionPoint(end), end.location:
            for index, value in enumerate(end.operands):
                end.operands[index] = self._as_before(value)
        self._now = local

    def _operation(self, op: ir.Operation, outputs: set[ir.Value]) -> None:
        before = [result.type for result in op.results]
        policy = policy_of(op)
        if policy == "always" and not self._is_float(op):
            policy = "never"
        with ir.InsertionPoint(op), op.location:
            if policy == "always":
                self._narrow(op)
            elif policy == "follow":
                self._follow(op)
            elif is_make_tuple(op) or op.name == "relax.tuple_get_item":
                self._part(op)
            else:
                self._restore(op)
        if len(op.results) != 1:
            return
        result = op.results[0]
        if result.type != before[0]:
            self._before[result] = before[0]
        with ir.InsertionPoint.after(op), op.location:
            if result in outputs:
                self._stand_for(result, self._as_before(result))
                return
            if policy == "always":
                self._stand_for(result, self._in_dtype(result, self._half))
            self._store(result)

    def _is_float(self, op: ir.Operation) -> bool:
        """Whether all operands and results are of the dtypes that change."""
        values = [*op.operands, *op.results]
        dtypes = {T.tensor_dtype(type_) for value in values for type_ in _leaves(value.type)}
        return dtypes <= {_WIDE, self._half}

    def _stand_for(self, old: ir.Value, new: ir.Value) -> None:
        if new != old:
            self._before.setdefault(new, old.type)
            self._before[new] = self._before.get(old, old.type)
            self._now[old] = new

    def _store(self, value: ir.Value) -> None:
        """Keep a value in half precision that only narrow operations read."""
        need = self._needs.get(value)
        if need is None:
            return
        now = self._now.get(value, value)
        kept = self._kept(now, need)
        if kept != now:
            self._before[kept] = self._before.get(value, value.type)
            self._now[value] = kept

    def _kept(self, value: ir.Value, need: Need) -> ir.Value:
        if isinstance(need, list):
            return self._fields(value, lambda field, i: self._kept(field, need[i]))
        return self._cast(value, self._half) if need == 16 else value

    def _fields(self, value: ir.Value, change: Callable[[ir.Value, int], ir.Value]) -> ir.Value:
        fields = known_fields(value) or [_item(value, i) for i in range(value.type.num_types)]
        made = [change(field, index) for index, field in enumerate(fields)]
        if made == fields:
            if known_fields(value) is None:
                for field in reversed(fields):
                    field.owner.operation.erase()
            return value
        return make_tuple(made)

    def _cast(self, value: ir.Value, dtype: str) -> ir.Value:
        """Return a tensor in a dtype; other dtypes than the two that change stay."""
        source = T.tensor_dtype(value.type) if T.is_tensor(value.type) else ""
        if source == dtype or source not in (_WIDE, self._half):
            return value
        return build("astype", [value], {"dtype": dtype})

    def _in_dtype(self, value: ir.Value, dtype: str) -> ir.Value:
        if isinstance(value.type, ir.TupleType):
            return self._fields(value, lambda field, _: self._in_dtype(field, dtype))
        return self._cast(value, dtype)

    def _as_before(self, value: ir.Value) -> ir.Value:
        """Return a value of the program in the dtype that it had there."""
        now = self._now.get(value, value)
        return self._like(now, self._before.get(value, value.type))

    def _like(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        if isinstance(type_, ir.TupleType):
            types = field_types(type_)
            return self._fields(value, lambda field, i: self._like(field, types[i]))
        return self._cast(value, T.tensor_dtype(type_)) if T.is_tensor(type_) else value

    def _operands(self, op: ir.Operation) -> list[ir.Value]:
        return [self._now.get(value, value) for value in op.operands]

    def _set(self, op: ir.Operation, operands: Sequence[ir.Value]) -> bool:
        """Put operands in place; return whether one of them is of another type."""
        changed = False
        for index, value in enumerate(operands):
            old = op.operands[index]
            changed |= self._before.get(old, old.type) != value.type
            if old != value:
                op.operands[index] = value
        return changed

    def _narrow(self, op: ir.Operation) -> None:
        cls = COMPUTE_OPS[op.name.removeprefix("relax.")]
        self._set(op, [self._in_dtype(value, self._half) for value in self._operands(op)])
        if any(param.name == "out_dtype" for param in cls.PARAMS):
            op.attributes["out_dtype"] = ir.StringAttr.get(self._out_dtype)
        op.results[0].set_type(infer_result(op))

    def _follow(self, op: ir.Operation) -> None:
        operands = self._operands(op)
        dtype = self._half if all(map(self._is_narrow, operands)) else _WIDE
        if self._set(op, [self._in_dtype(value, dtype) for value in operands]):
            op.results[0].set_type(infer_result(op))

    def _is_narrow(self, value: ir.Value) -> bool:
        """Whether a value is in half precision, or a constant that loses only digits there."""
        fields = known_fields(value)
        if fields is not None:
            return all(map(self._is_narrow, fields))
        if not T.is_tensor(value.type):
            return not isinstance(value.type, ir.TupleType)
        if T.tensor_dtype(value.type) == self._half:
            return True
        constant = defining_op(value, "relax.constant")
        if constant is None:
            return False
        array = constant_array(constant.attributes["value"])
        return bool((np.abs(array.astype("float64")) <= self._limit).all())

    def _part(self, op: ir.Operation) -> None:
        operands = self._operands(op)
        self._set(op, operands)
        types = [value.type for value in operands]
        if is_make_tuple(op):
            op.results[0].set_type(ir.TupleType.get_tuple(types))
        else:
            op.results[0].set_type(types[0].get_type(op.attributes["index"].value))

    def _restore(self, op: ir.Operation) -> None:
        """Give an operation what it took before, and what is in it too."""
        self._set(op, [self._as_before(value) for value in op.operands])
        for value in captured_values(op) if len(op.regions) else ():
            wide = self._as_before(value)
            for use in list(value.uses) if wide != value else ():
                if _is_inside(use.owner.operation, op):
                    use.owner.operation.operands[use.operand_number] = wide


def _finfo(dtype: str) -> np.finfo:
    import ml_dtypes

    return ml_dtypes.finfo(numpy_dtype(dtype))


def _leaves(type_: ir.Type) -> list[ir.Type]:
    if isinstance(type_, ir.TupleType):
        return [leaf for field in field_types(type_) for leaf in _leaves(field)]
    return [type_] if T.is_tensor(type_) else []


def _item(value: ir.Value, index: int) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    return ir.Operation.create(
        "relax.tuple_get_item",
        results=[value.type.get_type(index)],
        operands=[value],
        attributes={"index": ir.IntegerAttr.get(i64, index)},
    ).result


def _is_inside(op: ir.Operation, around: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None and parent.operation != around:
        parent = parent.operation.parent
    return parent is not None


def _is_in_dataflow(op: ir.Operation) -> bool:
    parent = op.parent
    return parent is not None and parent.operation.name == "relax.dataflow"
