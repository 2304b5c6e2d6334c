"""Checks of whole functions, which no operation can make: symbols, callees, signatures.

Verifiers see one operation; here every symbol must be bound where it is used, and every call must
fit what it calls. Symbols belong to a function: parameters and `relax.match_cast` bind them.
"""

from collections.abc import Iterable, Iterator

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.calls import call_problem, functions_of
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.facts import declared_bounds
from relax_mlir.dialects.relax.tuples import field_types, is_tuple
from relax_mlir.dialects.relax.validity import dims_problem, type_problem
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import PassError, did_you_mean

Problem = tuple[ir.Location, str]


def check_well_formed(
    module: ir.Operation, only: str | None = None, *, calls: bool = True
) -> list[Problem]:
    """Return what is wrong in the functions of a module, or in one: where, and a message.

    Args:
        module: the module.
        only: the name of the one function to look at.
        calls: whether calls have to fit what they call.
    """
    module = module.operation
    functions = functions_of(module)
    problems: list[Problem] = []
    with module.location:
        for name, func in functions.items():
            if only is not None and name != only:
                continue
            if "relax.function" in func.attributes:
                problems += _Function(func, functions if calls else None).problems
            elif "tir.prim_func" in func.attributes:
                problems += _prim_func_problems(func)
    return problems


def well_formed(module: ir.Operation) -> None:
    """Emit every problem of the module's functions where it is.

    Raises:
        PassError: there is one.
    """
    problems = check_well_formed(module)
    for location, message in problems:
        location.emit_error(message)
    if problems:
        raise PassError("WellFormed", f"{len(problems)} problem{'s' * (len(problems) > 1)} found")


def require_sound_types(module: ir.Operation, pass_name: str) -> None:
    """Emit what is wrong with the types in the signatures of Relax functions.

    Raises:
        PassError: something is; the pass that asks would stumble over it.
    """
    with module.location:
        problems = [
            problem
            for func in functions_of(module).values()
            if "relax.function" in func.attributes
            for problem in _signature_problems(func)
        ]
    for location, message in problems:
        location.emit_error(message)
    if problems:
        raise PassError(pass_name, "a signature has a type that makes no sense")


def _signature_problems(func: ir.Operation) -> list[Problem]:
    # The types of operations were verified with them; those of the signature were not.
    name = ir.StringAttr(func.attributes["sym_name"]).value
    signature = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    block = next(iter(func.regions[0].blocks), None)
    problems: list[Problem] = []
    for index, type_ in enumerate(signature.inputs):
        problem = type_problem(type_)
        if problem:
            location = func.location if block is None else block.arguments[index].location
            problems.append((location, f"parameter {index} of @{name}: {problem}"))
    for index, type_ in enumerate(signature.results):
        problem = type_problem(type_)
        if problem:
            problems.append((func.location, f"result {index} of @{name}: {problem}"))
    return problems


def type_dims(type_: ir.Type) -> Iterator[SymExpr]:
    """Yield every symbolically known dimension in a type, those of a tuple's fields included."""
    if is_tuple(type_):
        for field in field_types(type_):
            yield from type_dims(field)
    elif T.is_tensor(type_):
        yield from T.tensor_dims(type_) or ()
    elif isinstance(type_, Shape):
        yield from T.shape_dims(type_) or ()


def type_symbols(type_: ir.Type) -> set[str]:
    """Return the symbols that the dimensions of a type mention."""
    return {name for dim in type_dims(type_) for name in dim.symbols}


class _Function:
    """One Relax function; `problems` holds what is wrong with it."""

    def __init__(self, func: ir.Operation, functions: dict[str, ir.Operation] | None) -> None:
        self.problems = _signature_problems(func)
        self._functions = functions
        self._name = ir.StringAttr(func.attributes["sym_name"]).value
        self._reported: set[str] = set()
        try:
            declared_bounds(func)
        except ValueError as error:
            self.problems.append((func.location, f"@{self._name}: {error}"))
        block = next(iter(func.regions[0].blocks), None)
        if block is None or self.problems:
            return
        arguments = list(block.arguments)
        dims = [dim for arg in arguments for dim in type_dims(arg.type)]
        for attributes in argument_attributes(func):
            value = attributes.get("relax.value")
            if isinstance(value, Dims) and not dims_problem(value):
                dims += value.dims
        bound = bound_symbols(dims)
        for index, argument in enumerate(arguments):
            self._require(type_dims(argument.type), bound, argument.location, f"parameter {index}")
        self._walk(block, bound)
        results = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results
        for type_ in results:
            self._require(type_dims(type_), bound, func.location, "the result")

    def _walk(self, block: ir.Block, bound: set[str]) -> None:
        for view in block.operations:
            op = view.operation
            if op.name == "relax.match_cast":
                bound |= bound_symbols(type_dims(op.results[0].type), bound)
            elif op.name == "relax.match_prim":
                bound |= bound_symbols(op.attributes["value"].dims, bound)
            for attribute in op.attributes.values():
                if isinstance(attribute, Dims) and not dims_problem(attribute):
                    self._require(attribute.dims, bound, op.location, f"'{op.name}'")
            for region in op.regions:
                for inner in region.blocks:
                    # What a dataflow block binds stays bound after it, unlike in a branch; the
                    # parameters of a lambda bind what is not bound around it.
                    dims = [dim for arg in inner.arguments for dim in type_dims(arg.type)]
                    shared = op.name == "relax.dataflow"
                    inside = bound if shared else bound | bound_symbols(dims, bound)
                    self._walk(inner, inside)
            for value in op.results:
                self._require(type_dims(value.type), bound, op.location, f"'{op.name}'")
            problem = "" if self._functions is None else call_problem(op, self._functions)
            if problem:
                self.problems.append((op.location, f"'{op.name}' op {problem}"))

    def _require(
        self, dims: Iterable[SymExpr], bound: set[str], location: ir.Location, user: str
    ) -> None:
        for name in sorted({name for dim in dims for name in dim.symbols} - bound):
            if name not in self._reported:
                self._reported.add(name)
                self.problems.append(
                    (
                        location,
                        f"symbol '{name}' used by {user} in @{self._name} is not bound: it is no "
                        "dimension of a parameter by itself, none can be solved for it, and no "
                        f"relax.match_cast before binds it{did_you_mean(name, bound)}",
                    )
                )


def _prim_func_problems(func: ir.Operation) -> list[Problem]:
    """Check the symbols of a prim func against those its signature binds."""
    block = next(iter(func.regions[0].blocks), None)
    if block is None:
        return []
    name = ir.StringAttr(func.attributes["sym_name"]).value
    problems: list[Problem] = []
    bound: set[str] = set()
    shapes: list[SymExpr] = []
    strides: list[SymExpr] = []
    for index, (argument, attributes) in enumerate(
        zip(block.arguments, argument_attributes(func), strict=True)
    ):
        where = f"parameter {index} of @{name}"
        if "tir.shape" in attributes:
            shape = attributes["tir.shape"]
            problem = dims_problem(shape)
            rank = argument.type.rank if isinstance(argument.type, ir.MemRefType) else -1
            if not problem and len(shape.dims) != rank:
                problem = f"'tir.shape' has {len(shape.dims)} dimensions for {argument.type}"
            if problem:
                problems.append((argument.location, f"{where}: {problem}"))
                continue
            shapes += shape.dims
            strides += attributes["tir.strides"].dims if "tir.strides" in attributes else ()
        elif "tir.dtype" in attributes:
            continue
        elif str(argument.type) == "i64" and isinstance(attributes.get("tir.name"), ir.StringAttr):
            bound.add(attributes["tir.name"].value)
    bound |= bound_symbols([*shapes, *strides], bound)

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "tir.symbol":
            for symbol in sorted(op.attributes["value"].dims[0].symbols - bound):
                problems.append(
                    (
                        op.location,
                        f"'tir.symbol' op symbol '{symbol}' is not bound by the signature of "
                        f"@{name}{did_you_mean(symbol, bound)}",
                    )
                )
        return ir.WalkResult.ADVANCE

    func.walk(visit)
    return problems


def argument_attributes(func: ir.Operation) -> list[dict[str, ir.Attribute]]:
    """Return the attributes of each argument of a function."""
    count = len(next(iter(func.regions[0].blocks)).arguments)
    if "arg_attrs" not in func.attributes:
        return [{} for _ in range(count)]
    return [
        {named.name: named.attr.maybe_downcast() for named in ir.DictAttr(each)}
        for each in ir.ArrayAttr(func.attributes["arg_attrs"])
    ]
