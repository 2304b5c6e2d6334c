"""Devices: the CPU's attributes, and another device that the virtual machine has never heard of."""

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import DeviceError, VMError
from relax_mlir.runtime import ExecBuilder, VirtualMachine, device_of, empty
from relax_mlir.runtime.device.api import (
    Device,
    DeviceAPI,
    DeviceAttrKind,
    register_device_api,
    remove_device_api,
)
from relax_mlir.runtime.device.memory import NaiveAllocator, PooledAllocator, VMState
from relax_mlir.runtime.device.placement import copy_to


class Drawer(DeviceAPI):
    """A device of two drawers with 1 MB each, which notes everything that it is asked for."""

    def __init__(self) -> None:
        self.used = {0: 0, 1: 0}
        self.log: list[tuple] = []
        self.spaces: dict[int, np.ndarray] = {}

    def get_attr(self, device: Device, kind: DeviceAttrKind) -> Any:
        if kind is DeviceAttrKind.EXIST:
            return device.index in self.used
        if kind is DeviceAttrKind.AVAILABLE_GLOBAL_MEMORY:
            return (1 << 20) - self.used[device.index]
        return None

    def set_device(self, device: Device) -> None:
        self.log.append(("set", device.index))

    def alloc_data_space(self, device: Device, nbytes: int, alignment: int) -> Any:
        if self.used[device.index] + nbytes > 1 << 20:
            raise MemoryError("the drawer is full")
        raw = np.empty(nbytes + alignment, np.uint8)
        start = -raw.ctypes.data % alignment
        space = raw[start : start + nbytes]
        space[:] = 0xAA
        self.used[device.index] += nbytes
        self.spaces[id(space)] = space
        self.log.append(("alloc", device.index, nbytes))
        return memoryview(space)

    def free_data_space(self, device: Device, space: Any) -> None:
        self.used[device.index] -= space.nbytes
        assert self.spaces.pop(id(space.obj)) is space.obj
        self.log.append(("free", device.index, space.nbytes))

    def copy_data_from_to(
        self, src: Any, dst: Any, src_device: Device, dst_device: Device, stream: Any = None
    ) -> None:
        assert src.dtype == dst.dtype == np.uint8
        self.log.append(("copy", str(src_device), str(dst_device), src.nbytes))
        dst[:] = src

    def create_stream(self, device: Device) -> Any:
        return "stream"

    def stream_sync(self, device: Device, stream: Any) -> None:
        self.log.append(("sync", device.index, stream))

    def seen(self, what: str) -> list[tuple]:
        return [entry[1:] for entry in self.log if entry[0] == what]


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    api = Drawer()
    register_device_api("drawer", api)
    yield api
    gc.collect()
    remove_device_api("drawer")
    assert api.used == {0: 0, 1: 0}
    assert not api.spaces


def test_the_cpu() -> None:
    cpu = relax_mlir.cpu(0)
    assert cpu == relax_mlir.device("cpu", 0) == relax_mlir.device("cpu:0")
    assert relax_mlir.device("llvm") == relax_mlir.device(cpu) == cpu
    assert (str(cpu), cpu.index, cpu.device_type, cpu.exist) == ("cpu:0", 0, 1, True)
    assert not relax_mlir.cpu(3).exist
    assert cpu.device_name
    assert cpu.multi_processor_count >= 1
    assert cpu.total_global_memory > cpu.available_global_memory > 0
    for value in (cpu.max_clock_rate, cpu.l2_cache_size_bytes):
        assert value is None or value > 1000
    assert cpu.get_attr(DeviceAttrKind.WARP_SIZE) is None
    stream = cpu.create_raw_stream()
    cpu.set_raw_stream(stream)
    cpu.sync(stream)
    cpu.api.sync_stream_from_to(cpu, stream, stream)
    cpu.free_raw_stream(stream)
    assert "-" in cpu.api.get_target_property(cpu, "mtriple")
    assert cpu.api.get_target_property(cpu, "mcpu")
    assert cpu.api.get_target_property(cpu, "mattr")
    assert cpu.api.get_target_property(cpu, "nothing") is None


@pytest.mark.parametrize("alignment", [1, 64, 2048, 4096, 8192])
@pytest.mark.parametrize("nbytes", [1, 100, 1 << 15, 5_000_001])
def test_where_memory_of_the_cpu_begins(nbytes: int, alignment: int) -> None:
    """Large blocks begin amid a page, where nothing of numpy's begins, if they may."""
    space = device_of("cpu").api.alloc_data_space(device_of("cpu"), nbytes, alignment)
    start = space.__array_interface__["data"][0]
    assert (space.nbytes, start % alignment) == (nbytes, 0)
    if nbytes >= 1 << 15 and alignment <= 2048:
        assert start % 4096 == 2048
    space[:] = 1


def test_ffi_devices_are_taken() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    assert relax_mlir.device(tvm_ffi.device("cpu", 0)) == relax_mlir.cpu(0)
    assert relax_mlir.cpu(0).device_type == int(tvm_ffi.device("cpu", 0).dlpack_device_type())


@pytest.mark.parametrize("name", ["cpu:x", "cpu:-1", "", "gpu", "cpu:1:2"])
def test_wrong_devices(name: str) -> None:
    with pytest.raises(DeviceError):
        relax_mlir.device(name)


def test_wrong_registrations(drawer: Drawer) -> None:
    with pytest.raises(DeviceError, match="no device API 'drawr' is registered; did you mean 'dr"):
        relax_mlir.device("drawr")
    with pytest.raises(DeviceError, match="registered already; pass override=True"):
        register_device_api("drawer", Drawer())
    for name in ("cpu", "llvm", "", "a b"):
        with pytest.raises(DeviceError):
            register_device_api(name, Drawer(), override=name == "cpu")
    with pytest.raises(TypeError):
        register_device_api("other", Drawer)
    for name in ("cpu", "nothing"):
        with pytest.raises(DeviceError):
            remove_device_api(name)
    with pytest.raises(DeviceError, match="a name and a number"):
        relax_mlir.device("drawer", "x")


def program() -> Any:
    ib = ExecBuilder()
    constant = np.arange(6, dtype="float32")
    with ib.function("main", 1, ["x"]):
        ib.emit_call("vm.builtin.alloc_storage", [1000, "cpu"], dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(1), 128, (6,), "float32"], dst=ib.r(2))
        ib.emit_call("test.device.add", [ib.r(0), constant, ib.r(2)])
        ib.emit_ret(ib.r(2))
    with ib.function("own", 1, ["x"]):
        ib.emit_call("vm.builtin.alloc_storage", [24, "cpu"], dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(1), 0, (6,), "float32"], dst=ib.r(2))
        ib.emit_call("test.device.add", [ib.r(0), ib.r(0), ib.r(2)])
        ib.emit_ret(ib.r(2))
    with ib.function("pair", 1, ["x"]):
        ib.emit_call("vm.builtin.make_tuple", [ib.r(0), ib.r(0), (2, 3)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("second", 0):
        ib.emit_call("vm.builtin.alloc_storage", [24, "drawer:1"], dst=ib.r(0))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(0), 0, (6,), "float32"], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("third", 0):
        ib.emit_call("vm.builtin.alloc_storage", [24, "drawer:7"], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    return ib.get()


@pytest.fixture
def places() -> Iterator[list[str]]:
    seen: list[str] = []

    def add(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        seen[:] = [str(device_of(a)) for a in (x, y, out)]
        np.add(x, y, out=out)

    relax_mlir.register_func("test.device.add", add, override=True)
    yield seen
    relax_mlir.runtime.remove_global_func("test.device.add")


@pytest.mark.parametrize("memory", ["naive", "pooled"])
def test_a_program_runs_on_another_device(drawer: Drawer, places: list[str], memory: str) -> None:
    vm = VirtualMachine(program(), relax_mlir.device("drawer", 1), memory_cfg=memory)
    assert drawer.seen("set") == [(1,)]
    x = np.arange(6, dtype="float32")
    for _ in range(3):
        for name in ("main", "own"):
            result = vm[name](x=x)
            np.testing.assert_array_equal(result, 2 * x)
            assert places == ["drawer:1"] * 3
            assert device_of(result) == relax_mlir.cpu(0)
    copies = drawer.seen("copy")
    # The constant once, and per call the argument there and the result back.
    assert len(copies) == 1 + 6 * 2
    assert copies[-2:] == [("cpu:0", "drawer:1", 24), ("drawer:1", "cpu:0", 24)]
    assert all(index == 1 for index, _ in drawer.seen("alloc"))
    assert drawer.seen("sync")
    pair = vm["pair"]([x, 5])
    np.testing.assert_array_equal(pair[0][0], x)
    assert pair[0][1:] == (5,)
    assert pair[2] == (2, 3)
    assert vm["main"].__name__ == "main"


def test_blocks_go_back_to_the_device(drawer: Drawer) -> None:
    naive = NaiveAllocator(relax_mlir.device("drawer"))
    storage = naive.alloc(100)
    tensor = np.ndarray((5,), "float32", storage, 64)[1:]
    assert tensor.ctypes.data % 64 == 4
    del storage
    gc.collect()
    assert drawer.used[0] == 100
    assert (tensor.view(np.uint8) == 0xAA).all()
    del tensor
    gc.collect()
    assert drawer.used[0] == 0
    pool = PooledAllocator(relax_mlir.device("drawer"), max_bytes=4096)
    for _ in range(5):
        pool.alloc(1000)
    assert len(drawer.seen("alloc")) == 2
    assert drawer.used[0] == pool.kept == 1024
    for size in (2000, 3000, 5000):
        pool.alloc(size)
    # The larger blocks pushed the older ones out; one larger than the limit is never kept.
    assert drawer.used[0] == pool.kept == 3072
    pool.release()
    assert drawer.used[0] == 0
    with pytest.raises(VMError, match=r"on drawer:0: the drawer is full"):
        naive.alloc(1 << 21)


def test_several_devices(drawer: Drawer, places: list[str]) -> None:
    x = np.arange(6, dtype="float32")
    vm = VirtualMachine(program(), [relax_mlir.cpu(0), relax_mlir.device("drawer:1")])
    np.testing.assert_array_equal(vm["main"](x), 2 * x)
    assert places == ["cpu:0"] * 3
    result = vm["second"]()
    assert device_of(result) == relax_mlir.device("drawer", 1)
    with pytest.raises(DeviceError, match="memory on device drawer:7, the VM has cpu:0, drawer:1"):
        vm["third"]()
    state = VMState({"drawer:1": "naive"}, vm.state.devices)
    assert [a.kind for a in state.allocators] == ["pooled", "naive"]
    assert state.allocator(1) is state.allocators[1]
    with pytest.raises(DeviceError):
        state.allocator(2)


def test_wrong_devices_of_a_vm(drawer: Drawer) -> None:
    with pytest.raises(DeviceError, match="there is no device drawer:7"):
        VirtualMachine(program(), "drawer:7")
    with pytest.raises(DeviceError, match="cpu:0, cpu:0: one twice"):
        VirtualMachine(program(), ["cpu", "cpu:0"])
    with pytest.raises(ValueError, match="must be 'pooled' or 'naive', got 'fast'"):
        VirtualMachine(program(), memory_cfg={"cpu": "fast"})


def test_copies_between_devices(drawer: Drawer) -> None:
    other = Drawer()
    register_device_api("chest", other)
    x = np.arange(12, dtype="int16").reshape(3, 4)
    there = copy_to(x[:, ::2], "drawer:0")
    np.testing.assert_array_equal(there, x[:, ::2])
    across = copy_to(there, "chest:1")
    np.testing.assert_array_equal(copy_to(across, "cpu"), x[:, ::2])
    assert drawer.seen("copy") == [("cpu:0", "drawer:0", 12), ("drawer:0", "cpu:0", 12)]
    assert other.seen("copy") == [("cpu:0", "chest:1", 12), ("chest:1", "cpu:0", 12)]
    for shape in ((), (0, 3)):
        made = empty(shape, "float64", "chest:0")
        assert (made.shape, made.dtype) == (shape, np.dtype("float64"))
        assert str(device_of(made)) == str(device_of(made[...])) == "chest:0"
        assert copy_to(made, "cpu").shape == shape
    del across, made
    gc.collect()
    remove_device_api("chest")
