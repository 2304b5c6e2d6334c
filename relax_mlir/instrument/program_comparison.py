"""Whether two modules compute the same: their functions are called with the same arguments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.compiler.pipeline import build
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.instrument.random_arguments import NoArguments, Signature, signatures
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.execution.program_hash import fingerprint
from relax_mlir.runtime.vm.virtual_machine import VirtualMachine

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule

# Without optimisations, which could hide what a pass did.
_BUILD_LEVEL = 0
# The relative difference that passes may make by another order of operations; integers are exact.
_RTOL = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
_RTOL_OF_OTHERS = 0.3
# Numbers below this one come from cancellation, in one order of operations or another.
_SMALLEST = 1e-3
# Arrays of so many elements are written out in messages.
_MAX_SHOWN = 8


class NotEquivalent(RelaxMLIRError):
    """A function computes something else.

    Attributes:
        function: its name.
        lines: the smallest input found, and what differs.
    """

    def __init__(self, function: str, lines: Sequence[str]) -> None:
        self.function = function
        self.lines: tuple[str, ...] = tuple(lines)
        super().__init__("\n".join([f"'@{function}' computes something else", *lines]))


@dataclass(frozen=True)
class _Case:
    """Arguments of a function.

    Attributes:
        sizes: the sizes of its symbols.
        arguments: the arguments.
    """

    sizes: Mapping[str, int]
    arguments: Sequence[Any]


class Comparison:
    """Compares modules, each with one that was made of it.

    Args:
        inputs: arguments by the name of a function, instead of random ones.
        samples: how many times random arguments are drawn for a function.
        rtol: the relative difference that is allowed; by the dtype of the result if None.
        seed: where random numbers begin.

    Attributes:
        compared: how many calls were compared so far.
    """

    def __init__(
        self,
        inputs: Mapping[str, Sequence[Sequence[Any]]],
        samples: int,
        rtol: float | None,
        seed: int,
    ) -> None:
        self.inputs = inputs
        self.samples = samples
        self.rtol = rtol
        self.seed = seed
        self.compared = 0
        self._signatures: dict[str, Signature | NoArguments] = {}
        self._machines: dict[str, VirtualMachine | RelaxMLIRError] = {}

    def compare(self, before: "IRModule", after: "IRModule") -> list[str]:
        """Compare the functions that two modules have in common.

        Returns:
            What could not be compared, each with the reason.

        Raises:
            NotEquivalent: a function computes something else in the second module.
        """
        modules = (before, after)
        hashes = [fingerprint(each.mlir_module) for each in modules]
        if hashes[0] == hashes[1]:
            return []
        known = self._machines
        self._machines = {
            key: known[key] if key in known else _machine(each)
            for key, each in zip(hashes, modules, strict=True)
        }
        old, new = (self._machines[key] for key in hashes)
        if isinstance(old, RelaxMLIRError):
            return [f"no code before the pass: {str(old).splitlines()[0]}"]
        if isinstance(new, RelaxMLIRError):
            return [f"no code after the pass: {str(new).splitlines()[0]}"]
        problems: list[str] = []
        for name in self._functions(before, after, problems):
            self._compare(name, old, new, problems)
        return problems

    def _functions(
        self, before: "IRModule", after: "IRModule", problems: list[str]
    ) -> Iterator[str]:
        """Yield the functions which have the same parameters before and after."""
        afterwards = signatures(after)
        for name, signature in signatures(before).items():
            # Passes that lower shapes take symbols away: a function keeps what it was seen with.
            first = self._signatures.setdefault(name, signature)
            if name in afterwards and name in self.inputs:
                yield name
                continue
            if isinstance(first, Signature) and isinstance(signature, Signature):
                if first.names != signature.names:
                    first = self._signatures[name] = signature
                now = afterwards.get(name)
                if isinstance(now, Signature) and len(now.names) == len(first.names):
                    yield name
                elif name in afterwards:
                    problems.append(f"'@{name}' has other parameters after the pass")
            else:
                problems.append(f"'@{name}': {first}")

    def _compare(
        self, name: str, old: VirtualMachine, new: VirtualMachine, problems: list[str]
    ) -> None:
        for case in self._cases(name):
            problem = self._difference(name, case, old, new)
            if problem is None:
                continue
            if not self._is_deterministic(name, case, old):
                problems.append(f"'@{name}' is not deterministic")
                return
            case = self._smallest(name, case, old, new)
            problem = self._difference(name, case, old, new) or problem
            smallest = f"smallest input found: {self._text(name, case)}"
            raise NotEquivalent(name, [smallest, problem])

    def _cases(self, name: str) -> Iterator[_Case]:
        if name in self.inputs:
            yield from (_Case({}, arguments) for arguments in self.inputs[name])
            return
        signature = self._signatures[name]
        assert isinstance(signature, Signature)
        rng = np.random.default_rng(self.seed)
        drawn = [signature.sizes(rng) for _ in range(self.samples)]
        edges = [dict.fromkeys(signature.symbols, size) for size in (1, 0)]
        for index, sizes in enumerate([*drawn, *(edges if signature.symbols else ())]):
            sizes = {symbol: signature.bounded(symbol, size) for symbol, size in sizes.items()}
            special = index == self.samples - 1 > 0
            try:
                yield _Case(sizes, signature.draw(sizes, self.seed + index, special=special))
            except NoArguments:
                continue

    def _difference(
        self, name: str, case: _Case, old: VirtualMachine, new: VirtualMachine
    ) -> str | None:
        writes = self._writes(name)
        try:
            expected = _called(old, name, case.arguments, writes)
        # Whatever a program raises: it was not made for these arguments.
        except Exception:
            return None
        self.compared += 1
        try:
            actual = _called(new, name, case.arguments, writes)
        except Exception as error:
            return f"after the pass: {type(error).__name__}: {str(error).splitlines()[0]}"
        if len(expected) != len(actual):
            return f"{len(expected)} results before, {len(actual)} after"
        pairs = enumerate(zip(expected, actual, strict=True))
        problems = (_unequal(i, *pair, self.rtol, len(expected)) for i, pair in pairs)
        return next(filter(None, problems), None)

    def _writes(self, name: str) -> bool:
        signature = self._signatures.get(name)
        return isinstance(signature, Signature) and signature.writes

    def _is_deterministic(self, name: str, case: _Case, machine: VirtualMachine) -> bool:
        return self._difference(name, case, machine, machine) is None

    def _smallest(self, name: str, case: _Case, old: VirtualMachine, new: VirtualMachine) -> _Case:
        """Return the smallest sizes, and the plainest numbers, that still show a difference."""
        signature = self._signatures.get(name)
        if not isinstance(signature, Signature) or name in self.inputs:
            return case
        for symbol in case.sizes:
            for size in range(min(case.sizes[symbol], 5)):
                sizes = {**case.sizes, symbol: signature.bounded(symbol, size)}
                try:
                    smaller = _Case(sizes, signature.draw(sizes, self.seed))
                except NoArguments:
                    continue
                if self._difference(name, smaller, old, new):
                    case = smaller
                    break
        for index, argument in enumerate(case.arguments):
            for plain in (np.zeros_like, np.ones_like) if isinstance(argument, np.ndarray) else ():
                arguments = list(case.arguments)
                arguments[index] = plain(argument)
                if self._difference(name, _Case(case.sizes, arguments), old, new):
                    case = _Case(case.sizes, arguments)
                    break
        return case

    def _text(self, name: str, case: _Case) -> str:
        signature = self._signatures.get(name)
        names = signature.names if isinstance(signature, Signature) else ()
        parts = [f"{symbol} = {size}" for symbol, size in case.sizes.items()]
        for index, argument in enumerate(case.arguments):
            label = names[index] if index < len(names) else f"#{index}"
            parts.append(f"{label} = {_shown(argument)}")
        return "; ".join(parts) or "no arguments"


def _machine(mod: "IRModule") -> VirtualMachine | RelaxMLIRError:
    """Return what runs a module, or why it has no code."""
    try:
        # Not the context of the pass: its instruments watch that one.
        with PassContext(_BUILD_LEVEL):
            return VirtualMachine(build(mod))
    except RelaxMLIRError as error:
        return error


def _called(
    machine: VirtualMachine, name: str, arguments: Sequence[Any], writes: bool
) -> list[np.ndarray]:
    """Return the results of a call as a flat list; the arguments stay as they are."""
    copies = [_copy(argument) for argument in arguments]
    result = machine[name](*copies)
    return list(_flat(copies if writes else result))


def _copy(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_copy(each) for each in value)
    return np.array(value) if isinstance(value, np.ndarray) else value


def _flat(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _flat(each)
    elif value is not None:
        yield np.asarray(value)


def _unequal(
    index: int, expected: np.ndarray, actual: np.ndarray, rtol: float | None, count: int
) -> str | None:
    """Return how two results differ."""
    label = "the result" if count == 1 else f"result {index}"
    if (expected.shape, expected.dtype) != (actual.shape, actual.dtype):
        texts = [f"{each.dtype}{list(each.shape)}" for each in (expected, actual)]
        return f"{label} is {texts[0]} before the pass, {texts[1]} after it"
    if expected.dtype.kind in "biuOSU":
        wrong = np.asarray(expected != actual)
    else:
        allowed = _RTOL.get(expected.dtype.name, _RTOL_OF_OTHERS) if rtol is None else rtol
        old, new = (each.astype(np.float64) for each in (expected, actual))
        finite = np.isfinite(old)
        largest = np.abs(old[finite]).max(initial=_SMALLEST)
        with np.errstate(invalid="ignore"):
            close = np.abs(old - new) <= allowed * largest
        wrong = ~(np.where(finite, close, (old == new) | (np.isnan(old) & np.isnan(new))))
    if not wrong.any():
        return None
    place = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(wrong)))
    old, new = (np.atleast_1d(each)[place] for each in (expected, actual))
    where = f"{label}{list(place) if expected.ndim else ''}"
    return (
        f"{where} is {old} before the pass, {new} after it; {np.count_nonzero(wrong)} of "
        f"{wrong.size} elements differ"
    )


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if not isinstance(value, np.ndarray):
        return str(value)
    kind = f"{value.dtype}{list(value.shape)}"
    return f"{kind} {value.tolist()}" if value.size <= _MAX_SHOWN else kind
