"""No pass may forget a shape: what was known before it is known after it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import PassError
from relax_mlir.lowering.walk import INNER_FIRST, collect
from relax_mlir.pass_infra.instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo

# VMShapeLower moves symbols into the shape heap: afterwards no type mentions one.
_MOVES_SHAPES = ("VMShapeLower",)
_Known = dict[tuple[str, str], list[Any]]


class ShapeCheck(PassInstrument):
    """Fails a pass after which less is known of a value's shape than before.

    Compared are the parameters and results of every Relax function that is still there, and the
    values of a function that have the same name before and after. A rank, a dtype, a constant
    dimension and a symbolic shape count as known. A symbolic dimension may become another one where
    the prover finds them equal, by what the function asserts, or where its symbols have gone.

    Args:
        skip: passes that may forget shapes, in addition to the one that lowers them.

    Attributes:
        compared: how many values were compared so far.
    """

    def __init__(self, skip: Iterable[str] = ()) -> None:
        self.skip: frozenset[str] = frozenset((*_MOVES_SHAPES, *skip))
        self.compared = 0
        self._before: list[_Known] = []

    def run_before_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Note what is known."""
        self._before.append(_known_types(mod))

    def pass_failed(self, mod: "IRModule", info: "PassInfo", error: BaseException) -> None:
        """Forget what was noted."""
        if self._before:
            self._before.pop()

    def run_after_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Compare with what was known.

        Raises:
            PassError: of some value less is known; names the values, and what was lost of each.
        """
        if not self._before:
            return
        before = self._before.pop()
        if info.name in self.skip:
            return
        after = _known_types(mod)
        lost = []
        provers: dict[str, _Prover] = {}
        with mod.context:
            for (function, value), types in before.items():
                now = after.get((function, value))
                if now is None:
                    continue
                self.compared += 1
                if function not in provers:
                    provers[function] = _Prover(mod, function)
                problem = _lost_of_all(types, now, provers[function])
                if problem:
                    lost.append(f"@{function}: {value}: {problem}")
        if lost:
            raise PassError(info.name, "it forgets shapes", lost)


def _known_types(mod: "IRModule") -> _Known:
    """Return the types of a module's signatures and tensors by function and name."""
    from relax_mlir.dialects.bindings import ir
    from relax_mlir.dialects.locations import value_name
    from relax_mlir.dialects.relax import types as T

    results: _Known = {}

    def note(function: str, name: str, type_: Any) -> None:
        results.setdefault((function, name), []).append(type_)

    with mod.context:
        for view in mod.mlir_module.body.operations:
            op = view.operation
            if "relax.function" not in op.attributes:
                continue
            function = ir.StringAttr(op.attributes["sym_name"]).value
            type_ = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
            for index, parameter in enumerate(type_.inputs):
                note(function, f"parameter {index} of {len(type_.inputs)}", parameter)
            for index, result in enumerate(type_.results):
                note(function, f"result {index}", result)

            for inner in collect(op, lambda each: bool(value_name(each.location)), INNER_FIRST):
                # Shapes and tuples that passes make for a value bear its name as well.
                for result in inner.results:
                    if T.is_tensor(result.type):
                        note(function, f"value '{value_name(inner.location)}'", result.type)
    return results


class _Prover:
    """Says which dimensions are the same in a function after a pass."""

    def __init__(self, mod: "IRModule", function: str) -> None:
        from relax_mlir.dialects.bindings import ir
        from relax_mlir.dialects.relax.facts import assume_cast, declared_facts
        from relax_mlir.dialects.relax.well_formed import type_symbols

        func = ir.SymbolTable(mod.mlir_module.operation)[function].operation
        self._facts = declared_facts(func)
        self._symbols: set[str] = set()

        def note(type_: Any) -> None:
            self._symbols |= type_symbols(type_)

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == "relax.match_cast":
                assume_cast(self._facts, op)
            for result in op.results:
                note(result.type)
            return ir.WalkResult.ADVANCE

        for argument in func.regions[0].blocks[0].arguments if func.regions[0].blocks else ():
            note(argument.type)
        func.walk(visit)

    def is_kept(self, before: Any, after: Any) -> bool:
        """Whether a dimension may be written as another: what is known of it is no less."""
        if before == after or not before.symbols <= self._symbols:
            return bool(before == after) or not before.is_const
        if after.is_const:
            return not before.is_const
        return self._facts.can_prove(before == after)


def _lost_of_all(before: list[Any], after: list[Any], prover: _Prover) -> str:
    """Return what values of one name lost; where their number changed, one that knows is enough."""
    if len(before) == len(after):
        problems = [_lost(*pair, prover) for pair in zip(before, after, strict=True)]
        return next(filter(None, problems), "")
    for each in before:
        problems = [_lost(each, now, prover) for now in after]
        if all(problems):
            return problems[0]
    return ""


def _lost(before: Any, after: Any, prover: _Prover) -> str:
    """Return what the second type does not say any more, `""` when it says everything."""
    from relax_mlir.dialects.bindings import ir
    from relax_mlir.dialects.relax import types as T
    from relax_mlir.dialects.relax.dialect import Shape
    from relax_mlir.dialects.relax.infer import describe

    change = f"was {describe(before)}, is {describe(after)}"
    if isinstance(before, ir.TupleType):
        if not isinstance(after, ir.TupleType) or after.num_types != before.num_types:
            return change
        fields = [(before.get_type(i), after.get_type(i)) for i in range(before.num_types)]
        return next(filter(None, (_lost(*pair, prover) for pair in fields)), "")
    if T.is_tensor(before) and T.is_tensor(after):
        if T.tensor_dtype(before) not in ("", T.tensor_dtype(after)):
            return change
        ranks = T.tensor_ndim(before), T.tensor_ndim(after)
        dims = T.tensor_dims(before), T.tensor_dims(after)
    elif isinstance(before, Shape) and isinstance(after, Shape):
        ranks = T.shape_ndim(before), T.shape_ndim(after)
        dims = T.shape_dims(before), T.shape_dims(after)
    else:
        return "" if T.is_tensor(before) == T.is_tensor(after) else change
    if ranks[0] not in (-1, ranks[1]):
        return change
    known, now = dims
    if known is None:
        return ""
    if now is None:
        return change
    pairs = zip(known, now, strict=True)
    return "" if all(prover.is_kept(a, b) for a, b in pairs) else change
