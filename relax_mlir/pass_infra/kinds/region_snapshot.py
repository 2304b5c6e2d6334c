"""Snapshots of a function outside its dataflow blocks, to detect changes there by a block pass."""

from collections.abc import Iterator
from typing import Any

from relax_mlir.dialects.bindings import ir

DATAFLOW = "relax.dataflow"

# Where an operation stands below another: region, block and position, once for each level.
Path = tuple[int, ...]


class Surroundings:
    """A function's operations, each with the innermost dataflow block that it stands in.

    Every block is looked at a few times, however many there are: what changes outside of a block
    while a pass has it shows when the turn of another one comes, or at the end. Operations count by
    what they are and where they stand, so locations may change and a block be another operation.

    Attributes:
        paths: where the blocks stand, those inside of another before it.
    """

    def __init__(self, function: ir.Operation) -> None:
        self._function = function
        # What a value is known by; others are known by where they lie in memory.
        self._outputs: dict[int, object] = {}
        self.paths: list[Path] = []
        for path, block in _blocks_in(function, ()):
            self.paths.append(path)
            self._name_outputs(block, path)
        self._accepted = self._look(function, ())

    def block(self, path: Path) -> ir.Operation | None:
        """Return the dataflow block at a place, None where none stands there any more.

        It is found again each time: one that somebody has erased must not be touched.
        """
        operation = self._function
        try:
            for level in range(0, len(path), 3):
                region, block, position = path[level : level + 3]
                operation = operation.regions[region].blocks[block].operations[position].operation
        except IndexError:
            return None
        return operation if operation.name == DATAFLOW else None

    def hold(self, path: Path = ()) -> bool:
        """Whether a block, by default the whole function, is as it was or as it was accepted."""
        operation = self.block(path) if path else self._function
        return operation is not None and all(
            self._accepted.get(place) == result
            for place, result in self._look(operation, path).items()
        )

    def accept(self, path: Path, block: ir.Operation, before: list[int]) -> None:
        """Take a block, and what is in it, as it is now.

        Args:
            path: where it stands.
            block: the block that stands there now.
            before: `outputs_of` the one that stood there.
        """
        for output in before:
            del self._outputs[output]
        self._name_outputs(block, path)
        for inner, each in _blocks_in(block, path):
            self._name_outputs(each, inner)
        self._accepted.update(self._look(block, path))

    def _name_outputs(self, block: ir.Operation, path: Path) -> None:
        self._outputs.update((output, (path, i)) for i, output in enumerate(outputs_of(block)))

    def _look(self, root: ir.Operation, path: Path) -> dict[Path, list[Any]]:
        """Return what stands in the root and in each block inside of it."""
        result: dict[Path, list[Any]] = {path: [self._describe(root)]}

        def visit(operation: ir.Operation, path: Path, around: list[Any]) -> None:
            for place, inner in _children(operation, path):
                if inner.name == DATAFLOW:
                    around.append(place)
                    result[place] = [self._describe(inner)]
                    visit(inner, place, result[place])
                else:
                    around.append(self._describe(inner))
                    visit(inner, place, around)

        visit(root, path, result[path])
        return result

    def _describe(self, operation: ir.Operation) -> tuple[object, ...]:
        # Types and attributes are unique: they are where they lie. Not their text: that of a
        # constant is all its numbers.
        outputs = self._outputs
        return (
            operation.name,
            *[(name, hash(value)) for name, value in operation.attributes.items()],
            *[outputs.get(key, key) for key in map(hash, operation.operands)],
            None,
            *map(hash, operation.results.types),
            *[
                ([hash(argument.type) for argument in block.arguments], len(block.operations))
                for region in operation.regions
                for block in region.blocks
            ],
        )


def outputs_of(block: ir.Operation) -> list[int]:
    """Return a key of the results of a block, unique while the block exists."""
    return list(map(hash, block.results))


def _children(operation: ir.Operation, path: Path) -> Iterator[tuple[Path, ir.Operation]]:
    for r, region in enumerate(operation.regions):
        for b, block in enumerate(region.blocks):
            for i, view in enumerate(block.operations):
                yield (*path, r, b, i), view.operation


def _blocks_in(operation: ir.Operation, path: Path) -> Iterator[tuple[Path, ir.Operation]]:
    for place, inner in _children(operation, path):
        yield from _blocks_in(inner, place)
        if inner.name == DATAFLOW:
            yield place, inner
