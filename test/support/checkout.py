"""Where this checkout keeps the package: three folders that install as one."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Folder in the checkout -> package that it installs as.
FOLDERS = {
    "relax_mlir": "relax_mlir",
    "dialects": "relax_mlir.dialects",
    "lowering": "relax_mlir.lowering",
}
