// RUN: relax-opt %s --pack-conv-weights --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" | FileCheck %s --check-prefixes=CHECK,WIDE,TWO
// RUN: relax-opt %s --pack-conv-weights --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver3" | FileCheck %s --check-prefixes=CHECK,AVX2,TWO
// RUN: relax-opt %s --pack-conv-weights --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver4" | FileCheck %s --check-prefixes=CHECK,WIDE,ONE

#by16 = affine_map<()[s0, s1] -> (1, 16, s0, s1)>
#by128 = affine_map<()[s0, s1] -> (1, 128, s0, s1)>
#by32 = affine_map<()[s0, s1] -> (1, 32, s0, s1)>
#by64 = affine_map<()[s0, s1] -> (1, 64, s0, s1)>

// Constant weights come into blocks of sixteen output channels, the window outside, rows inside.

// CHECK-LABEL: func.func @constant
// CHECK: [[W:%.*]] = "relax.constant"
// CHECK: [[SPLIT:%.*]] = "relax.reshape"([[W]], {{.*}} -> tensor<2x16x3x3x3xf32>
// CHECK: [[PACKED:%.*]] = "relax.permute_dims"([[SPLIT]]) {axes = array<i64: 0, 3, 2, 4, 1>}
// CHECK: "relax.conv2d"(%{{.*}}, [[PACKED]]) {{{.*}}kernel_layout = "OHIW16o"
func.func @constant(%x: tensor<1x3x8x8xf32>) -> tensor<1x32x6x6xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<32x3x3x3xf32>} : () -> tensor<32x3x3x3xf32>
  %y = "relax.conv2d"(%x, %w) : (tensor<1x3x8x8xf32>, tensor<32x3x3x3xf32>) -> tensor<1x32x6x6xf32>
  return %y : tensor<1x32x6x6xf32>
}

// Other layouts are brought to this one first.

// CHECK-LABEL: func.func @other_layout
// CHECK: "relax.permute_dims"({{.*}}) {axes = array<i64: 2, 1, 0>}
// CHECK: "relax.conv1d"({{.*}}kernel_layout = "OIW16o"
func.func @other_layout(%x: tensor<1x8x3xf32>) -> tensor<1x6x16xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x16xf32>} : () -> tensor<3x3x16xf32>
  %y = "relax.conv1d"(%x, %w) {data_layout = "NWC", kernel_layout = "WIO"} : (tensor<1x8x3xf32>, tensor<3x3x16xf32>) -> tensor<1x6x16xf32>
  return %y : tensor<1x6x16xf32>
}

// So are weights that are computed from constants, as scales by channel leave them.

// CHECK-LABEL: func.func @scaled
// CHECK: [[SCALED:%.*]] = "relax.multiply"
// CHECK: "relax.reshape"([[SCALED]], {{.*}} -> tensor<1x16x3x3x3xf32>
// CHECK: "relax.conv2d"({{.*}}kernel_layout = "OHIW16o"
func.func @scaled(%x: tensor<1x3x8x8xf32>) -> tensor<1x16x6x6xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<16x3x3x3xf32>} : () -> tensor<16x3x3x3xf32>
  %s = "relax.constant"() {value = dense<2.0> : tensor<16xf32>} : () -> tensor<16xf32>
  %shape = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (16, 1, 1, 1)>>>
  %scale = "relax.reshape"(%s, %shape) : (tensor<16xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (16, 1, 1, 1)>>>) -> tensor<16x1x1x1xf32>
  %scaled = "relax.multiply"(%w, %scale) : (tensor<16x3x3x3xf32>, tensor<16x1x1x1xf32>) -> tensor<16x3x3x3xf32>
  %y = "relax.conv2d"(%x, %scaled) : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x6x6xf32>
  return %y : tensor<1x16x6x6xf32>
}

// Of few pixels those of windows of one element are too, with channels last as well.

// CHECK-LABEL: func.func @few_pixels
// CHECK: "relax.conv2d"({{.*}}kernel_layout = "OHIW16o"
func.func @few_pixels(%x: tensor<1x7x7x32xf32>) -> tensor<1x7x7x16xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<1x1x32x16xf32>} : () -> tensor<1x1x32x16xf32>
  %y = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x7x7x32xf32>, tensor<1x1x32x16xf32>) -> tensor<1x7x7x16xf32>
  return %y : tensor<1x7x7x16xf32>
}

// Of some more they are products, but not of so many inputs that sums are stored seldom and so few that
// a line of each stays in L1, and weights too if vectors are so short that they are read often. With one
// FMA of 64 bytes in a cycle L2 delivers lines of any number of inputs.

// CHECK-LABEL: func.func @some_pixels
// CHECK: "relax.conv2d"({{.*}}tensor<16x32x1x1xf32>
// WIDE: "relax.conv2d"({{.*}}kernel_layout = "OHIW16o"
// AVX2: "relax.conv2d"({{.*}}tensor<16x256x1x1xf32>
// TWO: "relax.conv2d"({{.*}}tensor<16x4096x1x1xf32>
// ONE: "relax.conv2d"({{.*}}kernel_layout = "OHIW16o"
func.func @some_pixels(%x: tensor<1x32x14x14xf32>, %y: tensor<1x256x14x14xf32>, %z: tensor<1x4096x14x14xf32>) -> tensor<1x16x14x14xf32> attributes {relax.function} {
  %u = "relax.constant"() {value = dense<1.0> : tensor<16x32x1x1xf32>} : () -> tensor<16x32x1x1xf32>
  %v = "relax.constant"() {value = dense<1.0> : tensor<16x256x1x1xf32>} : () -> tensor<16x256x1x1xf32>
  %w = "relax.constant"() {value = dense<1.0> : tensor<16x4096x1x1xf32>} : () -> tensor<16x4096x1x1xf32>
  %0 = "relax.conv2d"(%x, %u) : (tensor<1x32x14x14xf32>, tensor<16x32x1x1xf32>) -> tensor<1x16x14x14xf32>
  %1 = "relax.conv2d"(%y, %v) : (tensor<1x256x14x14xf32>, tensor<16x256x1x1xf32>) -> tensor<1x16x14x14xf32>
  %2 = "relax.conv2d"(%z, %w) : (tensor<1x4096x14x14xf32>, tensor<16x4096x1x1xf32>) -> tensor<1x16x14x14xf32>
  %3 = "relax.add"(%0, %1) : (tensor<1x16x14x14xf32>, tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %4 = "relax.add"(%2, %3) : (tensor<1x16x14x14xf32>, tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  return %4 : tensor<1x16x14x14xf32>
}

// What are few depends on the columns of a register tile.

// CHECK-LABEL: func.func @short_rows
// WIDE: "relax.conv2d"({{.*}}kernel_layout = "OHIW16o"
// AVX2: "relax.conv2d"({{.*}}tensor<16x512x1x1xf32>
func.func @short_rows(%x: tensor<1x512x7x7xf32>) -> tensor<1x16x7x7xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<16x512x1x1xf32>} : () -> tensor<16x512x1x1xf32>
  %y = "relax.conv2d"(%x, %w) : (tensor<1x512x7x7xf32>, tensor<16x512x1x1xf32>) -> tensor<1x16x7x7xf32>
  return %y : tensor<1x16x7x7xf32>
}

// Nobody knows how many pixels these have: of many input channels they are windows, of few products;
// products too if weights do not stay in L1. With one FMA unit of 64 bytes 64 channels are few.

// CHECK-LABEL: func.func @unknown_pixels_of_many_channels
// WIDE: "relax.conv2d"({{.*}}kernel_layout = "OHIW16o"
func.func @unknown_pixels_of_many_channels(%x: tensor<1x128x?x?xf32, #relax.dims<["h", "w"], #by128>>) -> tensor<1x16x?x?xf32, #relax.dims<["h", "w"], #by16>> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<16x128x1x1xf32>} : () -> tensor<16x128x1x1xf32>
  %y = "relax.conv2d"(%x, %w) : (tensor<1x128x?x?xf32, #relax.dims<["h", "w"], #by128>>, tensor<16x128x1x1xf32>) -> tensor<1x16x?x?xf32, #relax.dims<["h", "w"], #by16>>
  return %y : tensor<1x16x?x?xf32, #relax.dims<["h", "w"], #by16>>
}

// CHECK-LABEL: func.func @unknown_pixels(
// TWO: "relax.conv2d"({{.*}}kernel_layout = "OHIW16o"
// ONE: "relax.conv2d"({{.*}}tensor<16x64x1x1xf32>
// CHECK: "relax.conv2d"({{.*}}kernel_layout = "OIHW"
func.func @unknown_pixels(%x: tensor<1x64x?x?xf32, #relax.dims<["h", "w"], #by64>>) -> tensor<1x32x?x?xf32, #relax.dims<["h", "w"], #by32>> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<16x64x1x1xf32>} : () -> tensor<16x64x1x1xf32>
  %v = "relax.constant"() {value = dense<1.0> : tensor<32x16x1x1xf32>} : () -> tensor<32x16x1x1xf32>
  %y = "relax.conv2d"(%x, %w) : (tensor<1x64x?x?xf32, #relax.dims<["h", "w"], #by64>>, tensor<16x64x1x1xf32>) -> tensor<1x16x?x?xf32, #relax.dims<["h", "w"], #by16>>
  %z = "relax.conv2d"(%y, %v) {kernel_layout = "OIHW"} : (tensor<1x16x?x?xf32, #relax.dims<["h", "w"], #by16>>, tensor<32x16x1x1xf32>) -> tensor<1x32x?x?xf32, #relax.dims<["h", "w"], #by32>>
  return %z : tensor<1x32x?x?xf32, #relax.dims<["h", "w"], #by32>>
}

// What stays: weights that run time brings, channels that fill no block, one channel to a group, and
// products of matrices with long rows.

// CHECK-LABEL: func.func @others
// CHECK-NOT: 16o
// CHECK: return
func.func @others(%x: tensor<1x16x17x17xf32>, %w: tensor<16x16x3x3xf32>) -> (tensor<1x16x15x15xf32>, tensor<1x10x15x15xf32>, tensor<1x16x15x15xf32>, tensor<1x16x17x17xf32>) attributes {relax.function} {
  %odd = "relax.constant"() {value = dense<1.0> : tensor<10x16x3x3xf32>} : () -> tensor<10x16x3x3xf32>
  %deep = "relax.constant"() {value = dense<1.0> : tensor<16x1x3x3xf32>} : () -> tensor<16x1x3x3xf32>
  %one = "relax.constant"() {value = dense<1.0> : tensor<16x16x1x1xf32>} : () -> tensor<16x16x1x1xf32>
  %a = "relax.conv2d"(%x, %w) : (tensor<1x16x17x17xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x15x15xf32>
  %b = "relax.conv2d"(%x, %odd) : (tensor<1x16x17x17xf32>, tensor<10x16x3x3xf32>) -> tensor<1x10x15x15xf32>
  %c = "relax.conv2d"(%x, %deep) {groups = 16} : (tensor<1x16x17x17xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x15x15xf32>
  %d = "relax.conv2d"(%x, %one) : (tensor<1x16x17x17xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x17x17xf32>
  return %a, %b, %c, %d : tensor<1x16x15x15xf32>, tensor<1x10x15x15xf32>, tensor<1x16x15x15xf32>, tensor<1x16x17x17xf32>
}

// A transposed convolution is one function that is called for each place modulo the stride, by every
// second element of the mirrored kernel here, and where in the padded data its windows begin.

// CHECK-LABEL: func.func @transposed
// CHECK: [[MIRRORED:%.*]] = "relax.flip"
// CHECK: "relax.strided_slice"([[MIRRORED]]) {{.*}}begin = array<i64: 0>{{.*}}strides = array<i64: 2>
// CHECK: "relax.strided_slice"([[MIRRORED]]) {{.*}}begin = array<i64: 1>
// CHECK: "relax.call_tir"({{.*}} {callee = @conv_transpose, tir_vars = #relax.dims<[], [[FIRST:#map[0-9]*]]>}
// CHECK-SAME: -> tensor<1x8x3xf32>
// CHECK-NOT: tir_vars = #relax.dims<[], [[FIRST]]>}
// CHECK: "relax.call_tir"({{.*}} {callee = @conv_transpose, tir_vars = #relax.dims<[],
// CHECK: "relax.call_tir"({{.*}} {callee = @interleave} {{.*}} -> tensor<1x16x3xf32>
// CHECK: "relax.permute_dims"
// CHECK-NOT: conv1d_transpose
func.func @transposed(%x: tensor<1x2x8xf32>, %w: tensor<2x3x4xf32>) -> tensor<1x3x16xf32> attributes {relax.function} {
  %y = "relax.conv1d_transpose"(%x, %w) {strides = array<i64: 2>, padding = array<i64: 1>} : (tensor<1x2x8xf32>, tensor<2x3x4xf32>) -> tensor<1x3x16xf32>
  return %y : tensor<1x3x16xf32>
}

// Wider windows keep convolutions of their own, whose sums are in the order that pays for each.

// CHECK-LABEL: func.func @wide
// CHECK: "relax.conv1d"({{.*}}out_layout = "NWC"{{.*}}padding = array<i64: 1, 1>
// CHECK: "relax.conv1d"({{.*}}padding = array<i64: 0, 1>
// CHECK: "relax.concat"
// CHECK-NOT: conv1d_transpose
func.func @wide(%x: tensor<1x2x8xf32>, %w: tensor<2x3x5xf32>) -> tensor<1x3x15xf32> attributes {relax.function} {
  %y = "relax.conv1d_transpose"(%x, %w) {strides = array<i64: 2>, padding = array<i64: 2>} : (tensor<1x2x8xf32>, tensor<2x3x5xf32>) -> tensor<1x3x15xf32>
  return %y : tensor<1x3x15xf32>
}

// Kernels of single channels are brought to where channels of the data lie: last.

// CHECK-LABEL: func.func @single
// CHECK: [[K:%.*]] = "relax.constant"
// CHECK: [[TURNED:%.*]] = "relax.permute_dims"([[K]]) {axes = array<i64: 2, 3, 1, 0>}
// CHECK: "relax.conv2d"(%{{.*}}, [[TURNED]]) {{{.*}}kernel_layout = "HWIO"
func.func @single(%x: tensor<1x8x8x24xf32>) -> tensor<1x6x6x24xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<24x1x3x3xf32>} : () -> tensor<24x1x3x3xf32>
  %y = "relax.conv2d"(%x, %w) {groups = 24, data_layout = "NHWC", kernel_layout = "OIHW"} : (tensor<1x8x8x24xf32>, tensor<24x1x3x3xf32>) -> tensor<1x6x6x24xf32>
  return %y : tensor<1x6x6x24xf32>
}

// So are those of small groups.

// CHECK-LABEL: func.func @small_groups
// CHECK: [[SMALL:%.*]] = "relax.permute_dims"({{.*}}) {axes = array<i64: 2, 3, 1, 0>}
// CHECK: "relax.conv2d"(%{{.*}}, [[SMALL]]) {{{.*}}kernel_layout = "HWIO"
func.func @small_groups(%x: tensor<1x8x8x24xf32>) -> tensor<1x6x6x24xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<24x4x3x3xf32>} : () -> tensor<24x4x3x3xf32>
  %y = "relax.conv2d"(%x, %w) {groups = 6, data_layout = "NHWC", kernel_layout = "OIHW"} : (tensor<1x8x8x24xf32>, tensor<24x4x3x3xf32>) -> tensor<1x6x6x24xf32>
  return %y : tensor<1x6x6x24xf32>
}

// CHECK-LABEL: func.func @single_last
// CHECK-NOT: relax.permute_dims
// CHECK: return
func.func @single_last(%x: tensor<1x8x8x24xf32>) -> tensor<1x6x6x24xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x1x24xf32>} : () -> tensor<3x3x1x24xf32>
  %y = "relax.conv2d"(%x, %w) {groups = 24, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x24xf32>, tensor<3x3x1x24xf32>) -> tensor<1x6x6x24xf32>
  return %y : tensor<1x6x6x24xf32>
}
