"""Constant tensors: arrays beside the module, and the attributes that stand for them."""

import copy
import pickle

import numpy as np
import pytest

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.script import from_source

_TYPES = ("6xf32", "2x3xf32", "6xi32", "3xi64", "4x3xf16", "1x6xf32")


def test_a_resource_is_bytes_of_any_type() -> None:
    """Attributes of one module may share a resource; the first that was read said what all are."""
    data = np.linspace(1, 2, 6).astype("f4")
    attributes = ", ".join(
        f"relax.a{i} = dense_resource<w> : tensor<{t}>" for i, t in enumerate(_TYPES)
    )
    attributes += ", relax.wrong = dense_resource<w> : tensor<7xf32>"
    text = f"""module attributes {{{attributes}}} {{}}
{{-# dialect_resources: {{ builtin: {{ w: "0x04000000{data.tobytes().hex()}" }} }} #-}}"""
    with make_context():
        module = ir.Module.parse(text)
        found = module.operation.attributes
        for i, type_ in enumerate(_TYPES):
            array = constant_array(found[f"relax.a{i}"])
            *shape, element = type_.split("x")
            assert array.shape == tuple(map(int, shape))
            assert array.dtype.name == {"f": "float", "i": "int"}[element[0]] + element[1:]
            assert array.tobytes() == data.tobytes()
        with pytest.raises(ValueError, match="has 24 bytes, its type needs 28"):
            constant_array(found["relax.wrong"])


@pytest.mark.parametrize("made", [copy.deepcopy, lambda mod: pickle.loads(pickle.dumps(mod))])
def test_copies_of_a_module_keep_its_constants(made) -> None:
    weight = np.linspace(1, 2, 300).astype("f4")
    text = "@R.function\ndef main(x: R.Tensor((300,), 'float32')):\n    return x * R.const(weight)"
    mod = from_source(text, extra_vars={"weight": weight})
    text, other = mod.script(), made(mod)
    (constant,) = (
        op
        for op in other["main"].mlir_op.regions[0].blocks[0].operations
        if "value" in op.attributes
    )
    assert other.mlir_module != mod.mlir_module
    assert other.script() == text
    np.testing.assert_array_equal(constant_array(constant.attributes["value"]), weight)
