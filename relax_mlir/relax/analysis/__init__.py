"""Questions about Relax programs; most take modules, functions, blocks and expressions alike."""

from relax_mlir.relax.analysis.chains import get_var2val, name_to_binding, udchain
from relax_mlir.relax.analysis.checks import (
    Diagnostic,
    WellFormed,
    check_well_formed,
    well_formed,
)
from relax_mlir.relax.analysis.dot import to_dot
from relax_mlir.relax.analysis.layouts import suggest_layout_transforms
from relax_mlir.relax.analysis.liveness import Liveness, liveness
from relax_mlir.relax.analysis.memory import (
    FunctionMemory,
    MemoryUsage,
    estimate_memory_usage,
)
from relax_mlir.relax.analysis.purity import computable_at_compile_time, contains_impure_call
from relax_mlir.relax.analysis.recursion import detect_recursion
from relax_mlir.relax.analysis.reshape import has_reshape_pattern
from relax_mlir.relax.analysis.symbols import (
    collect_non_negative,
    collect_non_negative_expressions,
    definable_tir_vars_in_type,
    defined_symbolic_vars,
    free_symbolic_vars,
    tir_vars_in_type,
)
from relax_mlir.relax.analysis.traversal import post_order_visit
from relax_mlir.relax.analysis.types import (
    BaseCheckResult,
    derive_call_ret_type,
    erase_to_well_defined,
    get_static_type,
    type_base_check,
    type_lca,
)
from relax_mlir.relax.analysis.unused import remove_all_unused
from relax_mlir.relax.analysis.variables import (
    all_global_vars,
    all_vars,
    bound_vars,
    free_vars,
    used_vars,
)
from relax_mlir.relax.expr import get_shape_of, shape_kind

# The names of TVM 0.10 to 0.22.
struct_info_base_check = type_base_check
struct_info_lca = type_lca
derive_call_ret_struct_info = derive_call_ret_type
tir_vars_in_struct_info = tir_vars_in_type
definable_tir_vars_in_struct_info = definable_tir_vars_in_type

__all__ = [
    "BaseCheckResult", "Diagnostic", "FunctionMemory", "Liveness", "MemoryUsage", "WellFormed",
    "all_global_vars", "all_vars", "bound_vars", "check_well_formed", "collect_non_negative",
    "collect_non_negative_expressions", "computable_at_compile_time", "contains_impure_call",
    "definable_tir_vars_in_struct_info", "definable_tir_vars_in_type", "defined_symbolic_vars",
    "derive_call_ret_struct_info", "derive_call_ret_type", "detect_recursion",
    "erase_to_well_defined", "estimate_memory_usage", "free_symbolic_vars", "free_vars",
    "get_shape_of", "get_static_type", "get_var2val", "has_reshape_pattern", "liveness",
    "name_to_binding", "post_order_visit", "remove_all_unused", "shape_kind",
    "struct_info_base_check", "struct_info_lca", "suggest_layout_transforms",
    "tir_vars_in_struct_info", "tir_vars_in_type", "to_dot", "type_base_check", "type_lca",
    "udchain", "used_vars", "well_formed",
]  # fmt: skip
