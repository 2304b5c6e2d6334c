"""The table of what the documents name has tests that exist."""

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_row_has_tests() -> None:
    rows = re.findall(r"^\| ([PRVG]\d\d) \|.*\| (.*) \|$", (HERE / "README.md").read_text(), re.M)
    counts = {"P": 36, "R": 22, "V": 15, "G": 16}
    missing = {"G09", "G13", "G14"}
    ids = [f"{letter}{i:02}" for letter, count in counts.items() for i in range(1, count + 1)]
    assert [name for name, _ in rows] == [name for name in ids if name not in missing]
    for name, tests in rows:
        for test in tests.replace("`", "").split(", "):
            path, _, function = test.partition("::")
            text = (HERE.parent / path).read_text()
            assert not function or f"def {function}(" in text, f"{name}: {test}"
