"""What all groups of primitives share: random variables, the trace, transactions."""

import functools
import inspect
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import (
    ScheduleError,
    ScheduleLookupError,
    ScheduleTypeError,
    ScheduleValueError,
    did_you_mean,
)
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.tir.schedule.handles import (
    VARIABLES,
    BlockRV,
    ExprRV,
    LoopRV,
    RandomVariable,
    evaluate,
)
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.schedule.trace.instruction import Instruction, InstructionKind, register
from relax_mlir.tir.schedule.trace.trace import Trace
from relax_mlir.tir.view import tree

_Method = TypeVar("_Method", bound=Callable[..., Any])
# A factor of `split`, a number of `sample_...`.
IntOrRV = int | ExprRV | PrimExpr
# Numbers that seeds can be.
MAX_SEED = (1 << 31) - 1
# What a LoopRV stands for that is no loop: leave the block where it is, or inline it.
ROOT, INLINE = -1, -2


class ScheduleBase:
    """Random variables and what they stand for, the trace, the random state."""

    _state: ScheduleState
    _trace: Trace | None
    _symbols: dict[Any, int]
    _random: random.Random
    _func: str | None
    _decision: Any

    # -- what primitives take ------------------------------------------------------------------

    def _op(self, rv: RandomVariable) -> ir.Operation:
        if rv not in self._symbols:
            raise ScheduleError(
                f"{type(rv).__name__} is none of this schedule's, or was removed from it",
                primitive=self._state._primitive,
            )
        op = self._state.find(self._symbols[rv])
        if op is None:
            what = "loop" if isinstance(rv, LoopRV) else "block"
            raise self._state.error(
                f"the {what} of this random variable is gone: an earlier primitive replaced it"
            )
        return op

    def _loop(self, rv: LoopRV) -> ir.Operation:
        """Return the loop that a random variable stands for."""
        self._check_loop(rv)
        return self._op(rv)

    def _check_loop(self, rv: Any) -> None:
        if isinstance(rv, LoopRV):
            return
        got = repr(rv) if isinstance(rv, str) else type(rv).__name__
        hint = "; sch.get_loops(block) gives loops"
        if isinstance(rv, (list, tuple)) and rv and isinstance(rv[0], LoopRV):
            hint = "; give loops one by one, as in sch.reorder(*loops)"
        raise self._wrong(f"a LoopRV is needed, got {got}{hint}")

    def _wrong(self, reason: str) -> ScheduleTypeError:
        """Return an error about an argument of the primitive that runs."""
        primitive = self._state._primitive
        message = f"{primitive}: {reason}" if primitive else reason
        return ScheduleTypeError(message, primitive=primitive, reason=reason)

    def _location(self, rv: LoopRV) -> int | None:
        """Return `INLINE` or the number of a loop; None for `ROOT`, where a block stays."""
        self._value_check(rv)
        return None if self._symbols[rv] == ROOT else self._symbols[rv]

    def _value_check(self, rv: LoopRV) -> None:
        self._check_loop(rv)
        if rv not in self._symbols or self._symbols[rv] >= 0:
            self._op(rv)

    def _block(self, rv: "BlockRV | str") -> ir.Operation:
        """Return the block, or for the root the function, that a random variable stands for."""
        if not isinstance(rv, BlockRV):
            raise self._wrong(f"a BlockRV, or a block's name, is needed, got {type(rv).__name__}")
        return self._op(rv)

    def _number(self, value: Any) -> SymExpr:
        """Return a number, an `ExprRV` or an expression of such as an integer expression."""
        return SymExpr.of(evaluate(value, self._value_of))

    def _value_of(self, rv: ExprRV) -> int:
        if rv not in self._symbols:
            raise ScheduleError("the ExprRV is none of this schedule's, or was removed from it")
        return self._symbols[rv]

    # -- what primitives give ------------------------------------------------------------------

    def _loop_rv(self, op: ir.Operation) -> LoopRV:
        rv = LoopRV()
        self._symbols[rv] = self._state.sref(op)
        return rv

    def _block_rv(self, op: ir.Operation) -> BlockRV:
        rv = BlockRV()
        self._symbols[rv] = self._state.sref(op)
        return rv

    def _expr_rv(self, value: int) -> ExprRV:
        rv = ExprRV()
        self._symbols[rv] = value
        return rv

    def _loop_rvs(self, ops: Iterable[ir.Operation]) -> list[LoopRV]:
        return [self._loop_rv(op) for op in ops]

    def _block_rvs(self, ops: Iterable[ir.Operation]) -> list[BlockRV]:
        return [self._block_rv(op) for op in ops]

    # -- finding blocks by name ----------------------------------------------------------------

    def _named_block(self, name: str, func_name: str | None) -> ir.Operation:
        if not isinstance(name, str):
            raise self._wrong(f"the name of a block is a string, got {name!r}")
        function = self._function(func_name)
        if name == "root":
            return function
        result = [op for op in tree.nested_blocks(function) if tree.block_name(op) == name]
        if len(result) == 1:
            return result[0]
        where = tree.string(function, "sym_name")
        if not result:
            names = [tree.block_name(op) for op in tree.nested_blocks(function)]
            known = did_you_mean(name, names) or f"; there are: {', '.join(names[:8]) or 'none'}"
            raise ScheduleLookupError(f"no block '{name}' in '{where}'{known}")
        raise ScheduleLookupError(
            f"{len(result)} blocks of '{where}' are called '{name}'; give them different names, or "
            "take one of get_child_blocks(get_block('root'))"
        )

    def _function(self, name: str | None) -> ir.Operation:
        functions = {tree.string(op, "sym_name"): op for op in self._state.functions()}
        wanted = name if name is not None else self._func
        if wanted is None:
            raise ScheduleValueError(
                f"which function? There are {', '.join(sorted(functions)) or 'none'}: give "
                "func_name, or call work_on"
            )
        if wanted not in functions:
            known = did_you_mean(str(wanted), functions)
            known = known or f"; there are: {', '.join(sorted(functions)) or 'none'}"
            raise ScheduleLookupError(f"no prim func '{wanted}' in the module{known}")
        return functions[wanted]

    def _by_name(self, value: Any) -> Any:
        """Return a random variable in place of a block's name, which is looked up and recorded."""
        if isinstance(value, (list, tuple)):
            return type(value)(self._by_name(each) for each in value)
        return self.get_block(value) if isinstance(value, str) else value

    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return a block by its name; see `Schedule`."""
        raise NotImplementedError

    def _record(self, kind: InstructionKind, arguments: dict[str, Any], outputs: Any) -> None:
        if self._trace is None:
            return
        decision = arguments.pop("decision", None) if kind.samples else None
        results = [] if outputs is None else outputs
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        self._trace.append(Instruction(kind, arguments, results), decision)


def primitive(
    name: str, *, inputs: Sequence[str] = (), pure: bool = False, samples: bool = False,
    postproc: bool = False, prepare: Callable[[Any, dict[str, Any]], None] | None = None,
) -> Callable[[_Method], _Method]:  # fmt: skip
    """Make a method of a schedule a primitive: all or nothing, and recorded in the trace.

    Blocks can be given by name, which becomes an instruction of its own.

    Args:
        name: TVM's name of the instruction.
        inputs: parameters that take random variables, or lists of them.
        pure: whether the program stays as it is.
        samples: whether it makes a decision, which the method leaves in `self._decision`.
        postproc: as in `InstructionKind`.
        prepare: brings the arguments, by their names, to the form in which they are recorded.
    """

    def decorate(method: _Method) -> _Method:
        signature = inspect.signature(method)
        parameters = [p for key, p in signature.parameters.items() if key != "self"]
        # A string is the name of a block where a block can stand.
        named = [key for key in inputs if "Block" in str(signature.parameters[key].annotation)]
        variadic = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
        given = str(signature.return_annotation)
        kind = InstructionKind(
            name, method.__name__, tuple(p.name for p in parameters if p.name != "decision"),
            tuple(inputs), variadic[0] if variadic else "", samples, postproc, pure,
            next((k for k, cls in VARIABLES.items() if cls.__name__ in given), ""),
            given.startswith("list"),
        )  # fmt: skip
        register(kind)

        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(self, *args, **kwargs)
            except TypeError as error:
                taken = ", ".join(str(p) for p in parameters)
                raise ScheduleTypeError(
                    f"{method.__name__}({taken}): {error}", primitive=method.__name__
                ) from None
            bound.apply_defaults()
            for key in named:
                bound.arguments[key] = self._by_name(bound.arguments[key])
            scope = bound.arguments.get("storage_scope", "")
            if not isinstance(scope, str):
                raise ScheduleTypeError(
                    f"{method.__name__}: a storage scope is a string, such as 'shared', "
                    f"got {scope!r}",
                    primitive=method.__name__,
                )
            if prepare is not None:
                with self._state.entered(), self._state.working(method.__name__):
                    prepare(self, bound.arguments)
            arguments = {k: v for k, v in bound.arguments.items() if k != "self"}
            arguments = {k: list(v) if isinstance(v, tuple) else v for k, v in arguments.items()}
            with self._state.entered() if pure else self._state.transaction(method.__name__):
                before, self._state._primitive = self._state._primitive, method.__name__
                try:
                    outputs = method(*bound.args, **bound.kwargs)
                finally:
                    self._state._primitive = before
            if samples:
                arguments["decision"] = self._decision
            self._record(kind, arguments, outputs)
            return outputs

        return cast(_Method, run)

    return decorate
