"""Whether two programs are the same but for names (`structural_equal`), and where they differ."""

import hashlib
from typing import Any, NamedTuple

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.errors import StructuralEqualError
from relax_mlir.ir.structural_diff import Difference, Differ, Names
from relax_mlir.ir.structural_digest import Digester
from relax_mlir.ir.structural_path import both_words, path_of, words
from relax_mlir.ir.structural_symbols import Renaming
from relax_mlir.ir.structural_text import Parts, parts_of
from relax_mlir.ir.structural_walk import functions_around, is_private, symbol_name, top_level


class Mismatch(NamedTuple):
    """The first difference of two programs.

    Attributes:
        path: where in the first, such as `function 'main', binding 3 'lv2' (relax.add)`.
        path_right: where in the second.
        what: which part differs, such as `result type`.
        got: that part of the first.
        expected: that part of the second.
    """

    path: str
    path_right: str
    what: str
    got: str
    expected: str

    def __str__(self) -> str:
        other = "" if self.path == self.path_right else f"\n  there: {self.path_right}"
        return f"{self.path}: {self.what}: expected {self.expected}, got {self.got}{other}"


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two programs, functions, operations or types are the same but for names.

    Names of variables, loop variables, buffers, symbols of shapes and private functions do not
    count, nor do locations, the order of functions, and where constants and shapes are written.
    Constants count by their bytes. Linear in the size of the program.

    Args:
        lhs: IRModule, function, operation, type, attribute or symbolic expression.
        rhs: the other.
        map_free_vars: whether values and symbols that neither defines may have different names.

    Raises:
        TypeError: one of them is none of these.
    """
    return get_first_structural_mismatch(lhs, rhs, map_free_vars) is None


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
        raise StructuralEqualError(
            f"not structurally equal\n{mismatch}", path=mismatch.path
        )


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> Mismatch | None:
    """Return where two programs differ first, None when they are structurally equal.

    Raises:
        TypeError: one of them is nothing that can be compared.
    """
    try:
        _compare(unwrap(lhs), unwrap(rhs), map_free_vars)
    except Difference as found:
        return _mismatch(found)
    return None


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """Return a hash of 64 bits that structurally equal things share, in every process.

    Raises:
        TypeError: it is nothing that can be compared.
    """
    node = unwrap(node)
    if isinstance(node, ir.Operation):
        data = (
            _module_digest(node)
            if node.name == "builtin.module"
            else _function_digest(node, map_free_vars)
        )
    else:
        data = _thing_digest(node, map_free_vars)
    return int.from_bytes(data[:8], "little")


def unwrap(node: Any) -> "ir.Operation | ir.Type | ir.Attribute | SymExpr":
    """Return what a program, a view or an operation is to MLIR.

    Raises:
        TypeError: it is nothing of MLIR's.
    """
    if isinstance(node, (ir.Operation, ir.Type, ir.Attribute, SymExpr)):
        return node
    if isinstance(node, int) and not isinstance(node, bool):
        return SymExpr.const(node)
    module = getattr(node, "mlir_module", None)
    operation = getattr(node if module is None else module, "operation", None)
    if not isinstance(operation, ir.Operation):
        raise TypeError(
            "can compare IRModule, functions, operations, types, attributes and symbolic "
            f"expressions, not {type(node).__name__}"
        )
    return operation


def _compare(lhs: Any, rhs: Any, map_free: bool) -> None:
    if isinstance(lhs, ir.Operation) and isinstance(rhs, ir.Operation):
        if lhs == rhs:
            return
        if lhs.name == "builtin.module" == rhs.name:
            _compare_modules(lhs, rhs)
        else:
            _compare_operations(lhs, rhs, map_free)
        return
    if isinstance(lhs, (ir.Operation, SymExpr)) or isinstance(rhs, (ir.Operation, SymExpr)):
        if not isinstance(lhs, SymExpr) or not isinstance(rhs, SymExpr):
            raise Difference(None, None, "kind", type(lhs).__name__, type(rhs).__name__)
        mine, theirs = Parts("", (lhs,)), Parts("", (rhs,))
    else:
        mine, theirs = parts_of(lhs), parts_of(rhs)
    symbols = Renaming(fixed=not map_free)
    symbols.open()
    equal = mine.skeleton == theirs.skeleton and all(
        symbols.match(a, b, (None, None, "dimension"))
        for a, b in zip(mine.dims, theirs.dims, strict=True)
    )
    if not equal or symbols.close()[1] is not None:
        raise Difference(None, None, "itself", lhs, rhs)


def _compare_operations(lhs: ir.Operation, rhs: ir.Operation, map_free: bool) -> None:
    names = Names(functions_around(lhs), functions_around(rhs))
    mine, theirs = symbol_name(lhs), symbol_name(rhs)
    if mine is not None and theirs is not None:
        names.bind(mine, theirs)
    texts: dict[Any, Parts] = {}
    Differ(names, map_free, texts).compare(lhs, rhs)
    _compare_found(names, texts)


def _compare_found(names: Names, texts: dict[Any, Parts]) -> None:
    """Compare the functions that are called, and those that they call."""
    while names.found:
        mine, theirs = names.found.pop()
        left, right = names.left[mine], names.right[theirs]
        if left != right:
            Differ(names, False, texts).compare(left, right)


def _compare_modules(lhs: ir.Operation, rhs: ir.Operation) -> None:
    names = Names(functions_around(lhs), functions_around(rhs))
    texts: dict[Any, Parts] = {}
    attributes = [{n: str(a) for n, a in each.attributes.items()} for each in (lhs, rhs)]
    for each in attributes:
        each.pop("sym_name", None)
    if attributes[0] != attributes[1]:
        raise Difference(lhs, rhs, "attributes", *attributes)
    for name, op in names.left.items():
        if not is_private(op):
            other = names.right.get(name)
            if other is None or is_private(other):
                what = f"public function '{name}'"
                raise Difference(lhs, rhs, what, words(op), "none of that name")
            names.bind(name, name)
            names.found.append((name, name))
    for name, op in names.right.items():
        if not is_private(op) and name not in names.to_left:
            what = f"public function '{name}'"
            raise Difference(lhs, rhs, what, "none of that name", words(op))
    names.found.reverse()
    _compare_found(names, texts)
    _pair_unused(lhs, rhs, names, texts)
    _compare_others(lhs, rhs, names, texts)


def _pair_unused(
    lhs: ir.Operation, rhs: ir.Operation, names: Names, texts: dict[Any, Parts]
) -> None:
    """Find a counterpart for each private function that no public one reaches."""
    waiting: dict[bytes, list[str]] = {}
    for name, op in names.right.items():
        if name not in names.to_left:
            waiting.setdefault(_function_digest(op, False), []).append(name)
    for name, op in names.left.items():
        if name in names.to_right:
            continue
        for other in waiting.get(_function_digest(op, False), []):
            if other in names.to_left:
                continue
            trial = names.trial()
            trial.bind(name, other)
            try:
                Differ(trial, False, texts).compare(op, names.right[other])
                _compare_found(trial, texts)
            except Difference:
                continue
            names.to_right, names.to_left = trial.to_right, trial.to_left
            break
        else:
            raise Difference(
                lhs, rhs, f"private function '{name}', which nothing public reaches",
                words(op), "none like it",
            )  # fmt: skip
    for name, op in names.right.items():
        if name not in names.to_left:
            what = f"private function '{name}', which nothing public reaches"
            raise Difference(lhs, rhs, what, "none like it", words(op))


def _compare_others(
    lhs: ir.Operation, rhs: ir.Operation, names: Names, texts: dict[Any, Parts]
) -> None:
    mine, theirs = (
        [op for op in top_level(each) if symbol_name(op) is None] for each in (lhs, rhs)
    )
    if len(mine) != len(theirs):
        what = "number of operations that are no functions"
        raise Difference(lhs, rhs, what, len(mine), len(theirs))
    for left, right in zip(mine, theirs, strict=True):
        Differ(names, True, texts).compare(left, right)


def _module_digest(module: ir.Operation) -> bytes:
    texts: dict[Any, Parts] = {}
    functions = functions_around(module)
    private = {
        name: Digester(lambda name: _kind(functions, name), texts=texts).digest(op).hex()
        for name, op in functions.items()
        if is_private(op)
    }

    def callee(name: str) -> str:
        return private.get(name) or f"@{name}"

    public = sorted(
        (name, Digester(callee, texts=texts).digest(op).hex())
        for name, op in functions.items()
        if name not in private
    )
    others = [
        Digester(callee, map_free=True, texts=texts).digest(op).hex()
        for op in top_level(module)
        if symbol_name(op) is None
    ]
    attributes = sorted(
        (name, str(value)) for name, value in module.attributes.items() if name != "sym_name"
    )
    everything = repr((attributes, public, sorted(private.values()), others))
    return hashlib.blake2b(everything.encode(), digest_size=16).digest()


def _function_digest(op: ir.Operation, map_free: bool) -> bytes:
    functions, own = functions_around(op), symbol_name(op)

    def callee(name: str) -> str:
        return "itself" if name == own else _kind(functions, name)

    return Digester(callee, map_free).digest(op)


def _kind(functions: dict[str, ir.Operation], name: str) -> str:
    return "private" if name in functions and is_private(functions[name]) else f"@{name}"


def _thing_digest(node: Any, map_free: bool) -> bytes:
    parts = Parts("", (node,)) if isinstance(node, SymExpr) else parts_of(node)
    texts = {"thing": parts}
    return hashlib.blake2b(
        Digester(str, map_free, texts).describe("thing").encode(), digest_size=16
    ).digest()


def _mismatch(found: Difference) -> Mismatch:
    sides = ["value" if op is None else path_of(op) for op in (found.left, found.right)]
    return Mismatch(*sides, found.what, *both_words(found.got, found.expected))
