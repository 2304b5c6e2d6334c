"""Folders of weights under TVM's name: `from relax_mlir.contrib import tvmjs`."""

from relax_mlir.runtime.files.tensor_cache import (
    _convert_bf16_to_f32,
    _convert_f32_to_bf16,
    dump_tensor_cache,
    load_tensor_cache,
)

__all__ = ["_convert_bf16_to_f32", "_convert_f32_to_bf16", "dump_tensor_cache", "load_tensor_cache"]
