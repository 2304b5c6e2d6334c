"""Scaled dot product attention."""

from typing import Any

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op


@converts("scaled_dot_product_attention.default")
def _attention(
    m: Importer, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Return attention of (batch..., heads, length, depth); batch dimensions become one."""
    ndim = query.ty.ndim
    wide = [_as_4d(x) for x in (query, key, value)]
    masks: dict[str, Any] = {}
    if attn_mask is not None:
        # Of fewer dimensions, the first would be the batch to Relax; torch aligns the last.
        attn_mask = _as_4d(attn_mask)
        masks["mask" if attn_mask.ty.dtype == "bool" else "bias"] = attn_mask
    if is_causal:
        masks["causal_mask"] = "TopLeft"
    # A row of which all is masked: torch gives zeros (2.5 on), as `zero_unseen` says.
    result = op.attention(*wide, layout="BNSH", scale=scale, **masks)
    return result if ndim == 4 else op.reshape(result, m.shape)


def _as_4d(x: Any) -> Any:
    """Return a tensor with one batch dimension."""
    dims = x.ty.dims
    if len(dims) == 4:
        return x
    if len(dims) < 4:
        return op.reshape(x, [*[1] * (4 - len(dims)), *dims])
    batch = dims[0]
    for dim in dims[1:-3]:
        batch = batch * dim
    return op.reshape(x, [batch, *dims[-3:]])
