"""Loading native objects; their functions as FFI functions."""

import contextlib
import ctypes
import platform
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from relax_mlir.errors import (
    ArgumentTypeError,
    ExecutableFormatError,
    ShapeMismatchError,
    VMError,
)
from relax_mlir.runtime.native import elf
from relax_mlir.runtime.native.cpu_features import host_cpu_name, host_triple, missing_features
from relax_mlir.runtime.native.ffi_errors import register_errors
from relax_mlir.runtime.native.thread_pool import POOL_FUNCTIONS, pool_object
from relax_mlir.runtime.program import NativeObject
from relax_mlir.runtime.values.bfloat16 import Bfloat16Export
from relax_mlir.runtime.values.convert import BFLOAT16, DTYPES, to_value
from relax_mlir.runtime.values.int4 import INT4, NibbleExport
from relax_mlir.runtime.values.ownership import unlocked, write_back

PREFIX = "__tvm_ffi_"
_NATIVE_ERRORS = {ValueError: ShapeMismatchError, TypeError: ArgumentTypeError}
_NUMPY_DTYPES = 255
ndarray = np.ndarray
_LOCK, _POOL_LOCK = threading.Lock(), threading.Lock()
_pool: Any = None  # its workers run until the process ends
_thread_limit = 0
# Called with objects that were linked and the addresses of their symbols, see `perf_map`.
LOAD_OBSERVERS: list[Callable[[list[NativeObject], dict[str, int]], None]] = []


def _image(objects: Iterable[bytes], imports: Mapping[str, int], exports: Iterable[str]) -> Any:
    """Return objects linked into the process, by LLVM only where it must be."""
    given = list(objects), imports, list(exports)
    with _LOCK:
        if sys.platform == "linux" and _arch(platform.machine()) == "x86_64":
            with contextlib.suppress(elf.UnsupportedObjectError):
                return elf.Image(*given)
        from relax_mlir.runtime.native import jit

        return jit.Image(*given)


def check_host(obj: NativeObject) -> None:
    """Check that this machine can run an object's code.

    Raises:
        ExecutableFormatError: another architecture, or the CPU lacks features the code uses.
    """
    host = platform.machine()
    if obj.triple and _arch(obj.triple) != _arch(host):
        raise ExecutableFormatError(
            f"native object '{obj.name}' is for {obj.triple}, this machine is {host}"
        )
    missing = missing_features(obj.cpu, obj.features)
    if missing == []:
        return
    here, advice = host_cpu_name(), "compile the model for this machine"
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


def thread_pool(triple: str = "") -> dict[str, int]:
    """Return the addresses of the process's thread pool's functions by name.

    Args:
        triple: of the object that needs it; by default the process's.
    """
    global _pool
    with _POOL_LOCK:
        if _pool is None:
            _pool = _image([pool_object(triple or host_triple())], {}, POOL_FUNCTIONS)
            _limit_threads()
    return {name: _pool.symbols[name] for name in POOL_FUNCTIONS}


def limit_threads(count: int) -> None:
    """Set the most threads of kernels; the pool that does it may be yet to come with a model."""
    global _thread_limit
    with _POOL_LOCK:
        _thread_limit = count
        _limit_threads()


def thread_limit() -> int:
    """Return the most threads of kernels."""
    if _pool is None and _thread_limit:
        return _thread_limit
    return ctypes.CFUNCTYPE(ctypes.c_int)(thread_pool()["relax_mlir_max_threads"])()


def _limit_threads() -> None:
    if _pool is not None and _thread_limit:
        set_threads = ctypes.CFUNCTYPE(None, ctypes.c_int)
        set_threads(_pool.symbols["relax_mlir_set_threads"])(_thread_limit)


# What kernels, and what is around them, call of tvm_ffi's library.
_FFI_SYMBOLS = ("TVMFFIErrorSetRaisedFromCStr", "TVMFFIFunctionGetGlobal", "TVMFFIFunctionCall",
                "TVMFFIObjectDecRef", "TVMFFITensorFromDLPack")  # fmt: skip


def load_objects(objects: Iterable[NativeObject]) -> dict[str, Any]:
    """Link the objects, which may call each other, and return their functions by name.

    Raises:
        ExecutableFormatError: the code is for another machine, damaged, or misses a symbol.
    """
    from relax_mlir.runtime.native.ffi import tvm_ffi

    register_errors()
    objects = list(objects)
    for obj in {(obj.triple, obj.cpu, obj.features): obj for obj in objects}.values():
        check_host(obj)
    # tvm_ffi's library is not global in the process, so what kernels call of it is given by hand.
    # The core's handle has what the core is linked to.
    library = ctypes.CDLL(tvm_ffi.core.__file__) if sys.platform == "linux" else tvm_ffi.LIB
    imports = {n: ctypes.cast(library[n], ctypes.c_void_p).value or 0 for n in _FFI_SYMBOLS}
    if parallel := [obj for obj in objects if obj.is_parallel]:
        imports |= thread_pool(parallel[0].triple)
    names: dict[str, str] = {}
    for obj in objects:
        for symbol in obj.symbols:
            name = symbol.removeprefix(PREFIX)
            if name in names:
                raise ExecutableFormatError(f"two native objects export '{name}'")
            names[name] = PREFIX + name
    try:
        image = _image([obj.data for obj in objects], imports, names.values())
    except (ValueError, IndexError, OSError) as error:
        labels = ", ".join(f"'{obj.name}'" for obj in objects)
        raise ExecutableFormatError(f"cannot link native object {labels}: {error}") from error
    for observe in LOAD_OBSERVERS:
        observe(objects, image.symbols)
    make = tvm_ffi.core.Function.__from_extern_c__
    return {n: make(image.symbols[s], keep_alive_object=image) for n, s in names.items()}


def ffi_tensor(value: Any) -> Any:
    """Return an array as TVM FFI's tensor over the same memory, any other value as it is."""
    if not isinstance(value, np.ndarray):
        return value
    from relax_mlir.runtime.native.ffi import tvm_ffi

    exported = Bfloat16Export(value) if value.dtype.name == BFLOAT16 else value
    return tvm_ffi.core.from_dlpack(exported)


def ffi_value(value: Any) -> Any:
    """Return a value that the FFI takes: bfloat16 arrays as what exports them, or as it is."""
    # numpy's own dtypes have small numbers; asking for a name is slow.
    if isinstance(value, np.ndarray) and value.dtype.num > _NUMPY_DTYPES:
        is_bfloat16 = value.dtype is DTYPES.get(BFLOAT16) or value.dtype.name == BFLOAT16
        return Bfloat16Export(value) if is_bfloat16 else value
    return value


def taking_bfloat16(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a native function that takes bfloat16 arrays too."""

    def call(*args: Any) -> Any:
        return func(*[ffi_value(a) for a in args])

    return call


# What to do about an argument, by what machine code says of it.
_HINTS = (
    (r"expected a tensor, got ", "; tensors are numpy arrays: np.asarray(x)"),
    (
        r"buffer '\w+': expected \w*(int|float|bool)\w*, got \w+$",
        "; x.astype(...) converts an array",
    ),
    (r"buffer '\w+': expected \d+ dimensions, got ", "; x.reshape(...) has others"),
)


def native_error(error: Exception) -> Exception:
    """Return the RelaxError for one that native code raised through the FFI."""
    if isinstance(error, VMError):
        return error
    text = str(error)
    hint = next((hint for pattern, hint in _HINTS if re.search(pattern, text)), "")
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
    from relax_mlir.runtime.native.ffi import tvm_ffi

    return tvm_ffi.core.from_dlpack(value)


def native_call(
    name: str, func: Callable[..., Any], *, views: bool = False, writes: Set[int] = frozenset()
) -> Callable[..., Any]:
    """Return a native function as people call it: with any arrays, and RelaxErrors.

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
