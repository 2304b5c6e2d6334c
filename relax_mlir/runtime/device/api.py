"""DeviceAPI: the interface of a device, and the registry of kinds of devices."""

import abc
import enum
import re
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.errors import DeviceError, did_you_mean


class DeviceAttrKind(enum.IntEnum):
    """What `get_attr` is asked for; the numbers are TVM's."""

    EXIST = 0
    MAX_THREADS_PER_BLOCK = 1
    WARP_SIZE = 2
    MAX_SHARED_MEMORY_PER_BLOCK = 3
    COMPUTE_VERSION = 4
    DEVICE_NAME = 5
    MAX_CLOCK_RATE = 6
    MULTI_PROCESSOR_COUNT = 7
    API_VERSION = 11
    DRIVER_VERSION = 12
    L2_CACHE_SIZE_BYTES = 13
    TOTAL_GLOBAL_MEMORY = 14
    AVAILABLE_GLOBAL_MEMORY = 15


@dataclass(frozen=True)
class Device:
    """One device: its kind and its number, such as `cpu:0`.

    Attributes:
        name: the kind, as it is registered.
        index: its number among devices of that kind.
    """

    name: str
    index: int = 0

    @property
    def api(self) -> "DeviceAPI":
        """What does the work; DeviceError when the kind is not registered any more."""
        return device_api(self.name)

    @property
    def device_type(self) -> int:
        """DLPack's number of the kind."""
        return self.api.device_type

    def dlpack_device_type(self) -> int:
        """Return DLPack's number of the kind."""
        return self.device_type

    def get_attr(self, kind: DeviceAttrKind) -> Any:
        """Return an attribute, None when the device does not know it."""
        return self.api.get_attr(self, kind)

    @property
    def exist(self) -> bool:
        """Whether there is such a device."""
        return bool(self.get_attr(DeviceAttrKind.EXIST))

    @property
    def device_name(self) -> str | None:
        """What its maker calls it."""
        return self.get_attr(DeviceAttrKind.DEVICE_NAME)

    @property
    def multi_processor_count(self) -> int | None:
        """How many processors work at a time."""
        return self.get_attr(DeviceAttrKind.MULTI_PROCESSOR_COUNT)

    @property
    def max_clock_rate(self) -> int | None:
        """Its highest clock, in kHz."""
        return self.get_attr(DeviceAttrKind.MAX_CLOCK_RATE)

    @property
    def l2_cache_size_bytes(self) -> int | None:
        """Size of its second-level cache."""
        return self.get_attr(DeviceAttrKind.L2_CACHE_SIZE_BYTES)

    @property
    def total_global_memory(self) -> int | None:
        """Bytes of memory it has."""
        return self.get_attr(DeviceAttrKind.TOTAL_GLOBAL_MEMORY)

    @property
    def available_global_memory(self) -> int | None:
        """Bytes of memory that are free."""
        return self.get_attr(DeviceAttrKind.AVAILABLE_GLOBAL_MEMORY)

    def sync(self, stream: Any = None) -> None:
        """Wait until all work given to the device, or to one stream of it, is done."""
        self.api.stream_sync(self, stream)

    def create_raw_stream(self) -> Any:
        """Return a new stream."""
        return self.api.create_stream(self)

    def free_raw_stream(self, stream: Any) -> None:
        """Give a stream back."""
        self.api.free_stream(self, stream)

    def set_raw_stream(self, stream: Any) -> None:
        """Let the calling thread's next work go to a stream."""
        self.api.set_stream(self, stream)

    def __str__(self) -> str:
        return f"{self.name}:{self.index}"


class DeviceAPI(abc.ABC):
    """What the runtime needs of a kind of device; one object serves all devices of the kind.

    A data space is memory that has Python's buffer protocol and can be written through it: the
    virtual machine computes with arrays over it. Subclass this, then `register_device_api`.

    Attributes:
        device_type: DLPack's number of the kind; 12 is for devices it has no number for.
    """

    device_type = 12

    @abc.abstractmethod
    def get_attr(self, device: Device, kind: DeviceAttrKind) -> Any:
        """Return an attribute, None when it is not known; EXIST must be."""

    @abc.abstractmethod
    def alloc_data_space(self, device: Device, nbytes: int, alignment: int) -> Any:
        """Return a data space of this size, at a multiple of `alignment`, not cleared.

        Raises:
            MemoryError: there is not so much.
        """

    @abc.abstractmethod
    def free_data_space(self, device: Device, space: Any) -> None:
        """Take back what `alloc_data_space` returned; nothing looks at it any more."""

    @abc.abstractmethod
    def copy_data_from_to(
        self,
        src: np.ndarray,
        dst: np.ndarray,
        src_device: Device,
        dst_device: Device,
        stream: Any = None,
    ) -> None:
        """Copy bytes (uint8, one dimension, equal lengths) from or to this kind of device."""

    def set_device(self, device: Device) -> None:  # noqa: B027
        """Make a device the one that the calling thread uses; most have nothing to do."""

    def get_target_property(self, device: Device, name: str) -> Any:
        """Return a property that a compiler's target for this device has, None if unknown."""
        return None

    def create_stream(self, device: Device) -> Any:
        """Return a new stream; None is the only one of a device that has no streams."""
        return None

    def free_stream(self, device: Device, stream: Any) -> None:  # noqa: B027
        """Give a stream back."""

    def set_stream(self, device: Device, stream: Any) -> None:  # noqa: B027
        """Let the calling thread's next work go to a stream."""

    def stream_sync(self, device: Device, stream: Any) -> None:  # noqa: B027
        """Wait until a stream's work, or with None all work, is done."""

    def sync_stream_from_to(self, device: Device, src: Any, dst: Any) -> None:
        """Let the stream `dst` wait for what `src` has now."""
        self.stream_sync(device, src)


_ALIASES = {"llvm": "cpu", "c": "cpu"}
_APIS: dict[str, DeviceAPI] = {}
_LOCK = threading.Lock()


def register_device_api(name: str, api: DeviceAPI, override: bool = False) -> DeviceAPI:
    """Add a kind of device; `device(name, index)` then gives its devices.

    Raises:
        DeviceError: the name is taken and `override` is false, or no name.
        TypeError: `api` is no DeviceAPI.
    """
    if not isinstance(api, DeviceAPI):
        raise TypeError(f"a device's API must be a DeviceAPI, got {api!r}")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name) or name in _ALIASES:
        raise DeviceError(f"{name!r} cannot be the name of a kind of device")
    with _LOCK:
        if name in _APIS and (name == "cpu" or not override):
            raise DeviceError(f"a device API '{name}' is registered already; pass override=True")
        _APIS[name] = api
    return api


def remove_device_api(name: str) -> None:
    """Forget a kind of device; DeviceError when there is none of that name, or for the CPU."""
    with _LOCK:
        if name == "cpu" or _APIS.pop(name, None) is None:
            raise DeviceError(f"no device API '{name}' that could be removed is registered")


def device_api(name: str) -> DeviceAPI:
    """Return the API of a kind of device.

    Raises:
        DeviceError: there is none; names those that are.
    """
    api = _APIS.get(_ALIASES.get(name, name))
    if api is None:
        raise DeviceError(
            f"no device API '{name}' is registered{did_you_mean(str(name), _APIS)}; "
            f"there are: {', '.join(sorted(_APIS))}"
        )
    return api


def device(name: Any, index: int | None = None) -> Device:
    """Return a device by name and number: `device("cpu", 0)`, `device("cpu:0")`.

    A kind may be named by DLPack's number: `device(1, 0)`.

    Devices of relax_mlir and of TVM FFI are taken as well.

    Raises:
        DeviceError: malformed, or a kind that is not registered.
    """
    if isinstance(name, Device):
        return name
    if isinstance(name, int):
        return device_of_type(name, index or 0)
    text = str(name)
    kind, _, number = text.partition(":")
    if number and index is None:
        index = int(number) if number.isdecimal() else -1
    if index is None:
        index = 0
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise DeviceError(f"a device is a name and a number such as 'cpu:0', got {text!r}")
    device_api(kind)
    return Device(_ALIASES.get(kind, kind), index)


def device_from_target(target: Any, index: int | None = None) -> Device:
    """Return the device that code for a target runs on: the CPU, whatever its options.

    Raises:
        DeviceError: the target's kind is no CPU's.
    """
    kind = getattr(target, "kind", None)
    words = str(getattr(kind, "name", kind) or target).split()
    name = "cpu" if words and words[0] in ("llvm", "c", "cpu") else str(target)
    return device(name, index)


def device_of_type(device_type: int, index: int = 0) -> Device:
    """Return a device by DLPack's number of its kind.

    Raises:
        DeviceError: no kind of that number is registered.
    """
    for name, api in _APIS.items():
        if api.device_type == device_type:
            return device(name, index)
    raise DeviceError(f"no device API of DLPack's number {device_type} is registered")


def cpu(index: int = 0) -> Device:
    """Return the CPU."""
    return device("cpu", index)
