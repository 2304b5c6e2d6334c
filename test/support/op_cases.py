"""One operation over static, symbolic and unknown shapes against numpy, many in one compilation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from programs import Program, tensor
from samples import check, sample

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.relax import build as relax_op

n, m, k = (SymExpr.var(name) for name in "nmk")
SIZES = ({"n": 1, "m": 1, "k": 1}, {"n": 5, "m": 3, "k": 2}, {"n": 67, "m": 13, "k": 7})
EMPTY = ({"n": 0, "m": 3, "k": 2},)
VARIANTS = ("static", "symbolic", "ranked", "unknown")


@dataclass
class Case:
    """An operation on some inputs.

    Attributes:
        name: of the operation.
        inputs: dimensions and dtype of each tensor, symbols by name.
        reference: from arrays, then the values of the symbols, to what numpy gives.
        attrs: attributes.
        operands: from the values of the inputs to what `build` is given; the values by default.
        sizes: values of the symbols.
        data: from shape, dtype and position to an input.
        variants: what is known of the inputs.
    """

    name: str
    inputs: Sequence[tuple[Sequence[Any], str]]
    reference: Callable[..., Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    operands: Callable[..., Sequence[Any]] | None = None
    sizes: Sequence[Mapping[str, int]] = (*SIZES, *EMPTY)
    data: Callable[[tuple[int, ...], str, int], np.ndarray] | None = None
    variants: Sequence[str] = VARIANTS

    def types(self, variant: str, env: Mapping[str, int]) -> list[ir.Type]:
        """Return the types of the inputs as far as the variant knows them."""
        if variant == "unknown":
            return [tensor(None, "") for _ in self.inputs]
        if variant == "ranked":
            return [tensor(None, dtype, len(dims)) for dims, dtype in self.inputs]
        if variant == "static":
            return [tensor(_numbers(dims, env), dtype) for dims, dtype in self.inputs]
        return [tensor(dims, dtype) for dims, dtype in self.inputs]

    def arrays(self, env: Mapping[str, int]) -> list[np.ndarray]:
        """Return inputs."""
        make = self.data or (lambda shape, dtype, place: sample(shape, dtype, place))
        return [
            make(tuple(_numbers(dims, env)), dtype, place)
            for place, (dims, dtype) in enumerate(self.inputs)
        ]


def _numbers(dims: Sequence[Any], env: Mapping[str, int]) -> list[int]:
    return [env[dim] if isinstance(dim, str) else SymExpr.of(dim).evaluate(env) for dim in dims]


def run_cases(cases: Sequence[Case], ulps: float = 0) -> None:
    """Compile all cases in one module and compare each of their variants with numpy."""
    program = Program()
    runs = []
    for index, case in enumerate(cases):
        for variant in case.variants:
            # Each static shape is a kernel of its own: one of some size and the last, an empty one.
            environments = case.sizes[1::2] if variant == "static" else case.sizes[:1]
            for which, env in enumerate(environments):
                name = f"{case.name}_{index}_{variant}_{which}"
                _add(program, name, case, variant, env)
                runs.append((name, case, variant, [env] if variant == "static" else case.sizes))
    vm = program.build()
    for name, case, _, environments in runs:
        for env in environments:
            arrays = case.arrays(env)
            kept = [array.copy() for array in arrays]
            got = vm[name](*arrays)
            with np.errstate(all="ignore"):
                wanted = case.reference(*arrays, **env)
            pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
            for found, expected in pairs:
                check(found, expected, ulps=ulps, what=(name, case.attrs, env))
                assert not any(np.shares_memory(found, array) for array in arrays), name
            for array, before in zip(arrays, kept, strict=True):
                np.testing.assert_array_equal(array, before)


def _add(program: Program, name: str, case: Case, variant: str, env: Mapping[str, int]) -> None:
    attrs = case.attrs if variant != "static" else _fixed(case.attrs, env)

    def body(*values: ir.Value) -> ir.Value:
        operands = list(values) if case.operands is None else case.operands(*values)
        if variant == "static":
            operands = [_fixed(operand, env) for operand in operands]
        return relax_op(case.name, operands, attrs)

    program.function(name, lambda: case.types(variant, env), body)


def _fixed(value: Any, env: Mapping[str, int]) -> Any:
    if isinstance(value, SymExpr):
        return value.evaluate(env)
    if isinstance(value, dict):
        return {key: _fixed(item, env) for key, item in value.items()}
    return [_fixed(item, env) for item in value] if isinstance(value, list) else value
