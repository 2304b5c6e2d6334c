"""The models of benchmarks/models, small, through `torch.export` and through ONNX."""

import sys

import numpy as np
import pytest
from checkout import ROOT

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnxscript")
sys.path.append(str(ROOT / "benchmarks/models"))

# ruff: noqa: E402
from capture import difference, exported, onnx_of
from catalogue import MODELS
from torch.utils import _pytree as pytree

import relax_mlir
from relax_mlir.frontend.torch.arrays import array_of, tensor_of


@pytest.mark.parametrize("way", [exported, onnx_of])
@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_model(name, way):
    model = MODELS[name]
    compiled = relax_mlir.compile(way(model, small=True))
    module = model.module(small=True)
    is_fixed = model.specialised and way is exported
    for sizes in model.checked[: 1 if is_fixed else None]:
        inputs = model.arguments(sizes, small=True)
        results = pytree.tree_leaves(compiled(*map(array_of, inputs)))
        results = [tensor_of(np.asarray(each)) for each in results]
        expected = pytree.tree_leaves(module(*inputs))
        assert difference(results, expected) < model.tolerance, sizes
