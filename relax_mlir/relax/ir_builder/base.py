"""`IRBuilder`: what the frames of a program write into."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.places import defining_op

_state = threading.local()


def _stack() -> "list[IRBuilder]":
    if not hasattr(_state, "stack"):
        _state.stack = []
    return _state.stack


class IRBuilder:
    """Collects what the frames opened in its `with` block make.

    ```python
    with IRBuilder() as ib:
        with R.function():
            R.func_name("main")
            x = R.arg("x", relax.TensorType((4,), "float32"))
            R.func_ret_value(R.emit(relax.op.exp(x)))
    func = ib.get()
    ```

    Attributes:
        builder: the `BlockBuilder` that writes.
        frames: those that are open, the innermost last.
    """

    def __init__(self) -> None:
        self.builder = BlockBuilder()
        self.frames: list[Any] = []
        self._result: Any = None

    def __enter__(self) -> "IRBuilder":
        _stack().append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _stack().pop()

    @staticmethod
    def current() -> "IRBuilder":
        """Return the innermost builder that this thread has open.

        Raises:
            BuilderScopeError: there is none.
        """
        if not IRBuilder.is_in_scope():
            raise BuilderScopeError("no IRBuilder is open here: with IRBuilder() as ib:")
        return _stack()[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """Whether this thread has a builder open."""
        return bool(_stack())

    def get(self) -> Any:
        """Return what the outermost frame made: a function, or a module.

        Raises:
            BuilderError: none has ended.
        """
        if self._result is None:
            raise BuilderError("no frame of this IRBuilder has ended: with R.function():")
        return self._result

    @staticmethod
    def name(s: str, v: Any) -> Any:
        """Name a variable that was emitted, and return it.

        Raises:
            ExprTypeError: it is no variable.
        """
        value = getattr(v, "mlir_value", None)
        op = None if value is None else defining_op(value)
        if not isinstance(v, Var) or op is None:
            raise ExprTypeError(f"only a variable that was emitted gets a name, got {v!r}")
        names = v._frame.names
        names.discard(v.name)
        v._name = names.fresh(s)
        place = op.location
        place = place.child_loc if isinstance(place, ir.NameLoc) else place
        op.location = ir.Location.name(v.name, childLoc=place, context=op.context)
        return v

    @staticmethod
    def name_many(s: Sequence[str], vs: Sequence[Any]) -> list[Any]:
        """Name several variables."""
        return [IRBuilder.name(*pair) for pair in zip(s, vs, strict=True)]

    @contextmanager
    def opened(self, frame: Any) -> Iterator[Any]:
        """Have a frame be the innermost; the result of the outermost is this builder's."""
        self.frames.append(frame)
        try:
            yield frame
        finally:
            self.frames.pop()
        if not self.frames:
            self._result = frame.result()


class BuilderScopeError(BuilderError, ValueError):
    """An `IRBuilder` is needed and none is open."""
