"""Programs of upstream dialects that several tests import."""

# ruff: noqa: E501

MATMUL = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32):
    %q = arith.maximumf %x, %z : f32
    %i = linalg.index 0 : index
    %last = arith.subi %m, %i : index
    %ii = arith.index_cast %last : index to i32
    %fi = arith.sitofp %ii : i32 to f32
    %o = arith.addf %q, %fi : f32
    linalg.yield %o : f32
  } -> tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}"""

SOFTMAX_TOSA = """
func.func @main(%a: tensor<?x7xf32>, %w: tensor<1x7x4xf32>, %b: tensor<1x4xf32>) -> tensor<?x4xf32> {
  %s = tosa.const_shape {values = dense<[1, -1, 7]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %x = tosa.reshape %a, %s : (tensor<?x7xf32>, !tosa.shape<3>) -> tensor<1x?x7xf32>
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %m = tosa.matmul %x, %w, %zp, %zp : (tensor<1x?x7xf32>, tensor<1x7x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x?x4xf32>
  %s2 = tosa.const_shape {values = dense<[-1, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %y = tosa.reshape %m, %s2 : (tensor<1x?x4xf32>, !tosa.shape<2>) -> tensor<?x4xf32>
  %z = tosa.add %y, %b : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
  %e = tosa.exp %z : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %q = tosa.reduce_sum %e {axis = 1 : i32} : (tensor<?x4xf32>) -> tensor<?x1xf32>
  %rc = tosa.reciprocal %q : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %sh = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %o = tosa.mul %e, %rc, %sh : (tensor<?x4xf32>, tensor<?x1xf32>, tensor<1xi8>) -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}"""
