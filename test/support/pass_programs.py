"""Modules that passes are tried on, as text."""

MAIN = """
func.func @main(%x: f32) -> f32 attributes {relax.function} {
  %0 = arith.addf %x, %x : f32
  %1 = arith.addf %x, %x : f32
  %2 = arith.mulf %0, %1 : f32
  return %2 : f32
}
"""
SEVERAL = (
    MAIN
    + """func.func @other(%x: f32) -> f32 attributes {relax.function} {
  return %x : f32
}
func.func private @prim(%x: memref<4xf32>) attributes {tir.prim_func}
"""
)
