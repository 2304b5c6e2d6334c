# RUN: %PYTHON %s | FileCheck %s
"""Which functions of vector code LLVM asks what may be moved out of their loops."""

from relax_mlir.lowering.codegen.llvm.optimize import VECTOR_CODE, optimize
from relax_mlir.lowering.target.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512")
FUNCTION = """
define void @{name}(ptr noalias %sum, ptr noalias %x, i64 %n) {attributes} {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %total = load float, ptr %sum
  %mean = fdiv float %total, 7.0
  %place = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %place
  %less = fsub float %value, %mean
  store float %less, ptr %place
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end, !llvm.loop !0
end:
  ret void
}}
"""
HINTS = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}\n'


def show(*functions: tuple[str, str]) -> None:
    """Print functions of vector code, each with its attributes, after LLVM's optimiser."""
    bodies = [FUNCTION.format(name=name, attributes=given) for name, given in functions]
    print(optimize(VECTOR_CODE + "".join(bodies) + HINTS, TARGET)[0])


# The quotient is computed once in the function that says that it has such a load, and only there.
# CHECK-LABEL: define void @loads(
# CHECK: fdiv
# CHECK: phi
# CHECK-NOT: fdiv
# CHECK-LABEL: define void @others(
# CHECK: phi
# CHECK: fdiv
show(("loads", '"stackrealign" "relax.invariant_loads"'), ("others", '"stackrealign"'))

# No function at all, none of the one kind, none of the other.
# CHECK: one kind
print("one kind")
for each in ([], [("a", "")], [("b", '"relax.invariant_loads"')]):
    show(*each)

# The same of names in quotes and with other letters.
# CHECK-LABEL: define void @"a b\C3\A4"(
# CHECK: fdiv
# CHECK: phi
# CHECK-NOT: fdiv
# CHECK: ret void
show(('"a b\\C3\\A4"', '"relax.invariant_loads"'))
