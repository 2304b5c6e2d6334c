"""The function that checks all arguments of a call from a table, as LLVM-dialect text."""
# ruff: noqa: E501  (one operation of the text below is one line)

from relax_mlir.lowering.codegen.ffi.argument_check import ARGUMENT_BYTES, RECORD_BYTES
from relax_mlir.lowering.codegen.ffi.errors import fail
from relax_mlir.lowering.codegen.ffi.table import (
    DIM_WORDS,
    HEAD_WORDS,
    PAIR_WORDS,
    PARAM_WORDS,
    SCALAR,
    STRIDED,
    Strings,
)


def _word(result: str, row: str, number: int) -> str:
    return (
        f"  {result}_at = llvm.getelementptr {row}[{number}] : (!llvm.ptr) -> !llvm.ptr, i64\n"
        f"  {result} = llvm.load {result}_at : !llvm.ptr -> i64"
    )


def _name(result: str, offset: str) -> str:
    return f"  {result} = llvm.getelementptr %text[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8"


def _record(result: str, number: str) -> str:
    return (
        f"  {result}_bytes = llvm.mul {number}, %record_size : i64\n"
        f"  {result} = llvm.getelementptr %records[{result}_bytes] : "
        "(!llvm.ptr, i64) -> !llvm.ptr, i8"
    )


def _extent(result: str, record: str, axis: str) -> str:
    return (
        f"  {result}_shape_at = llvm.getelementptr {record}[24] : (!llvm.ptr) -> !llvm.ptr, i8\n"
        f"  {result}_shape = llvm.load {result}_shape_at : !llvm.ptr -> !llvm.ptr\n"
        f"  {result}_at = llvm.getelementptr {result}_shape[{axis}] : "
        "(!llvm.ptr, i64) -> !llvm.ptr, i64\n"
        f"  {result} = llvm.load {result}_at : !llvm.ptr -> i64"
    )


def _param_name(result: str, number: str) -> str:
    return (
        f"  {result}_row = llvm.mul {number}, %param_words : i64\n"
        f"  {result}_slot = llvm.getelementptr %rows[{result}_row] : "
        "(!llvm.ptr, i64) -> !llvm.ptr, i64\n"
        f"  {result}_offset = llvm.load {result}_slot : !llvm.ptr -> i64\n"
        f"{_name(result, f'{result}_offset')}"
    )


def check_all(strings: Strings) -> str:
    """Return the function that goes through a table: parameters, dimensions, overlaps."""
    return f"""
llvm.func @relax_ffi_check(%table: !llvm.ptr, %text: !llvm.ptr, %args: !llvm.ptr, %count: i32, %records: !llvm.ptr) -> i32 attributes {{no_inline}} {{
  %zero32 = llvm.mlir.constant(0 : i32) : i32
  %minus32 = llvm.mlir.constant(-1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %record_size = llvm.mlir.constant({RECORD_BYTES} : i64) : i64
  %scalar_kind = llvm.mlir.constant({SCALAR} : i64) : i64
  %argument_size = llvm.mlir.constant({ARGUMENT_BYTES} : i64) : i64
  %param_words = llvm.mlir.constant({PARAM_WORDS} : i64) : i64
{_word("%function_offset", "%table", 0)}
{_name("%function", "%function_offset")}
{_word("%params", "%table", 1)}
{_word("%dims", "%table", 2)}
{_word("%pairs", "%table", 3)}
  %rows = llvm.getelementptr %table[{HEAD_WORDS}] : (!llvm.ptr) -> !llvm.ptr, i64
  %count64 = llvm.sext %count : i32 to i64
  %right_count = llvm.icmp "eq" %count64, %params : i64
  llvm.cond_br %right_count, ^params(%zero, %rows : i64, !llvm.ptr), ^bad_count
^params(%i: i64, %row: !llvm.ptr):
  %more_params = llvm.icmp "slt" %i, %params : i64
  llvm.cond_br %more_params, ^param, ^dims(%zero, %row : i64, !llvm.ptr)
^param:
{_word("%name_offset", "%row", 0)}
{_name("%name", "%name_offset")}
{_word("%dtype64", "%row", 1)}
  %any_at = llvm.mul %i, %argument_size : i64
  %any = llvm.getelementptr %args[%any_at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
{_record("%record", "%i")}
  %is_int = llvm.icmp "slt" %dtype64, %zero : i64
  llvm.cond_br %is_int, ^int, ^buffer
^int:
{_word("%least", "%row", 2)}
{_word("%greatest", "%row", 3)}
  %is_float = llvm.icmp "slt" %dtype64, %scalar_kind : i64
  %number_status = llvm.call @relax_ffi_number(%function, %name, %any, %record, %is_float, %least, %greatest) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i1, i64, i64) -> i32
  llvm.br ^checked(%number_status : i32)
^buffer:
  %dtype = llvm.trunc %dtype64 : i64 to i32
{_word("%dtype_offset", "%row", 2)}
{_name("%dtype_name", "%dtype_offset")}
{_word("%rank64", "%row", 3)}
  %rank = llvm.trunc %rank64 : i64 to i32
  %strided_from = llvm.mlir.constant({STRIDED} : i64) : i64
  %strided = llvm.icmp "sge" %rank64, %strided_from : i64
  %buffer_status = llvm.call @relax_ffi_buffer(%function, %name, %any, %dtype, %dtype_name, %rank, %strided, %record) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i32, i1, !llvm.ptr) -> i32
  llvm.br ^checked(%buffer_status : i32)
^checked(%status: i32):
  %right = llvm.icmp "eq" %status, %zero32 : i32
  %next_i = llvm.add %i, %one : i64
  %next_row = llvm.getelementptr %row[{PARAM_WORDS}] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.cond_br %right, ^params(%next_i, %next_row : i64, !llvm.ptr), ^bad
^dims(%d: i64, %dim_row: !llvm.ptr):
  %more_dims = llvm.icmp "slt" %d, %dims : i64
  llvm.cond_br %more_dims, ^dim, ^pairs(%zero, %dim_row : i64, !llvm.ptr)
^dim:
{_word("%param", "%dim_row", 0)}
{_word("%axis", "%dim_row", 1)}
{_word("%source", "%dim_row", 2)}
{_word("%value", "%dim_row", 3)}
{_record("%dim_record", "%param")}
{_extent("%got", "%dim_record", "%axis")}
  %is_constant = llvm.icmp "slt" %source, %zero : i64
  llvm.cond_br %is_constant, ^compare(%value : i64), ^other
^other:
{_record("%other_record", "%source")}
  %is_scalar = llvm.icmp "slt" %value, %zero : i64
  llvm.cond_br %is_scalar, ^scalar, ^extent
^scalar:
  %scalar = llvm.load %other_record : !llvm.ptr -> i64
  llvm.br ^compare(%scalar : i64)
^extent:
{_extent("%same", "%other_record", "%value")}
  llvm.br ^compare(%same : i64)
^compare(%wanted: i64):
  %is_same = llvm.icmp "eq" %got, %wanted : i64
  %next_d = llvm.add %d, %one : i64
  %next_dim = llvm.getelementptr %dim_row[{DIM_WORDS}] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.cond_br %is_same, ^dims(%next_d, %next_dim : i64, !llvm.ptr), ^bad_dim
^pairs(%p: i64, %pair_row: !llvm.ptr):
  %more_pairs = llvm.icmp "slt" %p, %pairs : i64
  llvm.cond_br %more_pairs, ^pair, ^good
^pair:
{_word("%written", "%pair_row", 0)}
{_word("%twin", "%pair_row", 1)}
{_record("%written_record", "%written")}
{_record("%twin_record", "%twin")}
{_param_name("%written_name", "%written")}
{_param_name("%twin_name", "%twin")}
  %pair_status = llvm.call @relax_ffi_disjoint(%function, %written_name, %twin_name, %written_record, %twin_record) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %distinct = llvm.icmp "eq" %pair_status, %zero32 : i32
  %next_p = llvm.add %p, %one : i64
  %next_pair = llvm.getelementptr %pair_row[{PAIR_WORDS}] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.cond_br %distinct, ^pairs(%next_p, %next_pair : i64, !llvm.ptr), ^bad
^good:
  llvm.return %zero32 : i32
^bad:
  llvm.return %minus32 : i32
^bad_count:
{fail(strings, "%counted", "count", ("ptr", "%function"), ("i64", "%params"), ("i64", "%count64"))}
  llvm.return %counted : i32
^bad_dim:
{_param_name("%dim_name", "%param")}
{_word("%meaning_offset", "%dim_row", 4)}
{_name("%meaning", "%meaning_offset")}
{fail(strings, "%failed", "dim", ("ptr", "%function"), ("ptr", "%dim_name"), ("i64", "%axis"), ("i64", "%wanted"), ("ptr", "%meaning"), ("i64", "%got"))}
  llvm.return %failed : i32
}}"""
