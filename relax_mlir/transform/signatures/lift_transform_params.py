"""`LiftTransformParams`: what depends on weights alone is computed by a function of its own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.locations import location_name
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import get_item, known_fields, make_tuple
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError, FunctionKeyError, did_you_mean
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import named, relax_functions
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.relax.analysis.symbols import symbols_in
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr.places import DATAFLOW, canonical, defining_op, is_leaf
from relax_mlir.relax.expr_functor.edit import erase
from relax_mlir.transform.grouping.grouped_functions import bindings_of
from relax_mlir.transform.relax.canonicalize_bindings import forward_copies
from relax_mlir.transform.relax.dead_code_elimination import remove_unused
from relax_mlir.transform.relax.inline_function import inline_body, substitute_symbols
from relax_mlir.transform.relax.rebuild import substitute_type
from relax_mlir.transform.signatures.bundle_model_params import NUM_INPUT
from relax_mlir.transform.signatures.parameters import body, end_of, name_of, param_names, sign

func: ModuleType = submodule("dialects.func")

SUFFIX = "transform_params"
_STOP = "relax.builtin_stop_lift_params"
_ENDS = ("func.return", "relax.output", DATAFLOW)


def LiftTransformParams(shared_transform: bool | Sequence[str] = False) -> ModulePass:
    """Return the pass that computes what depends on weights alone in a function of its own.

    Weights are the parameters after the first `num_input`. The function `main_transform_params`
    takes the tuple of the weights of `main` and returns what `main` takes in their place: first the
    weights that it still needs, then what has been computed of them. Only bindings of dataflow
    blocks move, up to `R.builtin.stop_lift_params`. A second run moves what is left, and puts the
    new function behind the old one.

    Args:
        shared_transform: whether all functions with weights, or those of these names, share one
            function `transform_params`, which computes what all of them compute of the same
            weights.

    Raises:
        ExprTypeError: `shared_transform` is neither. The pass raises `FunctionKeyError` for a name
            that no function has, and `ExprError` where weights of functions that share a transform
            differ in number, shape or dtype.
    """
    if not isinstance(shared_transform, (bool, list, tuple)):
        raise ExprTypeError(
            f"shared_transform is a bool or a list of names, got {type(shared_transform).__name__}"
        )

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        module = mod.mlir_module.operation
        with lock_of(mod.context), mod.context, ir.Location.unknown():
            targets = _targets(module, shared_transform)
            groups = [targets] if shared_transform else [[each] for each in targets]
            for group in groups:
                if group:
                    name = SUFFIX if shared_transform else f"{name_of(group[0])}_{SUFFIX}"
                    _lift(module, [_Function(each) for each in group], name)
        return mod

    return ModulePass(run, PassInfo("LiftTransformParams", 1))


def _targets(module: ir.Operation, wanted: bool | Sequence[str]) -> list[ir.Operation]:
    functions = {name_of(each): each for each in relax_functions(module)}
    if not isinstance(wanted, bool):
        for name in wanted:
            if name not in functions or NUM_INPUT not in functions[name].attributes:
                near = did_you_mean(name, functions)
                raise FunctionKeyError(
                    f"LiftTransformParams: no function '{name}' with 'num_input'{near}"
                )
        return [functions[name] for name in wanted]
    return [
        functions[name]
        for name in sorted(functions)
        if NUM_INPUT in functions[name].attributes and not name.endswith(SUFFIX)
    ]


class _Function:
    """One function with weights: what can be computed of them, and what it needs at run time."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.count = ir.IntegerAttr(op.attributes[NUM_INPUT]).value
        self.weights = list(body(op).arguments)[self.count :]
        self.names = param_names(op)
        self.liftable: dict[ir.Operation, bool] = {}
        known = {name for each in self.weights for name in _symbols(each.type)}
        for dataflow in named(op, (DATAFLOW,)):
            for each in bindings_of(dataflow):
                self._note(each, known)

    def _note(self, op: ir.Operation, known: set[str]) -> None:
        """Note an operation that can be lifted, and whether it needs a weight."""
        given = list(_operands(op))
        if len(op.regions) or op.name in ("relax.match_cast", "relax.call", _STOP):
            return
        if not set(symbols_in(op)) <= known:
            return
        needs = [self._needs_weight(value) for value in given]
        if None not in needs:
            self.liftable[op] = any(needs)

    def _needs_weight(self, value: ir.Value) -> bool | None:
        """Return whether a value needs a weight, None where it cannot be lifted."""
        if value in self.weights:
            return True
        op = defining_op(value)
        return None if op is None else self.liftable.get(op)

    def needed(self, lifted: Iterable[ir.Operation]) -> tuple[list[ir.Value], set[str]]:
        """Return the values and the symbols that are needed when some operations are gone."""
        gone = set(lifted)
        values: dict[ir.Value, None] = {}
        symbols: dict[str, None] = {}

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op in gone or is_leaf(op) or op == self.op:
                return ir.WalkResult.ADVANCE
            if op.name not in _ENDS:
                symbols.update(dict.fromkeys(symbols_in(op)))
            if op.name != "relax.output":
                values.update(dict.fromkeys(_operands(op)))
            return ir.WalkResult.ADVANCE

        self.op.walk(visit, ir.WalkOrder.PRE_ORDER)
        return list(values), set(symbols)


@dataclass
class _Plan:
    """What one transform computes, by what it is in each function.

    Attributes:
        ops: the operations, as the first function has them.
        twins: for each function the operations that compute the same, by those of the first.
    """

    ops: list[ir.Operation] = field(default_factory=list)
    twins: list[dict[ir.Operation, list[ir.Operation]]] = field(default_factory=list)


def _operands(op: ir.Operation) -> Iterable[ir.Value]:
    for value in op.operands:
        owner = defining_op(value)
        if owner is not None and is_leaf(owner):
            yield from _operands(owner)
        else:
            yield canonical(value)


def _symbols(type_: ir.Type) -> list[str]:
    return sorted(bound_symbols(type_dims(type_)))


def _plan(functions: Sequence[_Function]) -> _Plan:
    """Find what all functions compute of the same weights."""
    keys: list[dict[Any, list[ir.Operation]]] = []
    for each in functions:
        renamed = _renamed(functions[0], each)
        known: dict[Any, Any] = {w: ("weight", i) for i, w in enumerate(each.weights)}
        by_key: dict[Any, list[ir.Operation]] = {}
        for op, needs_weight in each.liftable.items():
            key = _key(op, known, renamed)
            known[op.results[0]] = key
            if needs_weight or len(functions) == 1:
                by_key.setdefault(key, []).append(op)
        keys.append(by_key)
    plan = _Plan(twins=[{} for _ in functions])
    for key, (first, *_) in keys[0].items():
        if all(key in by_key for by_key in keys):
            plan.ops.append(first)
            for twins, by_key in zip(plan.twins, keys, strict=True):
                twins[first] = by_key[key]
    if len(functions) == 1:
        plan.ops = list(functions[0].liftable)
        plan.twins = [{op: [op] for op in plan.ops}]
    return plan


def _key(op: ir.Operation, known: dict[Any, Any], renamed: dict[str, SymExpr]) -> Any:
    """Return what two operations have equal that compute the same of the same weights."""
    parts = []
    for value in op.operands:
        owner = defining_op(value)
        if value in known:
            parts.append(known[value])
        elif owner is not None and is_leaf(owner):
            parts.append(_key(owner, known, renamed))
        else:
            parts.append(known.get(canonical(value), str(value)))
    copy = op.clone(ip=False).operation if renamed and not len(op.regions) else op
    if copy is not op:
        substitute_symbols(copy, renamed)
    attributes = tuple(sorted((name, str(value)) for name, value in copy.attributes.items()))
    return op.name, attributes, tuple(str(each.type) for each in copy.results), tuple(parts)


def _renamed(first: _Function, other: _Function) -> dict[str, SymExpr]:
    """Return the first function's symbols by those of another, by the types of weights."""
    if len(first.weights) != len(other.weights):
        raise ExprError(
            f"LiftTransformParams: '{name_of(first.op)}' has {len(first.weights)} weights, "
            f"'{name_of(other.op)}' has {len(other.weights)}; with one transform they have as many"
        )
    renamed: dict[str, SymExpr] = {}
    for mine, theirs in zip(first.weights, other.weights, strict=True):
        pairs = zip(type_dims(theirs.type), type_dims(mine.type), strict=False)
        renamed.update({a.name: b for a, b in pairs if a.name and a.name not in renamed})
        if substitute_type(theirs.type, renamed) != mine.type:
            raise ExprError(
                f"LiftTransformParams: a weight of '{name_of(first.op)}' is {mine.type}, in "
                f"'{name_of(other.op)}' it is {theirs.type}; to share a transform they are equal"
            )
    return {name: value for name, value in renamed.items() if value.name != name}


def _lift(module: ir.Operation, functions: Sequence[_Function], name: str) -> None:
    plan = _plan(functions)
    first = functions[0]
    kept: dict[int, None] = {}
    made: dict[ir.Operation, None] = {}
    symbols: dict[str, None] = {}
    gone = []
    for each, twins in zip(functions, plan.twins, strict=True):
        lifted = {op: main for main, same in twins.items() for op in same if each.liftable[op]}
        gone.append(lifted)
        values, used = each.needed(lifted)
        owners = {defining_op(value) for value in values} & set(lifted)
        made.update(dict.fromkeys(main for op, main in lifted.items() if op in owners))
        kept.update(dict.fromkeys(i for i, w in enumerate(each.weights) if w in values))
        inputs = bound_symbols(
            dim for a in list(body(each.op).arguments)[: each.count] for dim in type_dims(a.type)
        )
        own = [n for w in each.weights for n in _symbols(w.type) if n in used and n not in inputs]
        forward = _renamed(first, each)
        symbols.update(dict.fromkeys(str(forward.get(n, n)) for n in own))
    outputs: list[ir.Value] = [first.weights[i] for i in sorted(kept)]
    outputs += [op.results[0] for op in plan.ops if op in made]
    bound = bound_symbols(dim for value in outputs for dim in type_dims(value.type))
    passed = [symbol for symbol in symbols if symbol not in bound]
    transform = _transform(first, plan, outputs, passed)
    # Told before the first function changes.
    taken = [
        _taken(each, first, twins, outputs, passed)
        for each, twins in zip(functions, plan.twins, strict=True)
    ]
    for each, lifted, own in zip(functions, gone, taken, strict=True):
        _shorten(each, list(lifted), own)
    _insert(module, transform, name)


def _taken(
    each: _Function, first: _Function, twins: dict[ir.Operation, list[ir.Operation]],
    outputs: Sequence[ir.Value], passed: Sequence[str],
) -> list[tuple[str, ir.Type, list[ir.Value]]]:  # fmt: skip
    """Return what a function takes of the transform: names, types, and what they stand for."""
    back = {str(value): SymExpr.var(name) for name, value in _renamed(first, each).items()}
    result: list[tuple[str, ir.Type, list[ir.Value]]] = []
    names = Names(each.names[: each.count])
    if passed:
        dims = [back.get(symbol, SymExpr.var(symbol)) for symbol in passed]
        result.append(("vars_from_compile_time_params", T.shape_type(dims), []))
    for value in outputs:
        owner = defining_op(value)
        if owner is None:
            index = first.weights.index(value)
            name, olds = each.names[each.count + index], [each.weights[index]]
        else:
            name = location_name(owner.location) or "param"
            olds = [op.results[0] for op in twins[owner]]
        result.append((names.fresh(name), substitute_type(value.type, back), olds))
    return result


def _transform(
    first: _Function, plan: _Plan, outputs: Sequence[ir.Value], passed: Sequence[str]
) -> ir.Operation:
    """Return the function that computes the outputs of the tuple of weights."""
    type_ = ir.TupleType.get_tuple([weight.type for weight in first.weights])
    op = func.FuncOp("transform", ([type_], []), ip=False, loc=first.op.location).operation
    block = op.regions[0].blocks.append(type_, arg_locs=[ir.Location.name("model_params")])
    with ir.InsertionPoint(block):
        empty = ir.Operation.create(DATAFLOW, results=[], regions=1)
        inner = empty.regions[0].blocks.append()
        copier = _Copier(first, block.arguments[0])
        with ir.InsertionPoint(inner):
            for each in plan.ops:
                copier.copy(each)
            given = [copier.value(value) for value in outputs]
            if passed:
                shape = T.shape_type([SymExpr.var(symbol) for symbol in passed])
                given.insert(0, ir.Operation.create("relax.shape_expr", results=[shape]).result)
            with ir.Location.name("output_tuple"):
                made = make_tuple(given)
            ir.Operation.create("relax.output", operands=[made])
        result = block.arguments[0]
        if list(outputs) != first.weights or passed:
            outer = ir.Operation.create(DATAFLOW, results=[made.type], regions=1)
            inner.append_to(outer.regions[0])
            result = outer.result
        empty.erase()
        func.ReturnOp([result])
    op.attributes["relax.function"] = ir.UnitAttr.get()
    op.attributes[NUM_INPUT] = python_attribute(0)
    sign(op, ["model_params"], [result.type])
    remove_unused(op)
    return op


class _Copier:
    """Copies operations of a function to where its weights are fields of a tuple."""

    def __init__(self, function: _Function, weights: ir.Value) -> None:
        self._function, self._weights = function, weights
        self._values: dict[ir.Value, ir.Value] = {}

    def value(self, old: ir.Value) -> ir.Value:
        """Return what a value is, a weight taken out of the tuple where it is used."""
        if old in self._function.weights:
            index = self._function.weights.index(old)
            with ir.Location.name(self._function.names[self._function.count + index]):
                return get_item(self._weights, index)
        result = self._values.get(old) or self._values.get(canonical(old))
        if result is None:
            op = defining_op(old)
            assert op is not None, "it can be lifted"
            self.copy(op)
            result = self._values[old]
        return result

    def copy(self, op: ir.Operation) -> None:
        """Copy an operation; a field of a tuple that is made here needs none."""
        operands = [self.value(value) for value in op.operands]
        if op.name == "relax.tuple_get_item":
            fields = known_fields(operands[0])
            if fields is not None:
                self._values[op.results[0]] = fields[op.attributes["index"].value]
                return
        copy = op.clone().operation
        for index, value in enumerate(operands):
            copy.operands[index] = value
        self._values.update(zip(op.results, copy.results, strict=True))


def _shorten(
    each: _Function, lifted: Sequence[ir.Operation],
    taken: Sequence[tuple[str, ir.Type, list[ir.Value]]],
) -> None:  # fmt: skip
    """Have a function take what the transform returns in the place of its weights."""
    block = body(each.op)
    names = each.names[: each.count]
    for name, type_, olds in taken:
        names.append(name)
        new = block.add_argument(type_, ir.Location.name(name))
        for old in olds:
            old.replace_all_uses_with(new)
    for op in reversed(lifted):
        if not list(op.results[0].uses):
            erase(op)
    for op in named(each.op, (_STOP,)):
        op.results[0].replace_all_uses_with(op.operands[0])
        erase(op)
    forward_copies(each.op)
    for index in reversed(range(each.count, each.count + len(each.weights))):
        block.erase_argument(index)
    sign(each.op, names)


def _insert(module: ir.Operation, transform: ir.Operation, name: str) -> None:
    """Put a transform into a module; behind the one that is there."""
    block = module.regions[0].blocks[0]
    old = next((op for op in relax_functions(module) if name_of(op) == name), None)
    transform.attributes["sym_name"] = ir.StringAttr.get(name)
    if old is None:
        block.append(transform)
        return
    end = end_of(old)
    with end.location:
        result = inline_body(transform, [end.operands[0]], ir.InsertionPoint(end))
    end.operands[0] = result
    sign(old, param_names(old), [result.type])
    forward_copies(old)
    remove_unused(old)
