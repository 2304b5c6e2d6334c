"""Visitors and mutators of Relax programs, as TVM's people write them."""

import difflib
import warnings
from typing import TypeVar

from relax_mlir.errors import ExprTypeError
from relax_mlir.relax.expr_functor.dataflow_mutator import DataflowMutator
from relax_mlir.relax.expr_functor.functor import ExprFunctor
from relax_mlir.relax.expr_functor.mixed_mode import (
    ExprRewriter,
    MixedModeMutator,
    MixedModeVisitor,
    post_order_rewrite,
)
from relax_mlir.relax.expr_functor.mutator import PyExprMutator
from relax_mlir.relax.expr_functor.mutator_base import ExprMutatorBase
from relax_mlir.relax.expr_functor.rewrite import BindingRewriter, DataflowBlockRewrite
from relax_mlir.relax.expr_functor.visitor import PyExprVisitor

ExprVisitor = PyExprVisitor
ExprMutator = PyExprMutator

_Class = TypeVar("_Class", bound=type)


def visitor(cls: _Class) -> _Class:
    """Mark a class as a visitor: `@relax.expr_functor.visitor`; it derives from PyExprVisitor.

    Classes that derive from it do so directly, or by TVM's `_cls`, which is the class itself.

    Raises:
        ExprTypeError: it does not.
    """
    return _checked(cls, PyExprVisitor)


def mutator(cls: _Class) -> _Class:
    """Mark a class as a mutator: `@relax.expr_functor.mutator`; it derives from PyExprMutator.

    Raises:
        ExprTypeError: it does not.
    """
    return _checked(cls, PyExprMutator)


def _checked(cls: _Class, base: type) -> _Class:
    if not isinstance(cls, type) or not issubclass(cls, base):
        name = getattr(cls, "__name__", repr(cls))
        raise ExprTypeError(f"{name} must derive from relax.expr_functor.{base.__name__}")
    methods = [name for name in dir(base) if name.startswith("visit_")]
    for name in vars(cls):
        near = difflib.get_close_matches(name, methods, n=1, cutoff=0.9)
        if name.startswith("visit_") and near and name not in methods:
            warnings.warn(
                f"nobody calls '{name}' of {cls.__name__}; did you mean '{near[0]}'?", stacklevel=3
            )
    cls._cls = cls
    return cls


__all__ = [
    "BindingRewriter", "DataflowBlockRewrite", "DataflowMutator", "ExprFunctor", "ExprMutator",
    "ExprMutatorBase", "ExprRewriter", "ExprVisitor", "MixedModeMutator", "MixedModeVisitor",
    "PyExprMutator", "PyExprVisitor", "mutator", "post_order_rewrite", "visitor",
]  # fmt: skip
