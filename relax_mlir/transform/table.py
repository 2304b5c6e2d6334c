"""The passes of `relax_mlir.transform` and `relax_mlir.tir.transform`, by flag."""

from relax_mlir.lowering.pass_spec import TARGET, PassOption, pass_of, pass_table
from relax_mlir.tir.transform.table import TIR_PASSES
from relax_mlir.transform.layout.desired_layouts import (
    DesiredLayouts,
    FunctionMap,
    LayoutCallback,
)

_pass = pass_of("relax_mlir.transform")

TRANSFORM_PASSES = pass_table(
    _pass(
        "relax.legalize_ops", "LegalizeOps",
        "Turn relax operations into call_tir of generated prim funcs",
        PassOption("customize_legalize_map", FunctionMap, None, "functions by operation"),
        PassOption("skip_ops", tuple, (), "operations that stay"),
        PassOption("enable_warning", bool, False, "warn of operations without a kernel"),
    ),
    _pass(
        "fusion.fuse_attention", "FuseAttention",
        "Turn a softmax between two matrix products into one attention", opt_level=1,
    ),
    _pass(
        "fusion.fuse_kernels", "FuseKernels",
        "Merge chains of elementwise call_tir into one kernel each",
    ),
    _pass(
        "grouping.annotate_tir_op_pattern", "AnnotateTIROpPattern",
        "Write the pattern kind of each prim func at it, for FuseOps",
    ),
    _pass(
        "grouping.fuse_ops", "FuseOps",
        "Make functions of calls of prim funcs whose pattern kinds fit together",
        PassOption("fuse_opt_level", int, -1, "0 fuses nothing; -1 is the context's level"),
    ),
    _pass("grouping.fuse_tir", "FuseTIR", "Make one prim func of each function that FuseOps made"),
    _pass(
        "grouping.merge_composite_functions", "MergeCompositeFunctions",
        "Make one function for a library of neighbouring composite functions",
    ),
    _pass(
        "grouping.allocate_workspace", "AllocateWorkspace",
        "Allocate the memory that functions of libraries work in",
    ),
    _pass(
        "outline.outline_native", "OutlineNative",
        "Merge straight-line runs of call_tir into one native function",
    ),
    _pass(
        "relax.eliminate_common_subexpr", "EliminateCommonSubexpr",
        "Merge equal bindings and remove unused ones",
        PassOption("call_only", bool, False, "merge calls only"), opt_level=3,
    ),
    _pass(
        "relax.dead_code_elimination", "DeadCodeElimination",
        "Remove unused bindings, outputs, parameters and functions",
        PassOption("entry_functions", tuple, (), "functions to keep, by comma"), opt_level=1,
    ),
    _pass(
        "relax.canonicalize_bindings", "CanonicalizeBindings",
        "Remove bindings that are copies, and symbols that are equal to another", opt_level=1,
    ),
    _pass(
        "relax.fold_constant", "FoldConstant", "Evaluate operations on constants at compile time",
        PassOption("max_bytes", int, 65536, "limit for results larger than their operands"),
        PassOption("evaluate_tir", bool, True, "compile and run prim funcs on constants"),
        opt_level=2,
    ),
    _pass("relax.infer_type", "InferType", "Infer the types of bindings from their operands"),
    _pass(
        "relax.refine_shapes_backward", "RefineShapesBackward",
        "Refine the types of values from their uses",
        PassOption("broadcast", bool, True, "operands of unknown shape do not broadcast"),
    ),
    _pass(
        "relax.extract_shape_functions", "ExtractShapeFunctions",
        "Extract functions that compute the shapes of results only",
    ),
    _pass(
        "relax.normalize", "Normalize",
        "Bring Relax functions into the normal form that passes require",
    ),
    _pass(
        "relax.normalize:to_a_normal_form", "ToANormalForm", "Relay's name of normalize",
        opt_level=1,
    ),
    _pass(
        "relax.simplify_inference", "SimplifyInference",
        "Decompose normalizations and dropout for inference",
    ),
    _pass(
        "relax.simplify_inference:simplify_known_statistics", "SimplifyKnownStatistics",
        "Decompose batch normalizations with constant statistics",
    ),
    _pass(
        "rewriting.reorder_resize_after_conv", "ReorderResizeAfterConv",
        "Enlarge the results of pointwise convolutions instead of their inputs",
    ),
    _pass(
        "rewriting.conv3d_to_conv2d", "Conv3dToConv2d",
        "Write three-dimensional convolutions of single slices as two-dimensional ones",
    ),
    _pass(
        "rewriting.split_conv_of_concat", "SplitConvOfConcat",
        "Write convolutions of joined images as sums of convolutions",
    ),
    _pass(
        "layout.fold_scale_axis:backward_fold_scale_axis", "BackwardFoldScaleAxis",
        "Fold scales of convolution results into the weights", opt_level=3,
    ),
    _pass(
        "layout.fold_scale_axis:forward_fold_scale_axis", "ForwardFoldScaleAxis",
        "Fold scales of convolution inputs into the weights", opt_level=3,
    ),
    _pass(
        "layout.fold_scale_axis", "FoldScaleAxis",
        "Fold scales by channel into convolution weights, backward and forward", opt_level=3,
        parts=("BackwardFoldScaleAxis", "ForwardFoldScaleAxis"),
    ),
    _pass(
        "layout.convert_layout", "ConvertLayout",
        "Convert convolutions and pooling to the given layouts",
        PassOption("desired_layouts", DesiredLayouts, "conv2d=NHWC,HWIO",
                   "as in conv2d=NHWC,HWIO;max_pool2d=NHWC"),
        PassOption("layout_cb", LayoutCallback, None, "gives the layouts for a call"),
    ),
    _pass(
        "layout.convert_layout:alter_op_layout", "AlterOpLayout",
        "Convert convolutions to the layouts of the fastest kernels", opt_level=3,
    ),
    _pass(
        "layout.attach_attr_layout_free_buffers", "AttachAttrLayoutFreeBuffers",
        "Write at prim funcs which of their buffers are weights",
    ),
    _pass(
        "layout.split_layout_rewrite_preproc", "SplitLayoutRewritePreproc",
        "Move what lays out weights out of prim funcs",
    ),
    _pass(
        "layout.optimize_layout_transform", "OptimizeLayoutTransform",
        "Take out changes of layout that cancel each other",
    ),
    _pass(
        "packing.pack_conv_weights", "PackConvWeights",
        "Pack constant convolution weights into blocks of output channels", TARGET, opt_level=2,
    ),
    _pass(
        "packing.pack_weights", "PackWeights", "Pack constant B operands of GEMMs into panels",
        TARGET, opt_level=2,
    ),
    _pass(
        "packing.pack_vnni", "PackVNNI", "Pack constant convolution weights into VNNI layout",
        TARGET, opt_level=2,
    ),
    _pass(
        "packing.pack_winograd", "PackWinograd",
        "Transform constant 3 x 3 weights for Winograd convolution", TARGET, opt_level=2,
    ),
    _pass(
        "relax.to_mixed_precision", "ToMixedPrecision",
        "Compute matrix products and convolutions on half precision or int8",
        PassOption("out_dtype", str, "float32", "what they accumulate in"),
        PassOption("fp16_input_names", tuple, (), "parameters to take in half precision"),
        PassOption("dtype", str, "float16", "the dtype: float16, bfloat16, or int8 (quantized)"),
    ),
    _pass(
        "relax.fast_math_transform", "FastMathTransform",
        "Make kernels of elementary functions by topi's fast ones",
    ),
    _pass(
        "relax.decompose_ops:decompose_ops_for_inference", "DecomposeOpsForInference",
        "Write batch normalization in simpler operations",
        PassOption("func_name", str, "", "the function; by default all"),
    ),
    _pass(
        "relax.decompose_ops:decompose_ops_for_training", "DecomposeOpsForTraining",
        "Write normalizations by the statistics of the batch",
        PassOption("func_name", str, "", "the function; by default all"),
    ),
    _pass(
        "relax.remove_redundant_reshape", "RemoveRedundantReshape",
        "Take out reshapes that nothing depends on",
    ),
    _pass(
        "relax.remove_purity_checking", "RemovePurityChecking",
        "Write pure calls of packed functions as plain ones",
    ),
    _pass("relax.attach_global_symbol", "AttachGlobalSymbol", "Make every function public"),
    _pass(
        "relax.dataflow_use_inplace_calls", "DataflowUseInplaceCalls",
        "Write elementwise results over operands that are not needed any more",
    ),
    _pass(
        "relax.specialize_prim_func_based_on_call_site", "SpecializePrimFuncBasedOnCallSite",
        "Call prim funcs whose sizes are the numbers that calls pass",
    ),
    _pass("relax.realize_v_device", "RealizeVDevice", "Take out hints about devices"),
    _pass(
        "relax.rewrite_dataflow_reshape", "RewriteDataflowReshape",
        "Write kernels that copy in order as reshapes",
    ),
    _pass(
        "layout.fold_batchnorm_to_conv2d", "FoldBatchnormToConv2D",
        "Fold batch normalizations into convolution weights",
    ),
    _pass(
        "relax.convert_to_dataflow", "ConvertToDataflow",
        "Wrap runs of pure bindings in dataflow blocks",
        PassOption("min_size", int, 2, "how many bindings are worth a block"),
    ),
    _pass("relax.lambda_lift", "LambdaLift", "Lift nested functions to the module", opt_level=1),
    _pass(
        "rewriting.matmul_order:expand_matmul_of_sum", "ExpandMatmulOfSum",
        "Write products with sums as sums of products",
    ),
    _pass(
        "rewriting.matmul_order:reorder_take_after_matmul", "ReorderTakeAfterMatmul",
        "Take columns after a matrix product instead of before",
    ),
    _pass(
        "rewriting.matmul_order:adjust_matmul_order", "AdjustMatmulOrder",
        "Multiply three matrices in the order of fewer operations",
    ),
    _pass(
        "relax.inline_private_functions", "InlinePrivateFunctions",
        "Inline calls of private functions",
    ),
    _pass(
        "signatures.bundle_model_params", "BundleModelParams",
        "Make one tuple of the weights of functions",
        PassOption("param_tuple_name", str, "", "its name; model_params by default"),
    ),
    _pass(
        "signatures.lazy_params:lazy_get_input", "LazyGetInput",
        "Have functions load their weights by a function that they take",
    ),
    _pass(
        "signatures.lazy_params:lazy_set_output", "LazySetOutput",
        "Have functions hand their results to a function that they take",
    ),
    _pass(
        "signatures.expand_tuple_arguments", "ExpandTupleArguments",
        "Have private functions take the fields of tuples",
    ),
    _pass(
        "signatures.remove_unused_outputs", "RemoveUnusedOutputs",
        "Remove unused fields of the tuples that private functions return",
    ),
    _pass(
        "relax.topological_sort", "TopologicalSort",
        "Order the bindings of dataflow blocks by a search along their uses",
        PassOption("order", str, "depth-first", "or breadth-first"),
        PassOption("direction", str, "from-inputs", "or from-outputs"),
    ),
    _pass(
        "rewriting.reorder_permute_dims_after_concat", "ReorderPermuteDimsAfterConcat",
        "Permute joined tensors after they are joined",
    ),
    _pass(
        "rewriting.compose_permute_dims", "ComposePermuteDims",
        "Make transpositions in a row one, or none",
    ),
    _pass(
        "rewriting.fuse_transpose_matmul", "FuseTransposeMatmul",
        "Make one prim func of a product with a transposed matrix",
    ),
    _pass(
        "relax.dead_code_elimination:remove_unused_parameters", "RemoveUnusedParameters",
        "Remove unused parameters of private functions",
    ),
    *TIR_PASSES.values(),
)  # fmt: skip
