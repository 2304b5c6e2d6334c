"""The pass `infer-type`: updates the types of bindings from their operands."""

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.facts import assume_cast, declared_facts
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, infer_result, read_attributes
from relax_mlir.dialects.relax.ops.control import LOOPS
from relax_mlir.dialects.relax.side_effects import operations_in
from relax_mlir.dialects.relax.tuples import field_types, is_make_tuple, is_tuple
from relax_mlir.dialects.relax.well_formed import require_sound_types, type_dims, type_symbols
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.lowering.walk import INNER_FIRST, named
from relax_mlir.transform.relax.call_types import caller_symbols, type_of_call
from relax_mlir.transform.relax.rebuild import (
    bound_by_arguments,
    result_types,
    set_result_types,
    substitute_type,
)

# How many calls deep callees are looked into with their callers' types.
_DEPTH = 4
# How many copies of callees one function's calls may take.
_MAX_COPIES = 64


def infer_type(module: ir.Operation) -> None:
    """Refine the types of all bindings and of what functions return.

    Nothing that a type says is lost: an annotation that says something else than the rule is kept,
    as it is checked at run time; one that says less is completed. Functions come after those that
    they call.

    Raises:
        PassError: a signature has a type that makes no sense.
    """
    require_sound_types(module, "InferType")
    functions = _functions(module)
    done: set[str] = set()
    for name in functions:
        _visit(name, functions, done)


def infer_function(module: ir.Operation, name: str) -> None:
    """Refine the types of one function of a module."""
    functions = _functions(module)
    _Function(functions[name], functions).run()


def settle_result(func: ir.Operation) -> None:
    """Have a function declare the type that it returns, or return the one that it declares.

    The signature cannot name symbols that the body binds.
    """
    block = func.regions[0].blocks[0]
    end = list(block.operations)[-1].operation
    returned = [operand.type for operand in end.operands]
    if end.name != "func.return" or returned == result_types(func):
        return
    bound = bound_by_arguments(block)
    if all(type_symbols(type_) <= bound for type_ in returned):
        set_result_types(func, returned)
    else:
        _cast_operands(end, result_types(func))


def _functions(module: ir.Operation) -> dict[str, ir.Operation]:
    return {
        view.operation.attributes["sym_name"].value: view.operation
        for view in module.regions[0].blocks[0].operations
        if "relax.function" in view.operation.attributes and view.operation.regions[0].blocks
    }


def _visit(name: str, functions: Mapping[str, ir.Operation], done: set[str]) -> None:
    if name in done or name not in functions:
        return
    done.add(name)
    for callee in _callees(functions[name]):
        _visit(callee, functions, done)
    _Function(functions[name], functions).run()


def refine(declared: ir.Type, inferred: ir.Type) -> ir.Type:
    """Return the declared type with what only the inferred one knows added."""
    if T.is_tensor(declared) and T.is_tensor(inferred):
        dtype = T.tensor_dtype(declared) or T.tensor_dtype(inferred)
        dims = T.tensor_dims(declared)
        ndim = max(T.tensor_ndim(declared), T.tensor_ndim(inferred))
        return T.tensor_type(T.tensor_dims(inferred) if dims is None else dims, dtype, ndim)
    if isinstance(declared, Shape) and isinstance(inferred, Shape):
        dims = T.shape_dims(declared)
        ndim = max(T.shape_ndim(declared), T.shape_ndim(inferred))
        return T.shape_type(T.shape_dims(inferred) if dims is None else dims, ndim)
    if is_tuple(declared) and is_tuple(inferred) and declared.num_types == inferred.num_types:
        pairs = zip(field_types(declared), field_types(inferred), strict=True)
        return ir.TupleType.get_tuple([refine(a, b) for a, b in pairs])
    return declared


def _callees(func: ir.Operation) -> list[str]:
    calls = named(func, ("relax.call",), INNER_FIRST)
    return [op.attributes["callee"].value for op in calls]


class _Function:
    """Infers through one function, in order."""

    def __init__(
        self,
        func: ir.Operation,
        functions: Mapping[str, ir.Operation],
        depth: int = 0,
        seen: "dict[tuple[str, str], ir.Type | None] | None" = None,
    ) -> None:
        self._func, self._functions, self._depth = func, functions, depth
        # What calls of functions with arguments of these types were found to return.
        self._seen = {} if seen is None else seen
        self._facts = declared_facts(func)

    def run(self) -> None:
        block = self._func.regions[0].blocks[0]
        bound = bound_by_arguments(block)
        self._block(block, bound)
        settle_result(self._func)

    def _block(self, block: ir.Block, bound: set[str]) -> None:
        for view in block.operations:
            op = view.operation
            for region in op.regions:
                for inner in region.blocks:
                    if op.name == "relax.dataflow":
                        self._block(inner, bound)
                        continue
                    before, self._facts = self._facts, self._facts.copy()
                    self._block(inner, bound | bound_by_arguments(inner))
                    self._facts = before
            if op.name == "relax.if":
                self._branches(op, bound)
            elif op.name in LOOPS:
                _keep_carried(op)
            elif len(op.results) == 1:
                inferred = self._infer(op)
                if inferred is not None and inferred != op.results[0].type:
                    op.results[0].set_type(inferred)
            if op.name == "relax.match_cast":
                assume_cast(self._facts, op)
                bound |= bound_symbols(type_dims(op.results[0].type), bound)
            elif op.name == "relax.match_prim":
                bound |= bound_symbols(op.attributes["value"].dims, bound)

    def _infer(self, op: ir.Operation) -> ir.Type | None:
        name = op.name.removeprefix("relax.")
        types, declared = [operand.type for operand in op.operands], op.results[0].type
        if name in COMPUTE_OPS:
            try:
                inferred = refine(declared, infer_result(op))
                return inferred if _is_known(inferred) else self._with_facts(op, inferred)
            except InferError:
                return None
        if is_make_tuple(op):
            return ir.TupleType.get_tuple(types)
        if name == "tuple_get_item":
            return types[0].get_type(op.attributes["index"].value)
        if name == "shape_of":
            return refine(declared, T.shape_type(T.tensor_dims(types[0]), T.tensor_ndim(types[0])))
        if name in ("call_tir", "call_dps_packed", "call_tir_inplace", "call_dps_packed_inplace"):
            return refine(declared, _of_shape(types[0], declared))
        if name == "dataflow":
            output = list(operations_in(op))[-1]
            return output.operands[0].type
        if name == "call":
            return self._call(op, declared)
        return None

    def _with_facts(self, op: ir.Operation, inferred: ir.Type) -> ir.Type:
        """Infer again with equal dimensions written in the same way."""
        if not self._facts:
            return inferred
        types = [_simplified(operand.type, self._facts) for operand in op.operands]
        cls = COMPUTE_OPS[op.name.removeprefix("relax.")]
        return refine(inferred, cls.result_type(types, read_attributes(op, cls.PARAMS)))

    def _call(self, op: ir.Operation, declared: ir.Type) -> ir.Type | None:
        callee = self._functions.get(op.attributes["callee"].value)
        if callee is None or len(result_types(callee)) != 1:
            return None
        parameters = [a.type for a in callee.regions[0].blocks[0].arguments]
        arguments = field_types(op.operands[0].type)
        (returned,) = result_types(callee)
        result = refine(declared, _express(returned, caller_symbols(parameters, arguments)))
        if self._depth < _DEPTH and not _is_known(result) and arguments != parameters:
            inside = self._look_into(callee, arguments)
            if inside is not None:
                result = refine(result, inside)
        return result

    def _look_into(self, callee: ir.Operation, arguments: Sequence[ir.Type]) -> ir.Type | None:
        key = callee.attributes["sym_name"].value, " ".join(map(str, arguments))
        if key not in self._seen and len(self._seen) < _MAX_COPIES:
            self._seen[key] = None
            self._seen[key] = type_of_call(callee, arguments, self._infer_copy)
        return self._seen.get(key)

    def _infer_copy(self, copy: ir.Operation) -> None:
        _Function(copy, self._functions, self._depth + 1, self._seen).run()

    def _branches(self, op: ir.Operation, bound: set[str]) -> None:
        ends = [inner for inner in operations_in(op) if inner.name == "relax.yield"]
        if not len(op.results) or len(ends) != 2:
            return
        types = [end.operands[0].type for end in ends]
        if types[0] == types[1] and type_symbols(types[0]) <= bound:
            op.results[0].set_type(types[0])
            return
        for end in ends:
            _cast_operands(end, [op.results[0].type])


def _keep_carried(op: ir.Operation) -> None:
    """Give a loop what it carries with the types that every turn agrees on."""
    (carried,) = (result.type for result in op.results)
    last = len(op.operands) - 1
    _cast_operands(op, [*(operand.type for operand in list(op.operands)[:last]), carried])
    for end in operations_in(op):
        if end.name == "relax.yield":
            _cast_operands(end, [carried])


def _is_known(type_: ir.Type) -> bool:
    """Whether nothing is missing: rank, dtype and dimensions, of a tuple's fields too."""
    if is_tuple(type_):
        return all(map(_is_known, field_types(type_)))
    if T.is_tensor(type_):
        return T.tensor_dims(type_) is not None and bool(T.tensor_dtype(type_))
    return not isinstance(type_, Shape) or T.shape_dims(type_) is not None


def _simplified(type_: ir.Type, facts: Facts) -> ir.Type:
    if is_tuple(type_):
        return ir.TupleType.get_tuple([_simplified(each, facts) for each in field_types(type_)])
    dims = _dims(type_)
    if dims is None:
        return type_
    made = [facts.simplify(dim) for dim in dims]
    return T.tensor_type(made, T.tensor_dtype(type_)) if T.is_tensor(type_) else T.shape_type(made)


def _of_shape(shape: ir.Type, result: ir.Type) -> ir.Type:
    """Return what a destination-passing call gives for output shapes of these types."""
    if is_tuple(shape) and is_tuple(result):
        pairs = zip(field_types(shape), field_types(result), strict=True)
        return ir.TupleType.get_tuple([_of_shape(a, b) for a, b in pairs])
    return T.tensor_type(T.shape_dims(shape), T.tensor_dtype(result), T.shape_ndim(shape))


def _dims(type_: ir.Type) -> Sequence[SymExpr] | None:
    if T.is_tensor(type_):
        return T.tensor_dims(type_)
    return T.shape_dims(type_) if isinstance(type_, Shape) else None


def _express(type_: ir.Type, known: Mapping[str, SymExpr]) -> ir.Type:
    """Return a callee's type in the caller's symbols, without what those cannot say."""
    if is_tuple(type_):
        return ir.TupleType.get_tuple([_express(t, known) for t in field_types(type_)])
    if type_symbols(type_) <= known.keys():
        return substitute_type(type_, known)
    if T.is_tensor(type_):
        return T.tensor_type(None, T.tensor_dtype(type_), T.tensor_ndim(type_))
    return T.shape_type(None, T.shape_ndim(type_)) if isinstance(type_, Shape) else type_


def _cast_operands(end: ir.Operation, types: Sequence[ir.Type]) -> None:
    """Give a terminator operands of these types, which say less than what it has."""
    for index, type_ in enumerate(types):
        if end.operands[index].type != type_:
            with ir.InsertionPoint(end), end.location:
                end.operands[index] = ir.Operation.create(
                    "relax.match_cast", results=[type_], operands=[end.operands[index]]
                ).result
