"""TVM's Module API: models written like PyTorch's, exported as Relax programs."""

import importlib
from typing import Any

_MODULES = ("core", "exporter", "modules", "op", "spec", "subroutine", "visitor")
_NAMES = {
    "core": (
        "Effect", "Module", "ModuleDict", "ModuleList", "Object", "Parameter", "ParameterDict",
        "ParameterList", "Tensor",
    ),
    "exporter": ("add_extern",),
    "extern": ("ExternModule",),
    "modules": (
        "GELU", "Attention", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D", "Embedding",
        "GroupNorm", "IOEffect", "Identity", "KVCache", "LayerNorm", "Linear", "RMSNorm", "ReLU",
        "SiLU", "TimestepEmbedding", "Timesteps",
    ),
    "sampling": (
        "multinomial_from_uniform", "renormalize_top_p_top_k_prob",
        "sample_top_p_top_k_from_sorted_prob",
    ),
    "subroutine": ("SubroutineMixin",),
    "visitor": ("Mutator",),
}  # fmt: skip
_EXPORTS = {name: module for module, names in _NAMES.items() for name in names}
_UNSUPPORTED = {
    "ObjectModule": "register_func makes functions callable from programs",
    "SourceModule": "register_func makes functions callable from programs",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"relax_mlir.frontend.nn.{name}")
    if name in _EXPORTS:
        module = importlib.import_module(f"relax_mlir.frontend.nn.{_EXPORTS[name]}")
        return getattr(module, name)
    if not name.startswith("_"):
        operations = importlib.import_module("relax_mlir.frontend.nn.op")
        if name in operations.__all__:
            return getattr(operations, name)
    from relax_mlir.errors import missing

    raise AttributeError(missing("frontend.nn", name, _UNSUPPORTED, __dir__()))


def __dir__() -> list[str]:
    return sorted([*_MODULES, *_EXPORTS])
