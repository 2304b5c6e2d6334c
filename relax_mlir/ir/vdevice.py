"""Virtual devices in types: read from texts, and refused where programs cannot run there."""

import re
from typing import Any

from relax_mlir.dialects.relax.ops.identity import CPU_KINDS
from relax_mlir.errors import DeviceError, ExprTypeError
from relax_mlir.ir.global_info import VDevice

_TEXT = re.compile(r"([A-Za-z_]\w*)(?::(\d+))?(?::(\S+))?")


def as_vdevice(device: Any) -> VDevice:
    """Return a device as people write one: a `VDevice`, or a text such as `"llvm:0:global"`.

    Raises:
        ExprTypeError: it is none.
    """
    if isinstance(device, VDevice):
        return device
    match = _TEXT.fullmatch(device) if isinstance(device, str) else None
    if match is None:
        raise ExprTypeError(f'expected a device such as "llvm:0", got {device!r}')
    kind, number, scope = match.groups()
    return VDevice(kind, int(number or 0), scope or "global")


def expect_cpu(device: VDevice) -> None:
    """Raise DeviceError unless programs can run there."""
    if device.kind not in CPU_KINDS:
        raise DeviceError(f"{device}: programs run on CPUs; leave the device out, or use llvm")
