"""The graph of a static function: its bytecode as nodes, storage ids and shapes, as JSON."""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from relax_mlir.errors import FunctionNotFoundError, VMError, did_you_mean
from relax_mlir.runtime.bytecode.builtins import PREFIX
from relax_mlir.runtime.bytecode.instructions import Arg, ArgKind, Instruction, Opcode
from relax_mlir.runtime.bytecode.shape_builtins import SHAPE_BUILTINS
from relax_mlir.runtime.graph.plan import shared_storage
from relax_mlir.runtime.program import Program, VMFunction
from relax_mlir.runtime.values.convert import describe, numpy_dtype
from relax_mlir.runtime.vm.signature import parameters

_MAX_INLINED = 100
_NOTHING = ("kill_object", "check_shape_value", "check_tuple", "check_int", "check_sizes")


@dataclass
class _Tensor:
    """A tensor of the graph; its entry is (node, output) once something has written it."""

    storage: int
    offset: int
    shape: tuple[int, ...]
    dtype: str
    entry: tuple[int, int] | None = None


@dataclass
class _Storage:
    id: int


class _Missing:
    """The value of a parameter that nothing has said the shape of."""

    def __init__(self, name: str) -> None:
        self.name = name


def graph_json(executable: Program, function: str | None = None) -> str:
    """Return the graph of a static function as JSON, in the layout of TVM's graph executor.

    `nodes` are inputs and constants (`op` is "null") and calls; each has as many entries as
    outputs, and `attrs` gives every entry its storage, the place in it, its shape and dtype.

    Args:
        executable: the program.
        function: one of its functions; None is `main`, or the only public one.

    Raises:
        FunctionNotFoundError: there is no such function.
        VMError: it is dynamic, which takes a virtual machine.
    """
    name = _chosen(executable, function)
    return _Builder(executable, name).json()


def _chosen(executable: Program, function: str | None) -> str:
    private = executable.metadata.get("private", ())
    names = [f.name for f in executable.global_funcs if f.name not in private]
    if function is None:
        function = "main" if "main" in names or len(names) != 1 else names[0]
    if all(f.name != function for f in executable.global_funcs):
        raise FunctionNotFoundError(
            f"the executable has no function '{function}'{did_you_mean(function, names)}"
            f" (it has: {', '.join(names) or 'none'})"
        )
    return function


class _Builder:
    """Follows a function's instructions and notes what each call reads and writes."""

    def __init__(self, executable: Program, name: str) -> None:
        self._executable, self._name = executable, name
        kernels = executable.metadata.get("kernels")
        self._kernels: dict[str, Any] = kernels if isinstance(kernels, dict) else {}
        self._functions = {f.name: f for f in executable.global_funcs}
        self._native = {symbol for obj in executable.native for symbol in obj.symbols}
        self._nodes: list[dict[str, Any]] = []
        self._rows = [0]
        self._entries: list[_Tensor] = []
        self._sizes: list[int] = []
        self._constants: dict[int, _Tensor] = {}
        func = self._functions[name]
        inputs = [
            self._leaf(p.name, p.dims, p.dtype)
            if p.dtype is not None and p.dims is not None and p.is_static
            else _Missing(p.name)
            for p in parameters(executable, func)
        ]
        self._heads = self._flat(self._run(func, inputs, 0))
        self._plan()

    def json(self) -> str:
        """Return the graph; one line for each node and attribute, for people."""
        rows = [json.dumps(node) for node in self._nodes]
        attributes = {
            "dltype": ["list_str", [t.dtype for t in self._entries]],
            "shape": ["list_shape", [list(t.shape) for t in self._entries]],
            "storage_id": ["list_int", [t.storage for t in self._entries]],
            "storage_offset": ["list_int", [t.offset for t in self._entries]],
            "storage_size": ["list_int", self._sizes],
        }
        inner = [f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in attributes.items()]
        arguments = [i for i, node in enumerate(self._nodes) if node["op"] == "null"]
        parts = [
            '  "nodes": [\n    ' + ",\n    ".join(rows) + "\n  ]",
            f'  "arg_nodes": {json.dumps(arguments)}',
            f'  "heads": {json.dumps([[*head, 0] for head in self._heads])}',
            '  "attrs": {\n' + ",\n".join(inner) + "\n  }",
            f'  "node_row_ptr": {json.dumps(self._rows)}',
        ]
        return "{\n" + ",\n".join(parts) + "\n}\n"

    def _plan(self) -> None:
        """Let tensors that are never needed at a time share storage."""
        entries = [tensor.storage for tensor in self._entries]
        heads = [self._rows[source] + output for source, output in self._heads]
        places, self._sizes = shared_storage(self._nodes, self._rows, entries, heads, self._sizes)
        for tensor in self._entries:
            tensor.storage = places[tensor.storage]

    # Nodes

    def _add(self, node: dict[str, Any], outputs: list[_Tensor]) -> None:
        for i, tensor in enumerate(outputs):
            tensor.entry = (len(self._nodes), i)
            self._entries.append(_Tensor(tensor.storage, tensor.offset, tensor.shape, tensor.dtype))
        self._nodes.append(node)
        self._rows.append(len(self._entries))

    def _storage(self, size: int) -> int:
        self._sizes.append(size)
        return len(self._sizes) - 1

    def _leaf(self, name: str, shape: tuple[int, ...], dtype: str, **extra: Any) -> _Tensor:
        size = int(np.prod(shape, dtype=np.int64)) * numpy_dtype(dtype).itemsize
        tensor = _Tensor(self._storage(size), 0, shape, dtype)
        self._add({"op": "null", "name": name, "inputs": [], **extra}, [tensor])
        return tensor

    def _constant(self, arg: Arg) -> Any:
        if arg.kind is ArgKind.CONSTANT:
            return self._executable.constants[arg.value]
        return arg.value if arg.kind is ArgKind.IMMEDIATE else None

    # Values

    def _value(self, registers: dict[int, Any], arg: Arg) -> Any:
        if arg.kind is ArgKind.REGISTER:
            return registers.get(arg.value) if arg.is_plain_register else None
        if arg.kind is ArgKind.FUNCTION:
            self._refuse(f"passes the function '{self._executable.func_names[arg.value]}' on")
        value = self._constant(arg)
        if not isinstance(value, np.ndarray):
            return value
        if arg.value not in self._constants:
            self._constants[arg.value] = self._leaf(
                f"p{len(self._constants)}", value.shape, value.dtype.name, constant=arg.value
            )
        return self._constants[arg.value]

    def _flat(self, value: Any) -> list[tuple[int, int]]:
        if isinstance(value, tuple) and not _is_shape(value):
            return [head for item in value for head in self._flat(item)]
        if isinstance(value, _Missing):
            self._refuse(f"does not say the shape of its input '{value.name}'")
        if not isinstance(value, _Tensor) or value.entry is None:
            self._refuse(f"returns {describe(value)}, which is no tensor")
        return [value.entry]

    def _refuse(self, reason: str) -> NoReturn:
        raise VMError(
            f"the graph executor runs static functions only, and '{self._name}' {reason}: "
            "run it by relax.VirtualMachine"
        )

    # Instructions

    def _run(self, func: VMFunction, args: list[Any], depth: int) -> Any:
        if depth > _MAX_INLINED:
            self._refuse(f"calls '{func.name}' recursively")
        registers = dict(enumerate(args))
        for instr in self._executable.instructions(func):
            if instr.op is Opcode.RET:
                return self._value(registers, instr.reg)
            if instr.op is not Opcode.CALL:
                self._refuse("has control flow")
            result = self._call(registers, instr, depth)
            if instr.dst.is_plain_register:
                registers[instr.dst.value] = result
        raise AssertionError("a function ends with 'ret'")

    def _call(self, registers: dict[int, Any], instr: Instruction, depth: int) -> Any:
        name = self._executable.func_names[instr.func_idx]
        args = [self._value(registers, arg) for arg in instr.args]
        func = self._functions.get(name)
        if func is not None:
            return self._run(func, args, depth + 1)
        if name.startswith(PREFIX):
            return self._builtin(name.removeprefix(PREFIX), args)
        if instr.dst.is_plain_register:
            self._refuse(f"calls '{name}', which makes its result itself")
        self._kernel(name, args)
        return None

    def _builtin(self, name: str, args: list[Any]) -> Any:
        if name == "check_tensor" or name in _NOTHING:
            dims = args[4] if name == "check_tensor" and len(args) > 4 else ()
            if dims is None or -1 in dims:
                self._refuse("has inputs whose shape is not static")
            return None
        if name == "alloc_storage":
            size = next((a for a in args if isinstance(a, int) or _is_shape(a)), None)
            if size is not None:
                size = size if isinstance(size, int) else int(np.prod(size, dtype=np.int64))
                return _Storage(self._storage(size))
        if name == "alloc_tensor" and len(args) >= 3 and isinstance(args[0], _Storage):
            offset, shape = (args[2], args[1]) if _is_shape(args[1]) else (args[1], args[2])
            if isinstance(offset, int) and _is_shape(shape):
                dtype = str(args[3]) if len(args) > 3 else "float32"
                return _Tensor(args[0].id, offset, shape, dtype)
        if name == "make_tuple":
            return tuple(args)
        if name == "tuple_getitem" and isinstance(args[0], tuple) and isinstance(args[1], int):
            return args[0][args[1]]
        if name == "move" and len(args) == 1:
            return args[0]
        if name == "reshape" and isinstance(args[0], _Tensor) and _is_shape(args[1]):
            return self._reshape(args[0], args[1])
        if PREFIX + name in SHAPE_BUILTINS:
            self._refuse(f"has symbolic shapes (it uses '{PREFIX}{name}')")
        self._refuse(f"uses '{PREFIX}{name}'")

    def _reshape(self, tensor: _Tensor, shape: tuple[int, ...]) -> _Tensor:
        assert tensor.entry is not None
        viewed = _Tensor(tensor.storage, tensor.offset, shape, tensor.dtype)
        node = {"op": "tvm_op", "name": f"reshape_{len(self._nodes)}"}
        node |= {"attrs": {"func_name": "__nop", "args": []}, "inputs": [[*tensor.entry, 0]]}
        self._add(node, [viewed])
        return viewed

    def _kernel(self, name: str, args: list[Any]) -> None:
        tensors = [arg for arg in args if isinstance(arg, _Tensor)]
        for arg in args:
            if isinstance(arg, _Missing):
                self._refuse(f"does not say the shape of its input '{arg.name}'")
            if not isinstance(arg, (_Tensor, int, float, str, type(None))):
                self._refuse(f"passes {describe(arg)} to '{name}'")
        entry = self._kernels.get(name)
        writes = entry.get("writes") if isinstance(entry, dict) else None
        if isinstance(writes, list) and name in self._native:
            known = [tensors[i] for i in writes if type(i) is int and 0 <= i < len(tensors)]
        else:
            known = []
        written = [t for t in tensors if t.entry is None or any(t is each for each in known)]
        inputs: list[list[int]] = []
        text: list[str] = []
        for arg in args:
            if not isinstance(arg, _Tensor):
                text.append(json.dumps(arg))
                continue
            # What is read and written is an input too: it comes from the node that made it.
            if arg.entry is not None:
                inputs.append([*arg.entry, 0])
            output = next((i for i, t in enumerate(written) if t is arg), None)
            text.append(f"in{len(inputs) - 1}" if output is None else f"out{output}")
        attrs: dict[str, Any] = {
            "func_name": name,
            "num_inputs": str(len(inputs)),
            "num_outputs": str(len(written)),
            "args": text,
        }
        if isinstance(entry, dict) and entry.get("parts"):
            attrs["parts"] = entry["parts"]
        node = {"op": "tvm_op", "name": f"{name}_{len(self._nodes)}", "attrs": attrs}
        self._add({**node, "inputs": inputs}, written)


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and all(type(dim) is int for dim in value)
