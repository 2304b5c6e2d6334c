"""The pass `merge-composite-functions`: neighbouring calls for one library become one function."""

from collections.abc import Iterable

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.relax.tuples import field_types, is_make_tuple, is_tuple, known_fields
from relax_mlir.lowering.relax_to_vm.to_non_dataflow import to_non_dataflow
from relax_mlir.lowering.walk import named
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr.places import DATAFLOW, defining_op, is_local
from relax_mlir.relax.expr_functor.edit import erase
from relax_mlir.transform.grouping.grouped_functions import (
    CODEGEN,
    COMPOSITE,
    PRIMITIVE,
    Group,
    GroupedFunctions,
    bindings_of,
    parts_of,
)
from relax_mlir.transform.grouping.library_functions import (
    callee,
    functions_by_name,
    inline_composites,
    library_of,
)
from relax_mlir.transform.relax.dead_code_elimination import remove_unreachable


def merge_composite_functions(module: ir.Operation) -> None:
    """Make public functions with the attribute `Codegen` of the calls of composite functions.

    Composite functions are those of `FuseOpsByPattern`. Calls for one library that use each other
    become one function, as long as nothing between them is computed elsewhere. The composite
    functions are defined inside it.
    """
    libraries = {name: library_of(func) for name, func in functions_by_name(module).items()}
    functions = GroupedFunctions(module)
    for func in functions_to_optimize(module):
        if PRIMITIVE in func.attributes or COMPOSITE in func.attributes:
            continue
        for dataflow in named(func, (DATAFLOW,)):
            functions.make(dataflow, _Regions(dataflow, libraries).groups())
    _finish(module)
    remove_unreachable(module)


def _finish(module: ir.Operation) -> None:
    """Make self-contained functions of the groups, with names that say the library."""
    functions = functions_by_name(module)
    names = Names(functions)
    renamed = {}
    for name, func in functions.items():
        if CODEGEN not in func.attributes or PRIMITIVE not in func.attributes:
            continue
        to_non_dataflow(func)
        for op in named(func, ("relax.tuple_get_item",)):
            fields = known_fields(op.operands[0])
            if fields is not None:
                op.results[0].replace_all_uses_with(fields[op.attributes["index"].value])
                erase(op)
        inline_composites(func, functions)
        del func.attributes[PRIMITIVE]
        del func.attributes["sym_visibility"]
        library = ir.StringAttr(func.attributes[CODEGEN]).value
        renamed[name] = names.fresh(f"{name}_{library}")
        func.attributes["sym_name"] = ir.StringAttr.get(renamed[name])
    for call in named(module, ("relax.call",)):
        if callee(call) in renamed:
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(renamed[callee(call)])


class _Region:
    """Bindings that are computed together; `library` is None where the program computes them."""

    def __init__(self, library: str | None) -> None:
        self.library = library
        self.parent: _Region | None = None
        self.needs: set[_Region] = set()

    def root(self) -> "_Region":
        result = self
        while result.parent is not None:
            result = result.parent
        return result

    def depends_on(self) -> "set[_Region]":
        """Return the regions that are computed before this one, those they need included."""
        return {each.root() for each in self.root().needs} - {self.root()}

    def add(self, others: "Iterable[_Region]") -> None:
        """Note that others are needed."""
        me = self.root()
        for other in others:
            if other.root() is not me:
                me.needs |= {other.root(), *other.depends_on()}
        me.needs.discard(me)


class _Regions:
    """The regions of one dataflow block."""

    def __init__(self, dataflow: ir.Operation, libraries: dict[str, str | None]) -> None:
        self._ops, self._libraries = bindings_of(dataflow), libraries
        self._regions: dict[ir.Operation, _Region] = {}
        for op in self._ops:
            self._regions[op] = self._region(op)

    def groups(self) -> list[Group]:
        """Return the bindings of each region that a library computes."""
        result: dict[_Region, Group] = {}
        for op in self._ops:
            region = self._regions[op].root()
            if region.library is not None:
                attributes: dict[str, ir.Attribute] = {CODEGEN: ir.StringAttr.get(region.library)}
                result.setdefault(region, Group([], attributes)).ops.append(op)
        return list(result.values())

    def _region(self, op: ir.Operation) -> _Region:
        given = [part for value in op.operands for part in parts_of(value)]
        regions = (self._regions.get(op) for op in map(defining_op, given) if op is not None)
        before = list(dict.fromkeys(each.root() for each in regions if each is not None))
        library = self._libraries.get(callee(op)) if op.name == "relax.call" else None
        if library is not None:
            region = self._merged(library, before)
        elif op.name == "relax.tuple_get_item" or is_make_tuple(op):
            region = self._of_tuple(op, before)
        else:
            region = _Region(None)
        region.add(before)
        return region

    def _merged(self, library: str, before: list[_Region]) -> _Region:
        """Return the region of a call: those of its arguments as one, where that makes no cycle."""
        needed = set().union(*(each.depends_on() for each in before))
        fitting = [each for each in before if each.library == library and each not in needed]
        if not fitting:
            return _Region(library)
        first, *rest = fitting
        for other in rest:
            first.needs |= other.needs
            other.parent = first
        first.needs -= {first, *rest}
        return first

    def _of_tuple(self, op: ir.Operation, before: list[_Region]) -> _Region:
        """Return the region of a tuple or a field: that of its parts, if only fields are used."""
        tuple_ = op.results[0] if is_make_tuple(op) else op.operands[0]
        if len(before) == 1 and before[0].library is not None and _has_only_fields(tuple_):
            whole = len(op.operands) == sum(defining_op(v) in self._regions for v in op.operands)
            if whole:
                return before[0]
        return _Region(None)


def _has_only_fields(value: ir.Value) -> bool:
    """Whether a flat tuple of tensors is used for its fields only."""
    users = [use.owner.operation for use in value.uses]
    return (
        is_tuple(value.type)
        and all(map(T.is_tensor, field_types(value.type)))
        and is_local(value)
        and bool(users)
        and all(user.name == "relax.tuple_get_item" for user in users)
    )
