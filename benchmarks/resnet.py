"""Residual networks as lists of operations, for `workloads.py`."""

import math
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]


@dataclass
class Network:
    """A network being written: one image in, scores of its classes out.

    Attributes:
        image: the input's shape.
        weights: shapes by name; those named `.._var` are variances.
        nodes: operation, arguments and attributes, the results named `t0`, `t1`, ...
        flops: additions and multiplications of convolutions and of the last layer.
    """

    image: Shape
    weights: dict[str, Shape] = field(default_factory=dict)
    nodes: list[tuple[str, tuple[str, ...], dict[str, Any]]] = field(default_factory=list)
    flops: float = 0.0

    def __post_init__(self) -> None:
        self._shapes = {"x": self.image}

    def _add(self, op: str, args: tuple[str, ...], shape: Shape, **attrs: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append((op, args, attrs))
        self._shapes[name] = shape
        return name

    def conv(self, x: str, channels: int, k: int, stride: int = 1, relu: bool = True) -> str:
        """Write a convolution, its normalisation, and a relu."""
        n, c, h, w = self._shapes[x]
        number = len(self.nodes)
        weight = f"w{number}"
        self.weights[weight] = (channels, c, k, k)
        h, w = ((size + k // 2 * 2 - k) // stride + 1 for size in (h, w))
        shape = (n, channels, h, w)
        self.flops += 2.0 * math.prod(shape) * c * k * k
        attrs = {"strides": stride, "padding": k // 2, "groups": 1}
        y = self._add("conv", (x, weight), shape, **attrs)
        names = tuple(f"n{number}_{what}" for what in ("gamma", "beta", "mean", "var"))
        self.weights.update(dict.fromkeys(names, (channels,)))
        y = self._add("batch_norm", (y, *names), shape)
        return self.relu(y) if relu else y

    def relu(self, x: str) -> str:
        """Write a relu."""
        return self._add("relu", (x,), self._shapes[x])

    def max_pool(self, x: str) -> str:
        """Write the maximum of windows of 3 x 3, every second one."""
        n, c, h, w = self._shapes[x]
        return self._add("max_pool", (x,), (n, c, (h + 1) // 2, (w + 1) // 2))

    def block(self, x: str, sizes: list[tuple[int, int]], stride: int) -> str:
        """Write the convolutions of a residual branch; the first with a window has the stride."""
        y, left = x, stride
        for number, (channels, k) in enumerate(sizes):
            step = left if k > 1 else 1
            left = 1 if k > 1 else left
            y = self.conv(y, channels, k, step, relu=number + 1 < len(sizes))
        if self._shapes[x] != self._shapes[y]:
            x = self.conv(x, sizes[-1][0], 1, stride, relu=False)
        return self.relu(self._add("add", (y, x), self._shapes[y]))

    def classify(self, x: str, classes: int) -> None:
        """Write the mean of each channel and a layer over those."""
        n, c, *_ = self._shapes[x]
        y = self._add("mean", (x,), (n, c), axes=[2, 3])
        self.weights["layer"], self.weights["bias"] = (c, classes), (classes,)
        y = self._add("matmul", (y, "layer"), (n, classes))
        self._add("add", (y, "bias"), (n, classes))
        self.flops += 2.0 * n * c * classes


def resnet50(size: int = 224) -> Network:
    """Return ResNet-50, of "Deep Residual Learning for Image Recognition" (He et al.)."""
    net = Network((1, 3, size, size))
    x = net.max_pool(net.conv("x", 64, 7, 2))
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for number in range(blocks):
            stride = 2 if stage and not number else 1
            x = net.block(x, [(width, 1), (width, 3), (4 * width, 1)], stride)
    net.classify(x, 1000)
    return net


def resnet20(size: int = 32) -> Network:
    """Return the network of 20 layers that the same paper has for small images."""
    net = Network((1, 3, size, size))
    x = net.conv("x", 16, 3)
    for stage in range(3):
        width = 16 << stage
        for number in range(3):
            x = net.block(x, [(width, 3), (width, 3)], 2 if stage and not number else 1)
    net.classify(x, 10)
    return net
