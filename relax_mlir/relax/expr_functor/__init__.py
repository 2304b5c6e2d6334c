"""Visitors and mutators of Relax programs, as TVM's people write them (R19)."""

from typing import TypeVar

from relax_mlir.relax.expr_functor.dataflow_mutator import DataflowMutator
from relax_mlir.relax.expr_functor.mutator import PyExprMutator
from relax_mlir.relax.expr_functor.rewrite import BindingRewriter, DataflowBlockRewrite
from relax_mlir.relax.expr_functor.visitor import PyExprVisitor

ExprVisitor = PyExprVisitor
ExprMutator = PyExprMutator

_Class = TypeVar("_Class", bound=type)


def visitor(cls: _Class) -> _Class:
    """Mark a class as a visitor: `@relax.expr_functor.visitor`; it derives from PyExprVisitor.

    Raises:
        TypeError: it does not.
    """
    return _checked(cls, PyExprVisitor)


def mutator(cls: _Class) -> _Class:
    """Mark a class as a mutator: `@relax.expr_functor.mutator`; it derives from PyExprMutator.

    Raises:
        TypeError: it does not.
    """
    return _checked(cls, PyExprMutator)


def _checked(cls: _Class, base: type) -> _Class:
    if not isinstance(cls, type) or not issubclass(cls, base):
        name = getattr(cls, "__name__", repr(cls))
        raise TypeError(f"{name} must derive from relax.expr_functor.{base.__name__}")
    return cls


__all__ = [
    "BindingRewriter", "DataflowBlockRewrite", "DataflowMutator", "ExprMutator", "ExprVisitor",
    "PyExprMutator", "PyExprVisitor", "mutator", "visitor",
]  # fmt: skip
