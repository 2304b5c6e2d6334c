"""The passes over prim funcs, by flag; importing this loads no MLIR."""

from relax_mlir.lowering.pass_spec import PassOption, PassSpec

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
            "Give the init regions of blocks places of their own, in front of their loops",
        ),
        _spec(
            "PlanAndUpdateBufferAllocationLocation",
            "plan-and-update-buffer-allocation-location", "allocation",
            "Move allocations into the innermost loop that all uses are in",
        ),
        _spec(
            "ConvertBlocksToOpaque", "convert-blocks-to-opaque", "blocks",
            "Put the values of blocks' iterators in their place",
            required=("LowerInitBlock",),
        ),
        _spec(
            "CompactBufferAllocation", "compact-buffer-allocation", "compact",
            "Shrink buffers allocated in loops to the region that a step touches",
        ),
        _spec(
            "LowerOpaqueBlock", "lower-opaque-block", "blocks",
            "Replace blocks by what is in them, and loops of one step by that step",
            required=("LowerInitBlock",),
        ),
        _spec(
            "FlattenBuffer", "flatten-buffer", "flatten",
            "Access all buffers in one dimension",
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
            "Shorten loops by the conditions in them, and run whole tiles without any",
            required=("LowerOpaqueBlock",),
        ),
        _spec(
            "VectorizeLoop", "vectorize-loop", "loops",
            "Turn vectorized loops into code over vectors",
            PassOption("enable_vectorize", bool, True, "false makes them serial loops"),
            PassOption("vector_bits", int, 512, "width of a vector register"),
            required=("LowerInitBlock",),
        ),
        _spec(
            "StorageRewrite", "storage-rewrite", "allocation",
            "Let buffers that are used at different times share memory",
        ),
        _spec(
            "UnrollLoop", "unroll-loop", "loops",
            "Replace unrolled loops, and short ones by the config tir.UnrollLoop, by their steps",
        ),
        _spec(
            "HoistIfThenElse", "hoist-if-then-else", "hoist",
            "Move conditions that do not change in a loop out of it",
        ),
        _spec(
            "HoistExpression", "hoist-expression", "hoist",
            "Move conditions and arithmetic that do not change in a loop out of it",
        ),
        _spec(
            "RemoveNoOp", "remove-no-op", "cleanup",
            "Remove loops, branches, stores and buffers that do nothing",
        ),
        _spec(
            "CommonSubexprElimTIR", "common-subexpr-elim-tir", "cleanup",
            "Compute what is the same once",
        ),
        _spec(
            "StmtSimplify", "stmt-simplify", "simplify",
            "The name of simplify in TVM's later versions",
        ),
        _spec(
            "RenormalizeSplitPattern", "renormalize-split-pattern", "simplify",
            "Bring quotients and remainders of split loops to one form, as simplify does",
        ),
        _spec(
            "CommonSubexprElim", "common-subexpr-elim", "cleanup",
            "The name of common-subexpr-elim-tir in TVM's later versions",
        ),
        _spec(
            "CanonicalizeLoop", "canonicalize-loop", "loops",
            "Let all loops begin at 0",
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
            "Compute what is of bfloat16 in float32",
        ),
        _spec(
            "RewriteUnsafeSelect", "rewrite-unsafe-select", "legalize",
            "Let selects of what is loaded evaluate only the value that they give",
        ),
        _spec(
            "ConvertForLoopsToSerial", "convert-for-loops-to-serial", "loops",
            "Make parallel loops serial",
        ),
    )
}  # fmt: skip
