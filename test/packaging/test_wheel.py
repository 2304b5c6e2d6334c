"""A wheel holds exactly what the folders hold and works in an environment outside the checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from checkout import FOLDERS, ROOT

import relax_mlir

CACHES = {"__pycache__", ".ruff_cache"}
SOURCES = ("pyproject.toml", "README.md", "LICENSE", *FOLDERS)


def run(*command: object, cwd: Path) -> str:
    """Run a command that must succeed and return what it wrote."""
    # A PYTHONPATH would let the checkout in.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy: setuptools leaves its work, and reads old work, in the tree."""
    copy = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns(*CACHES))
        else:
            shutil.copy(ROOT / name, copy / name)
    out = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet")
    run(*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", out, copy, cwd=out)
    (built,) = out.iterdir()
    return built


def test_wheel_holds_what_the_folders_hold(wheel: Path) -> None:
    expected = {
        f"{package.replace('.', '/')}/{file.relative_to(ROOT / folder).as_posix()}"
        for folder, package in FOLDERS.items()
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and not CACHES & set(file.parts)
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == expected


def test_wheel_names_licence_and_pythons(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    assert "License-Expression: Apache-2.0 WITH LLVM-exception\n" in metadata
    assert "License-File: LICENSE\n" in metadata
    assert f"Version: {relax_mlir.__version__}\n" in metadata
    assert "Requires-Python: >=3.10\n" in metadata


def test_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", "env", cwd=tmp_path)
    python = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", ask, cwd=tmp_path).strip())
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # The dependencies are borrowed. Python runs no .pth file of a folder that a .pth file names, so
    # the checkout's own editable install, which is one, stays out.
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    shutil.copy(ROOT / "test" / "packaging" / "smoke.py", tmp_path)
    used = Path(run(python, "smoke.py", cwd=tmp_path).splitlines()[-1])
    assert used.is_relative_to(tmp_path)
    assert (python.parent / "relax-opt").exists()
    assert (python.parent / "relax-compile").exists()
