"""The pass `vm-shape-lower`: symbolic integers move to the shape heap."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import at_source, value_name
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.facts import declared_bounds
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.core import CHECKED
from relax_mlir.dialects.relax.tuples import field_types, make_tuple
from relax_mlir.dialects.relax.well_formed import require_sound_types
from relax_mlir.dialects.symbolic.atoms import SIGNED
from relax_mlir.dialects.symbolic.binding import solve
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.vm.ops import ShapeHeap
from relax_mlir.errors import PassError
from relax_mlir.lowering.relax_to_vm.shape_func import define_shape_func
from relax_mlir.lowering.relax_to_vm.shape_state import (
    Check,
    Known,
    Subject,
    dims_of,
    i64,
    is_computed,
    is_foreign,
    is_implied,
    is_storage_size,
    parameter_values,
    rests,
    stripped,
)
from relax_mlir.lowering.walk import collect, function_name, relax_functions, require_absent

_SHAPED = ("relax.shape_expr", "relax.prim_value", "relax.match_cast", "relax.match_prim")


def vm_shape_lower(module: ir.Operation, emit_err_ctx: bool = True) -> None:
    """Compute every symbolic shape at run time.

    Parameters and `relax.match_cast` check what is declared and store first occurrences of symbols
    in the heap; generated shape functions compute compound expressions once each; shape values are
    loaded. Constant dimensions are checked without the heap, so a static function has none.
    Afterwards no type mentions a symbol.

    Args:
        module: the module.
        emit_err_ctx: whether checks say what they are about: which argument, as what it is
            declared and where. Without it they name the function only, and the program is smaller.

    Raises:
        PassError: an expression uses a symbol that nothing binds before, a signature has a type
            that makes no sense, or there are dataflow blocks left.
    """
    require_absent(module, "relax.dataflow", "VMShapeLower", "to-non-dataflow")
    require_sound_types(module, "VMShapeLower")
    for func in relax_functions(module):
        _FunctionLowering(module, func, emit_err_ctx).run()


_MAX = (1 << 63) - 1


class _FunctionLowering:
    _heap: ir.Value

    def __init__(self, module: ir.Operation, func: ir.Operation, emit_err_ctx: bool) -> None:
        self._module, self._func, self._tells = module, func, emit_err_ctx
        self._name = function_name(func)
        self._slots: dict[SymExpr, int] = {}
        # `well-formed` says what is wrong with attributes that make no sense.
        self._bounds = declared_bounds(func, strict=False)
        # Symbols that integers give their values.
        self._sizes: set[str] = set()

    def run(self) -> None:
        entry = self._func.regions[0].blocks[0]
        for op in collect(self._func, is_implied):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
        for argument, value in zip(entry.arguments, parameter_values(self._func), strict=True):
            self._reserve_type(argument.type)
            self._reserve(value, solved=True)
        for op in collect(self._func, lambda op: op.name in _SHAPED or is_foreign(op)):
            if op.name in ("relax.prim_value", "relax.match_prim"):
                self._reserve(Dims(op.attributes["value"]).dims)
            elif op.name == "relax.shape_expr":
                dims = T.known_dims(op.results[0].type)
                if not all(dim.is_const for dim in dims):
                    self._reserve(dims, constants=True)
            else:
                self._reserve_type(op.results[0].type)
        operations = [op.operation for op in entry.operations]
        with ir.InsertionPoint(operations[0]), self._func.location:
            known = self._enter(entry)
        self._block(operations, known)
        self._strip()

    def _reserve_type(self, type_: ir.Type) -> None:
        if isinstance(type_, ir.TupleType):
            for item in field_types(type_):
                self._reserve_type(item)
        else:
            self._reserve(dims_of(type_) or [], solved=True)

    def _reserve(
        self, dims: list[SymExpr], *, constants: bool = False, solved: bool = False
    ) -> None:
        for dim in dims:
            if solved:
                self._reserve(rests(dim))
            for name in sorted(dim.symbols):
                self._slots.setdefault(SymExpr.var(name), len(self._slots))
            if constants or not dim.is_const:
                self._slots.setdefault(dim, len(self._slots))

    def _enter(self, entry: ir.Block) -> Known:
        known = Known()
        if self._slots:
            self._heap = ir.Operation.create(
                "vm.alloc_shape_heap",
                results=[ShapeHeap.get()],
                attributes={"size": i64(len(self._slots))},
            ).result
        names = self._parameter_names(len(entry.arguments))
        values = parameter_values(self._func)
        checks: list[Check] = []
        for argument, name, value in zip(entry.arguments, names, values, strict=True):
            spelled = f'R.Prim(value="{value[0]}")' if value else describe(argument.type)
            subject = Subject(
                f"argument '{name}'",
                self._context(
                    f"argument '{name}' (declared {spelled}{at_source(self._func.location)})"
                ),
            )
            self._check(argument, argument.type, subject, known, checks, value)
        self._settle(known, checks, self._func)
        return known

    def _context(self, what: str) -> str:
        """Return what the messages of a check begin with."""
        return f"{self._name}: {what}" if self._tells else self._name

    def _parameter_names(self, count: int) -> list[str]:
        if "relax.params" in self._func.attributes:
            names = [ir.StringAttr(a).value for a in self._func.attributes["relax.params"]]
            if len(names) == count:
                return names
        return [f"arg{i}" for i in range(count)]

    def _check(
        self,
        value: ir.Value,
        type_: ir.Type,
        subject: Subject,
        known: Known,
        checks: list[Check],
        integer: Sequence[SymExpr] = (),
    ) -> None:
        """Check the kind of a value now, bind its new symbols, and note what to assert later.

        `integer` is the expression that an `i64` stands for, if any.
        """
        context = subject.context
        if isinstance(type_, ir.TupleType):
            self._check_kind(value, "tuple", type_.num_types, context)
            if value.type != type_:
                # A cast declares more of the fields, or of an object, than the operand's type.
                value = _reinterpret(value, type_)
            for index, item in enumerate(field_types(type_)):
                part = ir.Operation.create(
                    "relax.tuple_get_item",
                    results=[item],
                    operands=[value],
                    attributes={"index": i64(index)},
                ).result
                inner = f"{context}, field {index}" if self._tells else context
                field_ = Subject(f"field {index} of {subject.name}", inner)
                self._check(part, item, field_, known, checks)
            return
        dims = list(integer) or dims_of(type_) or []
        constants = [-1 if dim.value is None else dim.value for dim in dims]
        if T.is_tensor(type_):
            dtype = T.tensor_dtype(type_)
            self._check_kind(value, "tensor", T.tensor_ndim(type_), context, dtype, constants)
        elif isinstance(type_, Shape):
            self._check_kind(value, "shape", T.shape_ndim(type_), context, "", constants)
        elif str(type_) == "i64":
            self._check_kind(value, "int", -1, context)
            # Shapes are folded as if it were a size: that must be so.
            names = [dim.name for dim in dims if dim.name and not dim.name.endswith(SIGNED)]
            self._sizes.update(name for name in names if name not in known.symbols)
        store, later = [-1] * len(dims), [-1] * len(dims)
        for position, dim in enumerate(dims):
            if dim.name and dim.name not in known.symbols:
                known.symbols[dim.name] = subject.name
                known.exprs.add(dim)
                store[position] = self._slots[dim]
            elif not dim.is_const:
                later[position] = self._slots[dim]
        if any(slot >= 0 for slot in store):
            self._store(value, store)
        if any(slot >= 0 for slot in later):
            names = [
                f"{dim}, bound by {known.symbols[dim.name]}" if dim.name else str(dim)
                for dim in dims
            ]
            checks.append(Check(value, later, subject, dims, names))

    def _check_kind(
        self,
        value: ir.Value,
        kind: str,
        ndim: int,
        context: str,
        dtype: str = "",
        constants: Sequence[int] = (),
    ) -> None:
        attributes = {
            "kind": ir.StringAttr.get(kind),
            "ndim": i64(ndim),
            "dtype": ir.StringAttr.get(dtype),
            "context": ir.StringAttr.get(context),
        }
        if any(size >= 0 for size in constants):
            attributes["dims"] = ir.DenseI64ArrayAttr.get(constants)
        ir.Operation.create("vm.check", operands=[value], attributes=attributes)

    def _store(self, value: ir.Value, slots: list[int]) -> None:
        ir.Operation.create(
            "vm.store_shape",
            operands=[value, self._heap],
            attributes={"slots": ir.DenseI64ArrayAttr.get(slots)},
        )

    def _settle(self, known: Known, checks: list[Check], op: ir.Operation) -> None:
        """Compute what has become computable, solve for symbols, then assert what waited for it."""
        self._compute(known)
        while self._solve(known, checks):
            self._compute(known)
        self._check_bounds(known)
        for check in checks:
            for dim in check.dims:
                if not dim.is_const:
                    self._require(dim, known, op)
            if all(slot < 0 for slot in check.slots):
                continue
            ir.Operation.create(
                "vm.assert_shape",
                operands=[check.value, self._heap],
                attributes={
                    "slots": ir.DenseI64ArrayAttr.get(check.slots),
                    "context": ir.StringAttr.get(check.subject.context),
                    "dims": ir.ArrayAttr.get([ir.StringAttr.get(name) for name in check.names]),
                },
            )

    def _solve(self, known: Known, checks: list[Check]) -> bool:
        """Bind one more symbol by a dimension that it occurs in, such as `n * 2`."""
        for check in checks:
            for position, dim in enumerate(check.dims):
                solution = solve(position, dim, known.symbols)
                if solution is None or solution.rest.symbols - known.symbols.keys():
                    continue
                symbol = SymExpr.var(solution.symbol)
                rest = -1 if solution.rest.is_const else self._slots[solution.rest]
                static = [
                    *map(i64, (position, self._slots[symbol], solution.factor, rest)),
                    i64(solution.rest.value or 0),
                    *map(ir.StringAttr.get, (check.subject.context, str(dim), solution.symbol)),
                ]
                ir.Operation.create(
                    "vm.call",
                    operands=[make_tuple([check.value, self._heap])],
                    attributes={
                        "func": ir.StringAttr.get("vm.builtin.bind_symbol"),
                        "static_args": ir.ArrayAttr.get(static),
                    },
                )
                known.symbols[solution.symbol] = check.subject.name
                known.exprs.add(symbol)
                check.slots[position] = -1
                return True
        return False

    def _check_bounds(self, known: Known) -> None:
        """Check the declared bounds of symbols that have got their values."""
        sizes = dict.fromkeys(sorted(self._sizes), (None, None))
        for name, (low, high) in (sizes | self._bounds).items():
            if name not in known.symbols or name in known.bounded:
                continue
            known.bounded.add(name)
            what = "the declared bounds"
            if name not in self._bounds:
                what = f"symbol '{name}' is a size, and R.Prim(\"int64\") any integer"
            context = self._context(f"{what}{at_source(self._func.location)}")
            static = [
                i64(self._slots[SymExpr.var(name)]),
                i64(0 if low is None else low),
                i64(_MAX if high is None else high),
                *map(ir.StringAttr.get, (context, name, known.symbols[name])),
            ]
            ir.Operation.create(
                "vm.call",
                operands=[make_tuple([self._heap])],
                attributes={
                    "func": ir.StringAttr.get("vm.builtin.check_bounds"),
                    "static_args": ir.ArrayAttr.get(static),
                },
            )

    def _compute(self, known: Known) -> None:
        """Compute the expressions whose symbols have values by now."""
        ready = [
            expr
            for expr in self._slots
            if expr not in known.exprs and expr.symbols <= known.symbols.keys()
        ]
        if ready and all(expr.is_const for expr in ready):
            values = ir.Operation.create("relax.shape_expr", results=[T.shape_type(ready)]).result
            self._store(values, [self._slots[expr] for expr in ready])
        elif ready:
            name = define_shape_func(self._module, self._name, self._slots, ready)
            ir.Operation.create(
                "vm.call",
                operands=[make_tuple([self._heap])],
                attributes={"func": ir.StringAttr.get(name)},
            )
        known.exprs.update(ready)

    def _require(self, expr: SymExpr, known: Known, op: ir.Operation) -> None:
        if expr in known.exprs:
            return
        missing = ", ".join(f"'{name}'" for name in sorted(expr.symbols - known.symbols.keys()))
        op.location.emit_error(
            f"'{op.name}' op uses {expr}, but nothing before it binds {missing}: symbols are bound "
            "by a dimension of a parameter or of an earlier match_cast"
        )
        raise PassError("VMShapeLower", f"function '{self._name}' uses unbound {missing}")

    def _block(self, operations: list[ir.Operation], known: Known) -> None:
        lower = {
            "relax.shape_expr": self._shape_expr,
            "relax.prim_value": self._prim_value,
            "relax.match_cast": self._match_cast,
            "relax.match_prim": self._match_prim,
        }
        for op in operations:
            if op.name in lower:
                lower[op.name](op, known)
                continue
            if is_foreign(op):
                self._foreign_result(op, known)
            for region in op.regions:
                for block in region.blocks:
                    inner = known.copy()
                    if op.name == "relax.dataflow":
                        # What a dataflow block binds stays bound, its values stay inside.
                        loaded = dict(known.loaded)
                        inner = Known(known.symbols, known.exprs, loaded, known.bounded)
                    self._block([nested.operation for nested in block.operations], inner)

    def _shape_expr(self, op: ir.Operation, known: Known) -> None:
        dims = tuple(T.known_dims(op.results[0].type))
        if all(dim.is_const for dim in dims):
            return
        if dims not in known.loaded:
            for dim in dims:
                self._require(dim, known, op)
            slots = [self._slots[dim] for dim in dims]
            with ir.InsertionPoint(op), op.location:
                loaded = ir.Operation.create(
                    "vm.load_shape",
                    results=[op.results[0].type],
                    operands=[self._heap],
                    attributes={"slots": ir.DenseI64ArrayAttr.get(slots)},
                ).result
                if any(map(is_computed, dims)):
                    what = describe(op.results[0].type)
                    if "what" in op.attributes:
                        what = f"{ir.StringAttr(op.attributes['what']).value}, {what}"
                    self._check_sizes(loaded, what, op)
            known.loaded[dims] = loaded
        op.results[0].replace_all_uses_with(known.loaded[dims])
        op.erase()

    def _check_sizes(self, value: ir.Value, what: str, op: ir.Operation) -> None:
        context = self._context(f"{what}{at_source(op.location)}")
        ir.Operation.create(
            "vm.call",
            operands=[make_tuple([value])],
            attributes={
                "func": ir.StringAttr.get("vm.builtin.check_sizes"),
                "static_args": ir.ArrayAttr.get([ir.StringAttr.get(context)]),
            },
        )

    def _prim_value(self, op: ir.Operation, known: Known) -> None:
        (expr,) = Dims(op.attributes["value"]).dims
        if expr.is_const:
            return
        if expr not in known.loaded:
            self._require(expr, known, op)
            with ir.InsertionPoint(op), op.location:
                known.loaded[expr] = ir.Operation.create(
                    "vm.call",
                    results=[ir.IntegerType.get_signless(64)],
                    operands=[make_tuple([self._heap])],
                    attributes={
                        "func": ir.StringAttr.get("vm.builtin.load_value"),
                        "static_args": ir.ArrayAttr.get([i64(self._slots[expr])]),
                    },
                ).result
                if is_computed(expr) and not is_storage_size(op.results[0]):
                    self._check_sizes(known.loaded[expr], str(expr), op)
        op.results[0].replace_all_uses_with(known.loaded[expr])
        op.erase()

    def _match_cast(self, op: ir.Operation, known: Known) -> None:
        value, type_ = op.operands[0], op.results[0].type
        name = value_name(op.location)
        what = f"match_cast of '{name}'" if name else "match_cast"
        if not name and [use.owner.operation.name for use in op.results[0].uses] == ["func.return"]:
            what = f"return value: {what}"
        checked = f"{what} to {describe(type_)}"
        if CHECKED in op.attributes:
            checked = ir.StringAttr(op.attributes[CHECKED]).value
        context = self._context(f"{checked}{at_source(op.location)}")
        with ir.InsertionPoint(op), op.location:
            checks: list[Check] = []
            self._check(value, type_, Subject(what, context), known, checks)
            self._settle(known, checks, op)
            result = value
            if stripped(type_) != stripped(value.type):
                result = _reinterpret(value, type_)
        op.results[0].replace_all_uses_with(result)
        op.erase()

    def _match_prim(self, op: ir.Operation, known: Known) -> None:
        dims = Dims(op.attributes["value"]).dims
        context = self._context(f"match_cast to {dims[0]}{at_source(op.location)}")
        with ir.InsertionPoint(op), op.location:
            checks: list[Check] = []
            value = op.operands[0]
            subject = Subject(f"an integer{at_source(op.location)}", context)
            self._check(value, value.type, subject, known, checks, dims)
            self._settle(known, checks, op)
        op.erase()

    def _foreign_result(self, op: ir.Operation, known: Known) -> None:
        """Check what a packed function returned against what the program declares of it."""
        result = op.results[0]
        what = f"the result of '{op.attributes['func'].value}'"
        context = self._context(
            f"{what} (declared {describe(result.type)}{at_source(op.location)})"
        )
        with ir.InsertionPoint.after(op), op.location:
            checks: list[Check] = []
            self._check(result, result.type, Subject(what, context), known, checks)
            self._settle(known, checks, op)

    def _strip(self) -> None:
        """Drop symbols from every type of the function."""

        def visit(op: ir.Operation) -> ir.WalkResult:
            for result in op.results:
                result.set_type(stripped(result.type))
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.arguments:
                        argument.set_type(stripped(argument.type))
            return ir.WalkResult.ADVANCE

        self._func.walk(visit)
        type_ = ir.TypeAttr(self._func.attributes["function_type"]).value
        self._func.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(
                [stripped(item) for item in type_.inputs],
                [stripped(item) for item in type_.results],
            )
        )


def _reinterpret(value: ir.Value, type_: ir.Type) -> ir.Value:
    return ir.Operation.create("vm.reinterpret", results=[type_], operands=[value]).result
