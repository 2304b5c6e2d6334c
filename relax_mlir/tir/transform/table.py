"""The passes over prim funcs, by flag; importing this loads no MLIR."""

from relax_mlir.lowering.pass_spec import TARGET, PassOption, PassSpec

_HERE = "relax_mlir.tir.transform"


def _spec(
    name: str, flag: str, module: str, summary: str, *options: PassOption,
    required: tuple[str, ...] = (),
) -> PassSpec:  # fmt: skip
    entry = f"{_HERE}.{module}:{flag.replace('-', '_')}"
    return PassSpec(flag, name, entry, summary, options=options, required=required)


# In the order in which `tir.lower` runs those that it does.
TIR_PASSES: dict[str, PassSpec] = {
    spec.flag: spec
    for spec in (
        _spec(
            "LowerInitBlock", "lower-init-block", "blocks",
            "Make init regions loop nests of their own, before the reduction loops",
        ),
        _spec(
            "PlanAndUpdateBufferAllocationLocation",
            "plan-and-update-buffer-allocation-location", "allocation",
            "Move allocations into the innermost loop that all uses are in",
        ),
        _spec(
            "ConvertBlocksToOpaque", "convert-blocks-to-opaque", "blocks",
            "Substitute the iterators of blocks by their values",
            required=("LowerInitBlock",),
        ),
        _spec(
            "CompactBufferAllocation", "compact-buffer-allocation", "compact",
            "Shrink buffers allocated in loops to the region that a step touches",
        ),
        _spec(
            "LowerOpaqueBlock", "lower-opaque-block", "blocks",
            "Replace blocks by their bodies, and inline loops of one step",
            required=("LowerInitBlock",),
        ),
        _spec(
            "FlattenBuffer", "flatten-buffer", "flatten",
            "Make all accesses of buffers one-dimensional",
        ),
        _spec(
            "StorageFlatten", "storage-flatten", "flatten",
            "The name of flatten-buffer in TVM's early versions",
        ),
        _spec(
            "Simplify", "simplify", "simplify",
            "Simplify index arithmetic, conditions and predicates by the ranges of variables",
        ),
        _spec(
            "LoopPartition", "loop-partition", "loops",
            "Turn conditions into loop bounds, and run whole tiles without them",
            required=("LowerOpaqueBlock",),
        ),
        _spec(
            "VectorizeLoop", "vectorize-loop", "loops",
            "Turn vectorized loops into code over vectors",
            PassOption("enable_vectorize", bool, True, "false makes them serial loops"),
            TARGET,
            required=("LowerInitBlock",),
        ),
        _spec(
            "StorageRewrite", "storage-rewrite", "allocation",
            "Let buffers with disjoint live ranges share memory",
        ),
        _spec(
            "UnrollLoop", "unroll-loop", "loops",
            "Unroll unrolled loops, and short ones by the config tir.UnrollLoop",
        ),
        _spec(
            "HoistIfThenElse", "hoist-if-then-else", "hoist",
            "Hoist loop-invariant conditions",
        ),
        _spec(
            "HoistExpression", "hoist-expression", "hoist",
            "Hoist loop-invariant conditions and arithmetic",
        ),
        _spec(
            "RemoveNoOp", "remove-no-op", "cleanup",
            "Remove loops, branches, stores and buffers without effect",
        ),
        _spec(
            "CommonSubexprElimTIR", "common-subexpr-elim-tir", "cleanup",
            "Compute common subexpressions once",
        ),
        _spec(
            "StmtSimplify", "stmt-simplify", "simplify",
            "The name of simplify in TVM's later versions",
        ),
        _spec(
            "RenormalizeSplitPattern", "renormalize-split-pattern", "simplify",
            "Canonicalize quotients and remainders of split loops, as simplify does",
        ),
        _spec(
            "CommonSubexprElim", "common-subexpr-elim", "cleanup",
            "The name of common-subexpr-elim-tir in TVM's later versions",
        ),
        _spec(
            "CanonicalizeLoop", "canonicalize-loop", "loops",
            "Make all loops begin at 0",
        ),
        _spec(
            "SkipAssert", "skip-assert", "checks",
            "Remove the assertions of prim funcs",
        ),
        _spec(
            "InstrumentBoundCheckers", "instrument-bound-checkers", "checks",
            "Assert that every index is inside its buffer",
        ),
        _spec(
            "AnnotateEntryFunc", "annotate-entry-func", "checks",
            "Mark the prim func that a module begins with",
        ),
        _spec(
            "BF16ComputeLegalize", "bf16-compute-legalize", "legalize",
            "Compute bfloat16 in float32",
        ),
        _spec(
            "RewriteUnsafeSelect", "rewrite-unsafe-select", "legalize",
            "Make selects of loads evaluate only the chosen value",
        ),
        _spec(
            "ConvertForLoopsToSerial", "convert-for-loops-to-serial", "loops",
            "Make parallel loops serial",
        ),
    )
}  # fmt: skip
