"""Open scopes of a builder, and the values visible in each."""

from collections.abc import Iterable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import BuilderError, ExprError, did_you_mean
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.places import escaped, home

# What a scope is called in messages.
_WORDS = {
    "function": "function",
    "dataflow": "dataflow block",
    "branch": "branch",
    "lambda": "function",
    "scope": "scope",
    "insertion": "place in the function",
}


class Frame:
    """One open scope.

    Attributes:
        kind: `"function"`, `"dataflow"`, `"branch"`, `"lambda"`, `"scope"` or `"insertion"`.
        blocks: MLIR blocks whose values it sees; the first is the one that it writes into.
        ip: where it writes.
        names: of its variables, shared by the scopes of one function.
        op: the operation that holds the block, until the scope ends.
        name: the function's.
        open: whether values of it may be used.
        finished: whether the function has given its output.
        params: the function's parameters, None until they are given.
        late: parameters that were used before they are given.
        outputs: variables that leave a dataflow block.
        given: those by their value.
        symbols: symbolic integers that have values there, None when that is not known.
    """

    __slots__ = (
        "blocks", "builder", "finished", "given", "ip", "kind", "late", "name", "names", "op",
        "open", "outputs", "params", "place", "symbols",
    )  # fmt: skip

    builder: Any
    kind: str
    blocks: list[ir.Block]
    ip: ir.InsertionPoint
    names: Names
    op: ir.Operation | None
    name: str

    def __init__(
        self, builder: Any, kind: str, blocks: list[ir.Block], ip: ir.InsertionPoint,
        names: Names, op: ir.Operation | None = None, name: str = "",
    ) -> None:  # fmt: skip
        self.builder, self.kind, self.blocks, self.ip = builder, kind, blocks, ip
        self.names, self.op, self.name = names, op, name
        self.open: bool = True
        self.finished: bool = False
        self.params: list[Var] | None = None
        self.late: list[Var] = []
        self.outputs: list[Var] = []
        self.given: dict[ir.Value, Var] = {}
        self.place: ir.Location | None = None
        self.symbols: set[str] | None = None

    @property
    def word(self) -> str:
        """What kind of scope this is, for messages."""
        name = f" '{self.name}'" if self.name else ""
        return f"{_WORDS[self.kind]}{name}"


def resolve(builder: Any, var: Var) -> ir.Value:
    """Return the MLIR value of a variable where the builder writes.

    Raises:
        BuilderError: the variable is unknown here, or belongs to another scope or builder.
    """
    value, frame = var._value, var._frame
    if value is None:
        return _parameter(builder, var)
    if frame is not None and frame.open and frame.builder is builder:
        return value
    if frame is not None and frame.builder is not builder:
        if frame.open or var._ty is None or _taking_parameters(builder) is None:
            raise BuilderError(f"'{var.name_hint}' belongs to another BlockBuilder")
        # A person's variable, the parameter of an earlier function.
        return _parameter(builder, var)
    value = var.mlir_value
    assert value is not None, "it has been bound"
    if value.context != builder.context:
        raise BuilderError(f"'{var.name_hint}' belongs to a module of another MLIR context")
    # What a function under change looked like is not what is written into.
    result: ir.Value | None = value if builder._moved is None else builder._moved.get(value, value)
    while result is not None:
        block = home(result)
        if any(block in each.blocks for each in builder._frames):
            return result
        result = escaped(result)
    if var._ty is not None and _taking_parameters(builder) is not None:
        # A person's variable, the parameter of an earlier function, is one of this function too.
        return _parameter(builder, var)
    name = var.name_hint or "a value"
    if frame is not None and frame.kind == "dataflow":
        raise BuilderError(
            f"'{name}' is local to its dataflow block, which has ended; give it out of the block "
            "by emit_output to use it here"
        )
    where = f"the {frame.word}, which has ended" if frame is not None else "another function"
    raise BuilderError(f"'{name}' belongs to {where}, and means nothing here")


def bind_symbols(frame: Frame, types: Iterable[ir.Type], values: Iterable[SymExpr] = ()) -> None:
    """Note the symbols that values of these types, and integers, give their values."""
    if frame.symbols is not None:
        dims = [dim for type_ in types for dim in type_dims(type_)]
        frame.symbols |= bound_symbols([*dims, *values], frame.symbols)


def require_symbols(frame: Frame, dims: Iterable[SymExpr]) -> None:
    """Check that every symbol has a value where the builder writes.

    Raises:
        ExprError: one has none.
    """
    if frame.symbols is None:
        return
    for dim in dims:
        for name in sorted(dim.symbols - frame.symbols):
            raise ExprError(
                f"symbol '{name}' has no value here: no parameter's shape has it as a dimension; "
                f"bind it first, as in match_cast(x, R.Tensor((..., '{name}')))"
                f"{did_you_mean(name, frame.symbols)}"
            )


def _parameter(builder: Any, var: Var) -> ir.Value:
    """Return the value of a variable that nothing has bound: perhaps a parameter to be given."""
    frame = _taking_parameters(builder)
    if frame is not None:
        return builder._add_parameter(frame, var, late=True)
    raise BuilderError(
        f"unknown variable '{var.name_hint}': it is no parameter of this function and nothing has "
        "bound it; list it in BlockBuilder.function(name, params)"
    )


def _taking_parameters(builder: Any) -> Frame | None:
    """Return the function or scope around whose parameters are not given yet, None for none."""
    for frame in reversed(builder._frames):
        if frame.kind in ("function", "scope"):
            return frame if frame.params is None and not frame.finished else None
    return None
