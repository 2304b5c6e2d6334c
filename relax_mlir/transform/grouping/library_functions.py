"""Functions for libraries: composite functions, and those around them that a library compiles."""

from collections.abc import Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import call_arguments, make_tuple
from relax_mlir.lowering.walk import named
from relax_mlir.relax.builder.functions import FunctionTable
from relax_mlir.relax.expr_functor.edit import erase
from relax_mlir.transform.grouping.grouped_functions import CODEGEN, COMPOSITE, PRIMITIVE
from relax_mlir.transform.relax.dead_code_elimination import remove_unreachable

func: ModuleType = submodule("dialects.func")


def library_of(function: ir.Operation) -> str | None:
    """Return the library of a composite function: what its name begins with; None for others."""
    if COMPOSITE not in function.attributes:
        return None
    return ir.StringAttr(function.attributes[COMPOSITE]).value.partition(".")[0]


def functions_by_name(module: ir.Operation) -> dict[str, ir.Operation]:
    """Return the functions of a module."""
    return {
        ir.StringAttr(view.operation.attributes["sym_name"]).value: view.operation
        for view in module.regions[0].blocks[0].operations
        if "sym_name" in view.operation.attributes
    }


def callee(call: ir.Operation) -> str:
    """Return the name of the function that a `relax.call` calls."""
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def annotate_codegen(module: ir.Operation) -> None:
    """Put each composite function that is called into a public one with the attribute `Codegen`.

    The function inside keeps the attribute `Composite`, so that a library sees what it is asked to
    compute.
    """
    functions = functions_by_name(module)
    table = FunctionTable(module.regions[0].blocks[0])
    made: dict[str, str] = {}
    for call in named(module, ("relax.call",)):
        name = callee(call)
        library = library_of(functions[name])
        if library is None or _is_for_library(call):
            continue
        if name not in made:
            made[name] = table.names.fresh(f"{name}_{library}")
            table.insert(_around(functions[name], library), made[name])
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get(made[name])
    remove_unreachable(module)


def _is_for_library(op: ir.Operation) -> bool:
    while op.parent is not None:
        op = op.parent.operation
        if CODEGEN in op.attributes or COMPOSITE in op.attributes:
            return True
    return False


def _around(inner: ir.Operation, library: str) -> ir.Operation:
    """Return a function that defines a copy of another one inside itself, and calls that."""
    block = inner.regions[0].blocks[0]
    signature = ir.FunctionType(ir.TypeAttr(inner.attributes["function_type"]).value)
    with inner.location:
        op = func.FuncOp("library", (signature.inputs, signature.results), ip=False).operation
        body = op.regions[0].blocks.append(
            *signature.inputs, arg_locs=[argument.location for argument in block.arguments]
        )
        with ir.InsertionPoint(body):
            result = call_inside(define_inside(inner), inner, list(body.arguments))
            func.ReturnOp([result])
    op.attributes["relax.function"] = ir.UnitAttr.get()
    op.attributes[CODEGEN] = ir.StringAttr.get(library)
    for name in ("relax.params", "arg_attrs"):
        if name in inner.attributes:
            op.attributes[name] = inner.attributes[name]
    return op


def define_inside(function: ir.Operation) -> ir.Value:
    """Define a copy of a function at the current insertion point, as a function inside another."""
    name = ir.StringAttr(function.attributes["sym_name"]).value
    place = ir.Location.current
    with ir.Location.name(name, childLoc=nameless(place)):
        kept = {
            key: function.attributes[key]
            for key in function.attributes
            if key.startswith("relax.") and key not in (PRIMITIVE, "relax.function", "relax.params")
        }
        made = ir.Operation.create(
            "relax.lambda", results=[T.object_type()], attributes=kept, regions=1
        )
        copy = function.clone(ip=False)
        copy.operation.regions[0].blocks[0].append_to(made.regions[0])
        end = list(made.regions[0].blocks[0].operations)[-1].operation
        with ir.InsertionPoint(end):
            ir.Operation.create("relax.yield", operands=list(end.operands))
        end.erase()
    return made.results[0]


def call_inside(defined: ir.Value, function: ir.Operation, values: Sequence[ir.Value]) -> ir.Value:
    """Call what `define_inside` has made of a function."""
    with nameless(ir.Location.current):
        given = make_tuple(values)
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return ir.Operation.create(
        "relax.invoke_closure",
        results=[signature.results[0]],
        operands=[defined, given],
        attributes={"pure": ir.UnitAttr.get()},
    ).result


def inline_composites(function: ir.Operation, functions: dict[str, ir.Operation]) -> None:
    """Define the composite functions that a function calls inside of it."""
    defined: dict[str, ir.Value] = {}
    for call in named(function, ("relax.call",)):
        inner = functions[callee(call)]
        if COMPOSITE not in inner.attributes:
            continue
        with ir.InsertionPoint(call), call.location:
            if callee(call) not in defined:
                defined[callee(call)] = define_inside(inner)
            result = call_inside(defined[callee(call)], inner, call_arguments(call))
        result.set_type(call.results[0].type)
        call.results[0].replace_all_uses_with(result)
        erase(call)
