"""Convolutional networks: ResNet-50, MobileNetV2, EfficientNet-B0, U-Net, a detector."""

import itertools

import detection
import torch
from torch import nn


def conv(inputs, outputs, size=1, stride=1, groups=1, activation=None):
    """Return a convolution, its normalisation, and an activation."""
    layers = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class Bottleneck(nn.Module):
    """A block of "Deep Residual Learning for Image Recognition" (He et al.), for 50 layers."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(
            conv(inputs, width, activation=nn.ReLU),
            conv(width, width, 3, stride, activation=nn.ReLU),
            conv(width, 4 * width),
        )
        same = inputs == 4 * width and stride == 1
        self.shortcut = nn.Identity() if same else conv(inputs, 4 * width, stride=stride)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class Classifier(nn.Module):
    """Features, their mean over the image, and a layer."""

    def __init__(self, features, width, classes=1000):
        super().__init__()
        self.features, self.head = features, nn.Linear(width, classes)

    def forward(self, x):
        return self.head(nn.functional.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


def resnet50(small):
    """Return ResNet-50."""
    layers, inputs = [conv(3, 64, 7, 2, activation=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
    for stage, blocks in enumerate((1, 1) if small else (3, 4, 6, 3)):
        for i in range(blocks):
            width = 64 << stage
            layers.append(Bottleneck(inputs, width, 2 if stage and not i else 1))
            inputs = 4 * width
    return Classifier(nn.Sequential(*layers), inputs)


class SqueezeExcite(nn.Module):
    """Channels scaled by what all of them are on average (Hu et al.)."""

    def __init__(self, channels, squeezed):
        super().__init__()
        self.first, self.second = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        scale = nn.functional.silu(self.first(nn.functional.adaptive_avg_pool2d(x, 1)))
        return x * torch.sigmoid(self.second(scale))


class InvertedResidual(nn.Module):
    """A block of "MobileNetV2" (Sandler et al.); with `excite`, of "EfficientNet" (Tan, Le)."""

    def __init__(self, inputs, outputs, size, stride, expansion, activation, excite):
        super().__init__()
        width = inputs * expansion
        layers = [conv(inputs, width, activation=activation)] if expansion > 1 else []
        layers.append(conv(width, width, size, stride, width, activation))
        layers += [SqueezeExcite(width, max(1, inputs // 4))] if excite else []
        self.body = nn.Sequential(*layers, conv(width, outputs))
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.is_residual else self.body(x)


# Expansion, channels, blocks, stride, size of the window.
_MOBILENET = [
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3), (6, 96, 3, 1, 3),
    (6, 160, 3, 2, 3), (6, 320, 1, 1, 3),
]  # fmt: skip
_EFFICIENTNET = [
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5), (6, 320, 1, 1, 3),
]  # fmt: skip


def _inverted(stages, activation, excite):
    layers, inputs = [conv(3, 32, 3, 2, activation=activation)], 32
    for expansion, outputs, blocks, stride, size in stages:
        for i in range(blocks):
            step = 1 if i else stride
            layers.append(
                InvertedResidual(inputs, outputs, size, step, expansion, activation, excite)
            )
            inputs = outputs
    layers.append(conv(inputs, 1280, activation=activation))
    return Classifier(nn.Sequential(*layers), 1280)


def mobilenet_v2(small):
    """Return MobileNetV2."""
    return _inverted(_MOBILENET[:3] if small else _MOBILENET, nn.ReLU6, excite=False)


def efficientnet_b0(small):
    """Return EfficientNet-B0."""
    return _inverted(_EFFICIENTNET[:3] if small else _EFFICIENTNET, nn.SiLU, excite=True)


class UNet(nn.Module):
    """U-Net (Ronneberger et al.), up by bilinear resizing and transposed convolution in turn."""

    def __init__(self, widths, classes=2):
        super().__init__()
        self.down, self.up, self.mix = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        inputs = 3
        for width in widths:
            self.down.append(self._double(inputs, width))
            inputs = width
        for i, width in enumerate(reversed(widths[:-1])):
            resized = nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(inputs, width, 1)
            learned = (nn.ConvTranspose2d(inputs, width, 2, 2),)
            self.up.append(nn.Sequential(*(learned if i % 2 else resized)))
            self.mix.append(self._double(2 * width, width))
            inputs = width
        self.head = nn.Conv2d(inputs, classes, 1)

    @staticmethod
    def _double(inputs, outputs):
        return nn.Sequential(
            conv(inputs, outputs, 3, activation=nn.ReLU),
            conv(outputs, outputs, 3, activation=nn.ReLU),
        )

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(nn.functional.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for up, mix, other in zip(self.up, self.mix, kept[-2::-1], strict=True):
            x = mix(torch.cat([other, up(x)], 1))
        return self.head(x)


def unet(small):
    """Return U-Net."""
    return UNet([8, 16, 32] if small else [32, 64, 128, 256])


class Stage(nn.Module):
    """Half of the channels through residual blocks, joined with all that comes between."""

    def __init__(self, width, blocks):
        super().__init__()
        half = width // 2
        self.first = conv(width, width, activation=nn.SiLU)
        self.blocks = nn.ModuleList(
            nn.Sequential(*(conv(half, half, 3, activation=nn.SiLU) for _ in range(2)))
            for _ in range(blocks)
        )
        self.last = conv(width + blocks * half, width, activation=nn.SiLU)

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(parts[-1] + block(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Detector(nn.Module):
    """A detector in the manner of YOLO: three scales, boxes from cells, non-maximum suppression."""

    def __init__(self, width, classes=80, boxes=300):
        super().__init__()
        self.classes, self.boxes = classes, boxes
        widths = [width, 2 * width, 4 * width, 8 * width]
        self.stem = nn.Sequential(
            conv(3, width // 2, 3, 2, activation=nn.SiLU),
            conv(width // 2, width, 3, 2, activation=nn.SiLU),
        )
        self.stages = nn.ModuleList(
            nn.Sequential(conv(a, b, 3, 2, activation=nn.SiLU), Stage(b, 1))
            for a, b in itertools.pairwise(widths)
        )
        self.laterals = nn.ModuleList(
            conv(a + b, a, activation=nn.SiLU) for a, b in itertools.pairwise(widths[1:])
        )
        self.heads = nn.ModuleList(nn.Conv2d(c, 4 + classes, 1) for c in widths[1:])

    def forward(self, x):
        maps, x = [], self.stem(x)
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        for i in (1, 0):
            wide = nn.functional.interpolate(maps[i + 1], scale_factor=2.0, mode="nearest")
            maps[i] = self.laterals[i](torch.cat([maps[i], wide], 1))
        found = [
            self._decoded(head(each), 8 << i)
            for i, (head, each) in enumerate(zip(self.heads, maps, strict=True))
        ]
        boxes, scores = torch.cat([b for b, _ in found]), torch.cat([s for _, s in found])
        scores, labels = scores.max(-1)
        scores, best = scores.topk(self.boxes)
        boxes = boxes[best]
        kept = detection.suppress(boxes, scores, 0.5)
        return boxes[kept], scores[kept], labels[best][kept]

    def _decoded(self, found, stride):
        """Return boxes by their corners and scores of the cells of the only image."""
        rows, columns = found.shape[2:]
        y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        cells = torch.stack([x, y], -1).reshape(-1, 2)
        found = found[0].flatten(1).transpose(0, 1)
        centre = (torch.sigmoid(found[:, :2]) + cells) * stride
        half = torch.exp(found[:, 2:4]) * stride
        return torch.cat([centre - half, centre + half], -1), torch.sigmoid(found[:, 4:])


def detector(small):
    """Return the detector."""
    return Detector(16, 8, 20) if small else Detector(32)
