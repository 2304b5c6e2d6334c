"""Types of the MLIR bindings' `rewrite`; made by .ci/stubs, do not edit."""

import enum
from collections.abc import Callable, Sequence
from typing import Any, overload

from relax_mlir.dialects import _mlir_ir as ir

class GreedyRewriteStrictness(enum.Enum):
    ANY_OP = 0
    EXISTING_AND_NEW_OPS = 1
    EXISTING_OPS = 2

class GreedySimplifyRegionLevel(enum.Enum):
    DISABLED = 0
    NORMAL = 1
    AGGRESSIVE = 2

class DialectConversionFoldingMode(enum.Enum):
    NEVER = 0
    BEFORE_PATTERNS = 1
    AFTER_PATTERNS = 2

class PatternRewriter:
    @property
    def ip(self) -> ir.InsertionPoint:
        """The current insertion point of the PatternRewriter."""

    @overload
    def replace_op(self, op: ir._OperationBase, new_op: ir._OperationBase) -> None:
        """Replace an operation with a new operation."""

    @overload
    def replace_op(self, op: ir._OperationBase, values: Sequence[ir.Value]) -> None:
        """Replace an operation with a list of values."""

    def erase_op(self, op: ir._OperationBase) -> None:
        """Erase an operation."""

class RewritePatternSet:
    def __init__(self, context: ir.Context | None = None) -> None: ...
    def add(self, root: object, fn: Callable[..., Any], benefit: int = 1) -> None:
        """Add a new rewrite pattern on the specified root operation, using the provided callable for matching and rewriting, and assign it the given benefit."""

    def add_conversion(
        self, root: object, fn: Callable[..., Any], type_converter: TypeConverter, benefit: int = 1
    ) -> None:
        """Add a new conversion pattern on the specified root operation, using the provided callable for matching and rewriting, and assign it the given benefit."""

    def freeze(self) -> FrozenRewritePatternSet:
        """Freeze the pattern set into a frozen one."""

class ConversionPatternRewriter(PatternRewriter):
    def convert_region_types(self, arg0: ir.Region, arg1: TypeConverter, /) -> None: ...

class ConversionTarget:
    def __init__(self, context: ir.Context | None = None) -> None: ...
    def add_legal_op(self, *ops: Any) -> None:
        """Mark the given operations as legal."""

    def add_illegal_op(self, *ops: Any) -> None:
        """Mark the given operations as illegal."""

    def add_legal_dialect(self, *dialects: Any) -> None:
        """Mark the given dialects as legal."""

    def add_illegal_dialect(self, *dialects: Any) -> None:
        """Mark the given dialect as illegal."""

class TypeConverter:
    def __init__(self) -> None:
        """Create a new TypeConverter."""

    def add_conversion(self, convert: Callable[..., Any]) -> None:
        """Register a type conversion function."""

    def convert_type(self, type: ir.Type) -> ir.Type | Any:
        """Convert the given type. Returns None if conversion fails."""

class PDLResultList:
    @overload
    def append(self, arg: ir.Value, /) -> None: ...
    @overload
    def append(self, arg: ir.Operation, /) -> None: ...
    @overload
    def append(self, arg: ir.Type, /) -> None: ...
    @overload
    def append(self, arg: ir.Attribute, /) -> None: ...

class PDLModule:
    @overload
    def __init__(self, module: ir.Module) -> None: ...
    @overload
    def __init__(self, module: ir.Module) -> None:
        """Create a PDL module from the given module."""

    def freeze(self) -> FrozenRewritePatternSet: ...
    def register_rewrite_function(self, arg0: str, arg1: Callable[..., Any], /) -> None: ...
    def register_constraint_function(self, arg0: str, arg1: Callable[..., Any], /) -> None: ...

class GreedyRewriteConfig:
    def __init__(self) -> None:
        """Create a greedy rewrite driver config with defaults"""

    @property
    def max_iterations(self) -> int:
        """Maximum number of iterations"""

    @max_iterations.setter
    def max_iterations(self, arg: int, /) -> None: ...
    @property
    def max_num_rewrites(self) -> int:
        """Maximum number of rewrites per iteration"""

    @max_num_rewrites.setter
    def max_num_rewrites(self, arg: int, /) -> None: ...
    @property
    def use_top_down_traversal(self) -> bool:
        """Whether to use top-down traversal"""

    @use_top_down_traversal.setter
    def use_top_down_traversal(self, arg: bool, /) -> None: ...
    @property
    def enable_folding(self) -> bool:
        """Enable or disable folding"""

    @enable_folding.setter
    def enable_folding(self, arg: bool, /) -> None: ...
    @property
    def strictness(self) -> GreedyRewriteStrictness:
        """Rewrite strictness level"""

    @strictness.setter
    def strictness(self, arg: GreedyRewriteStrictness, /) -> None: ...
    @property
    def region_simplification_level(self) -> GreedySimplifyRegionLevel:
        """Region simplification level"""

    @region_simplification_level.setter
    def region_simplification_level(self, arg: GreedySimplifyRegionLevel, /) -> None: ...
    @property
    def enable_constant_cse(self) -> bool:
        """Enable or disable constant CSE"""

    @enable_constant_cse.setter
    def enable_constant_cse(self, arg: bool, /) -> None: ...

class ConversionConfig:
    def __init__(self) -> None:
        """Create a conversion config with defaults"""

    @property
    def folding_mode(self) -> DialectConversionFoldingMode:
        """folding behavior during dialect conversion"""

    @folding_mode.setter
    def folding_mode(self, arg: DialectConversionFoldingMode, /) -> None: ...
    @property
    def build_materializations(self) -> bool:
        """Whether the dialect conversion attempts to build source/target materializations"""

    @build_materializations.setter
    def build_materializations(self, arg: bool, /) -> None: ...

class FrozenRewritePatternSet:
    @property
    def _CAPIPtr(self) -> Any: ...
    def _CAPICreate(self) -> Any: ...

@overload
def apply_patterns_and_fold_greedily(
    module: ir.Module, set: FrozenRewritePatternSet, config: GreedyRewriteConfig | None = None
) -> None:
    """Applys the given patterns to the given module greedily while folding results."""

@overload
def apply_patterns_and_fold_greedily(
    op: ir._OperationBase, set: FrozenRewritePatternSet, config: GreedyRewriteConfig | None = None
) -> None:
    """Applys the given patterns to the given op greedily while folding results."""

def walk_and_apply_patterns(op: ir._OperationBase, set: FrozenRewritePatternSet) -> None:
    """Applies the given patterns to the given op by a fast walk-based driver."""

def apply_partial_conversion(
    op: ir._OperationBase,
    target: ConversionTarget,
    set: FrozenRewritePatternSet,
    config: ConversionConfig | None = None,
) -> None:
    """Applies a partial conversion on the given operation."""

def apply_full_conversion(
    op: ir._OperationBase,
    target: ConversionTarget,
    set: FrozenRewritePatternSet,
    config: ConversionConfig | None = None,
) -> None:
    """Applies a full conversion on the given operation."""
