"""The frames of Relax functions, and what is emitted in them: the `R` of `script.ir_builder`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from relax_mlir import relax
from relax_mlir.errors import BuilderError
from relax_mlir.relax.expr import Binding, Call, Function, Op, Var
from relax_mlir.relax.expr.types import Type, as_type
from relax_mlir.relax.expr.values import convert
from relax_mlir.relax.ir_builder.base import IRBuilder


class FunctionFrame:
    """A function: its name and attributes come first, then the bindings."""

    def __init__(self, builder: IRBuilder, is_pure: bool | None, is_private: bool) -> None:
        self.builder = builder
        self.name = ""
        self.params: list[Var] = []
        self.attrs: dict[str, Any] = {}
        self.ret_ty: Type | None = None
        self._options: dict[str, Any] = {"private": is_private, "is_pure": is_pure}
        self._scope: Any = None

    def head(self) -> "FunctionFrame":
        """Return this, for what stands in front of the bindings.

        Raises:
            BuilderError: something was emitted already.
        """
        if self._scope is not None:
            raise BuilderError(
                f"the name and attributes of '{self.name}' stand in front of its bindings"
            )
        return self

    def begin(self) -> None:
        """Open the function for bindings, if it is not."""
        if self._scope is None:
            builder = self.builder.builder
            self.name = self.name or "main"
            scope = builder.function(self.name, None, self.attrs, **self._options)
            scope.__enter__()
            self._scope = scope

    def end(self, *error: Any) -> None:
        """Close it; `error` is the exception that the body raised, as `__exit__` gets it.

        Raises:
            BuilderError: it has no result.
        """
        if error[0] is None:
            self.begin()
        if self._scope is not None:
            self._scope.__exit__(*error)

    def result(self) -> Function:
        """Return the function."""
        return self.builder.builder.get()[self.name]


class DataflowFrame:
    """A dataflow block.

    Attributes:
        output_vars: what leaves it.
    """

    output_vars: tuple[Var, ...] = ()


def _function() -> FunctionFrame:
    for frame in reversed(IRBuilder.current().frames):
        if isinstance(frame, FunctionFrame):
            return frame
    raise BuilderError("this belongs in a function: with R.function():")


def _writer() -> Any:
    """Return the `BlockBuilder` of the open function, ready for bindings."""
    frame = _function()
    frame.begin()
    return frame.builder.builder


def function(
    is_pure: bool | None = None, is_private: bool = False
) -> AbstractContextManager[FunctionFrame]:
    """Open a function.

    Args:
        is_pure: True has it checked, and marked, that nothing in it has side effects.
        is_private: whether users of the module do not see it.

    Raises:
        BuilderError: no `IRBuilder` is open.
    """
    return _opened(FunctionFrame(IRBuilder.current(), is_pure, is_private))


@contextmanager
def _opened(frame: FunctionFrame) -> Iterator[FunctionFrame]:
    with frame.builder.opened(frame):
        try:
            yield frame
        except BaseException as error:
            frame.end(type(error), error, error.__traceback__)
            raise
        frame.end(None, None, None)


def func_name(name: str) -> None:
    """Name the open function."""
    _function().head().name = name


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Add attributes to the open function."""
    _function().head().attrs.update(attrs)


def arg(name: str, ty: Any) -> Var:
    """Add a parameter to the open function, and return its variable."""
    var = Var(name, ty)
    _function().params.append(var)
    return var


def func_ret_ty(ret_ty: Any) -> None:
    """Declare the type of the open function's result; what is known beyond it is kept."""
    _function().ret_ty = as_type(ret_ty)


def func_ret_value(value: Any) -> None:
    """Give the open function its result.

    Raises:
        BuilderError: it is not of the declared type.
    """
    builder, frame, result = _writer(), _function(), convert(value)
    if frame.ret_ty is not None and not frame.ret_ty.is_base_of(result.ty):
        raise BuilderError(f"'{frame.name}' is declared to return {frame.ret_ty}, got {result.ty}")
    builder.emit_func_output(result, frame.params)


@contextmanager
def dataflow() -> Iterator[DataflowFrame]:
    """Open a dataflow block in the open function; `output` says what leaves it."""
    frame = DataflowFrame()
    with _writer().dataflow(), IRBuilder.current().opened(frame):
        yield frame


def output(*vars: Var) -> None:
    """Let variables leave the open dataflow block, in which nothing follows.

    Raises:
        BuilderError: no dataflow block is open.
    """
    builder, frame = _writer(), IRBuilder.current().frames[-1]
    if not isinstance(frame, DataflowFrame):
        raise BuilderError("output belongs in a dataflow block: with R.dataflow():")
    frame.output_vars = tuple([builder.emit_output(var) for var in vars])


def emit(value: Any, annotate_ty: Any = None) -> Var:
    """Bind an expression to a variable.

    Args:
        value: the expression.
        annotate_ty: the variable's type, checked when the program runs where it is not known.
    """
    return _writer().emit(value) if annotate_ty is None else emit_match_cast(value, annotate_ty)


def emit_match_cast(value: Any, ty: Any) -> Var:
    """Bind a value under a type: new symbols get values, the rest is checked."""
    return _writer().match_cast(value, ty)


def emit_var_binding(binding: Binding) -> Var:
    """Emit a binding that was made, and return its variable."""
    return _writer().emit_normalized(binding)


def emit_te(func: Any, *args: Any, **kwargs: Any) -> Var:
    """Bind the call of the prim func that a te function makes, as `BlockBuilder.emit_te` does."""
    return _writer().emit_te(func, *args, **kwargs)


def emit_with_type(op: str, args: Sequence[Any], ty_args: Any = ()) -> Call:
    """Return a call of an operation by name.

    Args:
        op: its name, such as `"relax.builtin.alloc_tensor"`.
        args: the arguments.
        ty_args: the type, or types, of the result that the call says.

    Raises:
        ExprError: there is no such operation.
    """
    types = ty_args if isinstance(ty_args, (list, tuple)) else (ty_args,)
    return Call(Op.get(op), args, ty_args=types)


emit_with_ty = emit_with_type


def __getattr__(name: str) -> Any:
    # Operations, and calls of functions.
    if not name.startswith("__"):
        for space in (relax.op, relax):
            if hasattr(space, name):
                return getattr(space, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
