"""A user's file: it registers a pass, a pass with an option, and a pattern as a pass."""

from relax_mlir import transform
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import build
from relax_mlir.lowering.pass_spec import PassOption


@transform.function_pass(opt_level=0)
class MarkFunctions:
    def __init__(self, mark):
        self.mark = mark

    def transform_function(self, func, mod, ctx):
        func.attributes["mark"] = ir.StringAttr.get(self.mark)
        return func


@transform.register_pass(
    "MarkFunctions", options=[PassOption("mark", str, "seen", "the mark")], summary="Leave a mark"
)
def make_mark_functions(mark="seen"):
    return MarkFunctions(mark)


@transform.pattern("relax.exp")
def exp_to_sin(op, rewriter):
    return build("sin", [op.operands[0]], {})


transform.register_pass("ExpToSin", lambda: transform.rewrite(exp_to_sin, name="ExpToSin"))
