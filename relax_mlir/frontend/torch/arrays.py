"""Tensors of torch as numpy arrays of the same memory, and back."""

from typing import Any

import numpy as np
import torch

from relax_mlir.dialects.relax.constants import numpy_dtype


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """Return a tensor as an array that shares its memory; a strided one is copied."""
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bfloat16"))
    return tensor.numpy()


def tensor_of(value: Any) -> torch.Tensor:
    """Return what a compiled function gave as a tensor that shares its memory."""
    if isinstance(value, torch.Tensor):
        return value
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        return torch.from_dlpack(value)
    array = np.asarray(value)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array if array.ndim else array.copy())
