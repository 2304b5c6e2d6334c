"""Scopes that a builder has open, and which values they may use."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import BuilderError
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.places import escaped, home

# What a scope is called in messages.
_WORDS = {
    "function": "function",
    "dataflow": "dataflow block",
    "branch": "branch",
    "scope": "scope",
    "insertion": "place in the function",
}


class Frame:
    """One open scope.

    Attributes:
        kind: `"function"`, `"dataflow"`, `"branch"`, `"scope"` or `"insertion"`.
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
    """

    __slots__ = (
        "blocks", "builder", "finished", "ip", "kind", "late", "name", "names", "op", "open",
        "outputs", "params", "place",
    )  # fmt: skip

    def __init__(
        self, builder: Any, kind: str, blocks: list[ir.Block], ip: ir.InsertionPoint,
        names: Names, op: ir.Operation | None = None, name: str = "",
    ) -> None:  # fmt: skip
        self.builder, self.kind, self.blocks, self.ip = builder, kind, blocks, ip
        self.names, self.op, self.name = names, op, name
        self.open = True
        self.finished = False
        self.params: list[Var] | None = None
        self.late: list[Var] = []
        self.outputs: list[Var] = []
        self.place: ir.Location | None = None

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
        raise BuilderError(f"'{var.name_hint}' belongs to another BlockBuilder")
    if value.context != builder.context:
        raise BuilderError(f"'{var.name_hint}' belongs to a module of another MLIR context")
    # What a function under change looked like is not what is written into.
    found: ir.Value | None = value if builder._moved is None else builder._moved.get(value, value)
    while found is not None:
        block = home(found)
        if any(block in each.blocks for each in builder._frames):
            return found
        found = escaped(found)
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
