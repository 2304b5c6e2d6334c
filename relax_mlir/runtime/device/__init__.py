"""Devices, their memory, and copies between them."""

import relax_mlir.runtime.device.cpu  # noqa: F401  registers the CPU
