"""Arrays under the names that programs for TVM use; they are numpy's, with a few methods more."""

from relax_mlir.runtime.device.api import cpu, device
from relax_mlir.runtime.values.ndarray import Tensor as NDArray
from relax_mlir.runtime.values.ndarray import array, empty

__all__ = ["NDArray", "array", "cpu", "device", "empty"]
