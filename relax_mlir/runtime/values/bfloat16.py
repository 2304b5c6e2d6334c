"""bfloat16 through DLPack, which numpy rejects: the same memory, described as 16-bit integers."""

import ctypes
from typing import Any

import numpy as np

_BFLOAT = 4
_UNSIGNED = 1
_BITS = np.dtype("uint16")


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def tensor_in(capsule: Any) -> _DLTensor:
    """Return the tensor that an unversioned DLPack capsule holds; BufferError if it holds none."""
    try:
        return _DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
    except ValueError as error:
        raise BufferError(str(error)) from None


class Bfloat16Export:
    """An array of bfloat16 for those who take DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self._bits = array.view(_BITS)

    def __dlpack__(self, **_: Any) -> Any:
        """Return a capsule over the array's memory."""
        capsule = self._bits.__dlpack__()
        tensor_in(capsule).code = _BFLOAT
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's name of the CPU."""
        return self._bits.__dlpack_device__()


class _Bits:
    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self._capsule = capsule
        self._device = device

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def bits_from_dlpack(value: Any) -> np.ndarray | None:
    """Return the bits of another library's bfloat16 tensor as uint16, None for other dtypes.

    Raises:
        BufferError: the tensor cannot be exported.
    """
    capsule = value.__dlpack__()
    tensor = tensor_in(capsule)
    if (tensor.code, tensor.bits, tensor.lanes) != (_BFLOAT, 16, 1):
        return None
    tensor.code = _UNSIGNED
    return np.from_dlpack(_Bits(capsule, value.__dlpack_device__()))
