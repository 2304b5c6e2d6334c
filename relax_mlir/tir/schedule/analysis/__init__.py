"""Analyses of schedules: scopes, domains, regions, reducers; and those that TVM offers by name."""

from relax_mlir.lazy import lazy_exports

_EXPORTS = {"tir.schedule.analysis.suggestions": ("is_output_block", "suggest_index_map")}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
