"""`from_mlir`: a program of upstream dialects or StableHLO in, an IRModule out."""

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ModelError, RelaxMLIRError
from relax_mlir.frontend.coverage import Coverage
from relax_mlir.frontend.mlir import ops
from relax_mlir.frontend.mlir.importer import Importer, place_of
from relax_mlir.frontend.mlir.needs import needs
from relax_mlir.frontend.mlir.passes import dialects_of, prepare
from relax_mlir.frontend.mlir.reading import read_module
from relax_mlir.frontend.mlir.types import dtype_of, shape_of
from relax_mlir.frontend.names import Names
from relax_mlir.frontend.values import Value, materialize
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra import registry
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr import TensorType, Tuple, Var

_OURS = {"relax", "tir", "vm"}


def load_model(model: Any, **options: Any) -> IRModule:
    """Return a program of MLIR as it is where it is of our dialects, imported where it is not.

    Raises:
        ModelError: it cannot be read or imported.
    """
    return program(*read_module(model), **options)


def program(module: ir.Module, name: str, **options: Any) -> IRModule:
    """Return a module of our dialects as it is, and another one imported.

    Args:
        module: in a context that has StableHLO; the import changes it.
        name: for messages.
        options: of `from_mlir`.

    Raises:
        ModelError: it cannot be imported.
    """
    if dialects_of(module.operation) & _OURS or _is_ours(module):
        return IRModule(module)
    return _import(module, name, **options)


def coverage(model: Any) -> Coverage:
    """Return the operations that a program of upstream dialects needs."""
    module, name = read_module(model)
    prepare(module)
    ops.load()
    return needs(module, name)


def from_mlir(model: Any, shape_dict: Mapping[str, Any] | None = None) -> IRModule:
    """Import a program that computes on tensors: StableHLO, CHLO, TOSA, linalg, tensor, arith, scf.

    Every function that others may call becomes a Relax function; its private functions are inlined.
    Dynamic dimensions of parameters are symbols, and sizes that the program computes of them stay
    expressions of these. TOSA and `shape` go through upstream's own passes to linalg, `tensor` and
    `arith`; linalg becomes prim funcs.

    Args:
        model: MLIR text, bytecode, a portable artifact of StableHLO, the path of a file of these, a
            module of any MLIR bindings, or what `jax.export` gives.
        shape_dict: shapes of parameters instead of those in the program, by name; those without a
            name are `arg0`, `arg1`, ...

    Raises:
        UnsupportedOpError: operations cannot be imported; names all of them with their lines.
        ModelError: the program cannot be read, or not be imported.
    """
    module, name = read_module(model)
    return _import(module, name, shape_dict=shape_dict)


def _is_ours(module: ir.Module) -> bool:
    functions = [view.operation for view in module.body.operations]
    marks = ("relax.function", "tir.prim_func")
    return not functions or any(mark in each.attributes for each in functions for mark in marks)


def _import(module: ir.Module, name: str, shape_dict: Mapping[str, Any] | None = None) -> IRModule:
    ops.load()
    prepare(module)
    needs(module, name).check()
    functions = {
        ir.StringAttr(each.attributes["sym_name"]).value: each
        for each in (view.operation for view in module.body.operations)
        if each.name == "func.func"
    }
    public = [key for key, each in functions.items() if _is_public(each)] or list(functions)[:1]
    if not public:
        raise ModelError(f"{name} has no function")
    builder = BlockBuilder()
    for key in public:
        try:
            _function(builder, name, functions, key, dict(shape_dict or {}))
        except ModelError:
            raise
        except RelaxMLIRError as error:
            raise ModelError(f"{name}: function '@{key}': {error}") from error
    made = registry.get_pass("ConvertToDataflow")(builder.finalize())
    return registry.get_pass("DeadCodeElimination")(made)


def _is_public(function: Any) -> bool:
    attributes = function.attributes
    return "sym_visibility" not in attributes or (
        ir.StringAttr(attributes["sym_visibility"]).value == "public"
    )


def _function(
    builder: BlockBuilder, source: str, functions: Mapping[str, Any], key: str,
    shapes: dict[str, Any],
) -> None:  # fmt: skip
    function = functions[key]
    if not function.regions[0].blocks:
        raise ModelError(f"{source}: function '@{key}' has no body")
    arguments = list(function.regions[0].blocks[0].arguments)
    names = [_name(each, index) for index, each in enumerate(arguments)]
    unknown = sorted(set(shapes) - set(names))
    if unknown:
        raise ModelError(
            f"shape_dict has '{unknown[0]}'; the parameters of '@{key}' are {', '.join(names)}"
        )
    symbols = Names(_symbols(shapes.values()))
    params = [
        _parameter(each, called, shapes.get(called), symbols)
        for each, called in zip(arguments, names, strict=True)
    ]
    importer = Importer(builder, symbols, source, functions)
    place = place_of(function, source)
    with builder.at_line(*place), builder.function(key, params):
        values = [
            Value(dtype_of(each.type), var) for each, var in zip(arguments, params, strict=True)
        ]
        results = [materialize(each) for each in importer.run_function(key, values)]
        builder.emit_func_output(results[0] if len(results) == 1 else Tuple(results))


def _name(argument: Any, index: int) -> str:
    location = argument.location
    name = location.name_str if isinstance(location, ir.NameLoc) else ""
    return name if name.isidentifier() else f"arg{index}"


def _symbols(shapes: Any) -> set[str]:
    names: set[str] = set()
    for dim in (dim for shape in shapes for dim in shape):
        names |= {dim} if isinstance(dim, str) else SymExpr.of(dim).symbols
    return names


def _parameter(argument: Any, name: str, given: Sequence[Any] | None, names: Names) -> Var:
    dtype, shape = dtype_of(argument.type), shape_of(argument.type)
    if given is not None:
        return Var(name, TensorType(list(given), dtype))
    if shape is None:
        return Var(name, TensorType(dtype=dtype))
    dims = [names.fresh("n") if dim is None else dim for dim in shape]
    return Var(name, TensorType(dims, dtype))
