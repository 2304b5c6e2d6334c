"""int4 through DLPack: one byte for each number in numpy, two numbers in a byte in kernels."""

from typing import Any

import numpy as np

from relax_mlir.runtime.values.bfloat16 import tensor_in

# ml_dtypes' names, and DLPack's codes.
INT4 = {"int4": 0, "uint4": 1}
_BITS = 4
_LOW = 15


class NibbleExport:
    """An array of 4-bit integers packed for native code: the first of two in the low half."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        bytes_ = np.ascontiguousarray(array).view(np.uint8).reshape(-1) & _LOW
        # Of an array of the same shape the first half is used, so that DLPack has the shape.
        self._packed = np.zeros(array.shape, np.uint8)
        pairs = np.append(bytes_, np.zeros(bytes_.size % 2, np.uint8))
        self._packed.reshape(-1)[: pairs.size // 2] = pairs[::2] | pairs[1::2] << _BITS

    def __dlpack__(self, **_: Any) -> Any:
        """Return a capsule over the packed memory."""
        capsule = self._packed.__dlpack__()
        tensor = tensor_in(capsule)
        tensor.code, tensor.bits = INT4[self._array.dtype.name], _BITS
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's name of the CPU."""
        return self._packed.__dlpack_device__()

    def unpack(self) -> None:
        """Bring what native code wrote to the array."""
        size = self._array.size
        packed = self._packed.reshape(-1)[: (size + 1) // 2]
        pairs = np.stack([packed & _LOW, packed >> _BITS], axis=-1).reshape(-1)[:size]
        if self._array.dtype.name == "int4":
            pairs = (pairs ^ 8).astype(np.int8) - 8
        self._array[...] = pairs.astype(self._array.dtype).reshape(self._array.shape)
