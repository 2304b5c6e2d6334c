"""Raising errors from native code, as LLVM-dialect text: a kind of exception and a message."""
# ruff: noqa: E501  (one operation of the text below is one line)

from collections.abc import Sequence

from relax_mlir.lowering.codegen.ffi.table import Strings

_MESSAGE_BYTES = 512
_MAX_VALUES = 6
# What the FFI calls the types of arguments, 16 bytes each: from 0 and from 64 on, then any other.
_TYPE_NAMES = (
    "None", "int", "bool", "float", "void*", "DataType", "Device", "DLTensor*", "const char*",
    "bytes*", "rvalue reference", "str", "bytes",
)  # fmt: skip
_OBJECT_NAMES = (
    "object", "str", "bytes", "Error", "Function", "Shape", "Tensor", "Array", "Map", "Module",
    "Python object", "List", "Dict", "object",
)  # fmt: skip
_FIRST_OBJECT = 64
_ALL_NAMES = "".join(name.ljust(16, "\0") for name in (*_TYPE_NAMES, *_OBJECT_NAMES))

# What can be wrong: kind of exception and message.
_FAILURES = {
    "memory": ("MemoryError", "%s: there is no memory for its intermediate results"),
    "packed": ("FunctionNotFoundError", "there is no packed function '%s'; register it by register_func"),
    "assert": ("AssertionError", "%s: assertion failed: %s"),
    "count": ("TypeError", "%s: expected %lld arguments, got %lld"),
    "kind": ("TypeError", "%s: argument '%s': expected %s, got a value of type %s"),
    "range": ("TypeError", "%s: argument '%s': expected an integer from %lld to %lld, got %lld"),
    "device": ("ValueError", "%s: buffer '%s': expected a CPU tensor, got device type %lld"),
    "rank": ("TypeError", "%s: buffer '%s': expected %lld dimensions, got %lld"),
    "dtype": ("TypeError", "%s: buffer '%s': expected %s, got %s%.0lld%s"),
    "negative": ("ValueError", "%s: buffer '%s' dimension %lld: got negative extent %lld"),
    "null": ("ValueError", "%s: buffer '%s': data pointer is null"),
    "align": ("ValueError", "%s: buffer '%s': expected data aligned to %lld bytes, got address %p"),
    "step": ("ValueError", "%s: buffer '%s' dimension %lld: expected stride %lld%s, got %lld"),
    "stride": ("ValueError", "%s: buffer '%s' dimension %lld: expected stride %lld of a row-major "
               "contiguous tensor, got %lld"),
    "dim": ("ValueError", "%s: buffer '%s' dimension %lld: expected %lld%s, got %lld"),
    "size": ("ValueError", "%s: buffer '%s' dimension %lld: expected a size that fits 64 bits%s, "
             "got %lld"),
    "overlap": ("ValueError", "%s: buffer '%s' overlaps buffer '%s' in memory"),
}  # fmt: skip


def raising(strings: Strings) -> str:
    """Return the functions that raise an error and name a type; their texts go to `strings`."""
    declared = (
        "llvm.func @TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr)",
        "llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32",
    )
    return "\n".join([*declared, _FAIL, _type_name(strings)])


def fail_status(strings: Strings, asserts: Sequence[tuple[str, str]]) -> str:
    """Return the function that raises what a kernel's status says: no memory, or an assertion.

    Status -1 says that it is raised already.

    Args:
        strings: gets the messages.
        asserts: the assertions in order of their statuses, from 2 on: kernel and message.
    """
    cases = ", ".join(["-1: ^raised", *(f"{i}: ^assert{i}" for i in range(2, 2 + len(asserts)))])
    lines = [
        "llvm.func internal @relax_ffi_status(%function: !llvm.ptr, %status: i32) -> i32 "
        'attributes {passthrough = ["cold", "noinline"]} {',
        f"  llvm.switch %status : i32, ^memory [{cases}]",
        "^raised:",
        "  llvm.return %status : i32",
        "^memory:",
        fail(strings, "%m", "memory", ("ptr", "%function")),
        "  llvm.return %m : i32",
    ]
    for number, (kernel, message) in enumerate(asserts, start=2):
        names = [f"%kernel{number}", f"%message{number}"]
        lines += [
            f"^assert{number}:",
            text(strings, names[0], kernel),
            text(strings, names[1], message),
            fail(strings, f"%a{number}", "assert", *(("ptr", name) for name in names)),
            f"  llvm.return %a{number} : i32",
        ]
    return "\n".join([*lines, "}"])


def fail(strings: Strings, result: str, name: str, *values: tuple[str, str]) -> str:
    """Return the operations that raise an error and give the status to return.

    Args:
        strings: gets the message.
        result: the name for the status; other names start with it.
        name: what is wrong, one of `_FAILURES`.
        values: type and name of each value of the message, in order.
    """
    kind, message = _FAILURES[name]
    lines = [text(strings, f"{result}_kind", kind), text(strings, f"{result}_format", message)]
    given = []
    for number, (type_, value) in enumerate(values):
        wide = f"{result}_{number}"
        if type_ == "ptr":
            lines.append(f"  {wide} = llvm.ptrtoint {value} : !llvm.ptr to i64")
        elif type_ == "i32":
            lines.append(f"  {wide} = llvm.sext {value} : i32 to i64")
        given.append(value if type_ == "i64" else wide)
    if len(given) < _MAX_VALUES:
        lines.append(f"  {result}_none = llvm.mlir.constant(0 : i64) : i64")
        given += [f"{result}_none"] * (_MAX_VALUES - len(given))
    types = ", ".join(["!llvm.ptr"] * 2 + ["i64"] * _MAX_VALUES)
    lines.append(
        f"  {result} = llvm.call @relax_ffi_fail({result}_kind, {result}_format, "
        f"{', '.join(given)}) : ({types}) -> i32"
    )
    return "\n".join(lines)


def text(strings: Strings, result: str, value: str) -> str:
    """Return the operations that give a text's address."""
    return (
        f"  {result}_all = llvm.mlir.addressof @{strings.symbol} : !llvm.ptr\n"
        f"  {result} = llvm.getelementptr {result}_all[{strings.offset(value)}] : "
        "(!llvm.ptr) -> !llvm.ptr, i8"
    )


def _type_name(strings: Strings) -> str:
    """Return the function that gives the name of an argument's type."""
    return f"""
llvm.func internal @relax_ffi_type_name(%kind: i32) -> !llvm.ptr attributes {{passthrough = ["cold", "noinline"]}} {{
  %four = llvm.mlir.constant(4 : i32) : i32
  %simple = llvm.mlir.constant({len(_TYPE_NAMES)} : i32) : i32
  %first_object = llvm.mlir.constant({_FIRST_OBJECT} : i32) : i32
  %last_object = llvm.mlir.constant({len(_OBJECT_NAMES) - 1} : i32) : i32
  %is_simple = llvm.icmp "ult" %kind, %simple : i32
  %over = llvm.sub %kind, %first_object : i32
  %known = llvm.intr.umin(%over, %last_object) : (i32, i32) -> i32
  %object = llvm.add %known, %simple : i32
  %which = llvm.select %is_simple, %kind, %object : i1, i32
  %at = llvm.shl %which, %four : i32
{text(strings, "%names", _ALL_NAMES)}
  %name = llvm.getelementptr %names[%at] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  llvm.return %name : !llvm.ptr
}}"""


# Integers are passed as 64 bits, pointers too: what varies is only the message.
_FAIL = f"""
llvm.func @relax_ffi_fail(%kind: !llvm.ptr, %format: !llvm.ptr, {", ".join(f"%a{i}: i64" for i in range(_MAX_VALUES))}) -> i32 attributes {{passthrough = ["cold", "noinline"]}} {{
  %minus = llvm.mlir.constant(-1 : i32) : i32
  %size = llvm.mlir.constant({_MESSAGE_BYTES} : i64) : i64
  %buffer = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %0 = llvm.call @snprintf(%buffer, %size, %format, {", ".join(f"%a{i}" for i in range(_MAX_VALUES))}) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, {", ".join(["i64"] * _MAX_VALUES)}) -> i32
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %buffer) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %minus : i32
}}"""
