"""`AlterOpImpl`: other prim funcs, on other layouts, in the place of those of an operation."""

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir import te
from relax_mlir.dialects.relax.axis_map import AxisMap
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.relax import op
from relax_mlir.relax.expr import Call, GlobalVar, PrimFunc, TensorType, Tuple, TupleGetItem
from relax_mlir.relax.expr_functor import PyExprMutator
from relax_mlir.tir.schedule.index_map import IndexMap, index_map_of, inverse_of

# What a prim func computes, by name, and the name of what drops elements that were added.
OPERATOR_NAME = "operator_name"
REMOVE_PAD = "remove_pad"


def AlterOpImpl(
    op_impl_map: Mapping[str, Any], op_buffer_transforms: Mapping[str, Sequence[Any]]
) -> ModulePass:
    """Return the pass that calls other prim funcs for those with an attribute `operator_name`.

    Args:
        op_impl_map: a prim func by the name of an operation.
        op_buffer_transforms: for each of its buffers the layout that it takes, as a function of
            indices or `IndexMap`, or None for the layout as it is; none of them for all. Calls
            transform what they pass and what they get. What a layout adds is dropped again by
            prim funcs named `remove_pad`; `OptimizeLayoutTransform` takes out what cancels.

    Raises:
        PassError: when it runs, if a prim func has another number of buffers than its replacement
            or than there are layouts.
    """

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        mutator = _Alterer(mod, op_impl_map, op_buffer_transforms)
        for name in mod.function_names:
            func = mod[name]
            if "relax.function" in func.mlir_op.attributes:
                mutator.builder_.update_func(name, mutator.visit_expr(func))
        return mutator.builder_.get()

    return ModulePass(run, PassInfo("AlterOpImpl"))


class _Alterer(PyExprMutator):
    def __init__(
        self, mod: IRModule, funcs: Mapping[str, Any], layouts: Mapping[str, Sequence[Any]]
    ) -> None:
        super().__init__(mod)
        self._mod, self._funcs, self._layouts = mod, funcs, layouts
        self._added: dict[Any, GlobalVar] = {}

    def visit_call_(self, call: Call) -> Any:
        call = self.visit_expr_post_order(call)
        if getattr(call.op, "name", "") != "relax.call_tir":
            return call
        old = self._mod[call.args[0].name_hint]
        kind: Any = dict(old.attrs).get(OPERATOR_NAME)
        kind = getattr(kind, "value", kind)
        if kind not in self._funcs:
            return call
        new, inputs = self._funcs[kind], list(call.args[1])
        outputs: Any = call.ty_args[0]
        old_types = list(outputs.fields) if hasattr(outputs, "fields") else [outputs]
        count = len(inputs) + len(old_types)
        given = list(self._layouts.get(kind, ())) or [None] * count
        if len(given) != count or len(new.params) != len(old.params):
            raise PassError(
                "AlterOpImpl",
                f"'{call.args[0].name_hint}' has {count} buffers, its replacement for '{kind}' has "
                f"{len(new.params)}, and there are {len(given)} layouts",
            )
        maps = [None if each is None else index_map_of(_single(each)) for each in given]
        passed = [_laid_out(x, each) for x, each in zip(inputs, maps, strict=False)]
        after = maps[len(inputs) :]
        types = [_type(type_, each) for type_, each in zip(old_types, after, strict=True)]
        made = op.call_tir(
            self._function(kind, new), passed,
            out_ty=types if hasattr(outputs, "fields") else types[0],
        )  # fmt: skip
        if all(each is None for each in after):
            return made
        made = self.builder_.emit(made)
        if not hasattr(outputs, "fields"):
            return self._back(made, after[0], old_types[0])
        fields = []
        for i, (each, type_) in enumerate(zip(after, old_types, strict=True)):
            field = self.builder_.emit(TupleGetItem(made, i))
            fields.append(self.builder_.emit(self._back(field, each, type_)))
        return Tuple(fields)

    def _function(self, kind: str, func: Any) -> GlobalVar:
        if id(func) not in self._added:
            named = func.with_attr(OPERATOR_NAME, kind)
            name = f"{kind}_replacement".replace(".", "_")
            self._added[id(func)] = self.builder_.add_func(named, name)
        return self._added[id(func)]

    def _back(self, value: Any, index_map: IndexMap | None, type_: Any) -> Any:
        """Return a result in the layout that it had."""
        if index_map is None:
            return value
        back, _ = inverse_of(index_map, type_.dims)
        padded: Any = self.builder_.emit(_laid_out(value, back))
        if list(padded.ty.dims) == list(type_.dims):
            return padded
        key = REMOVE_PAD, type_.ndim, type_.dtype
        if key not in self._added:
            func = _remove_pad(type_.ndim, type_.dtype)
            self._added[key] = self.builder_.add_func(func, REMOVE_PAD)
        return op.call_tir(self._added[key], [padded], out_ty=type_)


def _single(layout: Any) -> Any:
    """Return a layout alone where it comes with axis separators."""
    return layout[0] if isinstance(layout, (list, tuple)) else layout


def _laid_out(value: Any, index_map: IndexMap | None) -> Any:
    return value if index_map is None else op.layout_transform(value, index_map)


def _type(type_: Any, index_map: IndexMap | None) -> TensorType:
    if index_map is None:
        return type_
    return TensorType(AxisMap.of(index_map).shape(type_.dims), type_.dtype)


def _remove_pad(ndim: int, dtype: str) -> PrimFunc:
    """Return the prim func of any sizes that copies the first elements along each axis."""
    wide, dims = ([te.var(f"{x}{i}", "int64") for i in range(ndim)] for x in "pi")
    source = te.placeholder(wide, dtype, "input")
    made = te.create_prim_func([source, te.compute(dims, lambda *at: source[at], "output")])
    return made.with_attr(OPERATOR_NAME, REMOVE_PAD).without_attr("global_symbol")
