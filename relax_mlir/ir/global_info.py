"""Global infos of a module: data that belongs to no function, such as virtual devices."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops.identity import CPU_KINDS
from relax_mlir.errors import DeviceError, ExprTypeError
from relax_mlir.ir.attribute_value import attribute_value, python_attribute

ATTRIBUTE = "relax.global_infos"


class GlobalInfo:
    """Base of the entries; equal when their fields are."""

    def fields(self) -> dict[str, Any]:
        """Return what the entry holds, by name."""
        return {}

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, GlobalInfo)
            and self.fields() == other.fields()
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, str(self.fields())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.fields().values()))})"


class DummyGlobalInfo(GlobalInfo):
    """An entry without content."""


class VDevice(GlobalInfo):
    """A virtual device, as data: programs run on CPUs, and nothing places tensors by it.

    Types of Python take any, and inference keeps it; what is emitted is on a CPU.

    Attributes:
        target: what it compiles for, a text or a dictionary.
        vdevice_id: which one of that kind.
        memory_scope: the memory on it.
    """

    def __init__(
        self, target: Any = None, vdevice_id: int = 0, memory_scope: str = "global"
    ) -> None:
        self.target: Any = dict(target) if isinstance(target, Mapping) else target
        self.vdevice_id: int = vdevice_id
        self.memory_scope: str = memory_scope

    def fields(self) -> dict[str, Any]:
        """Return the arguments that made it."""
        result = {"target": self.target, "vdevice_id": self.vdevice_id}
        return {**result, "memory_scope": self.memory_scope}

    @property
    def kind(self) -> str:
        """The kind of the target, such as `llvm`."""
        target = self.target or "llvm"
        kind = target["kind"] if isinstance(target, dict) else getattr(target, "kind", target)
        return str(kind).split()[0]

    def __str__(self) -> str:
        return f"{self.kind}:{self.vdevice_id}:{self.memory_scope}"


def read_infos(operation: ir.Operation) -> dict[str, list[GlobalInfo]]:
    """Return the global infos of a module's operation, by name."""
    if ATTRIBUTE not in operation.attributes:
        return {}
    return {
        named.name: [_info(ir.DictAttr(item)) for item in ir.ArrayAttr(named.attr)]
        for named in ir.DictAttr(operation.attributes[ATTRIBUTE])
    }


def write_infos(operation: ir.Operation, infos: Mapping[str, Sequence[GlobalInfo]]) -> None:
    """Give a module's operation global infos, in the place of those that it has.

    Raises:
        ExprTypeError: an entry is none.
    """
    for items in infos.values():
        for item in items:
            if not isinstance(item, GlobalInfo):
                raise ExprTypeError(f"expected DummyGlobalInfo or VDevice, got {item!r}")
    with operation.context:
        operation.attributes[ATTRIBUTE] = python_attribute(
            {name: [item.fields() for item in items] for name, items in infos.items()}
        )


def _info(attribute: ir.DictAttr) -> GlobalInfo:
    fields = {named.name: named.attr.maybe_downcast() for named in attribute}
    if not fields:
        return DummyGlobalInfo()
    target = fields["target"]
    if isinstance(target, ir.DictAttr):
        result: Any = {named.name: attribute_value(named.attr.maybe_downcast()) for named in target}
    else:
        result = attribute_value(target)
    return VDevice(
        result, *(attribute_value(fields[key]) for key in ("vdevice_id", "memory_scope"))
    )


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
