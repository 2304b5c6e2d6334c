"""Coverage of a model: operations without converters, as one error or as a table."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from relax_mlir.errors import UnsupportedOpError
from relax_mlir.text_table import text_table


@dataclass
class Need:
    """One operation that a model needs.

    Attributes:
        op: its name, with the domain where that is not the framework's own.
        version: of the operator set.
        how: `converter`, `body` (expanded into other operations), or empty where nothing does it.
        reason: why nothing does it, where that is known.
        count: how often it occurs.
        where: the first place, a node's name.
    """

    op: str
    version: int = 0
    how: str = ""
    reason: str = ""
    count: int = 0
    where: str = ""


@dataclass
class Coverage:
    """What a model needs; `str` is a table.

    Attributes:
        source: what the model is.
        needs: its operations; one that is converted in some places only is there for each reason.
    """

    source: str
    needs: dict[tuple[str, int, str, str], Need] = field(default_factory=dict)

    def add(self, op: str, version: int, where: str, how: str, reason: str = "") -> None:
        """Count an occurrence of an operation."""
        key = (op, version, how, reason)
        need = self.needs.setdefault(key, Need(op, version, how, reason, 0, where))
        need.count += 1

    @property
    def missing(self) -> list[Need]:
        """What nothing converts."""
        return [need for need in self.needs.values() if not need.how]

    def check(self) -> None:
        """Raise one error that names everything that is missing.

        Raises:
            UnsupportedOpError: something is.
        """
        if self.missing:
            raise UnsupportedOpError(self.source, map(_line, self.missing))

    def __str__(self) -> str:
        needs: Iterable[Need] = sorted(
            self.needs.values(), key=lambda each: (each.how, -each.count)
        )
        rows = [
            [n.op, str(n.version or ""), str(n.count), n.how or "MISSING", n.where] for n in needs
        ]
        return text_table(
            [["operation", "version", "count", "by", "first at"], *rows], right=(1, 2)
        )


def _line(need: Need) -> str:
    times = "once" if need.count == 1 else f"{need.count} times"
    version = f" (version {need.version})" if need.version else ""
    reason = f": {need.reason}" if need.reason else ""
    return f"{need.op}{version}, {times}, first at {need.where}{reason}"
