"""Kernels for operations whose shapes and dtypes only run time knows.

Such an operation is a call of the runtime's library. Where the compiler is in the process, a call
with large tensors gets a kernel compiled for its ranks, its dtypes and the pattern of its sizes:
which are 1, and which are the same. Sizes themselves stay dynamic, so one kernel serves them all.
What cannot be compiled, and what is not worth it, stays with the library.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, absent, build
from relax_mlir.dialects.relax.ops.params import library_order
from relax_mlir.dialects.relax.tuples import field_types, is_tuple, make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.runtime.bytecode.builtins import LIBRARY_PREFIX
from relax_mlir.runtime.specializer import current
from relax_mlir.runtime.values.convert import DTYPES
from relax_mlir.runtime.vm.virtual_machine import VirtualMachine

# A kernel is compiled when its calls have seen so many elements: what that costs is then a small
# part of what they cost. Smaller calls go to the library at once.
WORTH_ELEMENTS = 1 << 21
MIN_ELEMENTS = 1 << 12
MAX_KERNELS = 128
_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
# numpy moves memory as fast as any kernel does.
_NOT_WORTH = frozenset({"reshape", "flatten", "unique", "nonzero"})


@dataclass
class _Entry:
    """One pattern of arguments: what its calls have seen, and the kernel once it is there."""

    elements: int = 0
    kernel: Callable[..., Any] | None = None
    rejected: bool = False
    compiling: bool = False


class KernelCache:
    """Compiles on first use and remembers; for any number of threads.

    Args:
        worth: elements that calls of one pattern have to see before it is compiled.
        least: elements below which a call is not looked at.
        most: how many patterns are remembered; the one not used for longest goes first.
    """

    worth: int
    least: int
    most: int

    def __init__(
        self, worth: int = WORTH_ELEMENTS, least: int = MIN_ELEMENTS, most: int = MAX_KERNELS
    ) -> None:
        self.worth, self.least, self.most = worth, least, most
        self._entries: OrderedDict[Any, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._busy = threading.local()

    def __len__(self) -> int:
        """Return how many kernels there are."""
        with self._lock:
            return sum(entry.kernel is not None for entry in self._entries.values())

    def clear(self) -> None:
        """Forget all kernels."""
        with self._lock:
            self._entries.clear()

    def __call__(self, name: str, args: tuple[Any, ...]) -> Any:
        """Return the result of a call of the library, NotImplemented where it is the library's."""
        size = 0
        for arg in args:
            if type(arg) is np.ndarray:
                size += arg.size
            elif type(arg) is tuple:
                size += sum(item.size for item in arg if type(item) is np.ndarray)
        if size < self.least:
            return NotImplemented
        kernel = self._kernel(name, args, size)
        if kernel is None:
            return NotImplemented
        given = _run_time_arguments(args)
        result = kernel(*given)
        if type(result) is tuple:
            return tuple([_own(field, given) for field in result])
        return _own(result, given)

    def _kernel(self, name: str, args: tuple[Any, ...], size: int) -> Callable[..., Any] | None:
        pattern = _Pattern()
        key = (name, pattern.key(args))
        if pattern.rejected or getattr(self._busy, "inside", False):
            return None
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry()
                if len(self._entries) > self.most:
                    self._entries.popitem(last=False)
            else:
                self._entries.move_to_end(key)
            entry.elements += size
            if entry.kernel is not None or entry.rejected or entry.compiling:
                return entry.kernel
            if entry.elements < self.worth:
                return None
            entry.compiling = True
        kernel = None
        self._busy.inside = True
        try:
            kernel = _compile(name.removeprefix(LIBRARY_PREFIX), args)
        finally:
            self._busy.inside = False
            with self._lock:
                entry.kernel, entry.rejected, entry.compiling = kernel, kernel is None, False
        return kernel


class _Pattern:
    """Brings arguments to what a kernel is compiled for; equal sizes are the same symbol."""

    def __init__(self) -> None:
        self.rejected = False
        self._symbols: dict[int, int] = {}

    def key(self, value: Any) -> Any:
        if type(value) is np.ndarray:
            if value.dtype not in _DTYPE_NAMES:
                self.rejected = True
            return value.dtype.char, tuple([self._size(dim) for dim in value.shape])
        if type(value) is tuple:
            return tuple([self.key(item) for item in value])
        if type(value) not in (int, float, str, bool, type(None)):
            self.rejected = True
            return None
        return type(value), value

    def _size(self, dim: int) -> int:
        # Negative: no size; 1 stays itself, as it broadcasts.
        return 1 if dim == 1 else -1 - self._symbols.setdefault(dim, len(self._symbols))

    def dims(self, shape: tuple[int, ...]) -> list[SymExpr]:
        """Return the dimensions of a tensor as a kernel declares them."""
        sizes = map(self._size, shape)
        return [SymExpr.const(1) if s == 1 else SymExpr.var(f"d{-1 - s}") for s in sizes]


def _run_time_arguments(args: tuple[Any, ...]) -> list[Any]:
    """Return the arguments that a kernel takes: its tensors, those of tuples one by one."""
    result: list[Any] = []
    for arg in args:
        if type(arg) is np.ndarray:
            result.append(arg)
        elif type(arg) is tuple:
            result += [item for item in arg if type(item) is np.ndarray]
    return [arg if arg.flags.c_contiguous else np.ascontiguousarray(arg) for arg in result]


def _own(result: Any, given: list[Any]) -> Any:
    """Return a result that shares no memory with the arguments: what the library promises."""
    if any(np.may_share_memory(result, each) for each in given):
        return result.copy()
    return result


def _compile(name: str, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return a function of the tensors, None where the operation has no kernel for them."""
    cls = COMPUTE_OPS.get(name)
    if cls is None or name in _NOT_WORTH:
        return None
    # A context of its own: the thread's may be in the middle of a pass.
    with make_context() as context, PassContext():
        try:
            # It runs in this process, whatever the current target is.
            module = _module(name, args, context)
            executable = extension("build")(module, "llvm")
        except (RelaxMLIRError, ValueError, ir.MLIRError):
            return None
        if any(function.startswith(LIBRARY_PREFIX) for function in executable.func_names):
            return None
    return VirtualMachine(executable)["main"]


def _module(name: str, args: tuple[Any, ...], context: ir.Context) -> IRModule:
    params = COMPUTE_OPS[name].PARAMS
    wanted = [param for param in params if param.is_operand]
    pattern = _Pattern()

    def tensor(array: np.ndarray) -> ir.Type:
        return T.tensor_type(pattern.dims(array.shape), _DTYPE_NAMES[array.dtype])

    operands, values = args[: len(wanted)], args[len(wanted) :]
    if _run_time_arguments(values):
        raise ValueError("an attribute is a tensor that only run time has")
    with context, ir.Location.unknown():
        types = [tensor(array) for array in _run_time_arguments(operands)]
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
                    "relax.function": ir.UnitAttr.get(),
                },
                regions=1,
            )
        block = function.regions[0].blocks.append(*types)
        arguments = iter(block.arguments)
        with ir.InsertionPoint(block):
            inputs: list[ir.Value] = []
            for param, given in zip(wanted, operands, strict=True):
                if param.kind == "tensor" and type(given) is np.ndarray:
                    inputs.append(next(arguments))
                elif given == () and param.default is None:
                    inputs.append(absent())
                elif param.kind == "tensors":
                    inputs.append(make_tuple([next(arguments) for _ in given]))
                else:
                    raise ValueError(f"no kernel takes {param.kind} {param.name}")
            names = [param.name for param in library_order(params)]
            result = build(name, inputs, dict(zip(names, values, strict=True)))
            ir.Operation.create("func.return", operands=[result])
        outputs = field_types(result.type) if is_tuple(result.type) else [result.type]
        if not all(T.is_tensor(type_) and T.tensor_dims(type_) is not None for type_ in outputs):
            raise ValueError("the result's shape depends on more than shapes")
        signature = ir.FunctionType.get(types, [result.type])
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
    return IRModule(module)


KERNELS = KernelCache()


class _Choice:
    """Whether somebody has said what calls of the library do."""

    made = False


def enable(cache: KernelCache | None = None) -> None:
    """Compile what the library would run; the first `relax.build` does this by itself."""
    _Choice.made = True
    current.specializer = KERNELS if cache is None else cache


def enable_by_default() -> None:
    """Do as `enable`, unless `enable` or `disable` was called before."""
    if not _Choice.made:
        enable()


def disable() -> None:
    """Leave everything to the library."""
    _Choice.made = True
    current.specializer = None
