"""LLVM IR of what runs a plan: arguments of given shapes, tensors to make, native calls."""

from relax_mlir.runtime.direct_code import (
    ARGUMENT_BYTES,
    ARRAY_DIMS,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_RANK,
    GOOD_FLAGS,
    TENSOR_BYTES,
    at,
    word,
)

RUN = "relax_direct_run"
# Words of a plan's head: parameters, constants, tensors that it makes, calls, results (-1 when the
# result is no tuple), the most operands of a call. There follow, row by row,
# - parameters: dtype object, rank, dimensions,
# - constants: the object,
# - tensors: shape and dtype, objects that `numpy.empty` takes,
# - calls: address, number of operands, operands,
# - results.
# Operands and results are numbers of parameters, constants and tensors, counted in this order.
HEAD_WORDS = 6
# What `self` begins with, before the addresses of plans: what it returns where none fits,
# `numpy.empty`, and what must stay alive.
BEFORE_PLANS = 3


def plan_code(objects: dict[str, int]) -> str:
    """Return the METH_FASTCALL function that runs the first plan that fits the arguments.

    It gives what the first item of its `self` is where none does, or where a kernel failed: a plan
    writes only what it made itself, so that who takes over from there finds everything as it was.
    """
    return f"""
define internal ptr @relax_direct_match(ptr %plan, ptr %objects, i64 %count) {{
entry:
{word("%params", "%plan", 0)}
  %same_count = icmp eq i64 %params, %count
  %rows = getelementptr i64, ptr %plan, i64 {HEAD_WORDS}
  br i1 %same_count, label %next, label %no
next:
  %i = phi i64 [ 0, %entry ], [ %after, %good ]
  %row = phi ptr [ %rows, %entry ], [ %next_row, %good ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %one, label %yes
one:
  %object_at = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %object_at
{word("%type", "%object", 1)}
  %is_array = icmp eq i64 %type, {objects["ndarray"]}
  br i1 %is_array, label %array, label %no
array:
{at("%dtype", "%object", ARRAY_DTYPE, "i64")}
{at("%flags", "%object", ARRAY_FLAGS, "i32")}
{at("%rank", "%object", ARRAY_RANK, "i32")}
{at("%dims", "%object", ARRAY_DIMS, "ptr")}
{word("%wanted_dtype", "%row", 0)}
{word("%wanted_rank", "%row", 1)}
  %set = and i32 %flags, {GOOD_FLAGS}
  %is_good = icmp eq i32 %set, {GOOD_FLAGS}
  %same_dtype = icmp eq i64 %dtype, %wanted_dtype
  %rank64 = zext i32 %rank to i64
  %same_rank = icmp eq i64 %rank64, %wanted_rank
  %both = and i1 %same_dtype, %same_rank
  %all = and i1 %both, %is_good
  %wanted = getelementptr i64, ptr %row, i64 2
  br i1 %all, label %axis, label %no
axis:
  %a = phi i64 [ 0, %array ], [ %next_a, %extent ]
  %inside = icmp ult i64 %a, %rank64
  br i1 %inside, label %extent, label %good
extent:
  %dim_at = getelementptr i64, ptr %dims, i64 %a
  %dim = load i64, ptr %dim_at
  %wanted_at = getelementptr i64, ptr %wanted, i64 %a
  %wanted_dim = load i64, ptr %wanted_at
  %next_a = add i64 %a, 1
  %same_dim = icmp eq i64 %dim, %wanted_dim
  br i1 %same_dim, label %axis, label %no
good:
  %next_row = getelementptr i64, ptr %wanted, i64 %rank64
  %after = add i64 %i, 1
  br label %next
yes:
  ret ptr %row
no:
  ret ptr null
}}

define ptr @{RUN}(ptr %self, ptr %objects, i64 %count) {{
entry:
  %size = call i64 @PyTuple_Size(ptr %self)
  br label %try
try:
  %p = phi i64 [ {BEFORE_PLANS}, %entry ], [ %next_p, %attempt ]
  %there = icmp slt i64 %p, %size
  br i1 %there, label %attempt, label %miss
attempt:
  %address = call ptr @PyTuple_GetItem(ptr %self, i64 %p)
  %plan = call ptr @PyLong_AsVoidPtr(ptr %address)
  %next_p = add i64 %p, 1
  %constants = call ptr @relax_direct_match(ptr %plan, ptr %objects, i64 %count)
  %fits = icmp ne ptr %constants, null
  br i1 %fits, label %begin, label %try
miss:
  %sentinel = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  call void @Py_IncRef(ptr %sentinel)
  ret ptr %sentinel
begin:
  %empty = call ptr @PyTuple_GetItem(ptr %self, i64 1)
{word("%constant_count", "%plan", 1)}
{word("%tensor_count", "%plan", 2)}
{word("%call_count", "%plan", 3)}
{word("%result_count", "%plan", 4)}
{word("%most", "%plan", 5)}
  %given = add i64 %count, %constant_count
  %all = add i64 %given, %tensor_count
  %values = alloca ptr, i64 %all
  %operands = alloca ptr, i64 %most
  %anys = alloca [{ARGUMENT_BYTES} x i8], i64 %most, align 16
  %tensors = alloca [{TENSOR_BYTES} x i8], i64 %most, align 16
  %result = alloca [2 x i64], align 16
  %bytes = shl i64 %count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %values, ptr %objects, i64 %bytes, i1 false)
  %own_values = getelementptr ptr, ptr %values, i64 %count
  %constant_bytes = shl i64 %constant_count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %own_values, ptr %constants, i64 %constant_bytes, i1 false)
  %tensor_rows = getelementptr i64, ptr %constants, i64 %constant_count
  br label %make
make:
  %made = phi i64 [ %given, %begin ], [ %next_made, %kept ]
  %tensor_row = phi ptr [ %tensor_rows, %begin ], [ %next_tensor_row, %kept ]
  %more_tensors = icmp ult i64 %made, %all
  br i1 %more_tensors, label %new, label %run
new:
  %tensor = call ptr @PyObject_Vectorcall(ptr %empty, ptr %tensor_row, i64 2, ptr null)
  %is_made = icmp ne ptr %tensor, null
  br i1 %is_made, label %kept, label %free
kept:
  %place = getelementptr ptr, ptr %values, i64 %made
  store ptr %tensor, ptr %place
  %next_made = add i64 %made, 1
  %next_tensor_row = getelementptr i64, ptr %tensor_row, i64 2
  br label %make
run:
  %call = phi i64 [ 0, %make ], [ %next_call, %ran ]
  %row = phi ptr [ %tensor_row, %make ], [ %next_row, %ran ]
  %more_calls = icmp ult i64 %call, %call_count
  br i1 %more_calls, label %prepare, label %finish
prepare:
  %code = load ptr, ptr %row
{word("%operand_count", "%row", 1)}
  %numbers = getelementptr i64, ptr %row, i64 2
  br label %operand
operand:
  %o = phi i64 [ 0, %prepare ], [ %next_o, %pick ]
  %more_operands = icmp ult i64 %o, %operand_count
  br i1 %more_operands, label %pick, label %picked
pick:
  %number_at = getelementptr i64, ptr %numbers, i64 %o
  %number = load i64, ptr %number_at
  %value_at = getelementptr ptr, ptr %values, i64 %number
  %value = load ptr, ptr %value_at
  %operand_at = getelementptr ptr, ptr %operands, i64 %o
  store ptr %value, ptr %operand_at
  %next_o = add i64 %o, 1
  br label %operand
picked:
  %taken = call i1 @relax_direct_arguments(ptr %operands, i64 %operand_count, ptr %anys,
                                           ptr %tensors)
  br i1 %taken, label %enter, label %fail
enter:
  %status = call i32 @relax_direct_enter(ptr %code, ptr %anys, i64 %operand_count, ptr %result)
  %went_well = icmp eq i32 %status, 0
  br i1 %went_well, label %ran, label %fail
ran:
  %next_row = getelementptr i64, ptr %numbers, i64 %operand_count
  %next_call = add i64 %call, 1
  br label %run
fail:
  %failed = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  call void @Py_IncRef(ptr %failed)
  br label %free
finish:
  %is_single = icmp slt i64 %result_count, 0
  br i1 %is_single, label %single, label %several
single:
  %only_number = load i64, ptr %row
  %only_at = getelementptr ptr, ptr %values, i64 %only_number
  %only = load ptr, ptr %only_at
  call void @Py_IncRef(ptr %only)
  br label %free
several:
  %tuple = call ptr @PyTuple_New(i64 %result_count)
  %has_tuple = icmp ne ptr %tuple, null
  br i1 %has_tuple, label %item, label %free
item:
  %t = phi i64 [ 0, %several ], [ %next_t, %put ]
  %more_items = icmp ult i64 %t, %result_count
  br i1 %more_items, label %put, label %free
put:
  %item_number_at = getelementptr i64, ptr %row, i64 %t
  %item_number = load i64, ptr %item_number_at
  %item_at = getelementptr ptr, ptr %values, i64 %item_number
  %item_value = load ptr, ptr %item_at
  call void @Py_IncRef(ptr %item_value)
  %was_put = call i32 @PyTuple_SetItem(ptr %tuple, i64 %t, ptr %item_value)
  %next_t = add i64 %t, 1
  br label %item
free:
  %outcome = phi ptr [ null, %new ], [ %failed, %fail ], [ %only, %single ], [ null, %several ],
                     [ %tuple, %item ]
  %end = phi i64 [ %made, %new ], [ %all, %fail ], [ %all, %single ], [ %all, %several ],
                 [ %all, %item ]
  br label %drop
drop:
  %d = phi i64 [ %given, %free ], [ %next_d, %dropped ]
  %more_drops = icmp ult i64 %d, %end
  br i1 %more_drops, label %dropped, label %return
dropped:
  %drop_at = getelementptr ptr, ptr %values, i64 %d
  %dead = load ptr, ptr %drop_at
  call void @Py_DecRef(ptr %dead)
  %next_d = add i64 %d, 1
  br label %drop
return:
  ret ptr %outcome
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"""
