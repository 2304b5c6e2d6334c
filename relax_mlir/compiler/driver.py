"""`relax_mlir.compile`: the entry point for Relax programs, prim funcs, schedules and models."""

from typing import TYPE_CHECKING, Any

from relax_mlir.compiler.pipeline import build as build_module
from relax_mlir.errors import ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule, module_of
from relax_mlir.ir.single_function import single

if TYPE_CHECKING:
    from relax_mlir.lowering.target.target import Target
    from relax_mlir.runtime.executable import Executable


def build(
    mod: Any, target: "str | Target | None" = None, *, name: str | None = None
) -> "Executable":
    """Compile prim funcs, as TVM's `tvm.build` does; `compile` under its older name.

    Args:
        mod: a module, a function or a schedule.
        target: as for `compile`.
        name: of the only function; calling the executable calls it.

    Raises:
        ExprTypeError: `mod` is none of these.
        RelaxMLIRError: as for `compile`.
    """
    module = module_of(mod)
    if name is not None:
        module = IRModule({name: single(module)})
    return compile(module, target)


def compile(
    mod: Any,
    target: "str | Target | None" = None,
    *,
    relax_pipeline: Any = "default",
    tir_pipeline: Any = "default",
    exec_mode: str = "bytecode",
    **options: Any,
) -> Any:
    """Compile Relax functions and prim funcs, as TVM's `tvm.compile` does.

    Prim funcs are called as `compile(mod)["name"](a, b)`, with their outputs among the arguments;
    Relax functions the same way, or through a `relax.VirtualMachine`.

    Args:
        mod: a module of Relax functions, prim funcs or both, one function, or a schedule, which
            stay as they are. Also a model of a framework that `relax_mlir.frontend` imports, or
            the path of its file.
        target: as for `relax.build`.
        relax_pipeline: as for `relax.build`.
        tir_pipeline: as for `relax.build`.
        exec_mode: as for `relax.build`.
        options: of the importer of a model: `inputs` and `dynamic_shapes` of a `torch.nn.Module`.

    Returns:
        An `Executable`; of a program of PyTorch what is called as the model is, with tensors.

    Raises:
        TypeError: `mod` is none of them, or there are options and `mod` is no model.
        ModelError: a model is broken, or needs what cannot be imported.
        VerifyError: the program breaks a rule of its dialect.
        PassError: a pass failed.
        PipelineError: unknown pass, pipeline or target.
        CompileError: code generation could not continue.
    """
    model = extension("compiler.load_model")(mod, **options)
    if hasattr(model, "compile"):
        return model.compile(target, relax_pipeline)
    try:
        module = module_of(mod if model is None else model)
    except ExprTypeError as error:
        kinds = "an ONNX model, a program or module of PyTorch, a JAX export, the path of a model"
        raise ExprTypeError(f"compile: {error}; or a model: {kinds}") from None
    return build_module(
        module,
        target,
        None,
        relax_pipeline,
        tir_pipeline,
        exec_mode,
    )
