// RUN: relax-opt %s | relax-opt | FileCheck %s

#image = affine_map<()[s0, s1, s2] -> (s1, 3, s0, s2)>
#halved = affine_map<()[s0, s1, s2] -> (s1, 8, (s0 - 1) floordiv 2 + 1, s2)>
!X = tensor<?x3x?x?xf32, #relax.dims<["h", "n", "w"], #image>>

// CHECK-LABEL: func.func @conv2d
// CHECK: "relax.conv2d"(%{{.*}}, %{{.*}}) : (tensor<1x3x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x7xf32>
// CHECK: "relax.conv2d"(%{{.*}}) {padding = array<i64: 1>, strides = array<i64: 2, 1>}
// CHECK-SAME: -> tensor<?x8x?x?xf32, #relax.dims<["h", "n", "w"]
func.func @conv2d(%s: tensor<1x3x8x9xf32>, %x: !X, %w: tensor<8x3x3x3xf32>) attributes {relax.function} {
  %a = "relax.conv2d"(%s, %w) : (tensor<1x3x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x7xf32>
  %b = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, strides = array<i64: 2, 1>} : (!X, tensor<8x3x3x3xf32>) -> tensor<?x8x?x?xf32, #relax.dims<["h", "n", "w"], #halved>>
  return
}

// CHECK-LABEL: func.func @layouts
// CHECK-SAME: tensor<1x8x9x4xf32>
func.func @layouts(%x: tensor<1x8x9x4xf32>, %w: tensor<3x3x2x8xf32>) attributes {relax.function} {
  %a = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", groups = 2} : (tensor<1x8x9x4xf32>, tensor<3x3x2x8xf32>) -> tensor<1x6x7x8xf32>
  %b = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", groups = 2, out_layout = "NCHW"} : (tensor<1x8x9x4xf32>, tensor<3x3x2x8xf32>) -> tensor<1x8x6x7xf32>
  return
}

// CHECK-LABEL: func.func @pool2d
func.func @pool2d(%x: tensor<1x3x8x9xf32>, %u: tensor<?x?x?x?xf32>) attributes {relax.function} {
  %a = "relax.max_pool2d"(%x) {pool_size = array<i64: 2>, strides = array<i64: 2>} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x4xf32>
  %b = "relax.avg_pool2d"(%x) {pool_size = array<i64: 2>, strides = array<i64: 2>, ceil_mode = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x5xf32>
  %c = "relax.max_pool2d"(%u) {pool_size = array<i64: 2>} : (tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

!n_3_w_f32 = tensor<?x3x?xf32, #relax.dims<["n", "w"], affine_map<()[s0, s1] -> (s0, 3, s1)>>>
!n_8_w_plus_1_by_2_f32 = tensor<?x8x?xf32, #relax.dims<["n", "w"], affine_map<()[s0, s1] -> (s0, 8, (s1 + 1) floordiv 2)>>>
!t1_d_h_w_2_f32 = tensor<1x?x?x?x2xf32, #relax.dims<["d", "h", "w"], affine_map<()[s0, s1, s2] -> (1, s0, s1, s2, 2)>>>
!t1_d_h_w_8_f32 = tensor<1x?x?x?x8xf32, #relax.dims<["d", "h", "w"], affine_map<()[s0, s1, s2] -> (1, s0, s1, s2, 8)>>>
!t1_3_h_w_f32 = tensor<1x3x?x?xf32, #relax.dims<["h", "w"], affine_map<()[s0, s1] -> (1, 3, s0, s1)>>>
!t1_12_h_times_2_w_times_2_f32 = tensor<1x12x?x?xf32, #relax.dims<["h", "w"], affine_map<()[s0, s1] -> (1, 12, s0 * 2, s1 * 2)>>>
!n_3_w_i8 = tensor<?x3x?xi8, #relax.dims<["n", "w"], affine_map<()[s0, s1] -> (s0, 3, s1)>>>
!n_3_w_by_2_i8 = tensor<?x3x?xi8, #relax.dims<["n", "w"], affine_map<()[s0, s1] -> (s0, 3, s1 floordiv 2)>>>
!n_c_h_w_f32 = tensor<?x?x?x?xf32, #relax.dims<["c", "h", "n", "w"], affine_map<()[s0, s1, s2, s3] -> (s2, s0, s1, s3)>>>
!n_c_1_7_f32 = tensor<?x?x1x7xf32, #relax.dims<["c", "n"], affine_map<()[s0, s1] -> (s1, s0, 1, 7)>>>
!n_w_c_f32 = tensor<?x?x?xf32, #relax.dims<["c", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, s2, s0)>>>
!n_c_w_f32 = tensor<?x?x?xf32, #relax.dims<["c", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, s0, s2)>>>

// CHECK-LABEL: func.func @signals(
func.func @signals(%a0: !n_3_w_f32, %a1: tensor<8x3x3xf32>) -> !n_8_w_plus_1_by_2_f32 attributes {relax.function} {
  // CHECK: "relax.conv1d"{{.*}} -> tensor<?x8x?xf32, #relax.dims<["n", "w"], #{{.*}}>>
  %0 = "relax.conv1d"(%a0, %a1) {data_layout = "NCW", dilation = array<i64: 1>, groups = 1 : i64, kernel_layout = "OIW", out_dtype, out_layout, padding = array<i64: 1>, strides = array<i64: 2>} : (!n_3_w_f32, tensor<8x3x3xf32>) -> !n_8_w_plus_1_by_2_f32
  return %0 : !n_8_w_plus_1_by_2_f32
}

// CHECK-LABEL: func.func @volumes(
func.func @volumes(%a0: !t1_d_h_w_2_f32, %a1: tensor<8x2x1x1x1xf32>) -> !t1_d_h_w_8_f32 attributes {relax.function} {
  // CHECK: "relax.conv3d"{{.*}} -> tensor<1x?x?x?x8xf32, #relax.dims<["d", "h", "w"], #{{.*}}>>
  %0 = "relax.conv3d"(%a0, %a1) {data_layout = "NDHWC", dilation = array<i64: 1, 1, 1>, groups = 1 : i64, kernel_layout = "OIDHW", out_dtype, out_layout, padding = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (!t1_d_h_w_2_f32, tensor<8x2x1x1x1xf32>) -> !t1_d_h_w_8_f32
  return %0 : !t1_d_h_w_8_f32
}

// CHECK-LABEL: func.func @transposed(
func.func @transposed(%a0: !t1_3_h_w_f32, %a1: tensor<3x4x3x3xf32>) -> !t1_12_h_times_2_w_times_2_f32 attributes {relax.function} {
  // CHECK: "relax.conv2d_transpose"{{.*}} -> tensor<1x12x?x?xf32, #relax.dims<["h", "w"], #{{.*}}>>
  %0 = "relax.conv2d_transpose"(%a0, %a1) {data_layout = "NCHW", dilation = array<i64: 1, 1>, groups = 3 : i64, kernel_layout = "IOHW", out_dtype, out_layout, output_padding = array<i64: 1>, padding = array<i64: 1>, strides = array<i64: 2>} : (!t1_3_h_w_f32, tensor<3x4x3x3xf32>) -> !t1_12_h_times_2_w_times_2_f32
  return %0 : !t1_12_h_times_2_w_times_2_f32
}

// CHECK-LABEL: func.func @transposed_unknown(
func.func @transposed_unknown(%a0: tensor<*xf32>, %a1: tensor<*xf32>) -> tensor<?x?x?xf32> attributes {relax.function} {
  // CHECK: "relax.conv1d_transpose"{{.*}} -> tensor<?x?x?xf32>
  %0 = "relax.conv1d_transpose"(%a0, %a1) {data_layout = "NCW", dilation = array<i64: 1>, groups = 1 : i64, kernel_layout = "IOW", out_dtype, out_layout, output_padding = array<i64: 0>, padding = array<i64: 0>, strides = array<i64: 1>} : (tensor<*xf32>, tensor<*xf32>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @pooled_signals(
func.func @pooled_signals(%a0: !n_3_w_i8) -> !n_3_w_by_2_i8 attributes {relax.function} {
  // CHECK: "relax.max_pool1d"{{.*}} -> tensor<?x3x?xi8, #relax.dims<["n", "w"], #{{.*}}>>
  %0 = "relax.max_pool1d"(%a0) {ceil_mode = false, count_include_pad = false, dilation = array<i64: 1>, layout = "NCW", out_layout, padding = array<i64: 0>, pool_size = array<i64: 2>, strides = array<i64: 2>} : (!n_3_w_i8) -> !n_3_w_by_2_i8
  return %0 : !n_3_w_by_2_i8
}

// CHECK-LABEL: func.func @pooled_volumes(
func.func @pooled_volumes(%a0: tensor<1x2x5x6x7xf32>) -> tensor<1x2x3x3x3xf32> attributes {relax.function} {
  // CHECK: "relax.avg_pool3d"{{.*}} -> tensor<1x2x3x3x3xf32>
  %0 = "relax.avg_pool3d"(%a0) {ceil_mode = true, count_include_pad = false, dilation = array<i64: 1, 1, 1>, layout = "NCDHW", out_layout, padding = array<i64: 0, 0, 0>, pool_size = array<i64: 1, 2, 3>, strides = array<i64: 2>} : (tensor<1x2x5x6x7xf32>) -> tensor<1x2x3x3x3xf32>
  return %0 : tensor<1x2x3x3x3xf32>
}

// CHECK-LABEL: func.func @parts(
func.func @parts(%a0: !n_c_h_w_f32) -> !n_c_1_7_f32 attributes {relax.function} {
  // CHECK: "relax.adaptive_avg_pool2d"{{.*}} -> tensor<?x?x1x7xf32, #relax.dims<["c", "n"], #{{.*}}>>
  %0 = "relax.adaptive_avg_pool2d"(%a0) {layout = "NCHW", out_layout, output_size = array<i64: 1, 7>} : (!n_c_h_w_f32) -> !n_c_1_7_f32
  return %0 : !n_c_1_7_f32
}

// CHECK-LABEL: func.func @no_parts(
func.func @no_parts(%a0: !n_w_c_f32) -> !n_c_w_f32 attributes {relax.function} {
  // CHECK: "relax.adaptive_avg_pool1d"{{.*}} -> tensor<?x?x?xf32, #relax.dims<["c", "n", "w"], #{{.*}}>>
  %0 = "relax.adaptive_avg_pool1d"(%a0) {layout = "NWC", out_layout = "NCW", output_size} : (!n_w_c_f32) -> !n_c_w_f32
  return %0 : !n_c_w_f32
}

// CHECK-LABEL: func.func @blocks(
func.func @blocks(%x: tensor<2x4x28x28x16xf32>, %w: tensor<48x4x3x3x16xf32>) -> tensor<2x26x26x3x16xf32> attributes {relax.function} {
  // CHECK: "relax.conv2d"{{.*}} -> tensor<2x26x26x3x16xf32>
  %0 = "relax.conv2d"(%x, %w) {data_layout = "NCHW16c", kernel_layout = "OIHW16i", out_layout = "NHWC16c"} : (tensor<2x4x28x28x16xf32>, tensor<48x4x3x3x16xf32>) -> tensor<2x26x26x3x16xf32>
  return %0 : tensor<2x26x26x3x16xf32>
}
