"""The operator library: functions of tensors written as tensor expressions, by category."""

from relax_mlir.topi.exports import checked_exports

_EXPORTS = {
    "topi.broadcast": ("broadcast_to", "where"),
    "topi.create": (
        "arange", "eye", "full", "full_like", "meshgrid", "one_hot", "ones", "ones_like", "tril",
        "trilu", "triu", "zeros", "zeros_like",
    ),
    "topi.elementwise": (
        "cast", "ceil_log2", "clip", "elemwise_sum", "fast_erf", "fast_exp", "fast_tanh",
        "identity", "reinterpret",
    ),
    "topi.fixed_point": ("fixed_point_multiply", "fixed_point_multiply_per_axis"),
    "topi.index": ("gather", "gather_nd", "sequence_mask", "take"),
    "topi.indexed_access": (
        "adv_index", "index_put", "index_tensor", "matrix_set_diag", "sparse_to_dense",
        "unravel_index",
    ),
    "topi.layouts": ("layout_transform",),
    "topi.linear_algebra": ("einsum", "matmul", "tensordot"),
    "topi.manipulate": (
        "concatenate", "dyn_tile", "expand_dims", "expand_like", "flatten", "flip", "repeat",
        "reshape", "roll", "split", "squeeze", "stack", "strided_slice", "tile", "transpose",
    ),
    "topi.query": ("ndarray_size", "shape", "tensor_size"),
    "topi.reduce": ("collapse_sum", "mean", "std", "variance"),
    "topi.scan": ("scanop",),
    "topi.scatter": ("scatter_elements", "scatter_nd"),
    "topi.signal": ("dft", "hamming_window", "stft"),
    "topi.slices": (
        "dynamic_strided_slice", "reverse_sequence", "slice_scatter", "sliding_window",
        "strided_set",
    ),
    "topi.sorting": ("argsort", "searchsorted", "sort", "topk"),
    "topi.utils": ("InvalidShapeError",),
}  # fmt: skip
_TABLES = ("elementwise", "broadcast", "reduce", "scan")
_MODULES = ("image", "nn", "tag", "testing", "utils", "vision")
__getattr__, __dir__ = checked_exports(__name__, _EXPORTS, _TABLES, _MODULES)
