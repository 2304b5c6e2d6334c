"""Comparison and hashing of modules: pairing of functions."""

import hashlib
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.ir.structural.attributes import Parts
from relax_mlir.ir.structural.diff import Differ
from relax_mlir.ir.structural.digest import Digester
from relax_mlir.ir.structural.mismatch import Difference, Names
from relax_mlir.ir.structural.path import words
from relax_mlir.ir.structural.walk import functions_around, is_private, symbol_name, top_level


def compare_operations(lhs: ir.Operation, rhs: ir.Operation, map_free: bool) -> None:
    """Compare two operations, and the private functions that they call.

    Raises:
        Difference: they differ.
    """
    names = Names(functions_around(lhs), functions_around(rhs))
    mine, theirs = symbol_name(lhs), symbol_name(rhs)
    if mine is not None and theirs is not None:
        names.bind(mine, theirs)
    texts: dict[Any, Parts] = {}
    Differ(names, map_free, texts).compare(lhs, rhs)
    _compare_pending(names, texts)


def _compare_pending(names: Names, texts: dict[Any, Parts]) -> None:
    """Compare the functions that are called, and those that they call."""
    while names.pending:
        mine, theirs = names.pending.pop()
        left, right = names.left[mine], names.right[theirs]
        if left != right:
            Differ(names, False, texts).compare(left, right)


def compare_modules(lhs: ir.Operation, rhs: ir.Operation) -> None:
    """Compare two modules: public functions by name, private ones by what refers to them.

    Raises:
        Difference: they differ.
    """
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
            names.pending.append((name, name))
    for name, op in names.right.items():
        if not is_private(op) and name not in names.to_left:
            what = f"public function '{name}'"
            raise Difference(lhs, rhs, what, "none of that name", words(op))
    names.pending.reverse()
    _compare_pending(names, texts)
    _pair_unused(lhs, rhs, names, texts)
    _compare_others(lhs, rhs, names, texts)


def _pair_unused(
    lhs: ir.Operation, rhs: ir.Operation, names: Names, texts: dict[Any, Parts]
) -> None:
    """Find a counterpart for each private function that no public one reaches."""
    waiting: dict[bytes, list[str]] = {}
    for name, op in names.right.items():
        if name not in names.to_left:
            waiting.setdefault(function_digest(op, False), []).append(name)
    for name, op in names.left.items():
        if name in names.to_right:
            continue
        for other in waiting.get(function_digest(op, False), []):
            if other in names.to_left:
                continue
            trial = names.trial()
            trial.bind(name, other)
            try:
                Differ(trial, False, texts).compare(op, names.right[other])
                _compare_pending(trial, texts)
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


def module_digest(module: ir.Operation) -> bytes:
    """Return the hash of a module."""
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


def function_digest(op: ir.Operation, map_free: bool) -> bytes:
    """Return the hash of an operation; a private function that it calls counts as one."""
    functions, own = functions_around(op), symbol_name(op)

    def callee(name: str) -> str:
        return "itself" if name == own else _kind(functions, name)

    return Digester(callee, map_free).digest(op)


def _kind(functions: dict[str, ir.Operation], name: str) -> str:
    return "private" if name in functions and is_private(functions[name]) else f"@{name}"
