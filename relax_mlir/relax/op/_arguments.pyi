"""What operations take for their operands and sizes."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.relax.expr import Expr

TensorLike: TypeAlias = Expr | npt.ArrayLike
IntLike: TypeAlias = int | np.integer | SymExpr | Expr
