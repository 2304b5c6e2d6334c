"""All names of TVM 0.27's `T`, and for each that means something here, statements that use it.

The statements stand in a function with buffers `A` and `B` of eight float32, `I` and `J` of eight
int32, `K` of eight int8 and `F` of eight float64, the sizes `n` and `m`, and a float32 `x`.
"""

LANES = (2, 4, 8, 16, 32, 64)
NARROW = (
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)  # fmt: skip
WITH_LANES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64",
)  # fmt: skip
VECTORS = [f"{name}x{lanes}" for name in (*WITH_LANES, *NARROW) for lanes in LANES]

_NAMES = """
Add And Assert Bind BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Break Broadcast Buffer BufferLoad
Call CallEffectKind Cast CommReducer ComposeLayout Continue Div DtypeConstructor EQ Else ExecScope
FloatImm FloorDiv FloorMod GE GT If IntImm Iter IterVar LE LShift LT Layout Let LetAnnotation
LocalVectorAnnotation Max Min Mod Mul NE Not Optional Or Ptr R RShift Ramp Range Reduce Return S
SMEMPool ScopeIdDef Select Shuffle Sub TMEMPool TVMBackendAllocWorkspace TVMBackendFreeWorkspace
TensorMap Then TileLayout Tuple Var While abs acos acosh add_to_parent address_of alloc_buffer
alloc_cast_frag alloc_local alloc_scalar alloc_shared alloc_tcgen05_ldst_frag anylist_getitem
anylist_resetitem anylist_setitem_call_cpacked anylist_setitem_call_packed arg asin asinh assume
atan atan2 atanh attr axis bf16 bfloat16 bind bitwise_and bitwise_not bitwise_or bitwise_xor
block_name_suffix_context bool boolean break_loop broadcast buffer buffer_decl buffer_store
buffer_var builder call_cpacked call_cpacked_lowered call_extern call_ffi_kernel call_intrin
call_kernel call_llvm_intrin call_llvm_pure_intrin call_packed call_packed_lowered
call_pure_extern cast ceil ceildiv cluster cluster_id clz comm_reducer constexpr continue_loop
cooperative_tensor_fill cooperative_tensor_load cooperative_tensor_multiply_accumulate
cooperative_tensor_store copysign cos cosh cta cta_id cta_id_in_cluster cta_id_in_pair cuda
decl_buffer decl_scalar device_entry dp4a end_profile_intrinsic env_thread erf evaluate exp exp10
exp2 f16 f32 f64 fabs filter float16 float32 float64 floor floordiv floormod fma fmod func_attr
func_name func_ret get_active_lane_mask grid handle handle_add_byte_offset hint hypot i16 i32 i64
i8 if_then_else ignore_loop_partition index_map infinity init inline int16 int32 int64 int8
isfinite isinf isnan isnullptr iter_var jit lane_id launch_thread ldexp let likely
llvm_lookup_intrinsic_id local_scalar log log10 log1p log2 lookup_param macro masked_load
masked_store match_buffer max max_value meta_class meta_var metal min min_value nearbyint
nextafter nki nvshmem parallel parser popcount pow prim_func print_buffer ptr ptr_byte_offset ptx
ptx_legacy q_multiply_shift q_multiply_shift_per_axis ramp reads register_script_namespace
reinterpret round rsqrt s_tir sblock sblock_alloc_buffer sblock_attr scalar_wrapper scope_id
selector serial shared_scalar shift_left shift_right sigmoid sin sinh smem sqrt
start_profile_intrinsic static_assert tan tanh target tensormap_encode_tiled thread thread_binding
thread_id thread_id_in_wg thread_return tile tmem trunc truncdiv truncmod tvm_access_ptr
tvm_bmma_sync tvm_call_cpacked tvm_call_cpacked_lowered tvm_call_packed tvm_call_packed_lowered
tvm_fill_fragment tvm_global_barrier_kinit tvm_kernel_replace_point tvm_load_matrix_sync
tvm_mma_sync tvm_stack_alloca tvm_stack_make_array tvm_stack_make_shape tvm_storage_sync
tvm_store_matrix_sync tvm_struct_get tvm_struct_set tvm_thread_allreduce tvm_thread_invariant
tvm_throw_last_error tvm_tuple tvm_warp_activemask tvm_warp_shuffle tvm_warp_shuffle_down
tvm_warp_shuffle_up tvm_warp_shuffle_xor type_annotation u16 u32 u64 u8 uint16 uint32 uint64 uint8
undef unroll var vectorcombine vectorhigh vectorized vectorlow void vscale warp warp_id
warp_id_in_wg warpgroup warpgroup_id webgpu wg wg_reg_tile where writes
"""
OTHERS = _NAMES.split()

_FLOAT = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp",
    "exp10", "exp2", "fabs", "floor", "log", "log10", "log1p", "log2", "nearbyint", "round",
    "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "likely", "meta_var",
)  # fmt: skip
_FLOAT_PAIRS = ("Add", "Sub", "Mul", "Div", "Max", "Min", "max", "min", "pow", "atan2", "copysign",
                "fmod", "hypot", "nextafter", "ldexp")  # fmt: skip
_INTEGER_PAIRS = (
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LShift", "RShift", "FloorDiv", "FloorMod", "Mod",
    "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right", "floordiv",
    "floormod", "truncdiv", "truncmod", "ceildiv",
)  # fmt: skip
_COMPARISONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
_DTYPES = (
    "bf16", "bfloat16", "f16", "f32", "f64", "float16", "float32", "float64", "i16", "i32", "i64",
    "i8", "int16", "int32", "int64", "int8", "u16", "u32", "u64", "u8", "uint16", "uint32",
    "uint64", "uint8",
)  # fmt: skip
_LOOP = "for i in {}:\n    B[i] = A[i]"
_TURNS = "for i in range(8):\n    if A[i] > 1.0:\n        T.{}()\n    B[i] = 1.0"
_BLOCK = (
    "for i in range(8):\n    with T.sblock('b'):\n        v = T.axis.spatial(8, i)\n"
    "        {}\n        B[v] = A[v]"
)  # fmt: skip
_BRANCH = (
    "with T.If(A[0] > 1.0):\n    with T.Then():\n        B[0] = 1.0\n"
    "    with T.Else():\n        B[0] = 2.0"
)  # fmt: skip
_ROW = "T.float32x4(A[0:4])"
_BYTES = "K[0:4], K[4:8]"

WORKS: dict[str, str] = {
    **{name: f"B[0] = T.{name}(A[0])" for name in _FLOAT},
    **{name: f"B[0] = T.{name}(A[0], A[1])" for name in _FLOAT_PAIRS},
    **{name: f"J[0] = T.{name}(I[0], I[1])" for name in _INTEGER_PAIRS},
    **{name: f"B[0] = T.Select(T.{name}(A[0], A[1]), x, 2.0)" for name in _COMPARISONS},
    **{name: f"F[0] = T.cast(T.{name}(I[0]), 'float64')" for name in _DTYPES},
    **{f"{name}x{lanes}": f"F2[0:{lanes}] = T.Cast('float64x{lanes}', T.{name}x{lanes}(3))"
       for name in WITH_LANES for lanes in LANES},
    **dict.fromkeys(("If", "Then", "Else"), _BRANCH),
    **{name: _LOOP.format(f"T.{name}(8)") for name in (
        "serial", "parallel", "vectorized", "unroll")},
    **{name: _TURNS.format(name) for name in (
        "Break", "Continue", "break_loop", "continue_loop", "thread_return")},
    **{name: _BLOCK.format(text) for name, text in {
        "axis": "pass", "sblock": "pass", "where": "T.where(i < 7)", "reads": "T.reads(A[v])",
        "writes": "T.writes(B[v])", "sblock_attr": "T.sblock_attr({'note': 1})",
        "init": "with T.init():\n            B[v] = 0.0",
        "sblock_alloc_buffer": "L = T.sblock_alloc_buffer((4,), 'float32')\n        L[0] = A[v]",
    }.items()},
    **dict.fromkeys(("And", "Or"), "B[0] = T.Select(T.And(x > 1.0, T.Or(x > 2.0, x < 0.0)), x, x)"),
    **{name: f"B[0] = T.Select(T.{name}(x > 1.0), x, x)" for name in (
        "Not", "bool", "boolean", "ignore_loop_partition")},
    **{name: f"B[0] = T.Select(T.{name}(x), x, x)" for name in ("isfinite", "isinf", "isnan")},
    **{name: f"B[0] = T.{name}('float32')" for name in ("infinity", "max_value", "min_value")},
    **{name: f"J[0] = T.{name}(I[0])" for name in ("BitwiseNot", "bitwise_not", "clz", "popcount")},
    **dict.fromkeys(("Bind", "bind"), "v = T.bind(A[0])\nB[0] = v"),
    **dict.fromkeys(("Broadcast", "broadcast"), "B[0:4] = T.Broadcast(x, 4)"),
    **dict.fromkeys(("Ramp", "ramp"), "B[0:4] = A[T.Ramp(0, 2, 4)]"),
    **dict.fromkeys(("Cast", "cast", "FloatImm"),
                    "B[0] = T.Cast('float32', T.cast(I[0], 'int8')) + T.FloatImm('float32', 1.0)"),
    **dict.fromkeys(("alloc_buffer", "alloc_local", "alloc_shared"),
                    "L = T.alloc_local((4,), 'float32')\nL[0] = x\nB[0] = L[0]"),
    **{name: f"v = T.{name}('float32')\nv = x\nv += 1.0\nB[0] = v" for name in (
        "alloc_scalar", "local_scalar", "shared_scalar")},
    **{name: f"P = T.{name}((2, 4), 'float32', data=A.data)\nB[0] = P[1, 1]" for name in (
        "Buffer", "buffer", "buffer_decl", "decl_buffer")},
    **{name: f"J[0] = T.{name}('some.function', A, I[0], 'text')" for name in (
        "call_packed", "call_cpacked", "tvm_call_packed", "tvm_call_cpacked")},
    **{name: f"B[0] = T.{name}('float32', 'hypotf', x, x)" for name in (
        "call_extern", "call_pure_extern")},
    "Assert": "T.Assert(x > 0.0, 'positive')",
    "BufferLoad": "B[0] = T.BufferLoad(A, [1])",
    "IntImm": "J[0] = T.IntImm('int32', 3)",
    "Let": "B[0] = T.Let(v + v, where={v: A[0]})",
    "Return": "if A[0] > 1.0:\n    T.Return(0)\nB[0] = 1.0",
    "Select": "B[0] = T.Select(x > 1.0, A[0], A[1])",
    "Shuffle": "B[0:4] = T.Shuffle([A[0:2], A[4:6]], [3, 2, 1, 0])",
    "While": "v: T.int32 = 0\nwhile v < 8:\n    B[v] = 1.0\n    v += 1",
    "address_of": "T.call_extern('void', 'some_function', T.address_of(A[1]))",
    "tvm_access_ptr": "T.call_extern('void', 'some_function', T.tvm_access_ptr("
                      "T.type_annotation('float32'), A.data, 2, 4, 1))",
    "assume": "T.assume(A[0] > 0.0)\nB[0] = 1.0",
    "attr": "with T.attr({'pragma_unroll': 1}):\n    B[0] = 1.0",
    "buffer_store": "T.buffer_store(B, x, [0])",
    "call_intrin": "B[0] = T.call_intrin('float32', 'tirx.exp', A[0])",
    "dp4a": f"J[0] = T.dp4a({_BYTES}, I[0])",
    "env_thread": "t = T.env_thread('threadIdx.x')\nwith T.launch_thread(t, 8):\n    B[t] = 1.0",
    "evaluate": "T.evaluate(A[0])\nB[0] = 1.0",
    "fma": "B[0] = T.fma(A[0], A[1], x)",
    "func_attr": "",
    "grid": "for i, j in T.grid(2, 4):\n    B[i * 4 + j] = 1.0",
    "hint": "with T.hint('a note'):\n    B[0] = 1.0",
    "if_then_else": "B[0] = T.if_then_else(x > 1.0, A[0], A[1])",
    "inline": "",
    "launch_thread": "with T.launch_thread('threadIdx.x', 8) as t:\n    B[t] = 1.0",
    "let": "v: T.let = A[0]\nB[0] = v",
    "macro": "",
    "match_buffer": "",
    "prim_func": "",
    "q_multiply_shift": "J[0] = T.q_multiply_shift(I[0], I[1], 31, -1)",
    "q_multiply_shift_per_axis":
        "J[0] = T.q_multiply_shift_per_axis(I[0], I[1], I[2], I[3], 31, False, True)",
    "reinterpret": "J[0] = T.reinterpret('int32', A[0])",
    "static_assert": "T.static_assert(3 % 2 == 1, 'odd')\nB[0] = 1.0",
    "thread_binding": _LOOP.format("T.thread_binding(8, thread='threadIdx.x')"),
    "undef": "B[0] = T.undef(dtype='float32')",
    "var": "",
    "vectorcombine": "B[0:8] = T.vectorcombine('float32x8', A[4:8], A[0:4])",
    "vectorhigh": "B[0:4] = T.vectorhigh('float32x4', A[0:8])",
    "vectorlow": f"B[0:2] = T.vectorlow('float32x2', {_ROW})",
}  # fmt: skip
