"""The page of passes: one line for each, read from the registry."""

from relax_mlir.pass_infra import registry
from relax_mlir.pass_infra.registry import Entry


def pages() -> dict[str, str]:
    """Return path -> Markdown of the page of passes."""
    lines = ["# List of passes", ""]
    lines += ["Each is a flag of `relax-opt` and a name in `transform` or `tir.transform`."]
    lines += ["", "| flag | name | what it does | options |", "| --- | --- | --- | --- |"]
    lines += [_row(entry) for entry in sorted(registry.entries(), key=lambda entry: entry.flag)]
    return {"reference/passes.md": "\n".join([*lines, ""])}


def _row(entry: Entry) -> str:
    options = "<br>".join(
        f"`{option.name}`: {option.doc} (`{option.default}`)" for option in entry.options
    )
    cells = (f"`--{entry.flag}`", f"`{entry.name}`", entry.summary, options)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
