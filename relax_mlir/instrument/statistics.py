"""Operations and memory before and after each pass."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relax_mlir.instrument.nesting import PairedInstrument
from relax_mlir.text_table import text_table

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


@dataclass(frozen=True)
class PassStatistics:
    """One run of a pass.

    Attributes:
        name: the pass.
        operations: how many there were before and after.
        changes: by how much the number of each kind of operation changed.
        memory: by how many bytes the process's resident memory grew.
    """

    name: str
    operations: tuple[int, int]
    changes: dict[str, int] = field(default_factory=dict)
    memory: int = 0


class StatisticsInstrument(PairedInstrument):
    """Counts operations and measures memory around each pass; `render()` gives the table.

    Attributes:
        passes: one entry for each pass that ran and was no Sequential, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.passes: list[PassStatistics] = []

    def enter_pass_ctx(self) -> None:
        """Forget an earlier context's passes."""
        super().enter_pass_ctx()
        self.passes = []

    def before(self, mod: "IRModule", info: "PassInfo") -> tuple[Counter[str], int]:
        """Count and measure."""
        return count_operations(mod), resident_bytes()

    def after(
        self, mod: "IRModule", info: "PassInfo", state: tuple[Counter[str], int], leaf: bool
    ) -> None:
        """Count and measure again."""
        if not leaf:
            return
        memory = resident_bytes() - state[1]
        old, new = state[0], count_operations(mod)
        changes = {name: new[name] - old[name] for name in sorted(old | new)}
        self.passes.append(
            PassStatistics(
                info.name,
                (old.total(), new.total()),
                {name: count for name, count in changes.items() if count},
                memory,
            )
        )

    def render(self) -> str:
        """Return one line per pass: operations before and after, memory, and what changed."""
        rows = []
        for each in self.passes:
            before, after = each.operations
            changes = ", ".join(f"{name} {count:+d}" for name, count in each.changes.items())
            memory = f"{each.memory / 1024:+.0f} KiB"
            rows.append((each.name, str(before), f"-> {after}", memory, changes))
        return text_table(rows, right=(1, 3)) + "\n" if rows else ""

    def to_json(self) -> str:
        """Return the same as JSON: a list of objects with the fields of PassStatistics."""
        fields: list[dict[str, Any]] = [vars(each) for each in self.passes]
        return json.dumps(fields, indent=1)


def count_operations(mod: "IRModule") -> "Counter[str]":
    """Return how many operations of each kind are in a module, itself left out."""
    from relax_mlir.dialects.bindings import ir

    result: Counter[str] = Counter()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        result[operation.name] += 1
        return ir.WalkResult.ADVANCE

    mod.mlir_module.operation.walk(visit)
    result["builtin.module"] -= 1
    return +result


def resident_bytes() -> int:
    """Return how much memory the process has in use; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    import resource

    return pages * resource.getpagesize()
