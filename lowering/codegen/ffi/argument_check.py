"""Checks of single arguments, as LLVM-dialect text.

Layouts are those of the TVM FFI and DLPack: an argument is 16 bytes (type index, padding, value); a
`DLTensor` has data +0, device +8, ndim +16, dtype +20, shape +24, strides +32, byte offset +40, and
lies 24 bytes into a TVM FFI tensor object.
"""
# ruff: noqa: E501  (one operation of the text below is one line)

from relax_mlir.lowering.codegen.ffi.errors import fail, raising, text
from relax_mlir.lowering.codegen.ffi.table import Strings

# A buffer's record: address of its first element, its first and past-the-end address, its shape,
# its strides.
RECORD_BYTES = 40
ARGUMENT_BYTES = 16

KIND_INT, KIND_BOOL, KIND_FLOAT, KIND_DLTENSOR, KIND_TENSOR = 1, 2, 3, 7, 70
DEVICE_CPU = 1
# Names of DLPack's type codes, 8 bytes each; what follows the last is for any other code.
_CODE_NAMES = "".join(
    name.ljust(8, "\0")
    for name in ("int", "uint", "float", "handle", "bfloat", "complex", "bool", "code")
)
# For loops over a few dimensions: LLVM would make long vector code of them.
_AS_IT_IS = "{loop_annotation = #llvm.loop_annotation<disableNonforced = true>}"


def argument_checks(strings: Strings) -> str:
    """Return the functions that check one argument; their texts go to `strings`."""
    checks = (_stride_of, _check_buffer, _check_number, _check_disjoint)
    return "\n".join([raising(strings), *(check(strings) for check in checks)])


def _check_buffer(strings: Strings) -> str:
    """Return the check of a tensor, which writes its record: kind, device, dtype, rank, memory."""
    parts = (_check_tensor(), _check_memory(), _check_strides(), _buffer_errors(strings))
    return "\n".join(parts)


def _check_tensor() -> str:
    """Return the head of the check: constants, and what a tensor says of itself."""
    return f"""
llvm.func internal @relax_ffi_buffer(%function: !llvm.ptr, %name: !llvm.ptr, %any: !llvm.ptr, %dtype: i32, %dtype_name: !llvm.ptr, %rank: i32, %strided: i1, %record: !llvm.ptr) -> i32 attributes {{no_inline}} {{
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero64 = llvm.mlir.constant(0 : i64) : i64
  %one64 = llvm.mlir.constant(1 : i64) : i64
  %no = llvm.mlir.constant(false) : i1
  %null = llvm.mlir.zero : !llvm.ptr
  %eight = llvm.mlir.constant(8 : i32) : i32
  %low = llvm.mlir.constant(255 : i32) : i32
  %three = llvm.mlir.constant(3 : i32) : i32
  %kind_dl = llvm.mlir.constant({KIND_DLTENSOR} : i32) : i32
  %kind_tensor = llvm.mlir.constant({KIND_TENSOR} : i32) : i32
  %cpu = llvm.mlir.constant({DEVICE_CPU} : i32) : i32
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
""".rstrip()


def _check_memory() -> str:
    """Return the part that counts elements, writes the record, and looks at the address."""
    return """
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
  %size64 = llvm.zext %size32 : i32 to i64
  %size = llvm.intr.umax(%size64, %one64) : (i64, i64) -> i64
  %bits64 = llvm.zext %bits : i32 to i64
  %all_bits = llvm.mul %product, %bits64 : i64
  %seven64 = llvm.mlir.constant(7 : i64) : i64
  %three64 = llvm.mlir.constant(3 : i64) : i64
  %rounded_bits = llvm.add %all_bits, %seven64 : i64
  %bytes = llvm.lshr %rounded_bits, %three64 : i64
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
  %strides_at = llvm.getelementptr %tensor[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
  %record_strides_at = llvm.getelementptr %record[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %strides, %record_strides_at : !llvm.ptr, !llvm.ptr
  llvm.cond_br %is_empty, ^good, ^nonempty
^nonempty:
  %no_data = llvm.icmp "eq" %data, %null : !llvm.ptr
  llvm.cond_br %no_data, ^bad_data, ^aligned
^aligned:
  %mask = llvm.sub %size, %one64 : i64
  %rest = llvm.and %address, %mask : i64
  %is_aligned = llvm.icmp "eq" %rest, %zero64 : i64
  llvm.cond_br %is_aligned, ^strided, ^bad_align
""".strip()


def _check_strides() -> str:
    """Return the part that takes any strides, and says what they span, or only those of rows."""
    return f"""
^strided:
  %compact = llvm.icmp "eq" %strides, %null : !llvm.ptr
  %last = llvm.sub %rank, %one : i32
  llvm.cond_br %compact, ^good, ^steps
^steps:
  %after = llvm.add %address, %size : i64
  llvm.cond_br %strided, ^span(%last, %address, %after : i32, i64, i64), ^stride(%last, %one64 : i32, i64)
^span(%place: i32, %bottom: i64, %top: i64):
  %spanned = llvm.icmp "slt" %place, %zero : i32
  llvm.cond_br %spanned, ^has_span, ^one_span
^one_span:
  %wide_at = llvm.getelementptr %shape[%place] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %wide = llvm.load %wide_at : !llvm.ptr -> i64
  %leap_at = llvm.getelementptr %strides[%place] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %leap = llvm.load %leap_at : !llvm.ptr -> i64
  %turns = llvm.sub %wide, %one64 : i64
  %elements = llvm.mul %turns, %leap : i64
  %way = llvm.mul %elements, %size : i64
  %down = llvm.intr.smin(%way, %zero64) : (i64, i64) -> i64
  %up = llvm.intr.smax(%way, %zero64) : (i64, i64) -> i64
  %next_low = llvm.add %bottom, %down : i64
  %next_high = llvm.add %top, %up : i64
  %before = llvm.sub %place, %one : i32
  llvm.br ^span(%before, %next_low, %next_high : i32, i64, i64) {_AS_IT_IS}
^has_span:
  llvm.store %bottom, %begin_at : i64, !llvm.ptr
  llvm.store %top, %end_at : i64, !llvm.ptr
  llvm.br ^good
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
""".strip()


def _buffer_errors(strings: Strings) -> str:
    """Return the part that raises what is wrong with a tensor."""
    return f"""
^good:
  llvm.return %zero : i32
^bad_kind:
{text(strings, "%a_tensor", "a tensor")}
  %k_got = llvm.call @relax_ffi_type_name(%kind) : (i32) -> !llvm.ptr
{fail(strings, "%k", "kind", ("ptr", "%function"), ("ptr", "%name"), ("ptr", "%a_tensor"), ("ptr", "%k_got"))}
  llvm.return %k : i32
^bad_device:
{fail(strings, "%v", "device", ("ptr", "%function"), ("ptr", "%name"), ("i32", "%device"))}
  llvm.return %v : i32
^bad_rank:
{fail(strings, "%r", "rank", ("ptr", "%function"), ("ptr", "%name"), ("i32", "%rank"), ("i32", "%ndim"))}
  llvm.return %r : i32
^bad_dtype:
  %seven = llvm.mlir.constant(7 : i32) : i32
  %bool_code = llvm.mlir.constant(6 : i32) : i32
  %sixteen = llvm.mlir.constant(16 : i32) : i32
  %code = llvm.and %got_dtype, %low : i32
  %known = llvm.intr.umin(%code, %seven) : (i32, i32) -> i32
  %at = llvm.shl %known, %three : i32
{text(strings, "%codes", _CODE_NAMES)}
  %code_name = llvm.getelementptr %codes[%at] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  %got_shifted = llvm.lshr %got_dtype, %eight : i32
  %got_bits = llvm.and %got_shifted, %low : i32
  %is_bool = llvm.icmp "eq" %code, %bool_code : i32
  %shown_bits = llvm.select %is_bool, %zero, %got_bits : i1, i32
  %lanes = llvm.lshr %got_dtype, %sixteen : i32
  %is_scalar = llvm.icmp "eq" %lanes, %one : i32
{text(strings, "%nothing", "")}
{text(strings, "%with_lanes", " with vector lanes")}
  %suffix = llvm.select %is_scalar, %nothing, %with_lanes : i1, !llvm.ptr
{fail(strings, "%d", "dtype", ("ptr", "%function"), ("ptr", "%name"), ("ptr", "%dtype_name"), ("ptr", "%code_name"), ("i32", "%shown_bits"), ("ptr", "%suffix"))}
  llvm.return %d : i32
^bad_extent:
{fail(strings, "%e", "negative", ("ptr", "%function"), ("ptr", "%name"), ("i32", "%i"), ("i64", "%extent"))}
  llvm.return %e : i32
^bad_data:
{fail(strings, "%n", "null", ("ptr", "%function"), ("ptr", "%name"))}
  llvm.return %n : i32
^bad_align:
{fail(strings, "%a", "align", ("ptr", "%function"), ("ptr", "%name"), ("i64", "%size"), ("ptr", "%first"))}
  llvm.return %a : i32
^bad_stride:
{fail(strings, "%s", "stride", ("ptr", "%function"), ("ptr", "%name"), ("i32", "%j"), ("i64", "%expected"), ("i64", "%step"))}
  llvm.return %s : i32
}}""".strip()


def _stride_of(strings: Strings) -> str:
    """Return the function that gives a stride, which a tensor without gaps need not name."""
    return f"""
llvm.func @relax_ffi_stride(%record: !llvm.ptr, %rank: i64, %axis: i64) -> i64 attributes {{no_inline}} {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %shape_at = llvm.getelementptr %record[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %strides_at = llvm.getelementptr %record[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
  %compact = llvm.icmp "eq" %strides, %null : !llvm.ptr
  %last = llvm.sub %rank, %one : i64
  llvm.cond_br %compact, ^inner(%last, %one : i64, i64), ^given
^given:
  %stride_at = llvm.getelementptr %strides[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %stride = llvm.load %stride_at : !llvm.ptr -> i64
  llvm.return %stride : i64
^inner(%i: i64, %product: i64):
  %more = llvm.icmp "sgt" %i, %axis : i64
  llvm.cond_br %more, ^times, ^done
^times:
  %extent_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %extent = llvm.load %extent_at : !llvm.ptr -> i64
  %next = llvm.mul %product, %extent : i64
  %before = llvm.sub %i, %one : i64
  llvm.br ^inner(%before, %next : i64, i64) {_AS_IT_IS}
^done:
  llvm.return %product : i64
}}"""


def _check_number(strings: Strings) -> str:
    """Return the check of a number: an integer within bounds, or any number as 64-bit float."""
    return f"""
llvm.func internal @relax_ffi_number(%function: !llvm.ptr, %name: !llvm.ptr, %any: !llvm.ptr, %record: !llvm.ptr, %is_float: i1, %least: i64, %greatest: i64) -> i32 attributes {{no_inline}} {{
  %zero = llvm.mlir.constant(0 : i32) : i32
  %kind_int = llvm.mlir.constant({KIND_INT} : i32) : i32
  %kind_bool = llvm.mlir.constant({KIND_BOOL} : i32) : i32
  %kind_float = llvm.mlir.constant({KIND_FLOAT} : i32) : i32
  %kind = llvm.load %any : !llvm.ptr -> i32
  %value_at = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %value = llvm.load %value_at : !llvm.ptr -> i64
  %is_int = llvm.icmp "eq" %kind, %kind_int : i32
  %is_bool = llvm.icmp "eq" %kind, %kind_bool : i32
  %whole = llvm.or %is_int, %is_bool : i1
  llvm.cond_br %is_float, ^float, ^int
^int:
  llvm.store %value, %record : i64, !llvm.ptr
  llvm.cond_br %whole, ^bounds, ^bad_int
^bounds:
  %low_enough = llvm.icmp "sle" %value, %greatest : i64
  %high_enough = llvm.icmp "sge" %value, %least : i64
  %fits = llvm.and %low_enough, %high_enough : i1
  llvm.cond_br %fits, ^good, ^bad_range
^float:
  %got_float = llvm.icmp "eq" %kind, %kind_float : i32
  %as_float = llvm.bitcast %value : i64 to f64
  %converted = llvm.sitofp %value : i64 to f64
  %number = llvm.select %got_float, %as_float, %converted : i1, f64
  llvm.store %number, %record : f64, !llvm.ptr
  %right_kind = llvm.or %got_float, %whole : i1
  llvm.cond_br %right_kind, ^good, ^bad_float
^good:
  llvm.return %zero : i32
^bad_int:
{text(strings, "%an_int", "an integer")}
  %k_got = llvm.call @relax_ffi_type_name(%kind) : (i32) -> !llvm.ptr
{fail(strings, "%k", "kind", ("ptr", "%function"), ("ptr", "%name"), ("ptr", "%an_int"), ("ptr", "%k_got"))}
  llvm.return %k : i32
^bad_float:
{text(strings, "%a_number", "a number")}
  %f_got = llvm.call @relax_ffi_type_name(%kind) : (i32) -> !llvm.ptr
{fail(strings, "%f", "kind", ("ptr", "%function"), ("ptr", "%name"), ("ptr", "%a_number"), ("ptr", "%f_got"))}
  llvm.return %f : i32
^bad_range:
{fail(strings, "%r", "range", ("ptr", "%function"), ("ptr", "%name"), ("i64", "%least"), ("i64", "%greatest"), ("i64", "%value"))}
  llvm.return %r : i32
}}"""


def _check_disjoint(strings: Strings) -> str:
    return f"""
llvm.func internal @relax_ffi_disjoint(%function: !llvm.ptr, %name: !llvm.ptr, %other_name: !llvm.ptr, %record: !llvm.ptr, %other: !llvm.ptr) -> i32 attributes {{no_inline}} {{
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
{fail(strings, "%o", "overlap", ("ptr", "%function"), ("ptr", "%name"), ("ptr", "%other_name"))}
  llvm.return %o : i32
}}"""
