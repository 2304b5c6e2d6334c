"""The virtual machine: runs the functions of an executable."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from sys import getrecursionlimit
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, FunctionNotFoundError, VMError, did_you_mean
from relax_mlir.interpreter import without_collector
from relax_mlir.runtime.bytecode.backtrace import annotate, frame_line, too_deep
from relax_mlir.runtime.bytecode.builtins import (
    BUILTINS,
    LIBRARY_PREFIX,
    MODEL_PREFIX,
    SMALL_TENSOR,
    alloc_storage,
    shape_of,
    storage_function,
    tensor_function,
    truth,
)
from relax_mlir.runtime.bytecode.instructions import Opcode
from relax_mlir.runtime.bytecode.shape_locals import heap_of
from relax_mlir.runtime.bytecode.translate import translate
from relax_mlir.runtime.device.memory import VMState
from relax_mlir.runtime.device.placement import Placement
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.native.loader import ffi_tensor, native_call, native_error
from relax_mlir.runtime.profiling.costs import takes_views, written_tensors
from relax_mlir.runtime.registry import find_func, is_registered, load_builtins, not_found
from relax_mlir.runtime.values.convert import BFLOAT16, DTYPES, describe, numpy_dtype, to_value
from relax_mlir.runtime.values.ndarray import Tensor, as_tensors
from relax_mlir.runtime.values.ownership import (
    STORAGE,
    arrays_of,
    frozen,
    guarded,
    read_only_owner,
    root_of,
    write_all_back,
)
from relax_mlir.runtime.vm.arguments import (
    bind,
    convert,
    described,
    plain_integers,
    with_placeholders,
)
from relax_mlir.runtime.vm.call_depth import TRUSTED_LIMIT, bounded
from relax_mlir.runtime.vm.direct_call import NAMES, direct_call
from relax_mlir.runtime.vm.stateful import STATEFUL, StatefulCalls

ndarray = np.ndarray


def _dtype(name: str) -> Any:
    """Return the dtype of that name, None where it is something else or numpy has none."""
    if name == BFLOAT16:
        # It is known from its first use on: what is translated later may rely on it.
        with suppress(ArgumentTypeError):
            return numpy_dtype(name)
    return DTYPES.get(name)


class VirtualMachine(StatefulCalls):
    """Runs an executable's functions: `vm["main"](x, y)`.

    Arguments may be numpy arrays, anything with `__dlpack__` on the CPU, numpy scalars (0-d
    tensors), tuples and lists of those, tuples of ints (shapes), Python numbers, strings, None and
    other objects; see `values.to_value`. Results are tensors, tuples and numbers. A tensor in
    the result is the caller's own, except where the program returns its argument itself.

    Functions that the bytecode calls are looked up at their first call: the executable's own, its
    native code, builtins, `register_func`, TVM FFI's registry; what was found is kept. One VM may
    be used by several threads at a time.

    Args:
        executable: an Executable or the path of a saved one.
        device: where the program's memory is: a device, its name, or a list; None is the CPU.
            Arguments are copied to the first one and results back, if it is not the CPU.
        memory_cfg: "pooled" (large freed blocks are used again) or "naive", or that by device.
        profile: as in TVM; any machine has `profile`.

    Raises:
        ExecutableFormatError: native code that this machine cannot run.
        DeviceError: a device that is not registered or does not exist.
        ValueError: another memory kind.
        TypeError: neither an Executable nor a path.
    """

    @without_collector()
    def __init__(
        self,
        executable: Executable | str | Path,
        device: Any = None,
        memory_cfg: str | Mapping[Any, str] | None = None,
        profile: bool = False,
    ) -> None:
        if not isinstance(executable, Executable):
            if not isinstance(executable, (str, os.PathLike)):
                raise TypeError(
                    "a VirtualMachine runs an Executable, which relax.build gives, or the file of "
                    f"one, got {describe(executable)}"
                )
            executable = Executable.load(executable)
        super().__init__()
        self.executable = executable
        self._memory_cfg = memory_cfg
        self._wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]] | None = None
        devices = device if isinstance(device, (list, tuple)) else (device,)
        self.state: VMState = VMState(memory_cfg, [d for d in devices if d is not None])
        self._placement = Placement(self.state)
        self._funcs = {f.name: i for i, f in enumerate(executable.global_funcs)}
        self._native = executable.load_native()
        load_builtins(executable.func_names)
        self._native_only = frozenset(self._native) - frozenset(self._funcs)
        self._lock = threading.RLock()
        self._bodies: dict[int, Callable[..., Any]] = {}
        self._lines: dict[int, list[int]] = {}
        self._calls: dict[str, Callable[..., Any]] = {}
        on_host = self.state.on_host
        views = executable.constant_views() if on_host else executable.constants
        inward = to_value if on_host else lambda c: self._placement.inward(to_value(c))
        constants = [frozen(inward(c)) for c in views]
        arrays = [a for c in constants for a in arrays_of(c)]
        self._constant_ids = {id(a) for a in arrays} | {id(root_of(a)) for a in arrays}
        self._namespace: dict[str, Any] = {
            "vm_state": self.state,
            "ndarray": ndarray,
            "empty": np.empty,
            "small": SMALL_TENSOR if self.state.plain else -1,
            "heap_of": heap_of,
            "truth": truth,
            "shape_of": shape_of,
            "new_tensor": tensor_function(self.state),
            "to_value": to_value,
            "fail": self._fail,
            **NAMES,
            **{f"c{i}": c for i, c in enumerate(constants)},
            **{f"d{i}": _dtype(c) for i, c in enumerate(constants) if type(c) is str},
            **{f"t{i}": ffi_tensor(c) if self._native else c for i, c in enumerate(constants)},
            **self._stubs(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickles and copies hold: the executable, and how this machine was made."""
        return type(self), (self.executable, self.state.devices, self._memory_cfg)

    @property
    def functions(self) -> tuple[str, ...]:
        """The public functions, of the bytecode and then native; `vm[...]` finds others too."""
        private = self.executable.metadata.get("private", ())
        names = (*self._funcs, *[n for n in self._native if n not in self._funcs])
        return (*[name for name in names if name not in private], *self._saved)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function that may be called with positional or keyword arguments.

        Raises:
            FunctionNotFoundError: the executable has none of that name.
        """
        call = self._calls.get(name)
        if call is None:
            saved = self._saved.get(name)
            if saved is not None:
                return saved
            if name in STATEFUL and name not in self.functions:
                return getattr(self, name)
            call = self._calls[name] = self._placement.across(self._make_call(name))
        return call

    def __getattr__(self, name: str) -> Any:
        hint = ""
        if not name.startswith("_") and name in self.functions:
            hint = f": the program's functions are items, vm[{name!r}]"
        raise AttributeError(f"a VirtualMachine has no attribute {name!r}{hint}")

    def invoke_function(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function by name; same as `vm[name](*args, **kwargs)`."""
        return self[name](*args, **kwargs)

    def set_instrument(self, instrument: Callable[..., Any] | None) -> None:
        """Let a function see, and perhaps replace, every call that the bytecode makes.

        It is called as `instrument(func, name, before_run, result, *args)`, before and after each;
        see `VMInstrumentReturnKind` for what it may return. Every instruction is then a call of its
        own, also those that are otherwise part of others. Native code that calls native code is one
        call. None ends it. Calls that are running go on as they began.

        Raises:
            TypeError: not callable.
        """
        if instrument is None:
            self._set_wrap(None)
            return
        if not callable(instrument):
            raise TypeError(f"an instrument is a function, got {instrument!r}")
        # Few machines have one.
        from relax_mlir.runtime.vm.instrument import instrumented

        self._set_wrap(lambda name, func: instrumented(instrument, name, func))

    def _set_wrap(
        self, wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]] | None
    ) -> None:
        with self._lock:
            self._wrap = wrap
            self._namespace["watched"] = wrap is not None
            self._bodies.clear()
            self._namespace.update(self._stubs())

    def __repr__(self) -> str:
        return f"<VirtualMachine [{', '.join(self.functions)}]>"

    # Calls from outside

    def _make_call(self, name: str) -> Callable[..., Any]:
        index = self._funcs.get(name)
        if index is None:
            if name in self._native:
                metadata = self.executable.metadata
                return native_call(
                    name, self._native[name], views=takes_views(metadata, name),
                    writes=written_tensors(metadata, name),
                )  # fmt: skip
            raise FunctionNotFoundError(
                f"the executable has no function '{name}'{did_you_mean(str(name), self.functions)}"
                f" (it has: {', '.join(self.functions) or 'none'})"
            )
        func = self.executable.global_funcs[index]
        lines = self._body(index).direct_lines
        bodies, find = self._bodies, self._body
        count, own, may_write = func.num_args, self._own, self._calls_others()

        def inward(args: tuple) -> Sequence[Any]:
            args = plain_integers(self.executable, func, args)
            given = args if self._wrap else with_placeholders(self.executable, func, args)
            try:
                # Placeholders are rejected as they are; a copy would take the memory they avoid.
                return [to_value(a) if a is arg else a for a, arg in zip(given, args, strict=True)]
            except Exception:
                return convert(self.executable, func, args)

        def deep(error: RecursionError) -> VMError:
            return too_deep(name, error, self.executable, self._namespace, self._lines)

        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs or len(args) != count:
                args = bind(func, args, kwargs)
            results = copied = False  # results of other calls among the arguments
            for a in args:
                kind = type(a)
                # `to_value` says the same of most arrays, but it is a call.
                if (
                    (kind is not ndarray and kind is not Tensor)
                    or not a.flags.carray
                    or not a.dtype.isnative
                ):
                    values, copied = inward(args), may_write
                    break
                if kind is Tensor:
                    results = True
            else:
                values = [a.view(ndarray) for a in args] if results else args
            try:
                body = bodies[index]
            except KeyError:
                body = find(index)
            try:
                if getrecursionlimit() > TRUSTED_LIMIT:
                    result = bounded(name, body)(*values)
                else:
                    result = body(*values)
            except RecursionError as error:
                raise deep(error) from error
            if copied:
                write_all_back(args, values, name)
            kind = type(result)
            if kind is not ndarray and kind is not tuple:
                return result
            if not body.returns_own_tensor and (kind is tuple or type(result.base) not in STORAGE):
                result = own(result, args, values)
            return result.view(Tensor) if kind is ndarray else as_tensors(result)

        if lines:
            call = direct_call(index, lines, count, self._namespace, call, deep)
        return described(call, func)

    def _calls_others(self) -> bool:
        """Whether the program calls functions of others, which may write their arguments."""
        own = {*self._funcs, *self._native, *BUILTINS}
        names = (name for name in self.executable.func_names if name not in own)
        return not all(name.startswith((LIBRARY_PREFIX, MODEL_PREFIX)) for name in names)

    def _own(self, result: Any, args: Any, values: Sequence[Any]) -> Any:
        """Return a result that shares memory with no constant and no argument but itself."""
        if type(result) is tuple:
            return tuple([self._own(r, args, values) for r in result])
        if type(result) is not ndarray or type(result.base) in STORAGE:
            return result
        inputs = [a for v in values for a in arrays_of(v)]
        if any(result is a for a in inputs):
            owner = read_only_owner(result.base)
            return result if owner is None else owner
        roots = {id(root_of(a)) for a in inputs}
        root = root_of(result)
        if id(result) in self._constant_ids or id(root) in self._constant_ids | roots:
            return result.copy()
        return result if read_only_owner(root) is None else result.copy()

    # Calls from the bytecode

    def _body(self, index: int) -> Callable[..., Any]:
        body = self._bodies.get(index)
        if body is None:
            with self._lock, without_collector():
                func = self.executable.global_funcs[index]
                self.executable.verify_function(func)
                plain = self._wrap is not None
                body, self._lines[index] = translate(
                    self.executable, func, self._namespace, self._native_only, plain
                )
                body = self._bodies.setdefault(index, body)
        return body

    def _stubs(self) -> dict[str, Callable[..., Any]]:
        return {f"p{i}": self._stub(i, n) for i, n in enumerate(self.executable.func_names)}

    def _stub(self, index: int, name: str) -> Callable[..., Any]:
        """Return a function that replaces itself, at its first call, by what the name means."""

        def first_call(*args: Any) -> Any:
            with self._lock:
                # A closure may have kept this stub from before it was replaced.
                target = self._namespace[f"p{index}"]
                if target is first_call:
                    target = self._resolve(name)
                    if self._wrap is not None:
                        target = self._wrap(name, target)
                    self._namespace[f"p{index}"] = target
            return target(*args)

        first_call.takes_values = True
        return first_call

    def _resolve(self, name: str) -> Callable[..., Any]:
        index = self._funcs.get(name)
        if index is not None:
            return self._body(index)
        func = self._native.get(name)
        if func is None and name not in BUILTINS:
            func = self.executable.imported_function(name)
        func = func or find_func(name)
        if func is None:
            raise not_found(name, self.functions)
        if func is alloc_storage:
            return storage_function(self.state)
        own = name in self._native or name in BUILTINS
        # An FFI function takes its tensors through DLPack, which has none that are read-only.
        if own:
            return func
        if type(func).__module__.startswith("tvm_ffi"):
            return bounded(name, func)
        return guarded(func, as_tensors if is_registered(name) else None)

    def _fail(self, error: Exception, index: int) -> None:
        """Say where an exception came from; raise our own in place of a native function's."""
        line = error.__traceback__.tb_lineno - 1 if error.__traceback__ else -1
        lines = self._lines.get(index, [])
        position = lines[line] if 0 <= line < len(lines) else -1
        where, name = frame_line(self.executable, index, position), ""
        if position >= 0:
            start = self.executable.global_funcs[index].start_instr
            instr = self.executable.get_instruction(start + position)
            if instr.op is Opcode.CALL:
                name = self.executable.func_names[instr.func_idx]
        if name in self._native_only and not isinstance(error, VMError):
            raise annotate(native_error(error), where) from None
        annotate(error, where)

    def _sibling(self) -> "VirtualMachine":
        return VirtualMachine(self.executable, list(self.state.devices), self._memory_cfg)
