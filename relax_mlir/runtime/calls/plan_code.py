"""LLVM IR of what runs a plan: arguments of given shapes, tensors to make, native calls."""

from relax_mlir.runtime.calls.direct_code import (
    ARGUMENT_BYTES,
    ARRAY_DIMS,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_RANK,
    GOOD_FLAGS,
    TENSOR_BYTES,
)
from relax_mlir.runtime.calls.llvm_text import at, element, loop, word

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

    Args:
        objects: addresses of types and objects by name, of which it compares `ndarray`.
    """
    return "\n".join([_match_code(objects["ndarray"]), _run_code()])


def _match_code(ndarray: int) -> str:
    """Return the function that gives a plan's constants if the plan fits arguments, else null."""
    compare_dim = f"""{element("%dim", "%dims", "%axis", "i64")}
{element("%wanted_dim", "%wanted", "%axis", "i64")}
  %other_dim = icmp ne i64 %dim, %wanted_dim"""
    compare_array = f"""{element("%object", "%objects", "%i")}
{word("%type", "%object", 1)}
  %is_array = icmp eq i64 %type, {ndarray}
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
  br i1 %all, label %shape, label %no
shape:
{loop("axis", "shape", ("0", "%rank64"), compare_dim, "same", unless=("%other_dim", "no"))}
same:
  %next_row = getelementptr i64, ptr %wanted, i64 %rank64"""
    rows = "  %row = phi ptr [ %rows, %params ], [ %next_row, %i_end ]"
    return f"""
define internal ptr @relax_direct_match(ptr %plan, ptr %objects, i64 %count) {{
{word("%wanted_count", "%plan", 0)}
  %rows = getelementptr i64, ptr %plan, i64 {HEAD_WORDS}
  %same_count = icmp eq i64 %wanted_count, %count
  br i1 %same_count, label %params, label %no
params:
{loop("i", "params", ("0", "%count"), compare_array, "yes", carried=rows)}
yes:
  ret ptr %row
no:
  ret ptr null
}}"""


def _run_code() -> str:
    """Return the function itself: it finds a plan, makes tensors, calls, returns results.

    From `make` on, every way out goes through `free`, which drops the tensors that were made, `end`
    being the number after the last of them.
    """
    try_plan = """  %address = call ptr @PyTuple_GetItem(ptr %self, i64 %number)
  %plan = call ptr @PyLong_AsVoidPtr(ptr %address)
  %constants = call ptr @relax_direct_match(ptr %plan, ptr %objects, i64 %count)
  %fits = icmp ne ptr %constants, null"""
    plans = (str(BEFORE_PLANS), "%size")
    make_tensor = """
  %tensor = call ptr @PyObject_Vectorcall(ptr %empty, ptr %tensor_row, i64 2, ptr null)
  %is_made = icmp ne ptr %tensor, null
  br i1 %is_made, label %kept, label %free
kept:
  %place = getelementptr ptr, ptr %values, i64 %made
  store ptr %tensor, ptr %place
  %next_tensor_row = getelementptr i64, ptr %tensor_row, i64 2"""
    tensor_rows = (
        "  %tensor_row = phi ptr [ %tensor_rows, %begin ], [ %next_tensor_row, %made_end ]"
    )
    pick_operand = f"""{element("%operand_number", "%numbers", "%operand", "i64")}
{element("%value", "%values", "%operand_number")}
  %operand_to = getelementptr ptr, ptr %operands, i64 %operand
  store ptr %value, ptr %operand_to"""
    run_call = f"""  %code = load ptr, ptr %row
{word("%operand_count", "%row", 1)}
  %numbers = getelementptr i64, ptr %row, i64 2
{loop("operand", "call_step", ("0", "%operand_count"), pick_operand, "picked")}
picked:
  %taken = call i1 @relax_direct_arguments(ptr %operands, i64 %operand_count, ptr %anys,
                                           ptr %tensors)
  br i1 %taken, label %enter, label %fail
enter:
  %status = call i32 @relax_direct_enter(ptr %code, ptr %anys, i64 %operand_count, ptr %result)
  %went_wrong = icmp ne i32 %status, 0
  %next_row = getelementptr i64, ptr %numbers, i64 %operand_count"""
    call_rows = "  %row = phi ptr [ %tensor_row, %run ], [ %next_row, %call_end ]"
    calls = ("0", "%call_count")
    put_item = f"""{element("%item_number", "%row", "%item", "i64")}
{element("%item_value", "%values", "%item_number")}
  call void @Py_IncRef(ptr %item_value)
  %was_put = call i32 @PyTuple_SetItem(ptr %tuple, i64 %item, ptr %item_value)"""
    drop_tensor = f"""{element("%dead_value", "%values", "%dead")}
  call void @Py_DecRef(ptr %dead_value)"""
    return f"""
define ptr @{RUN}(ptr %self, ptr %objects, i64 %count) {{
entry:
  %size = call i64 @PyTuple_Size(ptr %self)
{loop("number", "entry", plans, try_plan, "miss", unless=("%fits", "begin"))}
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
{loop("made", "begin", ("%given", "%all"), make_tensor, "run", carried=tensor_rows)}
run:
{loop("call", "run", calls, run_call, "finish", carried=call_rows, unless=("%went_wrong", "fail"))}
fail:
  %failed = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  call void @Py_IncRef(ptr %failed)
  br label %free
finish:
  %is_single = icmp slt i64 %result_count, 0
  br i1 %is_single, label %single, label %several
single:
  %only_number = load i64, ptr %row
{element("%only", "%values", "%only_number")}
  call void @Py_IncRef(ptr %only)
  br label %free
several:
  %tuple = call ptr @PyTuple_New(i64 %result_count)
  %has_tuple = icmp ne ptr %tuple, null
  br i1 %has_tuple, label %items, label %free
items:
{loop("item", "items", ("0", "%result_count"), put_item, "free")}
free:
  %outcome = phi ptr [ null, %made_step ], [ %failed, %fail ], [ %only, %single ],
                     [ null, %several ], [ %tuple, %item_loop ]
  %end = phi i64 [ %made, %made_step ], [ %all, %fail ], [ %all, %single ], [ %all, %several ],
                 [ %all, %item_loop ]
{loop("dead", "free", ("%given", "%end"), drop_tensor, "return")}
return:
  ret ptr %outcome
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"""
