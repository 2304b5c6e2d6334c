"""The calls from a layer to one above it: one table, each implementation imported on first use.

Layers import downwards only (docs/design/README.md). Where a method of a lower class is implemented
above, such as `IRModule.script` by the printer, the lower layer asks this table.
"""

import functools
import importlib
from typing import Any

# Extension point, named after the layer that calls it -> "module:attribute", or a whole module.
TABLE = {
    # Compiling a module: tir.build, folding of constants, kernels compiled at run time.
    "build": "relax_mlir.compiler.pipeline:build",
    # Models of other frameworks, which `compile` takes.
    "compiler.load_model": "relax_mlir.frontend.loaders:load_model",
    "compiler.resolve_pipeline": "relax_mlir.compiler.relax_pipelines:resolve",
    "compiler.bind_params": "relax_mlir.transform.relax.bind_params:bind_main",
    "ir.functions": "relax_mlir.relax.expr.functions:functions",
    "ir.function_view": "relax_mlir.relax.expr.functions:function_view",
    "ir.emit_function": "relax_mlir.relax.builder.emitted:emitted",
    "ir.function_of_expression": "relax_mlir.relax.builder.emitted:function_of_expression",
    "ir.free_vars": "relax_mlir.relax.analysis.variables:free_vars",
    "ir.access_path": "relax_mlir.relax.expr.access_path:access_path",
    "ir.Expr": "relax_mlir.relax.expr.base:Expr",
    "ir.BaseFunc": "relax_mlir.relax.expr.functions:BaseFunc",
    "ir.GlobalVar": "relax_mlir.relax.expr:GlobalVar",
    "ir.Binding": "relax_mlir.relax.expr.blocks:Binding",
    "ir.as_type": "relax_mlir.relax.expr.types:as_type",
    "ir.ShapeExpr": "relax_mlir.relax.expr:ShapeExpr",
    "ir.script": "relax_mlir.script:script",
    "ir.show": "relax_mlir.script.highlight:show",
    "ir.html": "relax_mlir.script.highlight:page",
    # Python functions in scripts take and give expressions.
    "script.Expr": "relax_mlir.relax.expr:Expr",
    "script.GlobalVar": "relax_mlir.relax.expr:GlobalVar",
    "script.ExternFunc": "relax_mlir.relax.expr:ExternFunc",
    "script.ScriptBuilder": "relax_mlir.relax.builder.script_builder:ScriptBuilder",
    "script.frames": "relax_mlir.relax.ir_builder.relax",
    "script.call": "relax_mlir.relax.expr.values:operation_called",
    "ir.specialize": "relax_mlir.tir.specialize:specialize",
    "codegen.compile_module": "relax_mlir.lowering.codegen.native:compile_module",
    "script.PatternMatchingRewriter": "relax_mlir.relax.dpl:PatternMatchingRewriter",
    # Rewriting by patterns cleans up as passes do.
    "relax.inline_functions": "relax_mlir.transform.relax.inline_functions:inline_functions",
    "relax.inline_body": "relax_mlir.transform.relax.inline_function:inline_body",
    "relax.bind_params": "relax_mlir.transform.relax.bind_params:bind_params",
    "relax.bind_symbolic_vars": "relax_mlir.transform.relax.bind_symbolic_vars:bind_symbolic_vars",
    "relax.forward_copies": "relax_mlir.transform.relax.canonicalize_bindings:forward_copies",
    "relax.infer_type_pass": "relax_mlir.transform.relax.infer_type:infer_type",
    "relax.merge_equal": "relax_mlir.transform.relax.eliminate_common_subexpr:merge_equal",
    "relax.remove_unused": "relax_mlir.transform.relax.dead_code_elimination:remove_unused",
    "relax.substitute_in_function": "relax_mlir.transform.relax.bind_symbolic_vars:"
    "substitute_in_function",
    "relax.takes_arguments": "relax_mlir.transform.relax.rebuild:takes_arguments",
    "pass_infra.DataflowBlock": "relax_mlir.relax.expr.blocks:DataflowBlock",
    "runtime.find_pass": "relax_mlir.pass_infra.registry:find",
    "runtime.graph_function": "relax_mlir.runtime.graph.executor:factory_function",
    "runtime.VirtualMachine": "relax_mlir.runtime.vm.virtual_machine:VirtualMachine",
    # Methods of expressions that make or read expressions of other classes.
    "relax.Call": "relax_mlir.relax.expr.call:Call",
    "relax.PatternSeq": "relax_mlir.relax.dpl.sequence:PatternSeq",
    "relax.ShapeExpr": "relax_mlir.relax.expr.values:ShapeExpr",
    "relax.binding_text": "relax_mlir.relax.expr.text:binding_text",
    "relax.expr_text": "relax_mlir.relax.expr.text:expr_text",
    "relax.shape_field": "relax_mlir.relax.expr.shapes:shape_field",
    "relax.index_expr": "relax_mlir.relax.expr.indexing:index_expr",
    "relax.contains_type": "relax_mlir.relax.analysis.types:contains_type",
    "relax.infer_type": "relax_mlir.relax.expr.infer:infer_type",
    "relax.op": "relax_mlir.relax.op",
    "relax.operators": "relax_mlir.relax.expr.operators",
    "relax.script_text": "relax_mlir.relax.expr.script_text:script_text",
    "relax.shape_of": "relax_mlir.relax.op.calls:shape_of",
    "relax.te_tensor": "relax_mlir.relax.builder.te_calls:te_tensor",
    "pass_infra.passes": "relax_mlir.transform.table:TRANSFORM_PASSES",
    "pass_infra.from_spec": "relax_mlir.pass_infra.kinds.factory:from_spec",
    "pass_infra.upstream": "relax_mlir.pass_infra.kinds.factory:upstream",
    # Operators of scalar expressions make expressions of other classes.
    # Reading is recursive: an expression may hold statements, and these expressions.
    "script.StmtParser": "relax_mlir.script.relax_parser.stmt:StmtParser",
    "script.DummyGlobalInfo": "relax_mlir.ir.global_info:DummyGlobalInfo",
    "script.VDevice": "relax_mlir.ir.global_info:VDevice",
    "script.as_type": "relax_mlir.relax.expr.types:as_type",
    "script.closures": "relax_mlir.script.relax_parser.closures",
    "script.cpu": "relax_mlir.runtime.device.api:cpu",
    "script.device": "relax_mlir.runtime.device.api:device",
    "script.macros": "relax_mlir.script.parser.macros",
    "script.parameters": "relax_mlir.script.relax_parser.function:parameters",
    "script.parse_definition": "relax_mlir.script.parser.module:parse_definition",
    "script.relax_calls": "relax_mlir.script.relax_parser.calls",
    "script.tir_call": "relax_mlir.script.tir_parser.expr.named_calls:call",
    "tir.binary": "relax_mlir.tir.scalar.arithmetic:binary",
    "tir.called": "relax_mlir.tir.scalar.conversion:called",
    "tir.cast": "relax_mlir.tir.scalar.conversion:cast",
    "tir.PrimType": "relax_mlir.relax.expr.types:PrimType",
    "tir.functions": "relax_mlir.tir",
    "te.operators": "relax_mlir.topi",
}


@functools.cache
def extension(name: str) -> Any:
    """Return the implementation of an extension point.

    Args:
        name: its key in `TABLE`.
    """
    path, _, attribute = TABLE[name].partition(":")
    module = importlib.import_module(path)
    return getattr(module, attribute) if attribute else module
