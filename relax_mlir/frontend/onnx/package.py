"""The package `onnx`, or an error that says how to get it."""

from typing import Any

from relax_mlir.errors import MissingPackageError


def onnx_package() -> Any:
    """Return the module `onnx`.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise MissingPackageError(
            f"ONNX models are read with the package onnx ({error}): pip install relax-mlir[onnx]"
        ) from error
    return onnx
