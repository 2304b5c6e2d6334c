"""Upstream's own passes, run before and during the import."""

from collections.abc import Iterable

from relax_mlir.dialects.bindings import ir, passmanager, submodule
from relax_mlir.lowering.walk import names_below
from relax_mlir.pass_infra.execution.diagnostics import captured

# Loads CHLO, which the bindings do not register by themselves.
_LOADS_CHLO = "builtin.module(func.func(stablehlo-legalize-quant-to-math))"
TOSA = (
    "builtin.module(func.func(tosa-infer-shapes,tosa-optional-decompositions,canonicalize,"
    "tosa-infer-shapes,tosa-to-linalg-named,canonicalize,tosa-to-linalg,tosa-to-arith,"
    "tosa-to-tensor,tosa-to-scf,canonicalize,cse))"
)
LINALG = "builtin.module(func.func(linalg-generalize-named-ops))"
SHAPE = "builtin.module(convert-shape-to-std)"
STABLEHLO = "builtin.module(func.func(chlo-legalize-to-stablehlo),stablehlo-legalize-to-linalg)"


def load_dialects(context: ir.Context) -> None:
    """Load StableHLO and CHLO into a context."""
    bindings = submodule("_mlir_libs._stablehlo")
    bindings.register_dialect(context)
    bindings.register_stablehlo_passes()
    with context, ir.Location.unknown():
        passmanager.PassManager.parse(_LOADS_CHLO).run(ir.Module.create().operation)


def run(module: ir.Operation, pipeline: str) -> str:
    """Run passes over a module, which is changed also where they fail.

    Returns:
        What was wrong, in a line; empty if nothing was.
    """
    with module.context as context, captured(context) as diagnostics:
        try:
            passmanager.PassManager.parse(pipeline).run(module)
        except ir.MLIRError as error:
            return diagnostics[0].message if diagnostics else str(error).splitlines()[0]
    return ""


def dialects_of(module: ir.Operation) -> set[str]:
    """Return the dialects whose operations a module has."""
    return {name.partition(".")[0] for name in names_below(module)}


def prepare(module: ir.Module) -> None:
    """Take TOSA and shape to dialects that have converters, and named operations to generic ones.

    What a pass cannot take stays as it is.
    """
    used = dialects_of(module.operation)
    for dialects, pipeline in _PREPARATION:
        if used & set(dialects):
            run(module.operation, pipeline)


_PREPARATION: Iterable[tuple[tuple[str, ...], str]] = (
    (("tosa",), TOSA), (("shape",), SHAPE), (("tosa", "linalg"), LINALG),
)  # fmt: skip


_CONSTANTS = ("tosa.const", "tosa.const_shape")


def outlined(op: ir.Operation) -> ir.Module:
    """Return a module of a function that is one operation; constants among its operands go along.

    The function takes what the operation takes, constants or not.
    """
    with op.context, op.location:
        module = ir.Module.create()
        types = [operand.type for operand in op.operands]
        results = [result.type for result in op.results]
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("outlined"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, results)),
                },
                regions=1,
            )
        block = function.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            inputs = [
                operand.owner.clone().results[0] if _is_constant(operand) else argument
                for operand, argument in zip(op.operands, block.arguments, strict=True)
            ]
            copy = op.clone()
            for index, value in enumerate(inputs):
                copy.operands[index] = value
            ir.Operation.create("func.return", operands=list(copy.results))
    return module


def _is_constant(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name in _CONSTANTS


def lowers(op: ir.Operation) -> bool:
    """Whether upstream's passes take an operation of TOSA to other dialects."""
    if op.name in _CONSTANTS:
        return True
    module = outlined(op)
    return not run(module.operation, TOSA) and "tosa" not in dialects_of(module.operation)
