"""TVM's Module API: models written like PyTorch's, exported as Relax programs."""

# Made by .ci/stubs, do not edit.

from relax_mlir.frontend.nn import core, exporter, modules, op, spec, subroutine, visitor
from relax_mlir.frontend.nn.core import Module, ModuleDict, ModuleList, ParameterDict, ParameterList
from relax_mlir.frontend.nn.effects import Effect, IOEffect, KVCache
from relax_mlir.frontend.nn.exporter import Object, add_extern
from relax_mlir.frontend.nn.extern import ExternModule
from relax_mlir.frontend.nn.modules import (
    GELU,
    Attention,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    Embedding,
    GroupNorm,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
    TimestepEmbedding,
    Timesteps,
)
from relax_mlir.frontend.nn.sampling import (
    multinomial_from_uniform,
    renormalize_top_p_top_k_prob,
    sample_top_p_top_k_from_sorted_prob,
)
from relax_mlir.frontend.nn.subroutine import SubroutineMixin
from relax_mlir.frontend.nn.tensor import Parameter, Tensor
from relax_mlir.frontend.nn.visitor import Mutator

__all__ = [
    "GELU",
    "Attention",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "ConvTranspose1D",
    "Effect",
    "Embedding",
    "ExternModule",
    "GroupNorm",
    "IOEffect",
    "Identity",
    "KVCache",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Mutator",
    "Object",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "SiLU",
    "SubroutineMixin",
    "Tensor",
    "TimestepEmbedding",
    "Timesteps",
    "add_extern",
    "core",
    "exporter",
    "modules",
    "multinomial_from_uniform",
    "op",
    "renormalize_top_p_top_k_prob",
    "sample_top_p_top_k_from_sorted_prob",
    "spec",
    "subroutine",
    "visitor",
]
