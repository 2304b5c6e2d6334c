"""How long each pass took, as a tree: a Sequential holds the passes in it."""

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relax_mlir.chrome_trace import Span, chrome_trace
from relax_mlir.pass_infra.instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


@dataclass
class PassTime:
    """One run of a pass, in seconds; `children` are the passes that ran inside it."""

    name: str
    start: float
    duration: float | None = None
    children: "list[PassTime]" = field(default_factory=list)

    @property
    def total(self) -> float:
        """The time of the pass and of everything inside it; so far, while it runs."""
        return time.perf_counter() - self.start if self.duration is None else self.duration

    @property
    def own(self) -> float:
        """The time outside the passes inside it."""
        return self.total - sum(child.total for child in self.children)


class PassTimingInstrument(PassInstrument):
    """Times passes; `render()` gives the tree, until the context is entered again."""

    def __init__(self) -> None:
        self.passes: list[PassTime] = []
        self._open: list[PassTime] = []

    def enter_pass_ctx(self) -> None:
        """Forget the times of an earlier context."""
        self.passes = []
        self._open = []

    def exit_pass_ctx(self) -> None:
        """Close the passes that an exception left open."""
        while self._open:
            self._close_innermost()

    def run_before_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Start the clock of a pass."""
        siblings = self._open[-1].children if self._open else self.passes
        started = PassTime(info.name, time.perf_counter())
        siblings.append(started)
        self._open.append(started)

    def run_after_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Stop the clock of the pass."""
        self._close(info)

    def render(self) -> str:
        """Return one line per pass: `name: total us [self us] (% of all; % of the pass around)`."""
        everything = sum(each.total for each in self.passes)
        lines: list[str] = []

        def add(each: PassTime, around: float, depth: int) -> None:
            of_all = 100 * each.total / everything if everything else 0.0
            of_parent = 100 * each.total / around if around else 0.0
            lines.append(
                f"{chr(9) * depth}{each.name}: {each.total * 1e6:.0f}us [{each.own * 1e6:.0f}us] "
                f"({of_all:.2f}%; {of_parent:.2f}%)"
            )
            for child in each.children:
                add(child, each.total, depth + 1)

        for each in self.passes:
            add(each, everything, 0)
        return "".join(line + "\n" for line in lines)

    def to_json(self) -> str:
        """Return the tree as JSON: objects with `name`, `total_us`, `self_us` and `passes`."""

        def node(each: PassTime) -> dict[str, Any]:
            return {
                "name": each.name,
                "total_us": each.total * 1e6,
                "self_us": each.own * 1e6,
                "passes": [node(child) for child in each.children],
            }

        return json.dumps([node(each) for each in self.passes], indent=1)

    def to_chrome_trace(self) -> str:
        """Return the passes as Chrome trace events, for chrome://tracing or ui.perfetto.dev."""
        spans: list[Span] = []

        def add(each: PassTime) -> None:
            spans.append(Span(each.name, "pass", each.start, each.total))
            for child in each.children:
                add(child)

        for each in self.passes:
            add(each)
        return chrome_trace(spans)

    def pass_failed(self, mod: "IRModule", info: "PassInfo", error: BaseException) -> None:
        """Stop the clock of a pass that failed."""
        self._close(info)

    def _close(self, info: "PassInfo") -> None:
        # What is still open inside the pass has ended without a word.
        if any(each.name == info.name for each in self._open):
            while self._close_innermost() != info.name:
                pass

    def _close_innermost(self) -> str:
        ended = self._open.pop()
        ended.duration = time.perf_counter() - ended.start
        return ended.name
