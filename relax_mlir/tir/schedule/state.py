"""What a schedule works on: a private copy of a module whose loops and blocks have numbers."""

from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.errors import ScheduleError
from relax_mlir.ir.module import IRModule
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.render import SREF, marked_program

RENDER_LEVELS = ("detail", "fast", "none")


class ScheduleState:
    """The program under a schedule.

    A primitive changes it inside `transaction`, which puts everything back when it fails, and finds
    what it works on by number.

    Attributes:
        module: the private copy.
        render_level: how much errors show: `detail`, `fast` or `none`.
        checks: whether the module is verified after every primitive.
        legality: whether primitives check what only could change results.
    """

    render_level: str
    checks: bool
    legality: bool

    def __init__(self, mod: IRModule, render_level: str, checks: bool, legality: bool) -> None:
        self.module = mod.clone().mlir_module
        self.render_level, self.checks, self.legality = render_level, checks, legality
        self._next = 0
        self._ops_by_number: dict[int, ir.Operation] | None = None
        self._primitive = ""
        self._before: ir.Module | None = None
        with self.entered():
            for function in self.functions():
                hoist_numbers(function)
            self.number()

    @property
    def mod(self) -> IRModule:
        """A copy of the program without the numbers."""
        copy = IRModule(self.module).clone()
        for op in tree.walk(copy.mlir_module.operation):
            if SREF in op.attributes:
                del op.attributes[SREF]
        return copy

    def copy(self) -> "ScheduleState":
        """Return a state of its own in which everything has the same number."""
        other = ScheduleState.__new__(ScheduleState)
        other.module = IRModule(self.module).clone().mlir_module
        other.render_level, other.checks = self.render_level, self.checks
        other.legality = self.legality
        other._next, other._ops_by_number, other._primitive = self._next, None, ""
        other._before = None
        return other

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Make the module's context the current one."""
        context = self.module.context
        with lock_of(context), context, ir.Location.unknown():
            yield

    @contextmanager
    def working(self, primitive: str) -> Iterator[None]:
        """Have errors name a primitive.

        Args:
            primitive: its name.
        """
        outer, self._primitive = self._primitive, primitive
        try:
            yield
        finally:
            self._primitive = outer

    @contextmanager
    def transaction(self, primitive: str) -> Iterator[None]:
        """Run a primitive; whatever ends it early leaves the program as it was.

        Args:
            primitive: its name, for errors.

        Raises:
            ScheduleError: what the primitive makes breaks the rules of the dialects.
        """
        with self.entered():
            before = IRModule(self.module).clone().mlir_module
            outer, self._primitive = self._primitive, primitive
            outermost, self._before = self._before, before
            try:
                yield
                self.touch()
                self.number()
                if self.checks:
                    self.verify()
            except BaseException:
                self.module: ir.Module = before
                raise
            finally:
                self._primitive, self._before = outer, outermost
                self.touch()

    def verify(self) -> None:
        """Check the module against the rules of its dialects.

        Raises:
            ScheduleError: it breaks one.
        """
        try:
            self.module.operation.verify()
        except ir.MLIRError as error:
            raise ScheduleError(
                f"{self._primitive} made a program that breaks the rules of its dialects: {error}",
                primitive=self._primitive,
            ) from error

    def functions(self) -> list[ir.Operation]:
        """Return the prim funcs that have bodies."""
        result = [view.operation for view in self.module.body.operations]
        return [
            op for op in result
            if op.name == tree.FUNC and "tir.prim_func" in op.attributes
            and len(op.regions[0].blocks)
        ]  # fmt: skip

    def number(self) -> None:
        """Give every loop, block and function that has none a number of its own."""
        i64 = ir.IntegerType.get_signless(64)
        for function in self.functions():
            for op in tree.walk(function):
                numbered = op.name in (tree.LOOP, tree.BLOCK, tree.FUNC)
                if numbered and SREF not in op.attributes:
                    op.attributes[SREF] = ir.IntegerAttr.get(i64, self._next)
                    self._next += 1

    def sref(self, op: ir.Operation) -> int:
        """Return the number of a loop, block or function, which it gets if it has none."""
        if SREF not in op.attributes:
            i64 = ir.IntegerType.get_signless(64)
            op.attributes[SREF] = ir.IntegerAttr.get(i64, self._next)
            self._next += 1
            self.touch()
        return ir.IntegerAttr(op.attributes[SREF]).value

    def find(self, sref: int) -> ir.Operation | None:
        """Return the operation of a number, None when it is gone.

        It is good until the program changes.
        """
        if self._ops_by_number is None:
            self._ops_by_number = {
                ir.IntegerAttr(op.attributes[SREF]).value: op
                for function in self.functions()
                for op in tree.walk(function)
                if SREF in op.attributes
            }
        return self._ops_by_number.get(sref)

    def touch(self) -> None:
        """Forget where operations are: some were erased."""
        self._ops_by_number = None

    def indices(self, op: ir.Operation) -> Indices:
        """Return the index arithmetic of the function that an operation is in."""
        return Indices(tree.function_of(op))

    def error(self, reason: str, *ops: ir.Operation) -> ScheduleError:
        """Return the error that a primitive raises when it cannot be applied.

        Args:
            reason: why not, naming what it is about.
            ops: the loops and blocks that it is about; the program is shown as it was before.
        """
        head = f"{self._primitive} cannot be applied: {reason}"
        if self.render_level == "none":
            head = f"{self._primitive} cannot be applied"
        elif self.render_level == "detail" and ops:
            numbers = {ir.IntegerAttr(op.attributes[SREF]).value for op in ops
                       if SREF in op.attributes}  # fmt: skip
            head += f"\n{marked_program(self._before or self.module, numbers)}"
        return ScheduleError(head, primitive=self._primitive, reason=reason)


def hoist_numbers(function: ir.Operation) -> None:
    """Move sizes and integer constants to where a function begins: loops move without them."""
    entry = tree.body_of(function)
    ops = [op for op in tree.walk(function) if op.name in ("tir.symbol", "arith.constant")]
    first = ir.InsertionPoint.at_block_begin(entry)
    for op in ops:
        if str(op.results[0].type) == "index" and op.block != entry:
            op.detach_from_parent()
            first.insert(op)
    for op in reversed([o for o in ops if o.block == entry and not len(o.operands)]):
        op.detach_from_parent()
        ir.InsertionPoint.at_block_begin(entry).insert(op)
