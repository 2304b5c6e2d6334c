"""Names of TVM's `T` that are unsupported, each with the reason."""

_GPU = "is for threads of a GPU; prim funcs are compiled for CPUs"
_TILES = "is of TVM's tile programs for accelerators; write loops, or schedule them"
_LOWERED = "is what TVM's passes make of a call; write T.call_packed or T.call_extern"
_RUNTIME = "is of TVM's runtime for compiled functions; allocate by T.alloc_buffer"
_BUILDER = "builds a function outside of scripts; in one, write the statement itself"
_REDUCTION = "is of tensor expressions; here a reduction is loops around T.init and an update"
_POINTER = "is about addresses, which nothing checks; use T.decl_buffer(data=..., elem_offset=...)"
_PROFILE = "is for profilers of other machines; see relax.VirtualMachine's profiler"
_ELSEWHERE = "is an argument of tir.Schedule or of passes; a script has no place for it"
_SCALABLE = "has lanes that the machine decides on; take a constant number"
_MASKED = "reads or writes lanes by a mask; put an 'if', or T.if_then_else, around single elements"
_JIT = "is of TVM's @T.jit; give sizes by Python variables around the script, or as symbols"
_MODULE = "is a module of TVM, not a part of the language"
_NARROW = "is no dtype here; floats have 16, 32 or 64 bits"
_LLVM = ("calls an intrinsic of LLVM on vectors of one machine; use T's own functions: what is "
         "compiled has the machine's instructions")  # fmt: skip
_CLASS = "is a class of TVM's program, which has no constructor here; write the expression itself"

_GROUPS = {
    _GPU: (
        "alloc_cast_frag alloc_tcgen05_ldst_frag cluster cluster_id cooperative_tensor_fill "
        "cooperative_tensor_load cooperative_tensor_multiply_accumulate cooperative_tensor_store "
        "cta cta_id cta_id_in_cluster cta_id_in_pair cuda device_entry filter lane_id metal "
        "nvshmem ptx ptx_legacy ptx_mma selector smem tensormap_encode_tiled thread thread_id "
        "thread_id_in_wg tmem tvm_bmma_sync tvm_fill_fragment tvm_global_barrier_kinit "
        "tvm_kernel_replace_point tvm_load_matrix_sync tvm_mma_sync tvm_storage_sync "
        "tvm_store_matrix_sync tvm_thread_allreduce tvm_thread_invariant tvm_warp_activemask "
        "tvm_warp_shuffle tvm_warp_shuffle_down tvm_warp_shuffle_up tvm_warp_shuffle_xor warp "
        "warp_id warp_id_in_wg warpgroup warpgroup_id webgpu wg wg_reg_tile mma_store mma_fill "
        "ptx_mma_sp ptx_ldmatrix ptx_cp_async create_barriers call_kernel call_ffi_kernel"
    ),
    _TILES: (
        "ComposeLayout ExecScope Iter Layout LocalVectorAnnotation R S SMEMPool ScopeIdDef "
        "TMEMPool TensorMap TileLayout nki scope_id tile"
    ),
    _LOWERED: (
        "call_cpacked_lowered call_packed_lowered tvm_call_cpacked_lowered "
        "tvm_call_packed_lowered tvm_stack_alloca tvm_stack_make_array tvm_stack_make_shape "
        "tvm_struct_get tvm_struct_set tvm_throw_last_error tvm_tuple anylist_getitem "
        "anylist_resetitem anylist_setitem_call_cpacked anylist_setitem_call_packed lookup_param "
        "type_annotation tvm_check_return"
    ),
    _RUNTIME: "TVMBackendAllocWorkspace TVMBackendFreeWorkspace",
    _BUILDER: (
        "add_to_parent arg block_name_suffix_context func_name func_ret meta_class scalar_wrapper "
        "register_script_namespace"
    ),
    _REDUCTION: "CommReducer Reduce comm_reducer ProducerLoad",
    _POINTER: (
        "handle handle_add_byte_offset isnullptr ptr ptr_byte_offset Ptr buffer_var decl_scalar"
    ),
    _PROFILE: "start_profile_intrinsic end_profile_intrinsic print_buffer",
    _ELSEWHERE: "index_map target Range iter_var IterVar prefetch realize",
    _SCALABLE: "vscale",
    _MASKED: "masked_load masked_store get_active_lane_mask",
    _JIT: "Optional constexpr jit",
    _MODULE: "builder parser s_tir",
    _NARROW: (
        "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz "
        "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float8 void"
    ),
    _LLVM: "call_llvm_intrin call_llvm_pure_intrin llvm_lookup_intrinsic_id",
    _CLASS: "Call CallEffectKind DtypeConstructor LetAnnotation StringImm Tuple Var SizeVar",
}  # fmt: skip
UNSUPPORTED: dict[str, str] = {
    name: why for why, names in _GROUPS.items() for name in names.split()
}


def unsupported_reason(path: str | None) -> str | None:
    """Return why a name of TVM's `T`, or of something inside it, means nothing; None if it does.

    Args:
        path: such as `T.tvm_storage_sync` or `T.cuda.thread_rank`.
    """
    if path is None or not path.startswith("T."):
        return None
    name, lanes = path[2:].split(".")[0], ""
    if name not in UNSUPPORTED:
        name, _, lanes = name.rpartition("x")
    known = name in UNSUPPORTED and (not lanes or lanes.isdigit())
    return f"T.{path[2:].split('.')[0]} {UNSUPPORTED[name]}" if known else None
