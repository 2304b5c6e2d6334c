"""The pass `remove-purity-checking`: pure calls of packed functions become plain ones."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import named
from relax_mlir.relax.builder.purity import is_pure


def remove_purity_checking(module: ir.Operation) -> None:
    """Write `call_pure_packed` and `call_inplace_packed` as `call_packed`, and so for closures.

    A function that was pure, nested ones too, says so by the attribute `relax.force_pure`. Calls in
    dataflow blocks stay, as nothing with an effect stands there: run ToNonDataflow first.
    """
    for view in module.regions[0].blocks[0].operations:
        func = view.operation
        if "relax.function" not in func.attributes or not len(func.regions[0].blocks):
            continue
        calls = [
            op
            for op in named(func, ("relax.call_pure_packed", "relax.call_inplace_packed"))
            if op.parent.operation.name != "relax.dataflow"
        ]
        for scope in [func, *named(func, ("relax.lambda",))]:
            if is_pure(scope):
                scope.attributes["relax.force_pure"] = ir.BoolAttr.get(True)
        for op in named(func, ("relax.invoke_closure",)):
            if "pure" in op.attributes and op.parent.operation.name != "relax.dataflow":
                del op.attributes["pure"]
        for op in calls:
            with ir.InsertionPoint(op), op.location:
                made = ir.Operation.create(
                    "relax.call_packed",
                    results=[result.type for result in op.results],
                    operands=list(op.operands),
                    attributes={"func": op.attributes["func"]},
                )
            op.results[0].replace_all_uses_with(made.results[0])
            op.erase()
