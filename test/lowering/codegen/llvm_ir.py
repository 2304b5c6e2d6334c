# RUN: %PYTHON %s | FileCheck %s
"""LLVM IR text holds no floating literal, and what cannot be translated is named."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.errors import CompileError
from relax_mlir.lowering.codegen.llvm.llvm_ir import to_llvm_ir

# CHECK-LABEL: constants
# CHECK-DAG: internal constant i32 1036831949
# CHECK-DAG: internal constant i32 2143289344
# CHECK-DAG: internal constant <2 x i32> splat (i32 -8388608)
# CHECK-DAG: internal constant <2 x i64> <i64 4591870180066957722, i64 4596373779694328218>
# CHECK-DAG: internal constant <3 x i16> <i16 15821, i16 16457, i16 32704>
# CHECK-DAG: internal constant <3 x i16> <i16 11878, i16 16384, i16 32256>
# CHECK-DAG: internal constant i16 11878
# CHECK-DAG: @table = internal constant [2 x i32] [i32 1056964608, i32 1048576000]
# CHECK: define float @f
# CHECK: load float, ptr @relax_float_bits
# CHECK-NOT: {{[0-9]\.[0-9]}}
print("constants")
CONSTANTS = """
llvm.mlir.global internal constant @table(dense<[0.5, 0.25]> : tensor<2xf32>) : !llvm.array<2 x f32>
llvm.func @use(f32, vector<2xf32>, vector<2xf64>, vector<3xbf16>, vector<3xf16>, f16)
llvm.func @f(%x: f32) -> f32 {
  %a = llvm.mlir.constant(0.1 : f32) : f32
  %b = llvm.mlir.constant(0x7FC00000 : f32) : f32
  %c = llvm.mlir.constant(dense<0xFF800000> : vector<2xf32>) : vector<2xf32>
  %d = llvm.mlir.constant(dense<[0.1, 0.2]> : vector<2xf64>) : vector<2xf64>
  %e = llvm.mlir.constant(dense<[0.1, 3.14, 0x7FC0]> : vector<3xbf16>) : vector<3xbf16>
  %g = llvm.mlir.constant(dense<[0.1, 2.0, 0x7E00]> : vector<3xf16>) : vector<3xf16>
  %h = llvm.mlir.constant(0.1 : f16) : f16
  llvm.call @use(%b, %c, %d, %e, %g, %h)
    : (f32, vector<2xf32>, vector<2xf64>, vector<3xbf16>, vector<3xf16>, f16) -> ()
  %s = llvm.fadd %x, %a : f32
  llvm.return %s : f32
}"""
with make_context(), ir.Location.unknown():
    print(to_llvm_ir(ir.Module.parse(CONSTANTS).operation))

# A loop's hints stand on the branch that closes it, under the name that loops of scf give them.
# CHECK-LABEL: hints
# CHECK: br i1 {{.*}}, !llvm.loop [[LOOP:![0-9]+]]
# CHECK: [[LOOP]] = distinct !{[[LOOP]], [[HINT:![0-9]+]]}
# CHECK: [[HINT]] = !{!"llvm.loop.unroll.disable"}
print("hints")
LOOP = """
llvm.func @f(%c: i1) {
  llvm.br ^loop
^loop:
  llvm.cond_br %c, ^loop, ^end
    {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
^end:
  llvm.return
}"""
with make_context(), ir.Location.unknown():
    print(to_llvm_ir(ir.Module.parse(LOOP).operation))

# CHECK-LABEL: untranslatable
# CHECK: not in the LLVM dialect after lowering: 'arith.addi' at loc("here":4:2)
print("untranslatable")
with make_context(), ir.Location.unknown():
    text = """llvm.func @f(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32 loc("here":4:2)
  llvm.return %0 : i32
}"""
    module = ir.Module.parse(text)
    try:
        to_llvm_ir(module.operation)
    except CompileError as error:
        print(error)
