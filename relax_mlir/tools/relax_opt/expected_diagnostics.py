"""`--verify-diagnostics`: expected diagnostics in comments, compared with MLIR's."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from relax_mlir.pass_infra.execution.diagnostics import Diagnostic
from relax_mlir.tools.common.streams import Source

# As in MLIR's SourceMgrDiagnosticVerifierHandler: `expected-error-re@+1 {{text with {{regex}}}}`.
_EXPECTED = re.compile(
    r"expected-(?P<severity>error|note|remark|warning)(?P<re>-re)?[ ]*"
    r"(?:@(?P<where>[+-][0-9]+|above|below|unknown))?[ ]*\{\{(?P<text>.*)\}\}\s*$"
)
_ANY = re.compile(r"expected-(?:(?P<known>error|note|remark|warning)|[\w-]+(?=[^{]*\{\{))")
_UNKNOWN = 0


@dataclass
class _Expectation:
    severity: str
    line: int
    text: str
    is_regex: bool
    written_at: tuple[int, int]
    seen: bool = False

    def matches(self, diagnostic: Diagnostic, line: int) -> bool:
        """Whether this announces the diagnostic."""
        if self.severity != diagnostic.severity or self.line != line:
            return False
        if self.is_regex:
            return re.search(_pattern(self.text), diagnostic.message, re.DOTALL) is not None
        return self.text in diagnostic.message


def check(source: Source, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return what is wrong: unexpected diagnostics, and expected ones that did not occur."""
    expectations, problems = _read(source)
    for diagnostic in diagnostics:
        for each in (diagnostic, *diagnostic.notes):
            if not _take(expectations, each) and not _may_stay_unannounced(each):
                problems.append(
                    Diagnostic(
                        "error",
                        f"unexpected {each.severity}: {each.message}",
                        each.file,
                        each.line,
                        each.column,
                    )
                )
    for expectation in expectations:
        if not expectation.seen:
            line, column = expectation.written_at
            problems.append(
                Diagnostic(
                    "error",
                    f'expected {expectation.severity} "{expectation.text}" was not produced',
                    source.name,
                    line,
                    column,
                )
            )
    return problems


def _take(expectations: list[_Expectation], diagnostic: Diagnostic) -> bool:
    line = diagnostic.line or _UNKNOWN
    matching = [each for each in expectations if each.matches(diagnostic, line)]
    # Two equal announcements want two diagnostics, so one not yet used goes first.
    for each in sorted(matching, key=lambda each: each.seen):
        if not each.seen:
            each.seen = True
            return True
    return False


def _may_stay_unannounced(diagnostic: Diagnostic) -> bool:
    # MLIR adds this note to every error about an operation.
    return diagnostic.severity == "note" and diagnostic.message.startswith("see current operation")


def _read(source: Source) -> tuple[list[_Expectation], list[Diagnostic]]:
    """Return the announcements of a source, and complaints about malformed ones."""
    result: list[_Expectation] = []
    problems: list[Diagnostic] = []
    waiting: list[_Expectation] = []
    above = 0
    lines = (source.text or "").split("\n")
    for number, line in enumerate(lines, start=1):
        match = _EXPECTED.search(line)
        if match is None:
            loose = _ANY.search(line)
            if loose and "//" in line[: loose.start()]:
                message = "expected {{text}} up to the end of line"
                if not loose["known"]:
                    message = "there are expected-error, -warning, -remark and -note"
                message = f"malformed {loose.group()}: {message}"
                column = loose.start() + 1
                problems.append(Diagnostic("error", message, source.name, number, column))
            for each in waiting:
                each.line = number
            waiting = []
            above = number
            continue
        where = match["where"] or "+0"
        target = number
        if where == "unknown":
            target = _UNKNOWN
        elif where[0] in "+-":
            target = number + int(where)
            if not 1 <= target <= len(lines):
                message = f"malformed {match.group().split()[0]}: there is no line {target}"
                column = match.start() + 1
                problems.append(Diagnostic("error", message, source.name, number, column))
                continue
        elif where == "above":
            target = above
        expectation = _Expectation(
            match["severity"],
            target,
            match["text"],
            match["re"] is not None,
            (number, match.start() + 1),
        )
        if where == "below":
            waiting.append(expectation)
        if _is_code(line, match):
            # A line that holds code and an announcement is what `above` and `below` can mean.
            for each in waiting:
                if each is not expectation:
                    each.line = number
            waiting = [each for each in waiting if each is expectation]
            above = number
        result.append(expectation)
    return result, problems


def _is_code(line: str, match: re.Match[str]) -> bool:
    return bool(line[: match.start()].split("//")[0].strip())


def _pattern(text: str) -> str:
    """Return the regular expression for text whose `{{...}}` parts are expressions."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts))
