"""The models, with their inputs and what of those is dynamic."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import language
import torch
import vision
from torch.export import Dim

# A size of an input: a number, for small models another one; a name where it is dynamic; a name and
# what the dimension is a multiple of.
Size = int | tuple[int, int] | str | tuple[str, int]


@dataclass(frozen=True)
class Input:
    """An input of a model.

    Attributes:
        shape: its sizes.
        kind: `image` for any numbers, `tokens`, or `mask` for ones that end in zeros.
        dtype: of numbers.
        repeats: how many such inputs there are, for small models in second place.
    """

    shape: tuple[Size, ...]
    kind: str = "image"
    dtype: torch.dtype = torch.float32
    repeats: tuple[int, int] = (1, 1)

    def make(self, sizes: dict[str, int], small: bool) -> list[torch.Tensor]:
        """Return random tensors of some sizes."""
        shape = [_number(size, sizes, small) for size in self.shape]
        if self.kind == "tokens":
            return [torch.randint(3, 100, shape)]
        if self.kind == "mask":
            lengths = torch.linspace(shape[1], shape[1] // 2 + 1, shape[0]).long()
            return [(torch.arange(shape[1]) < lengths[:, None]).long()]
        return [torch.randn(shape).to(self.dtype) for _ in range(self.repeats[small])]

    def dynamic(self, dims: dict[str, Any], small: bool) -> list[dict[int, Any]]:
        """Return which dimensions are dynamic, as `torch.export` has it."""
        found = {}
        for axis, size in enumerate(self.shape):
            if isinstance(size, str):
                found[axis] = dims[size]
            elif isinstance(size, tuple) and isinstance(size[0], str):
                found[axis] = size[1] * dims[size[0]]
        return [found] * self.repeats[small]


def _number(size: Size, sizes: dict[str, int], small: bool) -> int:
    if isinstance(size, tuple):
        return sizes[size[0]] * size[1] if isinstance(size[0], str) else size[small]
    return sizes[size] if isinstance(size, str) else size


@dataclass(frozen=True)
class Model:
    """A model with random weights.

    Attributes:
        make: from whether the model is to be small, the module.
        inputs: what it takes.
        measured: sizes of the dynamic dimensions for each measurement.
        checked: other ones, at which small models are checked; the first are those of the export.
        specialised: whether `torch.export` fixes its sizes.
        tolerance: of results, relative to their largest element.
    """

    make: Callable[[bool], torch.nn.Module]
    inputs: Sequence[Input]
    measured: dict[str, dict[str, int]]
    checked: Sequence[dict[str, int]]
    specialised: bool = False
    tolerance: float = 1e-4

    def module(self, small: bool = False) -> torch.nn.Module:
        """Return the model; scales and offsets of normalisations are random too.

        Statistics of batches are those of random inputs, so that no layer makes all alike.
        """
        torch.manual_seed(0)
        module = self.make(small).eval().requires_grad_(False)
        for each in [*module.parameters(), *module.buffers()]:
            if each.ndim == 1 and each.is_floating_point():
                each.add_(0.1 * torch.rand(each.shape).to(each.dtype))
        norms = [each for each in module.modules() if isinstance(each, torch.nn.BatchNorm2d)]
        for norm in norms:
            norm.train().momentum = 1.0
        if norms:
            with torch.no_grad():
                module(*self.arguments(self.checked[0], small))
        return module.eval()

    def arguments(self, sizes: dict[str, int], small: bool = False) -> tuple[torch.Tensor, ...]:
        """Return inputs of some sizes."""
        torch.manual_seed(1)
        return tuple(each for one in self.inputs for each in one.make(sizes, small))

    def dynamic_shapes(self, module: torch.nn.Module, small: bool = False) -> Any:
        """Return which dimensions are dynamic, nested as the parameters of a module."""
        dims = {name: Dim(name, max=512) for name in self.checked[0]}
        shapes = [each for one in self.inputs for each in one.dynamic(dims, small)]
        params = list(inspect.signature(module.forward).parameters.values())
        if params[-1].kind is not inspect.Parameter.VAR_POSITIONAL:
            return tuple(shapes)
        return (*shapes[: len(params) - 1], tuple(shapes[len(params) - 1 :]))


IMAGES = Input(("n", 3, (224, 64), (224, 64)))
WORDS = Input(("n", "s"), "tokens")
ONE = {"1": {"n": 1}}
BATCHES = [{"n": 3}, {"n": 1}, {"n": 7}]
LENGTHS = [{"n": 2, "s": 11}, {"n": 1, "s": 1}, {"n": 3, "s": 16}]
STEPS = [{"n": 2, "s": 5, "p": 3}, {"n": 1, "s": 7, "p": 0}, {"n": 1, "s": 1, "p": 9}]
# A prompt of 128 tokens; a token in the middle of the 64 that follow.
DECODING = {"prefill": {"n": 1, "s": 128, "p": 0}, "decode": {"n": 1, "s": 1, "p": 160}}


def _cache(heads: tuple[int, int], width: tuple[int, int], layers: int, **kind: Any) -> Input:
    return Input(("n", heads, "p", width), repeats=(2 * layers, 4), **kind)


MODELS = {
    "ResNet-50": Model(vision.resnet50, [IMAGES], ONE, BATCHES),
    "MobileNetV2": Model(vision.mobilenet_v2, [IMAGES], ONE, BATCHES),
    "EfficientNet-B0": Model(vision.efficientnet_b0, [IMAGES], ONE, BATCHES),
    "U-Net": Model(
        vision.unet, [Input(("n", 3, ("h", 8), ("w", 8)))], {"256x256": {"n": 1, "h": 32, "w": 32}},
        [{"n": 2, "h": 3, "w": 4}, {"n": 1, "h": 5, "w": 3}],
    ),
    "detector": Model(
        vision.detector, [Input((1, 3, ("h", 32), ("w", 32)))], {"320x320": {"h": 10, "w": 10}},
        [{"h": 4, "w": 5}, {"h": 6, "w": 4}],
    ),
    "ViT-B/16": Model(
        language.vit, [Input(("n", 3, (224, 32), (224, 32)))], ONE, BATCHES
    ),
    "BERT-base": Model(
        language.bert, [WORDS, Input(("n", "s"), "mask")], {"128": {"n": 1, "s": 128}}, LENGTHS
    ),
    "T5-small": Model(
        language.t5, [WORDS, Input(("n", "t"), "tokens")], {"128+32": {"n": 1, "s": 128, "t": 32}},
        [{**sizes, "t": 4 + i} for i, sizes in enumerate(LENGTHS)],
    ),
    "GPT-2": Model(language.gpt2, [WORDS, _cache((12, 4), (64, 16), 12)], DECODING, STEPS),
    "Llama": Model(language.llama, [WORDS, _cache((4, 2), (64, 16), 8)], DECODING, STEPS),
    "Llama bfloat16": Model(
        language.llama_bfloat16,
        [WORDS, _cache((4, 2), (64, 16), 8, dtype=torch.bfloat16)], DECODING, STEPS, tolerance=3e-2,
    ),
    "Llama int4": Model(language.llama_int4, [WORDS, _cache((4, 2), (64, 16), 8)], DECODING, STEPS),
    "Whisper-tiny": Model(
        language.whisper, [Input(("n", 80, (3000, 80)))], ONE, BATCHES
    ),
    "LSTM tagger": Model(
        language.tagger, [WORDS], {"64": {"n": 1, "s": 64}}, LENGTHS, specialised=True
    ),
}  # fmt: skip
