"""The passes over prim funcs, by flag; importing this loads no MLIR."""

from relax_mlir.lowering.pass_spec import TARGET, PassOption, pass_of, pass_table

_pass = pass_of("relax_mlir.tir.transform")

# In the order in which `tir.lower` runs those that it does.
TIR_PASSES = pass_table(
    _pass(
        "blocks:lower_init_block", "LowerInitBlock",
        "Make init regions loop nests of their own, before the reduction loops",
    ),
    _pass(
        "allocation:plan_and_update_buffer_allocation_location",
        "PlanAndUpdateBufferAllocationLocation",
        "Move allocations into the innermost loop that all uses are in",
    ),
    _pass(
        "blocks:convert_blocks_to_opaque", "ConvertBlocksToOpaque",
        "Substitute the iterators of blocks by their values", required=("LowerInitBlock",),
    ),
    _pass(
        "compact:compact_buffer_allocation", "CompactBufferAllocation",
        "Shrink buffers allocated in loops to the region that a step touches",
    ),
    _pass(
        "blocks:lower_opaque_block", "LowerOpaqueBlock",
        "Replace blocks by their bodies, and inline loops of one step",
        required=("LowerInitBlock",),
    ),
    _pass(
        "flatten:flatten_buffer", "FlattenBuffer", "Make all accesses of buffers one-dimensional",
    ),
    _pass(
        "flatten:storage_flatten", "StorageFlatten",
        "The name of flatten-buffer in TVM's early versions",
    ),
    _pass(
        "simplify", "Simplify",
        "Simplify index arithmetic, conditions and predicates by the ranges of variables",
    ),
    _pass(
        "loops:loop_partition", "LoopPartition",
        "Turn conditions into loop bounds, and run whole tiles without them",
        required=("LowerOpaqueBlock",),
    ),
    _pass(
        "loops:vectorize_loop", "VectorizeLoop", "Turn vectorized loops into code over vectors",
        PassOption("enable_vectorize", bool, True, "false makes them serial loops"), TARGET,
        required=("LowerInitBlock",),
    ),
    _pass(
        "allocation:storage_rewrite", "StorageRewrite",
        "Let buffers with disjoint live ranges share memory",
    ),
    _pass(
        "loops:unroll_loop", "UnrollLoop",
        "Unroll unrolled loops, and short ones by the config tir.UnrollLoop",
    ),
    _pass("hoist:hoist_if_then_else", "HoistIfThenElse", "Hoist loop-invariant conditions"),
    _pass(
        "hoist:hoist_expression", "HoistExpression",
        "Hoist loop-invariant conditions and arithmetic",
    ),
    _pass(
        "cleanup:remove_no_op", "RemoveNoOp",
        "Remove loops, branches, stores and buffers without effect",
    ),
    _pass(
        "cleanup:common_subexpr_elim_tir", "CommonSubexprElimTIR",
        "Compute common subexpressions once",
    ),
    _pass("simplify:stmt_simplify", "StmtSimplify", "The name of simplify in TVM's later versions"),
    _pass(
        "simplify:renormalize_split_pattern", "RenormalizeSplitPattern",
        "Canonicalize quotients and remainders of split loops, as simplify does",
    ),
    _pass(
        "cleanup:common_subexpr_elim", "CommonSubexprElim",
        "The name of common-subexpr-elim-tir in TVM's later versions",
    ),
    _pass("loops:canonicalize_loop", "CanonicalizeLoop", "Make all loops begin at 0"),
    _pass("checks:skip_assert", "SkipAssert", "Remove the assertions of prim funcs"),
    _pass(
        "checks:instrument_bound_checkers", "InstrumentBoundCheckers",
        "Assert that every index is inside its buffer",
    ),
    _pass(
        "checks:annotate_entry_func", "AnnotateEntryFunc",
        "Mark the prim func that a module begins with",
    ),
    _pass("legalize:bf16_compute_legalize", "BF16ComputeLegalize", "Compute bfloat16 in float32"),
    _pass(
        "legalize:rewrite_unsafe_select", "RewriteUnsafeSelect",
        "Make selects of loads evaluate only the chosen value",
    ),
    _pass(
        "loops:convert_for_loops_to_serial", "ConvertForLoopsToSerial",
        "Make parallel loops serial",
    ),
)  # fmt: skip
