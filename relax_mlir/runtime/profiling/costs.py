"""Cost of a kernel call: the compiler's symbolic estimates, evaluated for its shapes.

The executable's metadata has them under `kernels`, by name: `params` (the shapes of its tensors as
expressions), `ints` (its integer parameters after those), `flops` and `bytes` (expressions), and
`parts` (the kernels that one native function was made of).
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.USub)
_FUNCTIONS: dict[str, Any] = {"max": max, "min": min}
_MAX_TEXT = 10_000


class Cost(NamedTuple):
    """An estimate for one call; None is unknown.

    Attributes:
        flops: arithmetic on floating-point numbers, a transcendental function counted as one.
        bytes: the sizes of all tensors it is given, each once.
    """

    flops: int | None
    bytes: int | None


def expression(text: Any) -> Callable[[Mapping[str, int]], int | None]:
    """Return a function that evaluates an expression over integers, None where it cannot."""
    if isinstance(text, int) and not isinstance(text, bool):
        return lambda _: text
    tree = allowed_tree(text)
    try:
        code = None if tree is None else compile(tree, "<cost>", "eval")
    except (ValueError, RecursionError, MemoryError):
        code = None
    if code is None:
        return lambda _: None

    def evaluate(values: Mapping[str, int]) -> int | None:
        try:
            result = eval(code, {"__builtins__": {}, **_FUNCTIONS}, dict(values))
        except (ArithmeticError, NameError, TypeError):
            return None
        return result if isinstance(result, int) else None

    return evaluate


def allowed_tree(text: Any) -> ast.Expression | None:
    """Return an expression over integers that is text, None where it is something else.

    Only integers, names, `+ - * // %`, `max` and `min` are known: the text is from a file.
    """
    try:
        if not isinstance(text, str) or len(text) > _MAX_TEXT:
            return None
        tree = ast.parse(text, mode="eval")
        return tree if all(_allowed(node) for node in ast.walk(tree)) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        return known and not node.keywords
    kinds = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Load, *_OPERATORS)
    return isinstance(node, kinds)


def takes_views(metadata: Mapping[str, Any], name: str) -> bool:
    """Whether a kernel declares strides, and so checks those of its arguments."""
    table = metadata.get("kernels")
    entry = table.get(name) if isinstance(table, dict) else None
    return isinstance(entry, dict) and entry.get("strided") is True


def written_tensors(metadata: Mapping[str, Any], name: str) -> frozenset[int]:
    """Return which of a kernel's tensors it is known to write, counted without its numbers."""
    table = metadata.get("kernels")
    entry = table.get(name) if isinstance(table, dict) else None
    writes = entry.get("writes") if isinstance(entry, dict) else None
    return (
        frozenset(i for i in writes if type(i) is int) if isinstance(writes, list) else frozenset()
    )


class KernelCosts:
    """The estimates of an executable's kernels.

    Attributes:
        names: the kernels that there are estimates for.
    """

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        table = metadata.get("kernels")
        self._table: dict[str, Any] = table if isinstance(table, dict) else {}
        self._compiled: dict[str, Any] = {}
        self.names: frozenset[str] = frozenset(
            n for n, entry in self._table.items() if isinstance(entry, dict)
        )

    def parts(self, name: str) -> list[str]:
        """Return the kernels that a native function was made of, in order; empty for one."""
        parts = self._table[name].get("parts") if name in self.names else None
        return [str(part) for part in parts] if isinstance(parts, list) else []

    def of(self, name: str, shapes: Sequence[Any]) -> Cost:
        """Return the estimate for a call.

        Args:
            name: the kernel.
            shapes: for each argument its shape, or the integer itself.
        """
        if name not in self.names:
            return Cost(None, None)
        if name not in self._compiled:
            entry = self._table[name]
            self._compiled[name] = (expression(entry.get("flops")), expression(entry.get("bytes")))
        values = self._symbols(self._table[name], shapes)
        flops, size = self._compiled[name]
        return Cost(flops(values), size(values))

    @staticmethod
    def _symbols(entry: Mapping[str, Any], shapes: Sequence[Any]) -> dict[str, int]:
        params, ints = entry.get("params"), entry.get("ints")
        declared = [*(params if isinstance(params, list) else ())]
        declared += ints if isinstance(ints, list) else []
        values: dict[str, int] = {}
        for want, got in zip(declared, shapes, strict=False):
            names = want if isinstance(want, list) else [want]
            sizes = got if isinstance(got, (tuple, list)) else [got]
            for name, size in zip(names, sizes, strict=False):
                if isinstance(name, str) and name.isidentifier() and type(size) is int:
                    values.setdefault(name, size)
        return values
