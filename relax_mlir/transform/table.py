"""The passes of `relax_mlir.transform` and `relax_mlir.tir.transform`, by flag."""

from relax_mlir.lowering.pass_spec import PassOption, PassSpec
from relax_mlir.tir.transform.table import TIR_PASSES
from relax_mlir.transform.layout.desired_layouts import DesiredLayouts

# What a target multiplies with: which layout of weights it reads.
_PRODUCTS = (
    PassOption("vector_bits", int, 512, "width of a vector register"),
    PassOption("vector_registers", int, 32, "how many vector registers there are"),
    PassOption("dot_products", str, "", "dot-product instructions, between commas"),
)

# Flag -> PassSpec of the passes written in relax_mlir.transform itself.
TRANSFORM_PASSES: dict[str, PassSpec] = {
    "legalize-ops": PassSpec(
        flag="legalize-ops",
        name="LegalizeOps",
        entry="relax_mlir.transform.relax.legalize_ops:legalize_ops",
        summary="Turn relax operations into call_tir of generated prim funcs",
    ),
    "fuse-attention": PassSpec(
        flag="fuse-attention",
        name="FuseAttention",
        entry="relax_mlir.transform.fusion.fuse_attention:fuse_attention",
        summary="Turn a softmax between two matrix products into one attention",
        opt_level=1,
    ),
    "fuse-ops": PassSpec(
        flag="fuse-ops",
        name="FuseOps",
        entry="relax_mlir.transform.fusion.fuse_ops:fuse_ops",
        summary="Merge chains of elementwise call_tir into one kernel each",
    ),
    "outline-native": PassSpec(
        flag="outline-native",
        name="OutlineNative",
        entry="relax_mlir.transform.outline.outline_native:outline_native",
        summary="Merge straight-line runs of call_tir into one native function",
    ),
    "eliminate-common-subexpr": PassSpec(
        flag="eliminate-common-subexpr",
        name="EliminateCommonSubexpr",
        entry="relax_mlir.transform.relax.eliminate_common_subexpr:eliminate_common_subexpr",
        summary="Merge equal bindings and remove unused ones",
        opt_level=3,
    ),
    "dead-code-elimination": PassSpec(
        flag="dead-code-elimination",
        name="DeadCodeElimination",
        entry="relax_mlir.transform.relax.dead_code_elimination:dead_code_elimination",
        summary="Remove unused bindings, outputs, parameters and functions",
        opt_level=1,
        options=(PassOption("entry_functions", tuple, (), "functions to keep, by comma"),),
    ),
    "canonicalize-bindings": PassSpec(
        flag="canonicalize-bindings",
        name="CanonicalizeBindings",
        entry="relax_mlir.transform.relax.canonicalize_bindings:canonicalize_bindings",
        summary="Remove bindings that are copies, and symbols that are equal to another",
        opt_level=1,
    ),
    "fold-constant": PassSpec(
        flag="fold-constant",
        name="FoldConstant",
        entry="relax_mlir.transform.relax.fold_constant:fold_constant",
        summary="Evaluate operations on constants at compile time",
        opt_level=2,
        options=(
            PassOption("max_bytes", int, 65536, "limit for results larger than their operands"),
            PassOption("evaluate_tir", bool, True, "compile and run prim funcs on constants"),
        ),
    ),
    "infer-type": PassSpec(
        flag="infer-type",
        name="InferType",
        entry="relax_mlir.transform.relax.infer_type:infer_type",
        summary="Infer the types of bindings from their operands",
    ),
    "refine-shapes-backward": PassSpec(
        flag="refine-shapes-backward",
        name="RefineShapesBackward",
        entry="relax_mlir.transform.relax.refine_shapes_backward:refine_shapes_backward",
        summary="Refine the types of values from their uses",
        options=(
            PassOption("broadcast", bool, True, "operands of unknown shape do not broadcast"),
        ),
    ),
    "extract-shape-functions": PassSpec(
        flag="extract-shape-functions",
        name="ExtractShapeFunctions",
        entry="relax_mlir.transform.relax.extract_shape_functions:extract_shape_functions",
        summary="Extract functions that compute the shapes of results only",
    ),
    "normalize": PassSpec(
        flag="normalize",
        name="Normalize",
        entry="relax_mlir.transform.relax.normalize:normalize",
        summary="Bring Relax functions into the normal form that passes require",
    ),
    "to-a-normal-form": PassSpec(
        flag="to-a-normal-form",
        name="ToANormalForm",
        entry="relax_mlir.transform.relax.normalize:to_a_normal_form",
        summary="Relay's name of normalize",
        opt_level=1,
    ),
    "simplify-inference": PassSpec(
        flag="simplify-inference",
        name="SimplifyInference",
        entry="relax_mlir.transform.relax.simplify_inference:simplify_inference",
        summary="Decompose normalizations and dropout for inference",
    ),
    "simplify-known-statistics": PassSpec(
        flag="simplify-known-statistics",
        name="SimplifyKnownStatistics",
        entry="relax_mlir.transform.relax.simplify_inference:simplify_known_statistics",
        summary="Decompose batch normalizations with constant statistics",
    ),
    "backward-fold-scale-axis": PassSpec(
        flag="backward-fold-scale-axis",
        name="BackwardFoldScaleAxis",
        entry="relax_mlir.transform.layout.fold_scale_axis:backward_fold_scale_axis",
        summary="Fold scales of convolution results into the weights",
        opt_level=3,
    ),
    "forward-fold-scale-axis": PassSpec(
        flag="forward-fold-scale-axis",
        name="ForwardFoldScaleAxis",
        entry="relax_mlir.transform.layout.fold_scale_axis:forward_fold_scale_axis",
        summary="Fold scales of convolution inputs into the weights",
        opt_level=3,
    ),
    "fold-scale-axis": PassSpec(
        flag="fold-scale-axis",
        name="FoldScaleAxis",
        entry="relax_mlir.transform.layout.fold_scale_axis:fold_scale_axis",
        summary="Fold scales by channel into convolution weights, backward and forward",
        opt_level=3,
        parts=("BackwardFoldScaleAxis", "ForwardFoldScaleAxis"),
    ),
    "convert-layout": PassSpec(
        flag="convert-layout",
        name="ConvertLayout",
        entry="relax_mlir.transform.layout.convert_layout:convert_layout",
        summary="Convert convolutions and pooling to the given layouts",
        options=(
            PassOption(
                "desired_layouts",
                DesiredLayouts,
                "conv2d=NHWC,HWIO",
                "as in conv2d=NHWC,HWIO;max_pool2d=NHWC",
            ),
        ),
    ),
    "alter-op-layout": PassSpec(
        flag="alter-op-layout",
        name="AlterOpLayout",
        entry="relax_mlir.transform.layout.convert_layout:alter_op_layout",
        summary="Convert convolutions to the layouts of the fastest kernels",
        opt_level=3,
    ),
    "pack-kernels": PassSpec(
        flag="pack-kernels",
        name="PackKernels",
        entry="relax_mlir.transform.packing.pack_kernels:pack_kernels",
        summary="Pack constant convolution weights into blocks of output channels",
        opt_level=2,
    ),
    "pack-weights": PassSpec(
        flag="pack-weights",
        name="PackWeights",
        entry="relax_mlir.transform.packing.pack_weights:pack_weights",
        summary="Pack constant B operands of GEMMs into panels",
        opt_level=2,
        options=_PRODUCTS,
    ),
    "pack-groups": PassSpec(
        flag="pack-groups",
        name="PackGroups",
        entry="relax_mlir.transform.packing.pack_groups:pack_groups",
        summary="Pack constant convolution weights into VNNI layout",
        opt_level=2,
        options=_PRODUCTS,
    ),
    "pack-winograd": PassSpec(
        flag="pack-winograd",
        name="PackWinograd",
        entry="relax_mlir.transform.packing.pack_winograd:pack_winograd",
        summary="Transform constant 3 x 3 weights for Winograd convolution",
        opt_level=2,
        options=(
            PassOption("vector_bits", int, 512, "width of a vector register"),
            PassOption("vector_registers", int, 32, "how many vector registers there are"),
            PassOption("l2_bytes", int, 2 << 20, "size of a core's second-level cache"),
            PassOption("fma_units", int, 2, "multiply-adds of vectors that start in a cycle"),
        ),
    ),
    "convert-to-dataflow": PassSpec(
        flag="convert-to-dataflow",
        name="ConvertToDataflow",
        entry="relax_mlir.transform.relax.convert_to_dataflow:convert_to_dataflow",
        summary="Wrap runs of pure bindings in dataflow blocks",
        options=(PassOption("min_size", int, 2, "how many bindings are worth a block"),),
    ),
    "lambda-lift": PassSpec(
        flag="lambda-lift",
        name="LambdaLift",
        entry="relax_mlir.transform.relax.lambda_lift:lambda_lift",
        summary="Lift nested functions to the module",
        opt_level=1,
    ),
    **TIR_PASSES,
}
