"""Exceptions of callbacks across the TVM FFI, raised again as the same class."""

import functools

from relax_mlir.errors import (
    ArgumentTypeError,
    BytecodeError,
    DeviceError,
    ExecutableFormatError,
    FunctionNotFoundError,
    ModuleCycleError,
    RelaxMLIRError,
    ShapeMismatchError,
    StatefulCallError,
    TypeMismatchError,
    VMError,
)

# The FFI hands on the name of a class and a message, so a class must be made of a message alone.
ERRORS: tuple[type[Exception], ...] = (
    RelaxMLIRError,
    VMError,
    ArgumentTypeError,
    ShapeMismatchError,
    DeviceError,
    FunctionNotFoundError,
    ExecutableFormatError,
    ModuleCycleError,
    BytecodeError,
    StatefulCallError,
    TypeMismatchError,
    RecursionError,
    NotImplementedError,
    ZeroDivisionError,
)


@functools.cache
def register_errors() -> None:
    """Tell the FFI our exceptions by name; those it knows already stay as they are."""
    from relax_mlir.runtime.native.ffi import tvm_ffi

    known = tvm_ffi.core.ERROR_NAME_TO_TYPE
    for error in ERRORS:
        if error.__name__ not in known:
            known[error.__name__] = error
            tvm_ffi.core.ERROR_TYPE_TO_NAME[error] = error.__name__
