"""The list of packages in pyproject.toml is what the folders on disk hold."""

import ast
import re

from checkout import FOLDERS, ROOT


def listed() -> list[str]:
    # tomllib is not in Python 3.10, and a TOML list of strings is a Python one.
    found = re.search(r"^packages = (\[.*?^\])", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    return ast.literal_eval(found.group(1))


def on_disk() -> list[str]:
    names = set()
    for folder, package in FOLDERS.items():
        for file in (ROOT / folder).rglob("*.py"):
            names.add(".".join([package, *file.relative_to(ROOT / folder).parts[:-1]]))
    return sorted(names)


def test_every_package_is_listed() -> None:
    expected = "".join(f'    "{name}",\n' for name in on_disk())
    assert listed() == on_disk(), f"in pyproject.toml write\n\npackages = [\n{expected}]\n"


def test_every_package_has_an_init() -> None:
    folders = {file.parent for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")}
    assert not [str(folder) for folder in folders if not (folder / "__init__.py").exists()]
