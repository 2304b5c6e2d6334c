"""Weights that are loaded where they are used: `LazyTransformParams` and its like."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.locations import location_name, nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import prim_value
from relax_mlir.dialects.relax.tuples import (
    field_types,
    get_item,
    is_make_tuple,
    is_tuple,
    make_tuple,
)
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax_to_tir.support.emit import call_packed
from relax_mlir.lowering.walk import relax_functions
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.relax.analysis.symbols import symbols_in
from relax_mlir.relax.expr import Var
from relax_mlir.relax.expr.places import defining_op, is_leaf
from relax_mlir.relax.expr_functor.edit import erase
from relax_mlir.transform.signatures.bundle_model_params import NUM_INPUT
from relax_mlir.transform.signatures.lift_transform_params import SUFFIX
from relax_mlir.transform.signatures.parameters import (
    body,
    end_of,
    name_of,
    param_names,
    replace_in,
    sign,
)
from relax_mlir.transform.signatures.parameters import users as users_of

_FIELD, _HOLDER = "relax.tuple_get_item", "symbolic_var_holder"
# Takes the index and the name of a weight, and returns it as an object.
_Load = Callable[[int, str], ir.Value]
# Takes the index of an output and the output.
_Store = Callable[[int, ir.Value], Any]


def LazyTransformParams(
    fget_item: str = "get_item",
    fset_item: str | None = "set_item",
    extra_get_item_params: Sequence[Var] | None = None,
    extra_set_item_params: Sequence[Var] | None = None,
) -> ModulePass:
    """Return the pass that has functions `...transform_params` load weights and store results.

    A weight is loaded before its first use by `fget_item(*extra, index)`. A result is stored after
    its last use by `fset_item(*extra, index, value)`, and the function returns nothing. Run
    `ToNonDataflow` first: inside a dataflow block nothing is loaded or stored.

    Args:
        fget_item: the packed function that loads.
        fset_item: the one that stores; None returns the results.
        extra_get_item_params: variables that become parameters, and the first arguments of loads.
        extra_set_item_params: the same for stores.

    Raises:
        ExprTypeError: a name is no text.
    """
    if not isinstance(fget_item, str) or not isinstance(fset_item, (str, type(None))):
        raise ExprTypeError("LazyTransformParams takes names of packed functions")
    given, taken = list(extra_get_item_params or ()), list(extra_set_item_params or ())

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        with lock_of(mod.context), mod.context, ir.Location.unknown():
            for func in relax_functions(mod.mlir_module.operation):
                if name_of(func).endswith(SUFFIX):
                    transform(func)
        return mod

    def transform(func: ir.Operation) -> None:
        names = param_names(func)
        count = _inputs(func, 0)
        weights = list(body(func).arguments)[count:]
        extra = {
            each: body(func).add_argument(each.ty.to_mlir(), ir.Location.name(each.name))
            for each in dict.fromkeys([*given, *(taken if fset_item else ())])
        }
        names += [each.name for each in extra]

        def load(index: int, name: str) -> ir.Value:
            values = [*(extra[each] for each in given), prim_value(index)]
            return call_packed(fget_item, values, T.object_type(), pure=False)

        def store(index: int, value: ir.Value) -> None:
            values = [*(extra[each] for each in taken), prim_value(index), value]
            call_packed(str(fset_item), values, T.object_type(), pure=False)

        loaded = _load(func, weights, names, load)
        if fset_item is not None:
            _store(func, store, after_last_use=True, loaded=loaded)
        if "relax.force_pure" in func.attributes:
            del func.attributes["relax.force_pure"]

    return ModulePass(run, PassInfo("LazyTransformParams"))


def lazy_get_input(module: ir.Operation) -> None:
    """Have public functions load the parameters after the first `num_input` where they are used.

    They take a function `fget_param(index, name)` in their place.

    Args:
        module: a `builtin.module`.
    """
    for func in _public_functions(module):
        names, block = param_names(func), body(func)
        count = _inputs(func, 0)
        weights = list(block.arguments)[count:]
        getter = block.add_argument(T.object_type(), ir.Location.name("fget_param"))

        def load(index: int, name: str, getter: ir.Value = getter) -> ir.Value:
            word = ir.StringAttr.get(name)
            text = call_packed("vm.builtin.word", [], T.object_type(), [word])
            return _invoke(getter, [prim_value(index), text], T.object_type())

        _load(func, weights, [*names, "fget_param"], load)
        func.attributes[NUM_INPUT] = python_attribute(count + 1)


def lazy_set_output(module: ir.Operation) -> None:
    """Have public functions hand each result to a function as soon as it is there.

    They take `fset_output(index, value)` behind the first `num_input` parameters, and return
    nothing.

    Args:
        module: a `builtin.module`.
    """
    for func in _public_functions(module):
        names, block = param_names(func), body(func)
        count = _inputs(func, len(names))
        setter = block.add_argument(T.object_type(), ir.Location.name("fset_output"))
        for name in names[count:]:
            # MLIR's Python adds arguments at the end only.
            moved = block.add_argument(block.arguments[count].type, ir.Location.name(name))
            block.arguments[count].replace_all_uses_with(moved)
            block.erase_argument(count)

        def store(index: int, value: ir.Value, setter: ir.Value = setter) -> None:
            _invoke(setter, [prim_value(index), value], ir.TupleType.get_tuple([]))

        _store(func, store)
        sign(func, [*names[:count], "fset_output", *names[count:]])
        if NUM_INPUT in func.attributes:
            func.attributes[NUM_INPUT] = python_attribute(count + 1)


def _public_functions(module: ir.Operation) -> Iterator[ir.Operation]:
    for func in relax_functions(module):
        if "sym_visibility" not in func.attributes:
            yield func


def _inputs(func: ir.Operation, default: int) -> int:
    return (
        ir.IntegerAttr(func.attributes[NUM_INPUT]).value
        if NUM_INPUT in func.attributes
        else default
    )


def _invoke(function: ir.Value, args: Sequence[ir.Value], result: ir.Type) -> ir.Value:
    operands = [function, make_tuple(args)]
    return ir.Operation.create("relax.invoke_closure", results=[result], operands=operands).result


@dataclass
class _Weight:
    """A parameter, or a field of the tuple that is the only one.

    Attributes:
        index: which of the weights it is.
        name: what it is called.
        values: what stands for it.
        users: operations of the function's block in which it is used.
    """

    index: int
    name: str
    values: list[ir.Value]
    users: set[ir.Operation]


def _weights(func: ir.Operation, given: Sequence[ir.Value], names: Sequence[str]) -> list[_Weight]:
    if len(given) != 1 or not is_tuple(given[0].type):
        users = [{_anchor(use.owner.operation, func) for use in each.uses} for each in given]
        return [
            _Weight(i, name, [each], used)
            for i, (name, each, used) in enumerate(zip(names, given, users, strict=True))
        ]
    (whole,) = given
    others = [op for op in (use.owner.operation for use in whole.uses) if op.name != _FIELD]
    if others:
        count = len(field_types(whole.type))
        with ir.InsertionPoint.at_block_begin(body(func)), func.location:
            made = make_tuple([get_item(whole, index) for index in range(count)])
        for op in others:
            replace_in(op, whole, made)
    result: dict[int, _Weight] = {}
    for op in (use.owner.operation for use in whole.uses):
        index = op.attributes["index"].value
        name = location_name(op.location) or names[0]
        weight = result.setdefault(index, _Weight(index, name, [], set()))
        weight.values.append(op.results[0])
        weight.users.add(_anchor(op, func))
    return list(result.values())


def _anchor(op: ir.Operation, func: ir.Operation) -> ir.Operation:
    """Return the operation of a function's block that an operation is, or is part of."""
    while op.parent.operation != func:
        op = op.parent.operation
    return op


def _fields(type_: ir.Type) -> list[ir.Type]:
    return field_types(type_) if is_tuple(type_) else [type_]


def _load(
    func: ir.Operation, given: Sequence[ir.Value], names: Sequence[str], load: _Load
) -> set[ir.Value]:
    """Load weights where they are used first, take them out of the signature, and return them.

    Args:
        func: the function.
        given: the parameters that weights are.
        names: of all parameters.
        load: loads a weight.
    """
    block = body(func)
    titles = dict(zip(block.arguments, names, strict=True))
    weights = _weights(func, given, [titles[each] for each in given])
    left = [name for value, name in titles.items() if value not in given]
    kept = [argument for argument in block.arguments if argument not in given]
    types = [field for each in given for field in _fields(each.type)]
    # Sizes are parameters still: nothing else gives symbols their values.
    holders = {
        index: block.add_argument(type_, ir.Location.name(_HOLDER))
        for index, type_ in enumerate(types)
        if not T.is_tensor(type_) and str(type_) != "!relax.object"
    }
    bound = {
        name for each in (*kept, *holders.values()) for name in bound_symbols(type_dims(each.type))
    }
    order = {view.operation: place for place, view in enumerate(block.operations)}
    mentions = {op: set(symbols_in(op)) for op in order}
    loaded: set[ir.Value] = set()
    end = len(order)

    def first_use(weight: Any) -> int:
        return min((order.get(use, end) for use in weight.users), default=end)

    for weight in sorted(weights, key=first_use):
        value = holders.get(weight.index)
        if value is None:
            type_ = types[weight.index]
            own = set(bound_symbols(type_dims(type_))) - bound
            bound |= own
            users = weight.users | {op for op, symbols in mentions.items() if own & symbols}
            if not users:
                continue
            first = min(users, key=order.__getitem__)
            with ir.InsertionPoint(first), ir.Location.name(weight.name):
                operands = [load(weight.index, weight.name)]
                cast = ir.Operation.create("relax.match_cast", results=[type_], operands=operands)
            value = cast.result
            loaded.add(value)
        for old in weight.values:
            old.replace_all_uses_with(value)
    for old in (old for weight in weights for old in weight.values if old not in given):
        erase(old.owner.operation)
    for index in reversed(range(len(block.arguments))):
        if block.arguments[index] in given:
            block.erase_argument(index)
    sign(func, left + [_HOLDER] * len(holders))
    return loaded


def _store(
    func: ir.Operation,
    store: _Store,
    after_last_use: bool = False,
    loaded: Collection[ir.Value] = (),
) -> None:
    """Store the results of a function, which returns the empty tuple then.

    Args:
        func: the function.
        store: stores one.
        after_last_use: whether that happens after the last use, not at once.
        loaded: values that are let go after their last use.
    """
    block, end = body(func), end_of(func)
    (result,) = end.operands
    with ir.InsertionPoint(end), end.location:
        count = len(field_types(result.type)) if is_tuple(result.type) else 0
        outputs = [get_item(result, index) for index in range(count)] if count else [result]
        empty = make_tuple([])
    end.operands[0] = empty
    made = defining_op(result)
    if made is not None and is_make_tuple(made) and not list(result.uses):
        made.erase()
    ops = [view.operation for view in block.operations]
    order = {op: place for place, op in enumerate(ops)}
    ends: dict[ir.Operation | None, list[ir.Value]] = {}
    for value in dict.fromkeys([*outputs, *loaded]):
        owner = defining_op(value)
        place = None if owner is None else _anchor(owner, func)
        if after_last_use:
            users = [_anchor(op, func) for op in users_of(value)]
            place = max([*users, *([place] if place else [])], key=order.__getitem__, default=None)
        elif owner is not None and is_leaf(owner):
            place = ops[-3] if len(ops) > 2 else None
        ends.setdefault(place, []).append(value)
    for place, values in ends.items():
        behind = ops[0] if place is None else ops[order[place] + 1]
        with ir.InsertionPoint(behind), nameless(behind.location):
            # What is computed there comes behind what it is computed of.
            for value in sorted(
                values, key=lambda each: place is not None and each in place.results
            ):
                for index in (i for i, each in enumerate(outputs) if each == value):
                    store(index, value)
                if value in loaded:
                    ir.Operation.create("vm.kill", operands=[value])
    sign(func, param_names(func), [empty.type])
