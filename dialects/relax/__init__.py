"""The Relax dialect: tensor programs with symbolic shapes, and everything they are made of."""

from relax_mlir.dialects.bindings import uninterrupted

with uninterrupted():
    from relax_mlir.dialects.relax.dialect import AnyDtype, Dims, Object, Relax, Shape
    from relax_mlir.dialects.relax.infer import InferError, describe
    from relax_mlir.dialects.relax.ops import (
        attention,
        closure,
        control,
        convolution,
        core,
        create,
        elementwise,
        image,
        index,
        inplace,
        join,
        linear_algebra,
        loss,
        manipulate,
        nn,
        normalization,
        quantize,
        query,
        reduce,
        repeat,
        scan,
        set,
        sort,
        vision,
    )
    from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, Param, build
    from relax_mlir.dialects.symbolic.expr import SymExpr

__all__ = [
    "COMPUTE_OPS",
    "AnyDtype",
    "Dims",
    "InferError",
    "Object",
    "Param",
    "Relax",
    "Shape",
    "SymExpr",
    "attention",
    "build",
    "closure",
    "control",
    "convolution",
    "core",
    "create",
    "describe",
    "elementwise",
    "image",
    "index",
    "inplace",
    "join",
    "linear_algebra",
    "loss",
    "manipulate",
    "nn",
    "normalization",
    "quantize",
    "query",
    "reduce",
    "repeat",
    "scan",
    "set",
    "sort",
    "vision",
]
