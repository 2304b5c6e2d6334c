"""Construction and execution of graphs."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import (
    ArgumentTypeError,
    DeviceError,
    ShapeMismatchError,
    VMError,
    did_you_mean,
)
from relax_mlir.runtime.device.api import device as to_device
from relax_mlir.runtime.device.memory import NaiveAllocator
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.files.safetensors import load_param_dict
from relax_mlir.runtime.graph.nodes import graph_json
from relax_mlir.runtime.module import Module
from relax_mlir.runtime.native.loader import ffi_tensor, native_error
from relax_mlir.runtime.registry import find_func, not_found
from relax_mlir.runtime.values.convert import describe, numpy_dtype, to_value
from relax_mlir.runtime.values.ndarray import Tensor

FACTORY = "default"
EXPORTED = (
    "set_input", "set_input_zero_copy", "run", "get_output", "get_input", "get_input_index",
    "get_num_inputs", "get_num_outputs", "load_params", "share_params",
)  # fmt: skip


def factory_function(executable: Executable, name: str) -> Callable[..., Any] | None:
    """Return what an executable has for who runs it as a graph, or None for any other name.

    `lib["default"](dev)` is a graph executor on a device, `lib["get_graph_json"]()` the graph.
    """
    if name == FACTORY:
        return lambda *devices: GraphExecutor(graph_json(executable), executable, *devices)
    if name == "get_graph_json":
        return lambda *function: graph_json(executable, *function)
    return None


class GraphExecutor(Module):
    """Runs a graph: every tensor has its place in memory before the first run.

    Its functions (`executor["run"]`) are those of `GraphModule`, which is how people use it. One
    thread at a time.

    Args:
        text: the graph, see `graph.graph_json`.
        lib: the executable that has its functions and constants.
        device: the CPU; None is that too.

    Raises:
        VMError: the JSON is no graph, or one that does not fit the executable.
        DeviceError: a device that is not the CPU.
        ExecutableFormatError: native code that this machine cannot run.
    """

    kind = "graph_executor"

    graph_json: str
    lib: Executable

    def __init__(self, text: str, lib: Executable, device: Any = None) -> None:
        super().__init__({name: getattr(self, name) for name in EXPORTED})
        self.device = to_device("cpu" if device is None else device)
        if self.device.name != "cpu":
            raise DeviceError(
                f"the graph executor runs on the CPU, not on {self.device}: "
                "relax.VirtualMachine(lib, device) runs on others"
            )
        self.graph_json, self.lib = text, lib
        try:
            graph = json.loads(text)
            self._setup_storage(graph)
            self._setup_inputs(graph)
            self._setup_calls(graph)
            self._heads = [self._index(node, out) for node, out, *_ in graph["heads"]]
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, VMError):
                raise
            raise VMError(f"this is no graph of a graph executor: {error!r}") from error

    # Setting up

    def _setup_storage(self, graph: dict[str, Any]) -> None:
        attrs = {name: values for name, (_, values) in graph["attrs"].items()}
        allocator = NaiveAllocator(self.device)
        self._rows = list(graph["node_row_ptr"])
        # Constants are read where the executable has them.
        constants = {
            attrs["storage_id"][self._rows[i]]
            for i, node in enumerate(graph["nodes"])
            if "constant" in node
        }
        self._storage = [
            None if i in constants else allocator.alloc(size)
            for i, size in enumerate(attrs["storage_size"])
        ]
        # An input that is not set is zero, and not what the memory was used for before.
        for memory in self._storage:
            if memory is not None:
                memory[...] = 0
        self._entries: list[np.ndarray] = []
        self._places = list(attrs["storage_id"])
        columns = ("storage_id", "storage_offset", "shape", "dltype")
        for storage, offset, shape, dtype in zip(*(attrs[c] for c in columns), strict=True):
            memory = self._storage[_position(storage, self._storage)]
            if memory is None:
                offset = 0
            self._entries.append(np.ndarray(tuple(shape), numpy_dtype(dtype), memory, offset))
        self._uses: dict[int, list[tuple[list[Any], int]]] = {}

    def _index(self, node: int, output: int) -> int:
        index = self._rows[_position(node, self._rows)] + output
        return _position(index, self._entries)

    def _setup_inputs(self, graph: dict[str, Any]) -> None:
        self._inputs: dict[str, int] = {}
        self._linked: set[int] = set()
        constants = self.lib.constants
        for i in graph["arg_nodes"]:
            node, index = graph["nodes"][i], self._index(i, 0)
            self._inputs[node["name"]] = index
            if "constant" in node:
                array = to_value(constants[_position(node["constant"], constants)])
                self._check(node["name"], array)
                self._entries[index] = array
                self._linked.add(index)
        self._names = [n for n, i in self._inputs.items() if i not in self._linked]

    def _setup_calls(self, graph: dict[str, Any]) -> None:
        native = self.lib.load_native()
        self._calls: list[tuple[Callable[..., Any], list[Any]]] = []
        self._labels: list[str] = []
        for i, node in enumerate(graph["nodes"]):
            if node["op"] == "null" or node["attrs"]["func_name"] == "__nop":
                continue
            name = node["attrs"]["func_name"]
            func = native.get(name) or self.lib.imported_function(name) or find_func(name)
            if func is None:
                raise not_found(name, tuple(native))
            args: list[Any] = []
            for text in node["attrs"]["args"]:
                index = self._operand(node, i, text)
                if index is None:
                    args.append(json.loads(text))
                else:
                    self._uses.setdefault(index, []).append((args, len(args)))
                    args.append(self._argument(index, name in native))
            self._calls.append((func, args))
            self._labels.append(name)
        self._native = frozenset(native)

    def _argument(self, index: int, native: bool) -> Any:
        """Return an entry as a function takes it; the FFI's own tensors are made once."""
        array = self._entries[index]
        if native:
            return ffi_tensor(array)
        return _locked(array) if index in self._linked else array

    def _operand(self, node: dict[str, Any], number: int, text: str) -> int | None:
        """Return the entry that an argument of a call is, None for a number or a string."""
        for kind in ("in", "out"):
            position = text.removeprefix(kind)
            if position != text and position.isdigit():
                if kind == "out":
                    return self._index(number, int(position))
                source, output, *_ = node["inputs"][int(position)]
                return self._index(source, output)
        return None

    # What people do with it

    def run(self, **inputs: Any) -> None:
        """Run the graph, after setting inputs by name.

        Raises:
            VMError: what its functions raise; says which.
        """
        for name, value in inputs.items():
            self.set_input(name, value)
        position = 0
        try:
            for func, args in self._calls:
                func(*args)
                position += 1
        except Exception as error:
            where = f"\n  in call {position} of the graph ({self._labels[position]})"
            if self._labels[position] in self._native or isinstance(error, VMError):
                raised = native_error(error)
                raised.args = (f"{error}{where}",)
                raise raised from None
            raise

    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Copy a value, or several by name, to the inputs.

        Args:
            key: the input's name or index; None when only names are used.
            value: an array of the input's shape and dtype, or what becomes one.
            **params: values by name.

        Raises:
            ArgumentTypeError: no such input, or a value of another dtype.
            ShapeMismatchError: a value of another shape.
        """
        given = [(key, value)] if key is not None else []
        for each, array in [*given, *params.items()]:
            name = self._name(each)
            target = self._writable(name)
            target[...] = self._check(name, to_value(array))

    def set_input_zero_copy(self, key: str | int, value: Any) -> None:
        """Let an input be the memory of an array from now on; it must stay alive and in place.

        Raises:
            ArgumentTypeError: no such input, another dtype, or memory that must be copied.
            ShapeMismatchError: an array of another shape.
        """
        name = self._name(key)
        array = self._check(name, to_value(value))
        source = value if isinstance(value, np.ndarray) else array
        if array is not value and not np.may_share_memory(array, source):
            raise ArgumentTypeError(f"input '{name}': the array's layout needs a copy: set_input")
        index = self._inputs[name]
        if self._places.count(self._places[index]) > 1:
            raise ArgumentTypeError(f"input '{name}': the graph has views of it: use set_input")
        self._entries[index] = array
        for args, position in self._uses.get(index, ()):
            args[position] = ffi_tensor(array) if _is_ffi(args[position]) else array

    def get_input(self, index: str | int, out: Any = None) -> np.ndarray:
        """Return an input's memory itself, or copy it to `out`; ArgumentTypeError for none such."""
        array = self._entries[self._inputs[self._name(index)]]
        return array if out is None else _copied(array, out)

    def get_input_index(self, name: str) -> int:
        """Return the index of an input, -1 when there is none of that name."""
        return self._names.index(name) if name in self._names else -1

    def get_output(self, index: int, out: Any = None) -> Any:
        """Return a copy of an output, in `out` when given.

        Raises:
            ArgumentTypeError: there is no such output, or `out` is of another dtype.
            ShapeMismatchError: `out` is of another shape.
        """
        if not isinstance(index, (int, np.integer)) or not 0 <= index < len(self._heads):
            raise ArgumentTypeError(
                f"there is no output {index!r}; the graph has {len(self._heads)}, from 0"
            )
        array = self._entries[self._heads[int(index)]]
        return array.copy().view(Tensor) if out is None else _copied(array, out)

    def get_num_inputs(self) -> int:
        """Return how many inputs there are; constants are none."""
        return len(self._names)

    def get_num_outputs(self) -> int:
        """Return how many outputs there are."""
        return len(self._heads)

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shape and the dtype of each input by name."""
        arrays = {name: self._entries[self._inputs[name]] for name in self._names}
        return {n: a.shape for n, a in arrays.items()}, {n: a.dtype.name for n, a in arrays.items()}

    def load_params(self, params_bytes: bytes) -> None:
        """Set inputs from what `save_param_dict` gave.

        Raises:
            ExecutableFormatError: the bytes are damaged.
            ArgumentTypeError, ShapeMismatchError: as `set_input`.
        """
        for name, value in load_param_dict(params_bytes).items():
            self.set_input(name, value)

    def share_params(self, other: Any, params_bytes: bytes) -> None:
        """Use another executor's memory for the parameters whose names are in `params_bytes`.

        Raises:
            ExecutableFormatError: the bytes are damaged.
            ArgumentTypeError, ShapeMismatchError: one of the two has no such input, or another one.
        """
        if not hasattr(other, "get_input"):
            raise ArgumentTypeError(f"parameters are another GraphModule's, got {describe(other)}")
        for name in load_param_dict(params_bytes):
            self.set_input_zero_copy(name, other.get_input(name))

    # Checks

    def _name(self, key: Any) -> str:
        if isinstance(key, (int, np.integer)) and 0 <= key < len(self._names):
            return self._names[int(key)]
        if isinstance(key, str) and key in self._inputs:
            return key
        hint = did_you_mean(key, self._names) if isinstance(key, str) else ""
        raise ArgumentTypeError(
            f"the graph has no input {key!r}{hint} (it has: {', '.join(self._names) or 'none'})"
        )

    def _writable(self, name: str) -> np.ndarray:
        index = self._inputs[name]
        if index in self._linked:
            raise ArgumentTypeError(f"'{name}' is a constant of the executable, not an input")
        return self._entries[index]

    def _check(self, name: str, value: Any) -> np.ndarray:
        want = self._entries[self._inputs[name]]
        if not isinstance(value, np.ndarray):
            raise ArgumentTypeError(f"input '{name}' must be a tensor, got {describe(value)}")
        if value.dtype != want.dtype:
            raise ArgumentTypeError(
                f"input '{name}' must be {want.dtype.name}, got {describe(value)}: use .astype"
            )
        if value.shape != want.shape:
            raise ShapeMismatchError(
                f"input '{name}' must have the shape {want.shape}, got {describe(value)}"
            )
        return value


def _position(index: Any, within: Any) -> int:
    if type(index) is not int or not 0 <= index < len(within):
        raise IndexError(f"{index!r} of {len(within)}")
    return index


def _locked(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _is_ffi(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "tvm_ffi"


def _copied(array: np.ndarray, out: Any) -> Any:
    target = to_value(out)
    if not isinstance(target, np.ndarray) or target.dtype != array.dtype:
        raise ArgumentTypeError(f"'out' must be {describe(array)}, got {describe(out)}")
    if target.shape != array.shape:
        raise ShapeMismatchError(f"'out' must be {describe(array)}, got {describe(out)}")
    np.copyto(out if isinstance(out, np.ndarray) else target, array)
    return out
