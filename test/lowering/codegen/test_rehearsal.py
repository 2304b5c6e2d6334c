"""What LLVM ends the process at is an error: such modules are tried in another process first."""

import pytest

from relax_mlir import relax
from relax_mlir.errors import CompileError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.codegen.rehearsal import needs_rehearsal
from relax_mlir.lowering.target.target import Target

V2 = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v2"
_FUNCTION = """
func.func @f(%a: memref<16xf32>) attributes {{tir.prim_func}} {{
  %i = arith.constant 0 : index
  {body}
  func.return
}}
"""
PLAIN = "%v = memref.load %a[%i] : memref<16xf32>  memref.store %v, %a[%i] : memref<16xf32>"
CASES = {
    # As it comes of IR that was lowered for a machine with wider registers.
    "registers": (
        """%v = vector.load %a[%i] : memref<16xf32>, vector<16xf32>
        %w = llvm.inline_asm has_side_effects "", "=v,0" %v : (vector<16xf32>) -> vector<16xf32>
        vector.store %w, %a[%i] : memref<16xf32>, vector<16xf32>""",
        V2,
        "couldn't allocate output register for constraint 'v'",
    ),
    "instruction": (
        'llvm.inline_asm has_side_effects "nosuchinstruction", "" : () -> ()',
        V2,
        "invalid instruction mnemonic 'nosuchinstruction'",
    ),
    "intrinsic": (
        'llvm.call_intrinsic "llvm.nosuch"() : () -> ()', V2, "could not find LLVM intrinsic",
    ),
    "intrinsic of another CPU": (
        'llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()',
        V2,
        "Cannot select: intrinsic %llvm.x86.tilerelease",
    ),
    "type": (
        """%v = memref.load %a[%i] : memref<16xf32>
        %w = arith.extf %v : f32 to f128
        %s = math.sin %w : f128
        %t = arith.truncf %s : f128 to f32
        memref.store %t, %a[%i] : memref<16xf32>""",
        V2,
        "its process ended with status -",
    ),
    "feature": (PLAIN, f"{V2} -mattr=-64bit", "64-bit code requested"),
    "architecture": (PLAIN, "llvm -mtriple=bpf", "LLVM cannot compile this for"),
    "no objects": (PLAIN, "llvm -mtriple=xcore", "LLVM makes no object for xcore"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_llvm_does_not_end_the_process(case: str) -> None:
    body, target, expected = CASES[case]
    module = IRModule.parse(_FUNCTION.format(body=body))
    with pytest.raises(CompileError, match="native code generation") as raised:
        relax.build(module, target)
    assert expected in str(raised.value)


def test_what_llvm_knows_of_a_user_compiles() -> None:
    body = 'llvm.call_intrinsic "llvm.x86.sse.sfence"() : () -> ()'
    assert relax.build(IRModule.parse(_FUNCTION.format(body=body)), V2).native[0].data


@pytest.mark.parametrize("options", ["", " -mattr=-avx512f,+fma"])
def test_plain_kernels_compile_once(options: str) -> None:
    module = IRModule.parse(_FUNCTION.format(body=PLAIN))
    assert not needs_rehearsal(module.mlir_module.operation, Target(V2 + options))
