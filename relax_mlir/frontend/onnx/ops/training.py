"""Steps of optimizers: `ai.onnx.preview.training`."""

from typing import Any

import numpy as np

from relax_mlir.frontend.registry import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr import const

DOMAIN = "ai.onnx.preview.training"


class _Step:
    """The operands of a step: the rate, the count, and for each tensor its gradient and states."""

    def __init__(self, node: Any, states: int) -> None:
        self.node = node
        self.rate, self.count = node.x(0), node.x(1)
        self.number = (len(node.inputs) - 2) // (2 + states)
        self.states = states

    def number_of(self, value: float) -> Any:
        return const(np.asarray(value, "float32"))

    def attr(self, name: str) -> Any:
        return self.number_of(self.node.attrs[name])

    def tensors(self, index: int) -> list[Any]:
        parts = [self.node.x(2 + index + k * self.number) for k in range(2 + self.states)]
        x, gradient = parts[:2]
        norm = self.attr("norm_coefficient")
        return [x, op.add(op.multiply(norm, x), gradient), *parts[2:]]

    def run(self, update: Any) -> list[Any]:
        results = [update(*self.tensors(index)) for index in range(self.number)]
        return [result[k] for k in range(1 + self.states) for result in results]


@converts(DOMAIN, "Adagrad")
def adagrad(node: Any) -> Any:
    """Divide the rate by the root of the sum of squared gradients."""
    step = _Step(node, 1)
    decay = op.multiply(op.astype(step.count, "float32"), step.attr("decay_factor"))
    rate = op.divide(step.rate, op.add(step.number_of(1), decay))

    def update(x: Any, g: Any, h: Any) -> list[Any]:
        h = node.emit(op.add(h, op.multiply(g, g)))
        scale = op.add(op.sqrt(h), step.attr("epsilon"))
        return [op.subtract(x, op.divide(op.multiply(rate, g), scale)), h]

    return step.run(update)


@converts(DOMAIN, "Momentum")
def momentum(node: Any) -> Any:
    """Follow a decaying sum of gradients, plain or as Nesterov has it."""
    step = _Step(node, 1)
    started = op.greater(step.count, const(0, "int64"))
    beta = op.where(started, step.attr("beta"), step.number_of(1))
    alpha = step.attr("alpha")

    def update(x: Any, g: Any, v: Any) -> list[Any]:
        v = node.emit(op.add(op.multiply(alpha, v), op.multiply(beta, g)))
        way = op.add(g, op.multiply(alpha, v)) if node.attrs["mode"] == "nesterov" else v
        return [op.subtract(x, op.multiply(step.rate, way)), v]

    return step.run(update)


@converts(DOMAIN, "Adam")
def adam(node: Any) -> Any:
    """Follow the mean of gradients over the root of the mean of their squares."""
    step = _Step(node, 2)
    alpha, beta, one = step.attr("alpha"), step.attr("beta"), step.number_of(1)
    count = op.astype(step.count, "float32")
    ratio = op.divide(
        op.sqrt(op.subtract(one, op.power(beta, count))), op.subtract(one, op.power(alpha, count))
    )
    started = op.greater(step.count, const(0, "int64"))
    rate = op.where(started, op.multiply(step.rate, ratio), step.rate)
    post = op.subtract(one, step.attr("norm_coefficient_post"))

    def update(x: Any, g: Any, v: Any, h: Any) -> list[Any]:
        v = node.emit(op.add(op.multiply(alpha, v), op.multiply(op.subtract(one, alpha), g)))
        square = op.multiply(op.subtract(one, beta), op.multiply(g, g))
        h = node.emit(op.add(op.multiply(beta, h), square))
        scale = op.add(op.sqrt(h), step.attr("epsilon"))
        moved = op.subtract(x, op.divide(op.multiply(rate, v), scale))
        return [op.multiply(post, moved), v, h]

    return step.run(update)
