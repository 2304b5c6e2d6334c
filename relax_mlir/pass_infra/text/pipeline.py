"""Pass pipelines as text, `builtin.module(a,func.func(cse),b{n=1})`: parser and printer."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from relax_mlir.errors import PipelineError

MODULE = "builtin.module"
# Groups of passes that are one pass: `sequential{opt-level=3}(a,b)`, and `mlir{...}(a,b)` of
# upstream's. A command line, which knows no levels, runs what they hold.
SEQUENTIAL, UPSTREAM = "sequential", "mlir"
GROUPS = (SEQUENTIAL, UPSTREAM)
_NAME = re.compile(r"[A-Za-z_$][\w.$-]*")


@dataclass(frozen=True)
class Step:
    """One element: a pass with the text of its options, or an anchor with the steps it holds.

    A group is written like an anchor, and may have options.
    """

    name: str
    options: str | None = None
    children: "tuple[Step, ...] | None" = None

    @property
    def is_anchor(self) -> bool:
        """Whether this is `op.name(...)` and not a pass."""
        return self.children is not None

    @property
    def is_group(self) -> bool:
        """Whether this is `sequential(...)` or `mlir(...)`."""
        return self.children is not None and self.name in GROUPS

    def walk(self) -> "Iterator[Step]":
        """Yield this step and everything in it."""
        yield self
        for child in self.children or ():
            yield from child.walk()

    def __str__(self) -> str:
        head = f"{self.name}{{{self.options}}}" if self.options else self.name
        return head if self.children is None else f"{head}({','.join(map(str, self.children))})"


@dataclass(frozen=True)
class Pipeline:
    """What runs on a module, in order; `str()` gives text that parses back to the same."""

    steps: tuple[Step, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Pipeline":
        """Read `builtin.module(...)`; `any(...)` is taken as the same.

        Raises:
            PipelineError: the text is malformed; the message has a caret under the place.
        """
        steps = parse_steps(text)
        if len(steps) == 1 and steps[0].name in (MODULE, "any") and steps[0].children is not None:
            return cls(steps[0].children)
        if len(steps) == 1 and steps[0].is_anchor and not steps[0].is_group:
            raise PipelineError(
                f"a pipeline runs on '{MODULE}', not on '{steps[0].name}'; "
                f"did you mean '{MODULE}({steps[0]})'?"
            )
        raise PipelineError(
            "expected pass pipeline to be wrapped with the anchor operation type; "
            f"did you mean '{cls(steps)}'?"
        )

    def __str__(self) -> str:
        return str(Step(MODULE, children=self.steps))


def parse_steps(text: str) -> tuple[Step, ...]:
    """Read a list of elements, as inside an anchor's parentheses.

    Raises:
        PipelineError: the text is malformed.
        TypeError: it is no text.
    """
    if not isinstance(text, str):
        raise TypeError(f"a pipeline is a str, got {type(text).__name__} {text!r}")
    try:
        return _Parser(text).steps(closing="")
    except RecursionError:
        raise PipelineError("pass pipeline is nested too deeply") from None


def singled(steps: Iterable[Step]) -> list[Step]:
    """Return steps so that each runs one pass: `f(a,b)` becomes `f(a)` and `f(b)`."""
    result: list[Step] = []
    for step in steps:
        if not step.children:
            result.append(step)
        else:
            result += [replace(step, children=(inner,)) for inner in singled(step.children)]
    return result


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def steps(self, closing: str) -> tuple[Step, ...]:
        """Read elements up to the closing character (or the end of the text), which is consumed."""
        result: list[Step] = []
        if self._at_end_of_list(closing):
            return ()
        while True:
            result.append(self._step())
            self._skip_space()
            if self.text.startswith(",", self.at):
                self.at += 1
            elif self._at_end_of_list(closing):
                return tuple(result)
            elif self.at == len(self.text):
                raise self._error(f"expected '{closing}' to close the pipeline")
            else:
                raise self._error(f"expected ',' or {closing or 'the end'!r}")

    def _at_end_of_list(self, closing: str) -> bool:
        self._skip_space()
        if not closing:
            return self.at == len(self.text)
        if self.text.startswith(closing, self.at):
            self.at += 1
            return True
        return False

    def _step(self) -> Step:
        self._skip_space()
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise self._error("expected the name of a pass or of an operation")
        self.at = match.end()
        self._skip_space()
        options = None
        if self.text.startswith("{", self.at):
            options = self._braced() or None
            self._skip_space()
        if not self.text.startswith("(", self.at):
            return Step(match.group(), options=options)
        if options is not None and match.group() not in GROUPS:
            raise self._error(f"'{match.group()}' has options, so it cannot hold passes")
        self.at += 1
        return Step(match.group(), options, self.steps(closing=")"))

    def _braced(self) -> str:
        """Return the text between the braces that start here, spaces squeezed outside quotes."""
        start = self.at
        depth = 0
        quote = ""
        for place in range(start, len(self.text)):
            char = self.text[place]
            if quote:
                quote = "" if char == quote else quote
            elif char in "\"'":
                quote = char
            elif char in "{}":
                depth += 1 if char == "{" else -1
                if depth == 0:
                    self.at = place + 1
                    inner = self.text[start + 1 : place].strip()
                    return inner if '"' in inner or "'" in inner else " ".join(inner.split())
        raise self._error("expected '}' to close the options")

    def _skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _error(self, message: str) -> PipelineError:
        line = self.text.replace("\n", " ").replace("\t", " ")
        return PipelineError(
            f"pass pipeline, column {self.at + 1}: {message}\n{line}\n{' ' * self.at}^"
        )
