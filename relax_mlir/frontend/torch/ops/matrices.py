"""Linear algebra, by functions of the runtime: LAPACK as numpy has it."""

from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts


@converts("inverse.default", "linalg_inv.default")
def _inverse(m: Importer, x: Any) -> Any:
    return m.runtime("inverse", [x])


@converts("det.default", "linalg_det.default")
def _det(m: Importer, x: Any) -> Any:
    return m.runtime("det", [x])


@converts("linalg_slogdet.default", "slogdet.default")
def _slogdet(m: Importer, x: Any) -> Any:
    return m.runtime("slogdet", [x])


@converts("logdet.default")
def _logdet(m: Importer, x: Any) -> Any:
    """Return logarithms of determinants, NaN of negative ones."""
    return m.runtime("logdet", [x])


@converts("linalg_solve.default")
def _solve(m: Importer, a: Any, b: Any, left: bool = True) -> Any:
    return m.runtime("solve", [a, b], left=left)


@converts("linalg_solve_triangular.default")
def _solve_triangular(
    m: Importer, a: Any, b: Any, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    return m.runtime("solve_triangular", [a, b], upper=upper, left=left, unit=unitriangular)


@converts("linalg_cholesky.default", "cholesky.default")
def _cholesky(m: Importer, x: Any, upper: bool = False) -> Any:
    return m.runtime("cholesky", [x], upper=upper)


@converts("cholesky_solve.default")
def _cholesky_solve(m: Importer, b: Any, factor: Any, upper: bool = False) -> Any:
    return m.runtime("cholesky_solve", [b, factor], upper=upper)


@converts("cholesky_inverse.default")
def _cholesky_inverse(m: Importer, factor: Any, upper: bool = False) -> Any:
    return m.runtime("cholesky_inverse", [factor], upper=upper)


@converts("linalg_pinv.atol_rtol_tensor")
def _pinv(m: Importer, x: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """Return pseudo-inverses, with the tolerance that torch has by default.

    Raises:
        ExprError: another tolerance is given.
    """
    if atol is not None or rtol is not None:
        raise ExprError("linalg.pinv takes no tolerances")
    return m.runtime("pinv", [x])
