"""Random programs of torch, exported, against the same in eager mode."""

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import random_models
import torch
from random_models import UnfitError, elements, is_tame
from torch.utils import _pytree as pytree
from torch_recipes import RECIPES

from relax_mlir.compiler.driver import compile
from relax_mlir.frontend.torch import from_exported_program

# How much operands are changed to see whether results are near a step, and how much these may
# change: what differs by rounding alone then differs by less than `random_models.TOLERANCE`.
_NOISE, _CHANGE = 3e-3, 0.1
_FAILURES = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)


class Maker(random_models.Maker):
    """A program of torch under construction: calls of functions with the names of tensors."""

    recipes = RECIPES

    @classmethod
    def peer(cls) -> str:
        """Return what the results are compared with."""
        return "eager torch"

    def node(self, function: Callable[..., Any], *inputs: str) -> list[str]:
        """Add a call; returns the names of its results.

        Raises:
            UnfitError: torch refuses it, or it has no results that can be compared.
        """
        given = [torch.tensor(self.values[name]) for name in inputs]
        results = self._results(lambda around: _tensors(function(*map(around, given))))
        names = [f"v{len(self.values) + i}" for i in range(len(results))]
        self.nodes.append((function, inputs, names))
        self.values.update(zip(names, results, strict=True))
        return names

    def _results(self, run: Callable[[Any], list[torch.Tensor]]) -> list[np.ndarray]:
        """Return the results of a function of what is done to operands.

        Raises:
            UnfitError: there are none, or a small change of operands changes them much.
        """
        try:
            results, noisy = run(lambda x: x), run(self._noisy)
        except _FAILURES:
            raise UnfitError from None
        if not results or not all(map(_is_near, results, noisy)):
            raise UnfitError
        return [each.numpy() for each in results]

    def _noisy(self, x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point():
            return x
        noise = torch.from_numpy(self.rng.uniform(-_NOISE, _NOISE, x.shape)).to(x.dtype)
        return x + noise * (1 + x.abs())

    @functools.cached_property
    def module(self) -> torch.nn.Module:
        """The program; its outputs are the results that no call takes."""
        used = {name for _, inputs, _ in self.nodes for name in inputs}
        made = [name for _, _, names in self.nodes for name in names]
        inputs = [name for name in self.inputs if name in used]
        return _Module(self, inputs, [name for name in made if name not in used])

    @functools.cached_property
    def program(self) -> Any:
        """The program exported, dimensions dynamic that are and that torch can."""
        inputs = [torch.tensor(self.values[name]) for name in self.module.inputs]
        auto = torch.export.Dim.AUTO
        dims = [{i: auto for i, n in enumerate(each.shape) if self.is_dynamic and n > 1}
                for each in inputs]  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.export.export(
                self.module, tuple(inputs), dynamic_shapes=(tuple(dims),) if dims else None
            )

    def text(self) -> str:
        """Return the exported program."""
        return str(self.program)

    def compiled(self) -> Callable[..., Any]:
        """Return the program, imported and compiled."""
        return compile(from_exported_program(self.program))

    def cases(self) -> Iterator[tuple[list[Any], list[list[Any]]]]:
        """Give inputs and results, for other sizes too where there are any."""
        if not self.nodes:
            return
        try:
            program = self.program
        except Exception:  # torch cannot export all that it can run
            return
        for given in ([self.values[name] for name in self.module.inputs], *self._other_sizes()):
            tensors = [torch.tensor(each) for each in given]
            try:
                program.module()(*tensors)  # checks what torch requires of sizes
                run = functools.partial(self.module.run, tensors)
                results = self._results(run)
            except (AssertionError, *_FAILURES):
                continue
            # For torch.export, a dynamic size is not 1; `squeeze` of one that is has another rank.
            outputs = program.graph.output_node().args[0]
            if [each.ndim for each in results] == [each.meta["val"].ndim for each in outputs]:
                yield given, [results]

    def _other_sizes(self) -> Iterator[list[np.ndarray]]:
        names = self.program.graph_signature.user_inputs
        nodes = {node.name: node.meta.get("val") for node in self.program.graph.nodes}
        dims = [nodes[name].shape for name in names]
        symbols = {n.node.expr for shape in dims for n in shape if isinstance(n, torch.SymInt)}
        free = sorted({each for n in symbols for each in n.free_symbols}, key=str)
        sizes = {each: int(self.choice((1, 2, 3, 6, 9))) for each in free}
        if not sizes:
            return
        shapes = [
            [int(n.node.expr.subs(sizes)) if isinstance(n, torch.SymInt) else n for n in shape]
            for shape in dims
        ]
        arrays = [self.values[name] for name in self.module.inputs]
        yield [
            elements(self.rng, shape, array.dtype.name) if array.dtype.kind == "f"
            else np.resize(array, shape) for array, shape in zip(arrays, shapes, strict=True)
        ]  # fmt: skip

    def may_refuse(self, inputs: list[Any], wanted: list[list[Any]]) -> bool:
        """Whether sizes may be refused: all that torch's program takes are good."""
        return False


class _Module(torch.nn.Module):
    """A program of torch, with weights as its parameters."""

    def __init__(self, maker: Maker, inputs: list[str], outputs: list[str]) -> None:
        super().__init__()
        self.nodes, self.inputs, self.outputs = maker.nodes, inputs, outputs
        for name in maker.constants:
            self.register_buffer(name, torch.tensor(maker.values[name]))

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the outputs."""
        return tuple(self.run(inputs, lambda x: x))

    def run(
        self, inputs: Any, around: Callable[[torch.Tensor], torch.Tensor]
    ) -> list[torch.Tensor]:
        """Return the outputs, with a function around each operand."""
        values = dict(self.named_buffers()) | dict(zip(self.inputs, inputs, strict=True))
        for function, given, names in self.nodes:
            results = _tensors(function(*(around(values[name]) for name in given)))
            values |= zip(names, results, strict=True)
        return [values[name] for name in self.outputs]


def _tensors(results: Any) -> list[torch.Tensor]:
    return [each for each in pytree.tree_leaves(results) if isinstance(each, torch.Tensor)]


def _is_near(result: torch.Tensor, noisy: torch.Tensor) -> bool:
    if result.dtype == torch.bfloat16 or not is_tame(result.numpy()):
        return False
    if result.shape != noisy.shape:
        return False
    left, right = result.double(), noisy.double()
    limit = _CHANGE * max(1.0, float(left.abs().max())) if left.numel() else 0.0
    return bool(((left - right).abs() <= limit * result.is_floating_point()).all())
