"""A pass has one name in four places: class, flag, file and lit test."""

import importlib.util
import re
from pathlib import Path

import pytest
from checkout import ROOT

from relax_mlir import tir
from relax_mlir.lowering import PASSES
from relax_mlir.lowering.pass_spec import PassSpec
from relax_mlir.pass_infra.registry import flag_of
from relax_mlir.tir.transform.unsupported import UNSUPPORTED
from relax_mlir.transform.table import TRANSFORM_PASSES

TABLE = {**PASSES, **TRANSFORM_PASSES}
LIT_TESTS = {
    file.stem
    for pattern in ("*.mlir", "*.py")
    for file in (ROOT / "test").rglob(pattern)
    if not {"packaging", "support"} & set(file.relative_to(ROOT).parts)
    and not file.name.startswith("test_")
}


@pytest.fixture(params=TABLE.values(), ids=TABLE)
def spec(request: pytest.FixtureRequest) -> PassSpec:
    return request.param


def test_flag_is_the_name_in_kebab_case(spec: PassSpec) -> None:
    assert TABLE[spec.flag] is spec
    assert flag_of(spec.name) == spec.flag


def test_entry_carries_the_name(spec: PassSpec) -> None:
    module, function = spec.entry.split(":")
    assert function == spec.flag.replace("-", "_")
    source = Path(importlib.util.find_spec(module).origin).read_text()
    assert re.search(rf"^(def|class) {function}\b|\b{function} =", source, re.M)


def test_there_is_a_lit_test_of_that_name(spec: PassSpec) -> None:
    stem = spec.flag.replace("-", "_")
    assert any(test == stem or test.startswith(f"{stem}_") for test in LIT_TESTS), (
        f"no test/**/{stem}.mlir"
    )


# Those of TVM 0.27, in both of its namespaces.
_NAMES = """
AnnotateEntryFunc AnnotateIrregularLoop Apply BF16ComputeLegalize BF16StorageLegalize BindTarget
CanonicalizeLoop CommonSubexprElim CompactBufferAllocation ConvertBlocksToOpaque ConvertSSA
DecorateDeviceScope DefaultGPUSchedule FP8ComputeLegalize FP8StorageLegalize Filter
FlattenBuffer ForceNarrowIndexToInt32 HoistExpression HoistIfThenElse InferFragment
InjectDoubleBuffer InjectPTXAsyncCopy InjectPTXLDG32 InjectPermutedLayout InjectSoftwarePipeline
InjectVirtualThread InlinePrivateFunctions InstrumentBoundCheckers InstrumentProfileIntrinsics
LiftThreadBinding LoopPartition LowerAsyncDMA LowerAutoCopy LowerCrossThreadReduction
LowerInitBlock LowerIntrin LowerMatchBuffer LowerOpaqueBlock LowerTIRx LowerTIRxOpaque
LowerTVMBuiltin LowerThreadAllreduce LowerVtcmAlloc LowerWarpMemory MakePackedAPI
ManifestSharedMemoryLocalStage MergeSharedMemoryAllocations NarrowDataType
PlanAndUpdateBufferAllocationLocation PointerValueTypeRewrite RemoveAssume RemoveNoOp
RemoveStoreUndef RemoveWeightLayoutRewriteBlock RenormalizeSplitPattern RewriteUnsafeSelect
SkipAssert SplitHostDevice StmtSimplify StorageRewrite ThreadSync TilePrimitiveDispatch
TransformMmaBufferLayout UnifyThreadBinding UnrollLoop UseAssumeToReduceBranches VectorizeLoop
VerifyMemory VerifyVTCMLimit
"""
TVM_TIR_PASSES = _NAMES.split()


@pytest.mark.parametrize("name", TVM_TIR_PASSES)
def test_passes_of_tvm_are_there_or_say_why_not(name: str) -> None:
    if name in UNSUPPORTED:
        with pytest.raises(AttributeError, match=f"tir.transform has no pass {name}: ."):
            getattr(tir.transform, name)
        assert name not in dir(tir.transform)
    else:
        assert callable(getattr(tir.transform, name))


def test_no_two_passes_share_a_name() -> None:
    assert len({spec.name for spec in TABLE.values()}) == len(PASSES) + len(TRANSFORM_PASSES)
