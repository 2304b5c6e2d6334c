"""Names of TVM's topi that are unsupported, each with the reason."""

_BITS = "there is no bit-serial arithmetic; products of int8 have kernels: topi.nn.dense, conv2d"
_LAYOUT = "layouts in blocks of channels are lowering's: write the plain convolution"
_WINOGRAD = "lowering chooses how a convolution is computed: write the plain one"
_PART = "it is a part of how TVM writes {}, which is there"
_GRADIENT = "there are no gradients yet"
_QUANTISED = "quantisation is not modelled"
_SUPPRESSION = (
    "it is a part of suppression, which is one kernel here: use non_max_suppression or "
    "all_class_non_max_suppression"
)

UNSUPPORTED: dict[str, dict[str, str]] = {
    "topi": {
        "binary_search": _PART.format("searchsorted"),
        "gpu": "GPUs have no lowering",
        "cpp": "the library is Python",
        "sparse_reshape": "how many indices there are depends on data: write it by te.extern",
        "unique": "its length depends on data: R.unique",
        "nonzero": "its length depends on data: R.nonzero",
        "testing": "references are numpy's",
    },
    "topi.nn": {
        **dict.fromkeys(
            ("binarize_pack", "binary_dense", "bitpack", "bitserial_conv2d_nchw",
             "bitserial_conv2d_nhwc", "bitserial_dense", "binary_op_multiplier"), _BITS),
        **dict.fromkeys(
            ("conv2d_NCHWc_OIHWo", "conv2d_NCHWc_int8"), _LAYOUT),
        **dict.fromkeys(
            ("conv2d_winograd_nchw", "conv2d_winograd_nhwc", "conv2d_winograd_weight_transform",
             "conv2d_winograd_nchw_without_weight_transform", "winograd_transform_matrices",
             "conv2d_winograd_nhwc_without_weight_transform", "conv3d_winograd_weight_transform"),
            _WINOGRAD),
        **dict.fromkeys(
            ("conv2d_transpose_nchw_preprocess", "declaration_conv2d_transpose_impl",
             "conv3d_transpose_ncdhw_preprocess", "declaration_conv3d_transpose_impl"),
            _PART.format("transposed convolutions")),
        **dict.fromkeys(
            ("infer_pad", "infer_pad3d", "infer_stride", "get_pad_tuple", "get_pad_tuple1d",
             "get_pad_tuple3d", "get_pad_tuple_generic"), _PART.format("convolutions")),
        "softmax_common": _PART.format("softmax"),
        **dict.fromkeys(
            ("depthwise_conv2d_backward_input_nhwc", "depthwise_conv2d_backward_weight_nhwc",
             "pool_grad"), _GRADIENT),
        **dict.fromkeys(("simulated_quantize", "simulated_dequantize"), _QUANTISED),
    },
    "topi.image": {
        **dict.fromkeys(
            ("can_convert_multiply_to_intdiv", "get_1d_indices", "get_2d_indices",
             "get_3d_indices", "get_1d_pixel", "get_2d_pixel", "get_3d_pixel", "get_inx",
             "get_closest_index"), _PART.format("resizing")),
    },
    "topi.utils": {
        **dict.fromkeys(("is_target", "traverse_inline"), "schedules are those of tir.Schedule"),
        **dict.fromkeys(
            ("ncw_pack_layout", "ncw_xc_layout", "nchw_pack_layout", "nchw_xc_layout"), _LAYOUT),
    },
    "topi.vision": {
        **dict.fromkeys(
            ("run_all_class_nms", "collect_selected_indices",
             "collect_selected_indices_and_scores", "binary_search", "calculate_overlap"),
            _SUPPRESSION),
    },
}  # fmt: skip
