"""Programs, schedules, memory plans and profiles to look at."""

from typing import Any

from relax_mlir.relax.analysis.dot import dot_of
from relax_mlir.relax.analysis.graph import graph_of
from relax_mlir.viz.charts import flame_chart, memory_plan
from relax_mlir.viz.graph_svg import draw
from relax_mlir.viz.picture import Picture
from relax_mlir.viz.report_page import report_page
from relax_mlir.viz.text_views import diff, loop_tree

__all__ = ["Picture", "diff", "flame_chart", "graph", "loop_tree", "memory_plan", "report_page"]


def graph(program: Any) -> Picture:
    """Return the graph of a Relax function, or of all functions of a module.

    Parameters are named, constants are shown by shape and dtype, operations are numbered; what a
    function returns has a thick border.

    Args:
        program: IRModule, function or block.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    result = graph_of(program)
    return Picture("graph", draw(result), dot_of(result))
