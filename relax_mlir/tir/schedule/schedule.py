"""`Schedule`: a program, and the primitives that change the order in which it computes."""

import random
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ScheduleTypeError, ScheduleValueError, did_you_mean
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import is_function
from relax_mlir.tir.schedule.base import MAX_SEED, primitive
from relax_mlir.tir.schedule.handles import BlockRV, ExprRV, LoopRV, RandomVariable
from relax_mlir.tir.schedule.primitives.annotations import AnnotationPrimitives
from relax_mlir.tir.schedule.primitives.blockize import BlockizePrimitives
from relax_mlir.tir.schedule.primitives.buffer_attributes import BufferAttributePrimitives
from relax_mlir.tir.schedule.primitives.cache import CachePrimitives
from relax_mlir.tir.schedule.primitives.cache_at import CacheAtPrimitives
from relax_mlir.tir.schedule.primitives.compute_at import ComputeAtPrimitives
from relax_mlir.tir.schedule.primitives.decompose_padding import DecomposePaddingPrimitives
from relax_mlir.tir.schedule.primitives.decompose_reduction import DecomposeReductionPrimitives
from relax_mlir.tir.schedule.primitives.fuse_reduction_epilogue import ReductionEpiloguePrimitives
from relax_mlir.tir.schedule.primitives.inline import InlinePrimitives
from relax_mlir.tir.schedule.primitives.iterators import IteratorPrimitives
from relax_mlir.tir.schedule.primitives.kinds import KindPrimitives
from relax_mlir.tir.schedule.primitives.lookup import LookupPrimitives
from relax_mlir.tir.schedule.primitives.loop_sets import LoopSetPrimitives
from relax_mlir.tir.schedule.primitives.loops import LoopPrimitives
from relax_mlir.tir.schedule.primitives.pad_einsum import PadEinsumPrimitives
from relax_mlir.tir.schedule.primitives.reindex import ReindexPrimitives
from relax_mlir.tir.schedule.primitives.rfactor import RFactorPrimitives
from relax_mlir.tir.schedule.primitives.rolling_buffer import RollingBufferPrimitives
from relax_mlir.tir.schedule.primitives.sampling import SamplingPrimitives
from relax_mlir.tir.schedule.primitives.tensorize import TensorizePrimitives
from relax_mlir.tir.schedule.primitives.transform_block_layout import TransformBlockLayoutPrimitives
from relax_mlir.tir.schedule.primitives.transform_layout import TransformLayoutPrimitives
from relax_mlir.tir.schedule.state import RENDER_LEVELS, ScheduleState
from relax_mlir.tir.schedule.trace.trace import Trace
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.statements import statement


class Schedule(
    LookupPrimitives,
    LoopPrimitives,
    LoopSetPrimitives,
    KindPrimitives,
    AnnotationPrimitives,
    SamplingPrimitives,
    InlinePrimitives,
    ComputeAtPrimitives,
    DecomposeReductionPrimitives,
    RFactorPrimitives,
    ReductionEpiloguePrimitives,
    CachePrimitives,
    CacheAtPrimitives,
    RollingBufferPrimitives,
    TransformLayoutPrimitives,
    TransformBlockLayoutPrimitives,
    BufferAttributePrimitives,
    BlockizePrimitives,
    TensorizePrimitives,
    ReindexPrimitives,
    IteratorPrimitives,
    PadEinsumPrimitives,
    DecomposePaddingPrimitives,
):
    """A schedule: transformations that change how a program computes and keep what it computes.

    Every primitive checks whether it keeps results, raises `ScheduleError` and changes nothing
    where it does not, and is recorded in `trace`.

    ```
    sch = tir.Schedule(module)
    i, j, k = sch.get_loops("matmul")
    outer, inner = sch.split(i, factors=[None, 32])
    sch.reorder(outer, k, inner, j)
    executable = relax.build(sch.mod)
    ```
    """

    def __init__(
        self,
        mod: Any,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ) -> None:
        """Make a schedule of a program, of which it keeps a copy.

        Args:
            mod: a module, or a function marked `T.prim_func`.
            seed: of the sampling primitives, from 1 to 2147483647; at random when None or -1.
            debug_mask: `all`, or an integer other than 0, to verify after every primitive; `none`.
            error_render_level: `detail` shows the program in errors, `fast` only the reason, `none`
                nothing.
            enable_check: whether primitives reject what may change results.

        Raises:
            TypeError: it is no program.
            ValueError: a choice that does not exist.
        """
        if error_render_level not in RENDER_LEVELS:
            raise ScheduleValueError(
                f"error_render_level must be one of {', '.join(RENDER_LEVELS)}, got "
                f"'{error_render_level}'"
            )
        if isinstance(debug_mask, str) and debug_mask not in ("all", "none"):
            raise ScheduleValueError(
                f"debug_mask must be 'all', 'none' or an integer, got '{debug_mask}'"
            )
        checks = debug_mask not in ("none", 0)
        module = _module_of(mod)
        self._state = ScheduleState(module, error_render_level, checks, enable_check)
        self._trace: Trace | None = Trace()
        self._symbols: dict[Any, int] = {}
        self._decision: Any = None
        names = [ir.StringAttr(f.attributes["sym_name"]).value for f in self._state.functions()]
        self._func = "main" if "main" in names else names[0] if len(names) == 1 else None
        self.seed(-1 if seed is None else seed)

    def __getattr__(self, name: str) -> Any:
        near = "" if name.startswith("_") else did_you_mean(name, dir(type(self)))
        raise AttributeError(f"tir.Schedule has no '{name}'{near}", name=name, obj=self)

    @property
    def mod(self) -> IRModule:
        """The program as it is now: a module of its own that later primitives do not change."""
        with self._state.entered():
            return self._state.mod

    @property
    def state(self) -> ScheduleState:
        """The program under the schedule, as its primitives see it."""
        return self._state

    @property
    def trace(self) -> Trace | None:
        """The instructions so far; None for a schedule that records none."""
        return self._trace

    @property
    def func_working_on(self) -> str | None:
        """The name of the function in which blocks are looked for."""
        return self._func

    @primitive("WorkOn")
    def work_on(self, func_name: str) -> None:
        """Say in which function blocks are looked for.

        Raises:
            IndexError: no prim func has the name.
        """
        self._function(func_name)
        self._func = func_name

    @primitive("EnterPostproc", postproc=True)
    def enter_postproc(self) -> None:
        """Mark where a trace begins that `remove_postproc` leaves out."""

    def copy(self) -> "Schedule":
        """Return a schedule of its own; this one's random variables are good in it too."""
        with self._state.entered():
            other = Schedule.__new__(Schedule)
            other._state = self._state.copy()
        other._trace = None if self._trace is None else self._trace.copy()
        other._symbols = dict(self._symbols)
        other._decision, other._func = None, self._func
        other._random = random.Random(self.fork_seed())
        return other

    def seed(self, seed: int) -> None:
        """Begin the random numbers again.

        Args:
            seed: from 1 to 2147483647; -1 for a random one.

        Raises:
            ValueError: another number.
        """
        if not isinstance(seed, int) or (seed != -1 and not 1 <= seed <= MAX_SEED):
            raise ScheduleValueError(
                f"seed must be in the range [1, {MAX_SEED}], or -1, got {seed}"
            )
        self._random = random.Random(None if seed == -1 else seed)

    def fork_seed(self) -> int:
        """Return a seed for another schedule, another one each time."""
        return self._random.randint(1, MAX_SEED)

    def show(self, style: str | None = None) -> None:
        """Print the program and the trace, in colour on terminals.

        Args:
            style: `"ansi"` for colour always, `"plain"` for none.
        """
        self.mod.show(style)
        if self._trace is not None:
            self._trace.show(style)

    def _repr_html_(self) -> str:
        """Return the program and the trace as notebooks show them."""
        return self.mod._repr_html_() + ("" if self._trace is None else self._trace._repr_html_())

    def get(self, rand_var: RandomVariable | ExprRV) -> Any:
        """Return what a random variable stands for: an integer, or the loop's or block's operation.

        Operations have `extent`, `kind` and `loop_var`, or `name_hint` and `iter_vars`, too.
        The operation is good until the next primitive.

        Raises:
            ScheduleError: it is none of this schedule's, or what it stood for is gone.
        """
        with self._state.entered():
            if isinstance(rand_var, ExprRV):
                return self._value_of(rand_var)
            op = self._op(rand_var)
            return op if op.name == tree.FUNC else statement(op)

    def get_sref(self, rand_var: RandomVariable) -> int:
        """Return the number that names a loop or block for the length of the schedule."""
        self.get(rand_var)
        return self._symbols[rand_var]

    def remove_rv(self, rand_var: RandomVariable | ExprRV) -> None:
        """Forget a random variable; the loop or block stays.

        Raises:
            KeyError: it is none of this schedule's.
        """
        if rand_var not in self._symbols:
            raise KeyError("the random variable is none of this schedule's")
        del self._symbols[rand_var]


def _module_of(mod: Any) -> IRModule:
    if isinstance(mod, IRModule):
        return mod
    if is_function(mod):
        return IRModule.from_expr(mod)
    raise ScheduleTypeError(f"tir.Schedule takes a module or a prim func, got {type(mod).__name__}")


__all__ = ["BlockRV", "ExprRV", "LoopRV", "Schedule"]
