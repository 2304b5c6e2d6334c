"""Non-maximum suppression as models of torchvision have it, with torchvision or without."""

import torch

try:
    import torchvision  # noqa: F401
except ImportError:
    _LIBRARY = torch.library.Library("torchvision", "DEF")
    _LIBRARY.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

    @torch.library.impl(_LIBRARY, "nms", "CPU")
    def _nms(boxes, scores, threshold):
        order, kept = scores.argsort(descending=True, stable=True), []
        area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
        while order.numel():
            first, order = order[0], order[1:]
            kept.append(first)
            low = torch.maximum(boxes[first, :2], boxes[order, :2])
            high = torch.minimum(boxes[first, 2:], boxes[order, 2:])
            both = (high - low).clamp(min=0).prod(-1)
            order = order[both / (area[first] + area[order] - both) <= threshold]
        return torch.stack(kept) if kept else torch.empty(0, dtype=torch.int64)

    @torch.library.register_fake("torchvision::nms", lib=_LIBRARY)
    def _fake(boxes, scores, threshold):
        return boxes.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


def suppress(boxes, scores, threshold):
    """Return which boxes overlap no box of a higher score, best first."""
    return torch.ops.torchvision.nms(boxes, scores, threshold)


def onnx_translations():
    """Return how `torch.onnx.export` writes it."""
    from onnxscript import opset18 as op

    def suppress(boxes, scores, iou_threshold):
        wide = op.Unsqueeze(boxes, [0]), op.Unsqueeze(scores, [0, 1])
        most = op.Shape(scores)
        found = op.NonMaxSuppression(*wide, most, iou_threshold)
        return op.Gather(found, 2, axis=1)

    return {torch.ops.torchvision.nms.default: suppress}
