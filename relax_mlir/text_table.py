"""Tables as text."""

from collections.abc import Collection, Sequence


def text_table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return rows as lines: the cells of a column one below the other, two spaces between columns.

    Args:
        rows: the cells, a header first if there is one; all rows have as many.
        right: the columns, by index, whose cells end below each other, as numbers do.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
