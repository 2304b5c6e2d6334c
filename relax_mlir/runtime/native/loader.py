"""Loading native objects; their functions as FFI functions."""

import atexit
import contextlib
import ctypes
import ctypes.util
import functools
import itertools
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Set
from typing import Any

import numpy as np

from relax_mlir.errors import (
    ArgumentTypeError,
    ExecutableFormatError,
    ShapeMismatchError,
    VMError,
)
from relax_mlir.runtime.native.cpu_features import missing_features
from relax_mlir.runtime.native.ffi_errors import register_errors
from relax_mlir.runtime.native.thread_pool import POOL_FUNCTIONS, pool_source
from relax_mlir.runtime.program import NativeObject
from relax_mlir.runtime.values.bfloat16 import Bfloat16Export
from relax_mlir.runtime.values.convert import BFLOAT16, to_value
from relax_mlir.runtime.values.int4 import INT4, NibbleExport
from relax_mlir.runtime.values.ownership import unlocked, write_back

PREFIX = "__tvm_ffi_"
_NATIVE_ERRORS = {ValueError: ShapeMismatchError, TypeError: ArgumentTypeError}
_NUMPY_DTYPES = 255
ndarray = np.ndarray
_LOCK = threading.Lock()
_COUNTER = itertools.count()
_LIBRARIES: "weakref.WeakSet[_Library]" = weakref.WeakSet()
_jit: Any = None
_pool: "_Library | None" = None  # its workers run until the process ends
# Called with objects that were linked and the addresses of their functions, see `perf_map`.
LOAD_OBSERVERS: list[Callable[[list[NativeObject], dict[str, int]], None]] = []


class _Library:
    """Keeps linked code in memory; every function made of it holds this."""

    def __init__(self, tracker: Any, jit: Any) -> None:
        self.tracker = tracker
        self.jit = jit
        _LIBRARIES.add(self)


def _host_jit() -> Any:
    """Return the process's JIT; one for all executables, so nothing outlives it."""
    global _jit
    if _jit is None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        # JITLink gives an object one piece of memory. RuntimeDyld, llvmlite's default, gives each
        # section its own and does not notice when code cannot reach its constants.
        _jit = llvm.create_lljit_compiler(machine, use_jit_link=True)
        # Half precision conversions live in libgcc; its symbols are not global by default.
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)
        # At exit modules die in any order; the code must not be unmapped after its JIT is gone.
        atexit.register(_leave_loaded)
    return _jit


def _leave_loaded() -> None:
    for library in list(_LIBRARIES):
        library.tracker.detach()
    _jit.detach()


def check_host(obj: NativeObject) -> None:
    """Check that this machine can run an object's code.

    Raises:
        ExecutableFormatError: another architecture, or the CPU lacks features the code uses.
    """
    import llvmlite.binding as llvm

    host = llvm.get_process_triple()
    if obj.triple and _arch(obj.triple) != _arch(host):
        raise ExecutableFormatError(
            f"native object '{obj.name}' is for {obj.triple}, this machine is {host}"
        )
    missing = missing_features(obj.cpu, obj.features)
    here, advice = llvm.get_host_cpu_name(), "compile the model for this machine"
    if missing is None and obj.cpu != here:
        raise ExecutableFormatError(
            f"native object '{obj.name}' was compiled for CPU '{obj.cpu}' and does not say what "
            f"it needs of it; this CPU is {here}: {advice}"
        )
    if missing:
        raise ExecutableFormatError(
            f"native object '{obj.name}' was compiled for CPU '{obj.cpu or 'generic'}' and "
            f"needs {', '.join(missing)}, which this CPU ({here}) lacks; {advice}"
        )


def _arch(triple: str) -> str:
    arch = triple.partition("-")[0]
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(arch, arch)


@functools.lru_cache(maxsize=1)
def thread_pool() -> dict[str, int]:
    """Return the addresses of the process's thread pool's functions by name."""
    import llvmlite.binding as llvm

    with _LOCK:
        jit = _host_jit()
        builder = llvm.JITLibraryBuilder().add_current_process()
        builder.add_ir(pool_source(_arch(llvm.get_process_triple())))
        for name in POOL_FUNCTIONS:
            builder.export_symbol(name)
        tracker = builder.link(jit, f"relax_mlir.{next(_COUNTER)}")
        global _pool
        _pool = _Library(tracker, jit)
    return {name: tracker[name] for name in POOL_FUNCTIONS}


# What kernels, and what is around them, call of tvm_ffi's library.
_FFI_SYMBOLS = ("TVMFFIErrorSetRaisedFromCStr", "TVMFFIFunctionGetGlobal", "TVMFFIFunctionCall",
                "TVMFFIObjectDecRef", "TVMFFITensorFromDLPack")  # fmt: skip


def load_objects(objects: Iterable[NativeObject]) -> dict[str, Any]:
    """Link the objects, which may call each other, and return their functions by name.

    Raises:
        ExecutableFormatError: the code is for another machine, damaged, or misses a symbol.
    """
    import llvmlite.binding as llvm
    import tvm_ffi

    register_errors()
    objects = list(objects)
    for obj in objects:
        check_host(obj)
    builder = llvm.JITLibraryBuilder().add_current_process()
    if any(obj.is_parallel for obj in objects):
        for name, address in thread_pool().items():
            builder.import_symbol(name, address)
    # tvm_ffi's library is not global in the process, so what kernels call of it is given by hand.
    for name in _FFI_SYMBOLS:
        builder.import_symbol(name, ctypes.cast(tvm_ffi.LIB[name], ctypes.c_void_p).value)
    names: dict[str, str] = {}
    for obj in objects:
        builder.add_object_img(obj.data)
        for symbol in obj.symbols:
            name = symbol.removeprefix(PREFIX)
            if name in names:
                raise ExecutableFormatError(f"two native objects export '{name}'")
            names[name] = PREFIX + name
            builder.export_symbol(PREFIX + name)
    with _LOCK:
        jit = _host_jit()
        try:
            tracker = builder.link(jit, f"relax_mlir.{next(_COUNTER)}")
        except RuntimeError as error:
            labels = ", ".join(f"'{obj.name}'" for obj in objects)
            missing = re.findall(r"Symbols not found: \[ (.*?) \]", str(error))
            reason = f"symbols not found: {missing[0]}" if missing else str(error)
            if "materialize" in reason:
                reason += " (LLVM wrote the names of the missing ones to stderr)"
            raise ExecutableFormatError(f"cannot link native object {labels}: {reason}") from error
    library = _Library(tracker, jit)
    for observe in LOAD_OBSERVERS:
        observe(objects, {name: tracker[symbol] for name, symbol in names.items()})
    functions = {}
    for name, symbol in names.items():
        address = tracker[symbol]
        func = tvm_ffi.Function.__from_extern_c__(address, keep_alive_object=library)
        functions[name] = func
    return functions


def ffi_tensor(value: Any) -> Any:
    """Return an array as TVM FFI's tensor over the same memory, any other value as it is."""
    if not isinstance(value, np.ndarray):
        return value
    import tvm_ffi

    return tvm_ffi.from_dlpack(Bfloat16Export(value) if value.dtype.name == BFLOAT16 else value)


def ffi_value(value: Any) -> Any:
    """Return a value that the FFI takes: bfloat16 arrays as its tensors, any other as it is."""
    # numpy's own dtypes have small numbers; asking for a name is slow.
    if isinstance(value, np.ndarray) and value.dtype.num > _NUMPY_DTYPES:
        return ffi_tensor(value)
    return value


def taking_bfloat16(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a native function that takes bfloat16 arrays too."""

    def call(*args: Any) -> Any:
        return func(*[ffi_value(a) for a in args])

    return call


# What to do about an argument, by what machine code says of it.
_HINTS = (
    (re.compile(r"expected a tensor, got "), "; tensors are numpy arrays: np.asarray(x)"),
    (
        re.compile(r"buffer '\w+': expected \w*(int|float|bool)\w*, got \w+$"),
        "; x.astype(...) converts an array",
    ),
    (re.compile(r"buffer '\w+': expected \d+ dimensions, got "), "; x.reshape(...) has others"),
)


def native_error(error: Exception) -> Exception:
    """Return the error of ours for one that native code raised through the FFI."""
    if isinstance(error, VMError):
        return error
    text = str(error)
    hint = next((hint for pattern, hint in _HINTS if pattern.search(text)), "")
    return _NATIVE_ERRORS.get(type(error), VMError)(text + hint)


def _is_view(value: Any) -> bool:
    """Whether an array can be passed with its strides, and would be copied otherwise."""
    if type(value) is not np.ndarray or value.flags.c_contiguous:
        return False
    plain = value.dtype.isnative and value.dtype.num <= _NUMPY_DTYPES
    return value.flags.aligned and value.flags.writeable and plain


def _is_number(value: Any) -> bool:
    return isinstance(value, np.generic)


def _call(func: Callable[..., Any], values: list[Any]) -> Any:
    """Call a native function with values; 4-bit integers are packed for it."""
    packed: list[NibbleExport] = []
    passed = list(values)
    for i, value in enumerate(values):
        if isinstance(value, np.ndarray) and value.dtype.num > _NUMPY_DTYPES:
            if value.dtype.name in INT4:
                packed.append(NibbleExport(value))
                passed[i] = _from_dlpack(packed[-1])
            else:
                passed[i] = ffi_value(value)
    result = to_value(func(*passed))
    for each in packed:
        each.unpack()
    return result


def _from_dlpack(value: Any) -> Any:
    import tvm_ffi

    return tvm_ffi.from_dlpack(value)


def native_call(
    name: str, func: Callable[..., Any], *, views: bool = False, writes: Set[int] = frozenset()
) -> Callable[..., Any]:
    """Return a native function as people call it: with any arrays, and errors of ours.

    What it writes to an argument that had to be copied is brought to the argument itself.

    Args:
        name: of the function.
        func: takes tensors.
        views: whether it checks the strides of arrays, and those that it declares go to it as
            they are.
        writes: which of the arrays that it is given it is known to write.
    """

    def slowly(*args: Any) -> Any:
        if views and any(_is_view(a) for a in args):
            try:
                values = [a if _is_view(a) else unlocked(to_value(a)) for a in args]
                if all(_is_view(a) or v is a for a, v in zip(args, values, strict=True)):
                    return _call(func, values)
            except Exception as error:
                if "expected stride" not in str(error):
                    raise native_error(error) from None
        try:
            values = [unlocked(to_value(a)) for a in args]
            try:
                result = _call(func, values)
            except TypeError as error:
                # A number of numpy's is a tensor without dimensions first.
                if "expected a" not in str(error) or not any(map(_is_number, args)):
                    raise
                values = [
                    a.item() if _is_number(a) else v for a, v in zip(args, values, strict=True)
                ]
                result = _call(func, values)
        except Exception as error:
            raise native_error(error) from None
        for i, (arg, value) in enumerate(zip(args, values, strict=True)):
            if value is not arg and isinstance(arg, np.ndarray):
                tensor = sum(isinstance(each, np.ndarray) for each in values[:i])
                write_back(arg, value, f"{name}: argument {i}", written=tensor in writes)
        return result

    def call(*args: Any) -> Any:
        for arg in args:
            kind = type(arg)
            if kind is ndarray:
                # Arrays over others' memory may be over what is read-only, and are copied then.
                if arg.base is not None or not arg.flags.carray:
                    return slowly(*args)
            elif kind is not int and kind is not float:
                return slowly(*args)
        try:
            # The FFI takes plain arrays as they are.
            result = func(*args)
            return result if result is None else to_value(result)
        except BufferError:  # by numpy, before the call: a dtype that DLPack does not have
            return slowly(*args)
        except Exception as error:
            raise native_error(error) from None

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Native function '{name}'; the last arguments are outputs."
    return call
