"""Checks of rewrites that MLIR's greedy driver does not make itself."""

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.pass_infra.execution.erase_guard import around, check_unused

_KINDS = {
    "!pdl.value": (ir.Value, "a value"),
    "!pdl.operation": (ir.Operation, "an operation"),
    "!pdl.type": (ir.Type, "a type"),
    "!pdl.attribute": (ir.Attribute, "an attribute"),
}


class Rewriter:
    """MLIR's rewriter as a Python rewrite gets it: a step that leaves broken IR is an error.

    Attributes:
        ip: where new operations go.
        root_is_gone: whether the operation that matched was erased or replaced.
        root: the operation that matched.
    """

    def __init__(self, rewriter: Any, root: ir.Operation, keeps_root: bool = False) -> None:
        self._rewriter = rewriter
        self._keeps_root = keeps_root
        self.root = root
        self.root_is_gone = False

    @property
    def ip(self) -> ir.InsertionPoint:
        """The place in front of the operation that matched."""
        return self._rewriter.ip

    def erase_op(self, op: Any) -> None:
        """Erase an operation.

        Raises:
            ValueError: it was erased before, something uses its results, or it holds the
                operation that matched.
        """
        op = self._alive(op)
        check_unused(op)
        if not self.root_is_gone and any(outer == op for outer in list(around(self.root))[1:]):
            raise ValueError(f"'{op.name}' cannot be erased: the operation that matched is in it")
        self._leave(op)
        self._rewriter.erase_op(op)
        # From here on its Python object says that it is gone, instead of reading freed memory.
        op._set_invalid()

    def replace_op(self, op: Any, new: Any) -> None:
        """Replace an operation with a value, values, or another operation's results.

        Raises:
            TypeError: something else than values is given.
            ValueError: the operation was erased before, or `new` cannot stand in its place.
        """
        op = self._alive(op)
        values = replacement(op, new)
        self._leave(op)
        self._rewriter.replace_op(op, values)
        op._set_invalid()

    def _alive(self, op: Any) -> ir.Operation:
        try:
            op = op.operation
            _ = op.attached
        except RuntimeError:
            raise ValueError("the operation is already erased or replaced") from None
        if self.root_is_gone:
            return op
        if self._keeps_root and op == self.root:
            raise ValueError("the PDL itself replaces or erases the operation")
        return op

    def _leave(self, op: ir.Operation) -> None:
        self.root_is_gone: bool = self.root_is_gone or op == self.root


def replacement(op: ir.Operation, new: Any) -> list[ir.Value]:
    """Return the values that replace the results of `op`.

    Raises:
        TypeError: something else than values is given.
        ValueError: there are too few or too many, or one is not defined in front of `op`.
    """
    if isinstance(new, (ir.OpView, ir.Operation)):
        if new.operation == op:
            raise ValueError("the replacement is the operation itself")
        values = list(new.operation.results)
    else:
        values = list(new) if isinstance(new, (list, tuple)) else [new]
    for value in values:
        if not isinstance(value, ir.Value):
            raise TypeError(f"{value!r} cannot replace a result: it is no value")
    if len(values) != len(op.results):
        raise ValueError(f"{len(values)} values for {len(op.results)} results")
    for value in values:
        check_in_front(value, op)
    return values


def check_in_front(value: ir.Value, op: ir.Operation) -> None:
    """Raise ValueError unless `value` can be used where `op` is."""
    if isinstance(value.owner, ir.Block):
        home, owner = value.owner, None
    else:
        owner = value.owner.operation
        if owner == op:
            raise ValueError("the replacement is the operation's own result")
        if not owner.attached or owner.parent is None:
            raise ValueError(f"the replacement's '{owner.name}' is in no block")
        home = owner.block
    while op is not None and op.attached and op.parent is not None:
        if op.block == home:
            if owner is None or (owner != op and owner.is_before_in_block(op)):
                return
            break
        # Between the blocks of one region the verifier decides, which knows the control flow.
        if op.block.region == home.region:
            return
        op = op.parent.operation
    raise ValueError("the replacement is not defined in front of the operation")


@dataclass(frozen=True)
class NativeCall:
    """One place of the PDL that calls Python.

    Attributes:
        name: the function's name in the PDL.
        symbol: the name it has for MLIR, one for each place as results differ between places.
        kinds: the PDL types of the results.
        replaces: which results replace the operation that matched.
        keeps_root: whether the PDL still needs that operation, to replace or erase it.
    """

    name: str
    symbol: str
    kinds: tuple[str, ...]
    replaces: tuple[bool, ...]
    keeps_root: bool

    def results(self, made: Any, rewriter: Rewriter) -> list[Any]:
        """Return what the function made as the values that the PDL takes.

        Raises:
            TypeError: a result is not of the PDL's kind.
            ValueError: there are too few or too many, or one cannot replace what matched.
        """
        if made is None:
            given = []
        else:
            several = isinstance(made, (list, tuple)) and len(self.kinds) != 1
            given = list(made) if several else [made]
        if len(given) != len(self.kinds):
            raise ValueError(f"{len(given)} results where the PDL takes {len(self.kinds)}")
        given: list[Any] = [getattr(each, "operation", each) for each in given]
        for each, kind, replaces in zip(given, self.kinds, self.replaces, strict=True):
            wanted, words = _KINDS[kind]
            if not isinstance(each, wanted):
                raise TypeError(f"{each!r} where the PDL takes {words}")
            if replaces and kind == "!pdl.operation":
                replacement(rewriter.root, each)
            elif replaces:
                check_in_front(each, rewriter.root)
        return given

    def dummies(self, types: Sequence[ir.Type]) -> list[Any]:
        """Return results to go on with after an error, as MLIR ends the process on a failure.

        Args:
            types: the types of the results of the operation that matched.
        """
        made = []
        for kind in self.kinds:
            if kind == "!pdl.type":
                made.append(ir.NoneType.get())
            elif kind == "!pdl.attribute":
                made.append(ir.UnitAttr.get())
            else:
                op = ir.Operation.create(
                    "builtin.unrealized_conversion_cast", results=list(types) or [ir.NoneType.get()]
                )
                made.append(op.results[0] if kind == "!pdl.value" else op)
        return made


def native_calls(
    patterns: ir.Module, constraints: Collection[str], rewrites: Collection[str]
) -> tuple[list[NativeCall], list[NativeCall]]:
    """Return the places that call constraints and rewrites, and name each place on its own.

    Raises:
        ValueError: there is no pattern, an operation does not exist, a function was not given, or
            gives what Python cannot.
    """
    calls: dict[str, list[NativeCall]] = {"constraint": [], "rewrite": []}
    given = {"constraint": constraints, "rewrite": rewrites}
    count = 0

    def visit(op: ir.Operation) -> None:
        nonlocal count
        count += op.name == "pdl.pattern"
        if op.name == "pdl.operation" and "opName" in op.attributes:
            check_operation(op.attributes["opName"].value, patterns.context)
        if op.name == "pdl.apply_native_constraint":
            what = "constraint"
        elif op.name in ("pdl.apply_native_rewrite", "pdl.rewrite") and "name" in op.attributes:
            what = "rewrite"
        else:
            return
        name = op.attributes["name"].value
        if name not in given[what]:
            raise ValueError(f"the patterns name the {what} '{name}', which was not passed")
        kinds = tuple(str(value.type) for value in op.results)
        if (what == "constraint" and kinds) or any(kind not in _KINDS for kind in kinds):
            raise ValueError(f"the {what} '{name}' gives {', '.join(kinds)}: not supported")
        replaces = tuple(
            any(use.owner.operation.name == "pdl.replace" for use in value.uses)
            for value in op.results
        )
        # A pdl.rewrite done by Python has no steps after it.
        steps = op.block.operations if op.name == "pdl.apply_native_rewrite" else ()
        keeps = any(each.operation.name in ("pdl.replace", "pdl.erase") for each in steps)
        symbol = f"{name}@{len(calls[what])}"
        calls[what].append(NativeCall(name, symbol, kinds, replaces, keeps))
        op.attributes["name"] = ir.StringAttr.get(symbol, patterns.context)

    for op in _all(patterns.operation):
        visit(op)
    if not count:
        raise ValueError("the text has no pdl.pattern")
    return calls["constraint"], calls["rewrite"]


def check_operation(name: str, context: ir.Context) -> None:
    """Raise ValueError unless an operation of that name exists in the context."""
    dialect, dot, rest = name.partition(".")
    known = False
    if dialect and dot and rest:
        # A dialect registers its operations only when it is loaded.
        with contextlib.suppress(IndexError, KeyError, AttributeError, ValueError):
            _ = context.dialects[dialect]
        known = context.is_registered_operation(name) or context.allow_unregistered_dialects
    if not known:
        raise ValueError(f"no operation is named '{name}'")


def _all(op: ir.Operation) -> list[ir.Operation]:
    inner = [op]
    for region in op.regions:
        for block in region.blocks:
            for each in block.operations:
                inner += _all(each.operation)
    return inner
