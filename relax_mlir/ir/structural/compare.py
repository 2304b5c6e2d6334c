"""`structural_equal`, and the path of the first difference."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import StructuralEqualError
from relax_mlir.extension_points import extension
from relax_mlir.ir.single_function import is_function, single
from relax_mlir.ir.structural.attributes import Parts, parts_of
from relax_mlir.ir.structural.digest import Digester
from relax_mlir.ir.structural.mismatch import Difference
from relax_mlir.ir.structural.modules import (
    compare_modules,
    compare_operations,
    function_digest,
    module_digest,
)
from relax_mlir.ir.structural.path import both_words, path_of
from relax_mlir.ir.structural.symbols import Renaming
from relax_mlir.ir.structural.walk import symbol_name

# What attributes hold other than nodes.
_PLAIN = (str, float, bool, type(None))


class Mismatch(NamedTuple):
    """The first difference of two programs.

    Attributes:
        path: where in the first, such as `function 'main', binding 3 'lv2' (relax.add)`.
        path_right: where in the second.
        what: which part differs, such as `result type`.
        got: that part of the first.
        expected: that part of the second.
        access_path: how Python reaches it in the first, `<root>.body.blocks[0].bindings[3].value`;
            empty where no expression of a Relax function differs.
    """

    path: str
    path_right: str
    what: str
    got: str
    expected: str
    access_path: str = ""

    def __str__(self) -> str:
        other = "" if self.path == self.path_right else f"\n  there: {self.path_right}"
        access = f"\n  access path: {self.access_path}" if self.access_path else ""
        return f"{self.path}: {self.what}: expected {self.expected}, got {self.got}{other}{access}"


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two programs, functions, operations or types are the same but for names.

    Names of variables, loop variables, buffers, symbols of shapes and private functions do not
    count, nor do locations, the order of functions, and where constants and shapes are written.
    Constants count by their bytes. A function and a module of it alone are the same. Linear in the
    size of the program.

    Args:
        lhs: IRModule, function, operation, type, attribute or symbolic expression, or a list or
            tuple of these: a symbol is renamed in the same way in all of its items.
        rhs: the other.
        map_free_vars: whether values and symbols that neither defines may have different names.

    Raises:
        TypeError: one of them is none of these.
    """
    try:
        _compare(lhs, rhs, map_free_vars)
    except Difference:
        return False
    return True


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise where `structural_equal` says no.

    Args:
        lhs: what there is.
        rhs: what is expected.
        map_free_vars: as for `structural_equal`.

    Raises:
        StructuralEqualError: they differ; says where first, and both sides.
        TypeError: one of them is nothing that can be compared.
    """
    mismatch = get_first_structural_mismatch(lhs, rhs, map_free_vars)
    if mismatch is not None:
        raise StructuralEqualError(f"not structurally equal\n{mismatch}", path=mismatch.path)


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> Mismatch | None:
    """Return where two programs differ first, None when they are structurally equal.

    Raises:
        TypeError: one of them is nothing that can be compared.
    """
    try:
        _compare(lhs, rhs, map_free_vars)
    except Difference as diff:
        return _mismatch(diff, in_module=hasattr(lhs, "mlir_module"))
    return None


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """Return a hash of 64 bits that structurally equal things share, in every process.

    Raises:
        TypeError: it is nothing that can be compared.
    """
    return int.from_bytes(_digest(node, map_free_vars)[:8], "little")


def _digest(node: Any, map_free: bool) -> bytes:
    if isinstance(node, (list, tuple)):
        items = b"".join(_digest(item, map_free) for item in node)
        return hashlib.blake2b(b"sequence" + items, digest_size=16).digest()
    if isinstance(node, extension("ir.Binding")):
        return _digest([node.value, *([node.ty] if hasattr(node, "ty") else [])], map_free)
    held: list[Any] = []
    node = unwrap(node, held)
    if isinstance(node, ir.Operation):
        return (
            module_digest(node)
            if node.name == "builtin.module"
            else function_digest(node, map_free)
        )
    return _thing_digest(node, map_free)


def unwrap(node: Any, held: list[Any]) -> "ir.Operation | ir.Type | ir.Attribute | SymExpr":
    """Return what a program, a view or an operation is to MLIR.

    Args:
        node: the program.
        held: gets what keeps the result alive; an expression is emitted to a module of its own.

    Raises:
        TypeError: it is nothing of MLIR's.
    """
    if isinstance(node, (ir.Operation, ir.Type, ir.Attribute, SymExpr)):
        return node
    if isinstance(node, int) and not isinstance(node, bool):
        return SymExpr.const(node)
    if "script_path" in getattr(node, "__dict__", ()):
        # R.Tensor((4,), "float32") outside of a script.
        node = extension("ir.as_type")(node)
    as_size = getattr(node, "as_size", None)
    size = getattr(node, "sym", None) if as_size is None else as_size()
    if isinstance(size, SymExpr):
        return size
    to_mlir: Any = getattr(node, "to_mlir", None)
    if to_mlir is not None:
        with default_context(), ir.Location.unknown():
            return to_mlir()
    if is_function(node):
        return single(node)
    if isinstance(node, extension("ir.Expr")) and getattr(node, "mlir_op", None) is None:
        held.append(extension("ir.function_of_expression")(node))
        return single(held[-1])
    mlir = getattr(node, "mlir_module", None)
    if mlir is None:
        mlir = getattr(node, "mlir_op", None)
    operation = getattr(node if mlir is None else mlir, "operation", None)
    if not isinstance(operation, ir.Operation):
        raise TypeError(
            "can compare IRModule, functions, operations, types, attributes and symbolic "
            f"expressions, not {type(node).__name__}"
        )
    return operation


def _compare(lhs: Any, rhs: Any, map_free: bool) -> None:
    if lhs is rhs:
        return
    symbols = Renaming(fixed=not map_free)
    symbols.open()
    _compare_nodes(lhs, rhs, symbols, map_free, "itself")
    if symbols.close()[1] is not None:
        raise Difference(None, None, "itself", lhs, rhs)


def _compare_values(lhs: Any, rhs: Any, symbols: Renaming, map_free: bool, what: str) -> bool:
    """Compare scalar expressions, arrays, and what attributes hold; returns whether they are."""
    left, right = _scalar(lhs), _scalar(rhs)
    if left is not None and right is not None:
        equal = left[0] == right[0]
        if equal:
            _compare_nodes(left[1], right[1], symbols, map_free, what)
    elif isinstance(lhs, _PLAIN) and isinstance(rhs, _PLAIN):
        equal = lhs == rhs
    elif hasattr(lhs, "__array__") and hasattr(rhs, "__array__"):
        mine, theirs = np.asarray(lhs), np.asarray(rhs)
        equal = mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
    else:
        return False
    if not equal:
        raise Difference(None, None, what, lhs, rhs)
    return True


def _scalar(node: Any) -> tuple[Any, list[Any]] | None:
    """Return the kind and parts of a scalar expression of `tir` that is no symbolic integer."""
    # Markers of scripts have any attribute.
    node = node.sym if hasattr(type(node), "sym") else node
    if not hasattr(type(node), "operands") or not hasattr(type(node), "as_size"):
        return None
    if node.dtype == "int64" and node.as_size() is not None:
        return None
    kind = (type(node).__name__, node.dtype, getattr(node, "value", None))
    return kind, list(node.operands)


def _items(mapping: Any) -> list[list[Any]]:
    return sorted(([key, value] for key, value in mapping.items()), key=lambda item: str(item[0]))


def _compare_nodes(lhs: Any, rhs: Any, symbols: Renaming, map_free: bool, what: str) -> None:
    if isinstance(lhs, Mapping) and isinstance(rhs, Mapping):
        _compare_nodes(_items(lhs), _items(rhs), symbols, map_free, what)
        return
    if _compare_values(lhs, rhs, symbols, map_free, what):
        return
    if any(isinstance(side, extension("ir.Binding")) for side in (lhs, rhs)):
        if type(lhs) is not type(rhs):
            raise Difference(None, None, "kind", type(lhs).__name__, type(rhs).__name__)
        # The variable has its type of them, and a name.
        for part in ("value", "ty"):
            mine, theirs = getattr(lhs, part, None), getattr(rhs, part, None)
            _compare_nodes(mine, theirs, symbols, map_free, part)
        return
    sequences = [isinstance(side, (list, tuple)) for side in (lhs, rhs)]
    if all(sequences):
        if len(lhs) != len(rhs):
            raise Difference(None, None, "number of items", len(lhs), len(rhs))
        for i, (mine, theirs) in enumerate(zip(lhs, rhs, strict=True)):
            _compare_nodes(mine, theirs, symbols, map_free, f"item {i}")
        return
    if any(sequences):
        raise Difference(None, None, "kind", type(lhs).__name__, type(rhs).__name__)
    expressions = all(isinstance(side, extension("ir.Expr")) for side in (lhs, rhs))
    # Of expressions, `==` is identity.
    if expressions and lhs == rhs:
        return
    if not map_free and expressions:
        left, right = (extension("ir.free_vars")(side) for side in (lhs, rhs))
        if left != right:
            raise Difference(None, None, "free variables", left, right)
    held: list[Any] = []
    lhs, rhs = unwrap(lhs, held), unwrap(rhs, held)
    if isinstance(lhs, ir.Operation) and isinstance(rhs, ir.Operation):
        if lhs == rhs:
            return
        if lhs.name != rhs.name:
            lhs, rhs = _only_function(lhs), _only_function(rhs)
        if lhs.name == "builtin.module" == rhs.name:
            compare_modules(lhs, rhs)
        else:
            compare_operations(lhs, rhs, map_free)
        return
    if isinstance(lhs, (ir.Operation, SymExpr)) or isinstance(rhs, (ir.Operation, SymExpr)):
        if not isinstance(lhs, SymExpr) or not isinstance(rhs, SymExpr):
            raise Difference(None, None, "kind", type(lhs).__name__, type(rhs).__name__)
        left, right = Parts("", (lhs,)), Parts("", (rhs,))
    else:
        left, right = parts_of(lhs), parts_of(rhs)
    if left.skeleton != right.skeleton or not all(
        symbols.match(a, b, (None, None, "dimension"))
        for a, b in zip(left.dims, right.dims, strict=True)
    ):
        raise Difference(None, None, what, lhs, rhs)


def _only_function(operation: ir.Operation) -> ir.Operation:
    """Return the function that is alone in a module; any other operation as it is."""
    if operation.name != "builtin.module":
        return operation
    inner = [view.operation for view in operation.regions[0].blocks[0].operations]
    return inner[0] if len(inner) == 1 else operation


def _thing_digest(node: Any, map_free: bool) -> bytes:
    parts = Parts("", (node,)) if isinstance(node, SymExpr) else parts_of(node)
    texts = {"thing": parts}
    return hashlib.blake2b(
        Digester(str, map_free, texts).describe("thing").encode(), digest_size=16
    ).digest()


def _mismatch(diff: Difference, in_module: bool) -> Mismatch:
    sides = ["value" if op is None else path_of(op) for op in (diff.left, diff.right)]
    got, expected = both_words(diff.got, diff.expected)
    path = _access_path(diff.left, diff.what, in_module)
    return Mismatch(sides[0], sides[1], diff.what, got, expected, path)


def _access_path(op: ir.Operation | None, what: str, in_module: bool) -> str:
    func = op
    while func is not None and func.name != "func.func":
        func = func.parent.operation if func.attached and func.parent is not None else None
    if op is None or func is None or "relax.function" not in func.attributes:
        return ""
    path = extension("ir.access_path")(op, what)
    root = f'<root>["{symbol_name(func)}"]' if in_module else "<root>"
    return f"{root}{path}" if path else ""
