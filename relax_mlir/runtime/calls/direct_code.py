"""LLVM IR of what calls native functions with numpy arrays as they are, no FFI object for each.

Layouts are those that extension modules are compiled with: objects of CPython on 64 bits, numpy's
arrays, and an argument, a tensor and a function of the TVM FFI. `direct.py` sees to it that they
are these.
"""

from relax_mlir.runtime.calls.llvm_text import at, element, loop, put, word

# Where an array has its memory, rank, dimensions, dtype and flags, and a dtype its number.
ARRAY_DATA, ARRAY_RANK, ARRAY_DIMS, ARRAY_DTYPE, ARRAY_FLAGS = 16, 24, 32, 56, 64
DTYPE_NUMBER = 28
# C-contiguous, aligned, writable: all others take the way of the FFI, which refuses or copies them.
GOOD_FLAGS = 0x501
# An FFI tensor object: its head, of counts that never come to nothing, and a DLTensor; then the
# dimensions, as another thread may give the array others meanwhile.
MOST_DIMS = 8
_DIMS = 24 + 48
TENSOR_BYTES = _DIMS + 8 * MOST_DIMS
ARGUMENT_BYTES = 16
_MOST_ARGUMENTS = 256
_COUNTS = 1 << 50 | 1 << 20
_FLOAT, _BOOL, _INT, _TENSOR = 3, 2, 1, 70

CALL, RAISED = "relax_direct_call", "relax_direct_raised"
# Functions of CPython that the code calls.
API = {
    "PyBool_FromLong": "ptr (i64)",
    "PyErr_Occurred": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
    "PyEval_SaveThread": "ptr ()",
    "PyFloat_AsDouble": "double (ptr)",
    "PyFloat_FromDouble": "ptr (double)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)",
    "PyLong_AsVoidPtr": "ptr (ptr)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyObject_Call": "ptr (ptr, ptr, ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyTuple_Size": "i64 (ptr)",
    "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}


def declarations() -> str:
    """Return the declarations of CPython's functions."""
    split = [(name, *type_.split(" ", 1)) for name, type_ in API.items()]
    return "\n".join(f"declare {result} @{name}{given}" for name, result, given in split)


def argument_code(objects: dict[str, int], dtypes: int, numbers: int) -> str:
    """Return the functions that make FFI arguments of objects; they say whether they could.

    Args:
        objects: addresses of `ndarray`, `int`, `float`, `bool`, `True` and `None`.
        dtypes: address of pairs, by numpy's number of a dtype: the dtype object, and the 32 bits
            that DLPack has for it. The last is for any number beyond.
        numbers: how many pairs there are.
    """
    copy_dim = f"""{element("%dim", "%dims", "%axis", "i64")}
  %own_at = getelementptr i64, ptr %own_dims, i64 %axis
  store i64 %dim, ptr %own_at"""
    take_object = f"""{element("%object", "%objects", "%i")}
  %any = getelementptr [{ARGUMENT_BYTES} x i8], ptr %anys, i64 %i
  %tensor = getelementptr [{TENSOR_BYTES} x i8], ptr %tensors, i64 %i
  %taken = call i1 @relax_direct_argument(ptr %object, ptr %any, ptr %tensor)
  %refused = xor i1 %taken, true"""
    return f"""
define internal i1 @relax_direct_argument(ptr %object, ptr %any, ptr %tensor) {{
{word("%type", "%object", 1)}
  switch i64 %type, label %no [
    i64 {objects["ndarray"]}, label %array
    i64 {objects["int"]}, label %int
    i64 {objects["float"]}, label %float
    i64 {objects["bool"]}, label %bool
  ]
array:
{at("%dtype", "%object", ARRAY_DTYPE, "ptr")}
{at("%flags", "%object", ARRAY_FLAGS, "i32")}
  %set = and i32 %flags, {GOOD_FLAGS}
  %good = icmp eq i32 %set, {GOOD_FLAGS}
  br i1 %good, label %flagged, label %no
flagged:
{at("%number", "%dtype", DTYPE_NUMBER, "i32")}
  %listed = icmp ult i32 %number, {numbers - 1}
  %place = select i1 %listed, i32 %number, i32 {numbers - 1}
  %place64 = zext i32 %place to i64
  %pair = getelementptr [2 x i64], ptr inttoptr (i64 {dtypes} to ptr), i64 %place64
  %known = load ptr, ptr %pair
  %is_known = icmp eq ptr %known, %dtype
{at("%rank", "%object", ARRAY_RANK, "i32")}
  %few = icmp ule i32 %rank, {MOST_DIMS}
  %both = and i1 %is_known, %few
  br i1 %both, label %fill, label %no
fill:
{word("%bits", "%pair", 1, "i32")}
{at("%data", "%object", ARRAY_DATA, "ptr")}
{at("%dims", "%object", ARRAY_DIMS, "ptr")}
  store i64 {_TENSOR}, ptr %any
{put("%tensor", "%any", 8, "ptr %tensor")}
{put("%counts", "%tensor", 0, "i64 " + str(_COUNTS))}
{put("%type", "%tensor", 8, "i64 " + str(_TENSOR))}
{put("%deleter", "%tensor", 16, "ptr null")}
{put("%data", "%tensor", 24, "ptr %data")}
{put("%device", "%tensor", 32, "i64 1")}
{put("%rank", "%tensor", 40, "i32 %rank")}
{put("%bits", "%tensor", 44, "i32 %bits")}
  %own_dims = getelementptr i8, ptr %tensor, i64 {_DIMS}
{put("%shape", "%tensor", 48, "ptr %own_dims")}
{put("%strides", "%tensor", 56, "ptr null")}
{put("%offset", "%tensor", 64, "i64 0")}
  %rank64 = zext i32 %rank to i64
{loop("axis", "fill", ("0", "%rank64"), copy_dim, "yes")}
yes:
  ret i1 true
int:
  %over = alloca i32
  %integer = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %over)
  %overflow = load i32, ptr %over
  %fits = icmp eq i32 %overflow, 0
  br i1 %fits, label %scalar, label %no
float:
  %real = call double @PyFloat_AsDouble(ptr %object)
  %real_bits = bitcast double %real to i64
  br label %scalar
bool:
  %truth = icmp eq ptr %object, inttoptr (i64 {objects["True"]} to ptr)
  %truth64 = zext i1 %truth to i64
  br label %scalar
scalar:
  %kind = phi i64 [ {_INT}, %int ], [ {_FLOAT}, %float ], [ {_BOOL}, %bool ]
  %payload = phi i64 [ %integer, %int ], [ %real_bits, %float ], [ %truth64, %bool ]
  store i64 %kind, ptr %any
{put("%payload", "%any", 8, "i64 %payload")}
  ret i1 true
no:
  ret i1 false
}}

define internal i1 @relax_direct_arguments(ptr %objects, i64 %count, ptr %anys, ptr %tensors) {{
entry:
{loop("i", "entry", ("0", "%count"), take_object, "yes", unless=("%refused", "no"))}
yes:
  ret i1 true
no:
  ret i1 false
}}"""


def call_code(objects: dict[str, int]) -> str:
    """Return the METH_FASTCALL function that calls one native function.

    Its `self` is a tuple: the FFI's function, which takes what is no such array, the address of the
    code, and a function without arguments that raises the error which the code left behind.
    """
    return f"""
define i32 @{RAISED}(ptr %self, ptr %args, i32 %count, ptr %result) {{
  ret i32 -1
}}

define internal i32 @relax_direct_enter(ptr %code, ptr %anys, i64 %count, ptr %result) {{
  store i64 0, ptr %result
{put("%value", "%result", 8, "i64 0")}
  %count32 = trunc i64 %count to i32
  %state = call ptr @PyEval_SaveThread()
  %status = call i32 %code(ptr null, ptr %anys, i32 %count32, ptr %result)
  call void @PyEval_RestoreThread(ptr %state)
  ret i32 %status
}}

define ptr @{CALL}(ptr %self, ptr %objects, i64 %count) {{
  %result = alloca [2 x i64], align 16
  %few = icmp ule i64 %count, {_MOST_ARGUMENTS}
  br i1 %few, label %room, label %slow
room:
  %anys = alloca [{ARGUMENT_BYTES} x i8], i64 %count, align 16
  %tensors = alloca [{TENSOR_BYTES} x i8], i64 %count, align 16
  %taken = call i1 @relax_direct_arguments(ptr %objects, i64 %count, ptr %anys, ptr %tensors)
  br i1 %taken, label %call, label %slow
call:
  %address = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %code = call ptr @PyLong_AsVoidPtr(ptr %address)
  %status = call i32 @relax_direct_enter(ptr %code, ptr %anys, i64 %count, ptr %result)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %done, label %bad
done:
{word("%value", "%result", 1)}
  %kind = load i32, ptr %result
  switch i32 %kind, label %none [
    i32 {_INT}, label %int
    i32 {_BOOL}, label %bool
    i32 {_FLOAT}, label %float
  ]
int:
  %int_object = call ptr @PyLong_FromLongLong(i64 %value)
  ret ptr %int_object
bool:
  %bool_object = call ptr @PyBool_FromLong(i64 %value)
  ret ptr %bool_object
float:
  %real = bitcast i64 %value to double
  %float_object = call ptr @PyFloat_FromDouble(double %real)
  ret ptr %float_object
none:
  call void @Py_IncRef(ptr inttoptr (i64 {objects["None"]} to ptr))
  ret ptr inttoptr (i64 {objects["None"]} to ptr)
bad:
  %set = call ptr @PyErr_Occurred()
  %is_set = icmp ne ptr %set, null
  br i1 %is_set, label %raised, label %raise
raise:
  %raiser = call ptr @PyTuple_GetItem(ptr %self, i64 2)
  %nothing = call ptr @PyTuple_New(i64 0)
  %never = call ptr @PyObject_Call(ptr %raiser, ptr %nothing, ptr null)
  call void @Py_DecRef(ptr %nothing)
  br label %raised
raised:
  ret ptr null
slow:
  %ffi = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %slowly = call ptr @PyObject_Vectorcall(ptr %ffi, ptr %objects, i64 %count, ptr null)
  ret ptr %slowly
}}"""
