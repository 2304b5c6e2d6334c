"""The CPU device: memory of the process, synchronous calls."""

import os
import platform
import re
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.runtime.device.api import (
    Device,
    DeviceAPI,
    DeviceAttrKind,
    register_device_api,
)

# A processor takes a load for one of what was just stored, where their last twelve bits of address
# say so, and lets it wait: a kernel that walks along both is then three times slower. What numpy
# and malloc return begins at the start of a page if it is large, so this allocator's does not.
_PAGE, _AMID, _LARGE = 4096, 2048, 1 << 15


class CPUDeviceAPI(DeviceAPI):
    """The machine itself: one device, memory of the process, work done when a call returns."""

    device_type = 1

    def get_attr(self, device: Device, kind: DeviceAttrKind) -> Any:
        """Return an attribute of the machine."""
        if kind is DeviceAttrKind.EXIST:
            return device.index == 0
        ask = _CPU_ATTRIBUTES.get(kind)
        return None if ask is None else ask()

    def get_target_property(self, device: Device, name: str) -> Any:
        """Return `mtriple`, `mcpu` or `mattr` (enabled features) as LLVM sees the machine."""
        import llvmlite.binding as llvm

        if name == "mtriple":
            return llvm.get_process_triple()
        if name == "mcpu":
            return llvm.get_host_cpu_name()
        if name == "mattr":
            return sorted(f for f, present in llvm.get_host_cpu_features().items() if present)
        return None

    def alloc_data_space(self, device: Device, nbytes: int, alignment: int) -> np.ndarray:
        """Return bytes of the process, freed with their last view; many begin amid a page."""
        if nbytes < _LARGE or _AMID % alignment:
            raw = np.empty(nbytes + alignment, np.uint8)
            start = -raw.__array_interface__["data"][0] % alignment
        else:
            raw = np.empty(nbytes + _PAGE, np.uint8)
            start = (_AMID - raw.__array_interface__["data"][0]) % _PAGE
        return raw[start : start + nbytes]

    def free_data_space(self, device: Device, space: Any) -> None:
        """Do nothing: numpy frees its arrays."""

    def copy_data_from_to(
        self,
        src: np.ndarray,
        dst: np.ndarray,
        src_device: Device,
        dst_device: Device,
        stream: Any = None,
    ) -> None:
        """Copy the bytes; the ranges may overlap."""
        np.copyto(dst, src)


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text()
    except OSError:
        return None


def _model() -> str:
    result = re.search(r"^model name\s*:\s*(.*)$", _read("/proc/cpuinfo") or "", re.M)
    return result.group(1) if result else platform.processor() or platform.machine()


def _clock() -> int | None:
    text = _read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    if text is not None:
        return int(text)
    result = re.search(r"^cpu MHz\s*:\s*([0-9.]+)$", _read("/proc/cpuinfo") or "", re.M)
    return int(1e3 * float(result.group(1))) if result else None


def _second_cache() -> int | None:
    text = _read("/sys/devices/system/cpu/cpu0/cache/index2/size")
    return int(text.strip().rstrip("K")) * 1024 if text else None


def _pages(name: str) -> int | None:
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


_CPU_ATTRIBUTES = {
    DeviceAttrKind.DEVICE_NAME: _model,
    DeviceAttrKind.MAX_CLOCK_RATE: _clock,
    DeviceAttrKind.MULTI_PROCESSOR_COUNT: os.cpu_count,
    DeviceAttrKind.L2_CACHE_SIZE_BYTES: _second_cache,
    DeviceAttrKind.TOTAL_GLOBAL_MEMORY: lambda: _pages("SC_PHYS_PAGES"),
    DeviceAttrKind.AVAILABLE_GLOBAL_MEMORY: lambda: _pages("SC_AVPHYS_PAGES"),
}


register_device_api("cpu", CPUDeviceAPI())
