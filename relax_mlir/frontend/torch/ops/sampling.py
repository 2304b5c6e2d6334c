"""Images and volumes read at positions, by functions of the runtime."""

from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr.values import ShapeExpr, const


@converts("grid_sampler_3d.default")
def _grid_sampler_3d(
    m: Importer, x: Any, grid: Any, mode: int, padding: int, align_corners: bool
) -> Any:
    return m.runtime(
        "grid_sample", [x, grid], mode=("linear", "nearest")[mode],
        padding_mode=("zeros", "border", "reflection")[padding], align_corners=align_corners,
    )  # fmt: skip


def _antialiased(name: str, mode: str) -> None:
    @converts(f"{name}.default", f"{name}.vec")
    def convert(m: Importer, x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
        """Resize with filters that are as wide as the pixels of the result.

        Raises:
            ExprError: corners are aligned, for which torch's filters lie elsewhere.
        """
        if align_corners:
            raise ExprError("antialiased resizing has no align_corners")
        together = scales and isinstance(scales[0], (list, tuple))
        given = [scale for scale in (scales[0] if together else scales) if scale]
        sizes = None if given else op.shape_to_tensor(ShapeExpr(m.dims[2:]))
        return m.runtime(
            "resize", [x, None, const(given, "float64") if given else None, sizes],
            axes=[2, 3], mode=mode, antialias=1, exclude_outside=1, cubic_coeff_a=-0.5,
            coordinate_transformation_mode="half_pixel", keep_aspect_ratio_policy="stretch",
            extrapolation_value=0.0,
        )  # fmt: skip


_antialiased("_upsample_bilinear2d_aa", "linear")
_antialiased("_upsample_bicubic2d_aa", "cubic")
