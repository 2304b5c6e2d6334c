"""Checks that all exported functions of an object share, as LLVM-dialect text (V10).

Layouts are those of the TVM FFI and DLPack: an argument is 16 bytes (type index, padding, value); a
`DLTensor` has data +0, device +8, ndim +16, dtype +20, shape +24, strides +32, byte offset +40, and
lies 24 bytes into a TVM FFI tensor object.
"""
# ruff: noqa: E501  (one operation of the text below is one line)

# A buffer's record: address of its first element, its first and past-the-end address, its shape.
RECORD_BYTES = 32

_KIND_INT, _KIND_BOOL, _KIND_DLTENSOR, _KIND_TENSOR = 1, 2, 7, 70
_DEVICE_CPU = 1
_MESSAGE_BYTES = 512

# name: (kind of exception, message, C types after function and parameter name)
_FAILURES = {
    "kind": ("TypeError", "%s: argument '%s': expected %s, got a value of FFI type %d", ("ptr", "i32")),
    "device": ("ValueError", "%s: buffer '%s': expected a CPU tensor, got device type %d", ("i32",)),
    "rank": ("TypeError", "%s: buffer '%s': expected %d dimensions, got %d", ("i32", "i32")),
    "dtype": ("TypeError", "%s: buffer '%s': expected %s, got %s%.0d%s", ("ptr", "ptr", "i32", "ptr")),
    "negative": ("ValueError", "%s: buffer '%s' dimension %d: got negative extent %lld", ("i32", "i64")),
    "null": ("ValueError", "%s: buffer '%s': data pointer is null", ()),
    "align": ("ValueError", "%s: buffer '%s': expected data aligned to %lld bytes, got address %p",
              ("i64", "ptr")),
    "stride": ("ValueError", "%s: buffer '%s' dimension %d: expected stride %lld of a row-major "
               "contiguous tensor, got %lld", ("i32", "i64", "i64")),
    "dim": ("ValueError", "%s: buffer '%s' dimension %d: expected %lld%s, got %lld",
            ("i32", "i64", "ptr", "i64")),
    "symbol": ("ValueError", "%s: argument '%s': expected %lld, got %lld", ("i64", "i64")),
    "overlap": ("ValueError", "%s: buffer '%s' overlaps buffer '%s' in memory", ("ptr",)),
}  # fmt: skip


def c_string(name: str, text: str) -> str:
    """Return a constant global holding a NUL-terminated string."""
    data = text.encode() + b"\0"
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)
    return (
        f'llvm.mlir.global internal constant @{name}("{escaped}") '
        f"{{addr_space = 0 : i32}} : !llvm.array<{len(data)} x i8>"
    )


def helpers() -> str:
    """Return the shared functions and their strings, to be put once into a module."""
    parts = [
        "llvm.func @TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr)",
        "llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32",
        c_string("relax_ffi_TypeError", "TypeError"),
        c_string("relax_ffi_ValueError", "ValueError"),
        c_string("relax_ffi_a_tensor", "a tensor"),
        c_string("relax_ffi_an_int", "an integer"),
        c_string("relax_ffi_nothing", ""),
        c_string("relax_ffi_lanes", " with vector lanes"),
        c_string("relax_ffi_count_format", "%s: expected %d arguments, got %d"),
        # one name each 8 bytes, at the DLPack type code; what follows the last is any other code
        c_string(
            "relax_ffi_codes",
            "".join(
                name.ljust(8, "\0")
                for name in ("int", "uint", "float", "handle", "bfloat", "complex", "bool", "code")
            ),
        ),
        c_string("relax_ffi_MemoryError", "MemoryError"),
        c_string("relax_ffi_memory_format", "%s: there is no memory for its intermediate results"),
        _failure("memory", "MemoryError", "relax_ffi_memory_format", ("ptr",)),
        _failure("count", "TypeError", "relax_ffi_count_format", ("ptr", "i32", "i32")),
    ]
    for name, (kind, text, types) in _FAILURES.items():
        parts.append(c_string(f"relax_ffi_{name}_format", text))
        parts.append(_failure(name, kind, f"relax_ffi_{name}_format", ("ptr", "ptr", *types)))
    return "\n".join([*parts, _CHECK_BUFFER, _CHECK_INT, _CHECK_DISJOINT])


def _failure(name: str, kind: str, text: str, types: tuple[str, ...]) -> str:
    mlir = [f"!llvm.{t}" if t == "ptr" else t for t in types]
    declared = ", ".join(f"%a{i}: {t}" for i, t in enumerate(mlir))
    given = ", ".join(f"%a{i}" for i in range(len(mlir)))
    return f"""
llvm.func internal @relax_ffi_fail_{name}({declared}) -> i32 attributes {{passthrough = ["cold", "noinline"]}} {{
  %minus = llvm.mlir.constant(-1 : i32) : i32
  %size = llvm.mlir.constant({_MESSAGE_BYTES} : i64) : i64
  %buffer = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %format = llvm.mlir.addressof @{text} : !llvm.ptr
  %kind = llvm.mlir.addressof @relax_ffi_{kind} : !llvm.ptr
  %0 = llvm.call @snprintf(%buffer, %size, %format, {given}) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, {", ".join(mlir)}) -> i32
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %buffer) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %minus : i32
}}"""


_CHECK_BUFFER = f"""
llvm.func internal @relax_ffi_buffer(%function: !llvm.ptr, %name: !llvm.ptr, %any: !llvm.ptr, %dtype: i32, %dtype_name: !llvm.ptr, %rank: i32, %record: !llvm.ptr) -> i32 attributes {{no_inline}} {{
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero64 = llvm.mlir.constant(0 : i64) : i64
  %one64 = llvm.mlir.constant(1 : i64) : i64
  %no = llvm.mlir.constant(false) : i1
  %null = llvm.mlir.zero : !llvm.ptr
  %eight = llvm.mlir.constant(8 : i32) : i32
  %low = llvm.mlir.constant(255 : i32) : i32
  %three = llvm.mlir.constant(3 : i32) : i32
  %kind_dl = llvm.mlir.constant({_KIND_DLTENSOR} : i32) : i32
  %kind_tensor = llvm.mlir.constant({_KIND_TENSOR} : i32) : i32
  %cpu = llvm.mlir.constant({_DEVICE_CPU} : i32) : i32
  %kind = llvm.load %any : !llvm.ptr -> i32
  %value_at = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %value = llvm.load %value_at : !llvm.ptr -> !llvm.ptr
  %inside = llvm.getelementptr %value[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %is_dl = llvm.icmp "eq" %kind, %kind_dl : i32
  %is_tensor = llvm.icmp "eq" %kind, %kind_tensor : i32
  %tensor = llvm.select %is_tensor, %inside, %value : i1, !llvm.ptr
  %right_kind = llvm.or %is_dl, %is_tensor : i1
  llvm.cond_br %right_kind, ^present, ^bad_kind
^present:
  %is_present = llvm.icmp "ne" %value, %null : !llvm.ptr
  llvm.cond_br %is_present, ^device, ^bad_kind
^device:
  %device_at = llvm.getelementptr %tensor[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %device = llvm.load %device_at : !llvm.ptr -> i32
  %on_cpu = llvm.icmp "eq" %device, %cpu : i32
  llvm.cond_br %on_cpu, ^dtype, ^bad_device
^dtype:
  %dtype_at = llvm.getelementptr %tensor[20] : (!llvm.ptr) -> !llvm.ptr, i8
  %got_dtype = llvm.load %dtype_at : !llvm.ptr -> i32
  %right_dtype = llvm.icmp "eq" %got_dtype, %dtype : i32
  llvm.cond_br %right_dtype, ^rank, ^bad_dtype
^rank:
  %ndim_at = llvm.getelementptr %tensor[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %ndim = llvm.load %ndim_at : !llvm.ptr -> i32
  %right_rank = llvm.icmp "eq" %ndim, %rank : i32
  %shape_at = llvm.getelementptr %tensor[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  llvm.cond_br %right_rank, ^count(%zero, %one64, %no : i32, i64, i1), ^bad_rank
^count(%i: i32, %product: i64, %is_empty: i1):
  %more = llvm.icmp "slt" %i, %rank : i32
  llvm.cond_br %more, ^extent, ^counted
^extent:
  %extent_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %extent = llvm.load %extent_at : !llvm.ptr -> i64
  %next_product = llvm.mul %product, %extent : i64
  %next = llvm.add %i, %one : i32
  %nothing_here = llvm.icmp "eq" %extent, %zero64 : i64
  %next_empty = llvm.or %is_empty, %nothing_here : i1
  %is_negative = llvm.icmp "slt" %extent, %zero64 : i64
  llvm.cond_br %is_negative, ^bad_extent, ^count(%next, %next_product, %next_empty : i32, i64, i1)
^counted:
  %shifted = llvm.lshr %dtype, %eight : i32
  %bits = llvm.and %shifted, %low : i32
  %size32 = llvm.lshr %bits, %three : i32
  %size = llvm.zext %size32 : i32 to i64
  %bytes = llvm.mul %product, %size : i64
  %data = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
  %offset_at = llvm.getelementptr %tensor[40] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset = llvm.load %offset_at : !llvm.ptr -> i64
  %first = llvm.getelementptr %data[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %address = llvm.ptrtoint %first : !llvm.ptr to i64
  %begin = llvm.select %is_empty, %zero64, %address : i1, i64
  %end = llvm.add %begin, %bytes : i64
  llvm.store %first, %record : !llvm.ptr, !llvm.ptr
  %begin_at = llvm.getelementptr %record[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %begin, %begin_at : i64, !llvm.ptr
  %end_at = llvm.getelementptr %record[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %end, %end_at : i64, !llvm.ptr
  %record_shape_at = llvm.getelementptr %record[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %shape, %record_shape_at : !llvm.ptr, !llvm.ptr
  llvm.cond_br %is_empty, ^good, ^nonempty
^nonempty:
  %no_data = llvm.icmp "eq" %data, %null : !llvm.ptr
  llvm.cond_br %no_data, ^bad_data, ^aligned
^aligned:
  %mask = llvm.sub %size, %one64 : i64
  %rest = llvm.and %address, %mask : i64
  %is_aligned = llvm.icmp "eq" %rest, %zero64 : i64
  llvm.cond_br %is_aligned, ^strided, ^bad_align
^strided:
  %strides_at = llvm.getelementptr %tensor[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
  %compact = llvm.icmp "eq" %strides, %null : !llvm.ptr
  %last = llvm.sub %rank, %one : i32
  llvm.cond_br %compact, ^good, ^stride(%last, %one64 : i32, i64)
^stride(%j: i32, %expected: i64):
  %done = llvm.icmp "slt" %j, %zero : i32
  llvm.cond_br %done, ^good, ^one_stride
^one_stride:
  %width_at = llvm.getelementptr %shape[%j] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %width = llvm.load %width_at : !llvm.ptr -> i64
  %step_at = llvm.getelementptr %strides[%j] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %step = llvm.load %step_at : !llvm.ptr -> i64
  %next_expected = llvm.mul %expected, %width : i64
  %previous = llvm.sub %j, %one : i32
  %single = llvm.icmp "eq" %width, %one64 : i64
  %same = llvm.icmp "eq" %step, %expected : i64
  %fits = llvm.or %single, %same : i1
  llvm.cond_br %fits, ^stride(%previous, %next_expected : i32, i64), ^bad_stride
^good:
  llvm.return %zero : i32
^bad_kind:
  %a_tensor = llvm.mlir.addressof @relax_ffi_a_tensor : !llvm.ptr
  %k = llvm.call @relax_ffi_fail_kind(%function, %name, %a_tensor, %kind) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> i32
  llvm.return %k : i32
^bad_device:
  %v = llvm.call @relax_ffi_fail_device(%function, %name, %device) : (!llvm.ptr, !llvm.ptr, i32) -> i32
  llvm.return %v : i32
^bad_rank:
  %r = llvm.call @relax_ffi_fail_rank(%function, %name, %rank, %ndim) : (!llvm.ptr, !llvm.ptr, i32, i32) -> i32
  llvm.return %r : i32
^bad_dtype:
  %seven = llvm.mlir.constant(7 : i32) : i32
  %bool_code = llvm.mlir.constant(6 : i32) : i32
  %sixteen = llvm.mlir.constant(16 : i32) : i32
  %code = llvm.and %got_dtype, %low : i32
  %known = llvm.intr.umin(%code, %seven) : (i32, i32) -> i32
  %at = llvm.shl %known, %three : i32
  %codes = llvm.mlir.addressof @relax_ffi_codes : !llvm.ptr
  %code_name = llvm.getelementptr %codes[%at] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  %got_shifted = llvm.lshr %got_dtype, %eight : i32
  %got_bits = llvm.and %got_shifted, %low : i32
  %is_bool = llvm.icmp "eq" %code, %bool_code : i32
  %shown_bits = llvm.select %is_bool, %zero, %got_bits : i1, i32
  %lanes = llvm.lshr %got_dtype, %sixteen : i32
  %is_scalar = llvm.icmp "eq" %lanes, %one : i32
  %nothing = llvm.mlir.addressof @relax_ffi_nothing : !llvm.ptr
  %with_lanes = llvm.mlir.addressof @relax_ffi_lanes : !llvm.ptr
  %suffix = llvm.select %is_scalar, %nothing, %with_lanes : i1, !llvm.ptr
  %d = llvm.call @relax_ffi_fail_dtype(%function, %name, %dtype_name, %code_name, %shown_bits, %suffix) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  llvm.return %d : i32
^bad_extent:
  %e = llvm.call @relax_ffi_fail_negative(%function, %name, %i, %extent) : (!llvm.ptr, !llvm.ptr, i32, i64) -> i32
  llvm.return %e : i32
^bad_data:
  %n = llvm.call @relax_ffi_fail_null(%function, %name) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %n : i32
^bad_align:
  %a = llvm.call @relax_ffi_fail_align(%function, %name, %size, %first) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
  llvm.return %a : i32
^bad_stride:
  %s = llvm.call @relax_ffi_fail_stride(%function, %name, %j, %expected, %step) : (!llvm.ptr, !llvm.ptr, i32, i64, i64) -> i32
  llvm.return %s : i32
}}"""

_CHECK_INT = f"""
llvm.func internal @relax_ffi_int(%function: !llvm.ptr, %name: !llvm.ptr, %any: !llvm.ptr, %record: !llvm.ptr) -> i32 attributes {{no_inline}} {{
  %zero = llvm.mlir.constant(0 : i32) : i32
  %kind_int = llvm.mlir.constant({_KIND_INT} : i32) : i32
  %kind_bool = llvm.mlir.constant({_KIND_BOOL} : i32) : i32
  %kind = llvm.load %any : !llvm.ptr -> i32
  %value_at = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %value = llvm.load %value_at : !llvm.ptr -> i64
  %is_int = llvm.icmp "eq" %kind, %kind_int : i32
  %is_bool = llvm.icmp "eq" %kind, %kind_bool : i32
  %right_kind = llvm.or %is_int, %is_bool : i1
  llvm.store %value, %record : i64, !llvm.ptr
  llvm.cond_br %right_kind, ^good, ^bad
^good:
  llvm.return %zero : i32
^bad:
  %an_int = llvm.mlir.addressof @relax_ffi_an_int : !llvm.ptr
  %k = llvm.call @relax_ffi_fail_kind(%function, %name, %an_int, %kind) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> i32
  llvm.return %k : i32
}}"""

_CHECK_DISJOINT = """
llvm.func internal @relax_ffi_disjoint(%function: !llvm.ptr, %name: !llvm.ptr, %other_name: !llvm.ptr, %record: !llvm.ptr, %other: !llvm.ptr) -> i32 attributes {no_inline} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %begin_at = llvm.getelementptr %record[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %end_at = llvm.getelementptr %record[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %other_begin_at = llvm.getelementptr %other[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %other_end_at = llvm.getelementptr %other[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %begin = llvm.load %begin_at : !llvm.ptr -> i64
  %end = llvm.load %end_at : !llvm.ptr -> i64
  %other_begin = llvm.load %other_begin_at : !llvm.ptr -> i64
  %other_end = llvm.load %other_end_at : !llvm.ptr -> i64
  %before = llvm.icmp "ult" %begin, %other_end : i64
  %after = llvm.icmp "ult" %other_begin, %end : i64
  %overlap = llvm.and %before, %after : i1
  llvm.cond_br %overlap, ^bad, ^good
^good:
  llvm.return %zero : i32
^bad:
  %o = llvm.call @relax_ffi_fail_overlap(%function, %name, %other_name) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return %o : i32
}"""
