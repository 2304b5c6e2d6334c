"""Checks of calls inside a module: the callee exists; counts, ranks, dtypes and shapes match."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.buffer_writes import first_write
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.dialects.relax.tuples import field_types, is_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import did_you_mean

_CALLS = ("relax.call", "relax.call_tir", "relax.call_tir_inplace", "relax.make_closure")


def functions_of(module: ir.Operation) -> dict[str, ir.Operation]:
    """Return the functions of a module by name."""
    return {
        ir.StringAttr(view.operation.attributes["sym_name"]).value: view.operation
        for view in module.operation.regions[0].blocks[0].operations
        if view.operation.name == "func.func"
    }


def call_problem(op: ir.Operation, functions: dict[str, ir.Operation]) -> str:
    """Return why a call of a function of this module cannot work, `""` when it can or is none."""
    if op.name not in _CALLS:
        return ""
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    if op.name == "relax.make_closure":
        missing = f"@{name} is not in the module{did_you_mean(name, list(functions))}"
        return "" if name in functions else missing
    marker, kind = (
        ("tir.prim_func", "prim func")
        if op.name != "relax.call"
        else ("relax.function", "Relax function")
    )
    if name not in functions:
        suitable = [other for other, func in functions.items() if marker in func.attributes]
        return f"calls @{name}, which is not in the module{did_you_mean(name, suitable)}"
    func = functions[name]
    if marker not in func.attributes:
        return f"calls @{name}, which is not a {kind}"
    signature = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    if op.name == "relax.call":
        return _call_problem(op, name, signature)
    return _call_tir_problem(op, name, func, signature)


def _call_problem(op: ir.Operation, name: str, signature: ir.FunctionType) -> str:
    arguments, parameters = field_types(op.operands[0].type), signature.inputs
    if len(arguments) != len(parameters):
        return f"passes {len(arguments)} arguments, @{name} takes {len(parameters)}"
    bound: dict[str, SymExpr] = {}
    for index, (given, wanted) in enumerate(zip(arguments, parameters, strict=True)):
        # An `n` of the callee is another than the caller's.
        if not compatible(wanted, given, same_symbols=False) or not _unify(
            _dims(wanted), _dims(given), bound
        ):
            return (
                f"argument {index} is {describe(given)}, @{name} takes {describe(wanted)}"
                f"{_where(bound, _dims(wanted) or ())}"
            )
    results = signature.results
    if len(results) == 1 and not compatible(op.results[0].type, results[0], same_symbols=False):
        returned = describe(results[0])
        return f"result is {describe(op.results[0].type)}, @{name} returns {returned}"
    return ""


def _dims(type_: ir.Type) -> Sequence[SymExpr] | None:
    return (
        T.shape_dims(type_)
        if isinstance(type_, Shape)
        else (T.tensor_dims(type_) if T.is_tensor(type_) else None)
    )


def _unify(
    wanted: Sequence[SymExpr] | None, given: Sequence[SymExpr] | None, bound: dict[str, SymExpr]
) -> bool:
    """Bind the callee's symbols to the caller's dimensions; False when two constants differ."""
    if wanted is None or given is None:
        return True
    for inner, outer in zip(wanted, given, strict=True):
        if inner.name and inner.name not in bound:
            bound[inner.name] = outer
        elif inner.symbols <= bound.keys():
            expected = inner.substitute(bound)
            if expected.is_const and outer.is_const and expected != outer:
                return False
    return True


def _where(bound: dict[str, SymExpr], dims: Sequence[SymExpr]) -> str:
    used = sorted({name for dim in dims for name in dim.symbols} & bound.keys())
    return f" where {', '.join(f'{name} is {bound[name]}' for name in used)}" if used else ""


def _call_tir_problem(
    op: ir.Operation, name: str, func: ir.Operation, signature: ir.FunctionType
) -> str:
    result = op.results[0].type
    outputs = field_types(result) if is_tuple(result) else [result]
    overwritten = set()
    if op.name == "relax.call_tir_inplace":
        indices = list(op.attributes["inplace_indices"])
        overwritten = {index for index in indices if index >= 0}
        outputs = [each for each, index in zip(outputs, indices, strict=True) if index < 0]
    given = [*field_types(op.operands[1].type), *outputs]
    extra = op.attributes.get("tir_vars")
    integers = len(extra.dims) if isinstance(extra, Dims) else 0
    parameters = signature.inputs
    if len(given) + integers != len(parameters):
        return (
            f"passes {len(given) - len(outputs)} arguments, {len(outputs)} outputs and {integers} "
            "integers, "
            f"@{name} takes {len(parameters)} in all"
        )
    attributes = func.attributes.get("arg_attrs")
    bound: dict[str, SymExpr] = {}
    for index, parameter in enumerate(parameters):
        argument = given[index] if index < len(given) else ir.IntegerType.get_signless(64)
        own = attributes[index] if attributes else None
        problem = _buffer_problem(argument, parameter, own)
        shape = own["tir.shape"] if own is not None and "tir.shape" in own else None
        dims = shape.dims if isinstance(shape, Dims) else ()
        if not problem and dims and not _unify(dims, _dims(argument), bound):
            problem = f"a buffer of shape ({', '.join(map(str, dims))}){_where(bound, dims)}"
        if problem:
            return f"argument {index} is {describe(argument)}, @{name} takes {problem}"
    return _write_problem(name, func, op.operands[1].type.num_types, overwritten)


def _write_problem(name: str, func: ir.Operation, inputs: int, overwritten: set[int]) -> str:
    """Return which input a callee may write that the call does not offer."""
    blocks = func.regions[0].blocks
    parameters = list(blocks[0].arguments)[:inputs] if len(blocks) else []
    for index, parameter in enumerate(parameters):
        if index in overwritten or not isinstance(parameter.type, ir.MemRefType):
            continue
        if first_write(parameter) is not None:
            return (
                f"passes argument {index} to @{name}, which writes it; call_tir is pure, so a "
                "prim func writes its outputs only"
            )
    return ""


def _buffer_problem(argument: ir.Type, parameter: ir.Type, attributes: ir.DictAttr | None) -> str:
    """Return what the parameter takes when the argument is not that, `""` when it is."""
    if not isinstance(parameter, ir.MemRefType):
        return "" if argument == parameter else str(parameter)
    if not T.is_tensor(argument):
        return f"a buffer, {parameter}"
    if T.tensor_ndim(argument) not in (-1, parameter.rank):
        return f"a buffer of {parameter.rank} dimensions"
    dtype = (
        attributes["tir.dtype"] if attributes is not None and "tir.dtype" in attributes else None
    )
    try:
        if dtype is not None and isinstance(dtype, ir.StringAttr):
            wanted = T.normalize_dtype(dtype.value)
        else:
            wanted = T.dtype_of_element(parameter.element_type)
    except ValueError as error:
        return f"a buffer that no tensor fits: {error}"
    if T.tensor_dtype(argument) not in (T.UNKNOWN_DTYPE, wanted):
        return f"a buffer of {wanted}"
    for index, dim in enumerate(T.tensor_dims(argument) or ()):
        if dim.is_const and not parameter.is_dynamic_dim(index):
            size = parameter.get_dim_size(index)
            if dim != size:
                return f"{size} as dimension {index}"
    return ""
