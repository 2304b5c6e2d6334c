"""`CombineParallelMatmul`: products of one matrix with several become one product."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import named
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.relax import op
from relax_mlir.relax.dpl.function_rewriter import FunctionRewriter
from relax_mlir.relax.dpl.rewrite import replace_together
from relax_mlir.relax.expr import TensorType, TupleGetItem, var, view_op
from relax_mlir.relax.expr.places import DATAFLOW, defining_op, is_local
from relax_mlir.transform.grouping.grouped_functions import bindings_of

# Takes the left matrix, the right ones, the biases, and the values of variables.
Check = Callable[[Any, list[Any], list[Any], Mapping[Any, Any]], bool]

_ACTIVATIONS = ("relax.relu", "relax.gelu", "relax.gelu_tanh", "relax.silu")


@dataclass
class _Branch:
    """A product, and what is computed of it alone.

    Attributes:
        right: the right matrix.
        bias: what is added to the product, if all branches of the group have one.
        result: the operation whose result stands for the branch.
    """

    product: ir.Operation
    right: Any
    bias: Any = None
    bias_add: ir.Operation | None = None
    activation: ir.Operation | None = None

    @property
    def width(self) -> SymExpr:
        return self.right.ty.dims[-1]


def CombineParallelMatmul(check: Check | None = None) -> ModulePass:
    """Return the pass that makes one product of those of one left matrix in a dataflow block.

    The right matrices are joined by `concat` and the result is split. Biases and activations that
    all products have are computed of the whole. Right matrices are of one rank and equal batches;
    one of them may have an unknown number of columns.

    Args:
        check: whether products are combined, given the left matrix, the right ones, the biases, and
            the values of variables; by default they are.
    """

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        module = mod.mlir_module.operation
        with lock_of(mod.context), mod.context, ir.Location.unknown():
            for func in functions_to_optimize(module):
                edit = FunctionRewriter(module, func)
                # Each step leaves fewer products.
                while any(
                    _Combiner(edit, dataflow, mod, check).run()
                    for dataflow in named(func, (DATAFLOW,))
                ):
                    pass
        return mod

    return ModulePass(run, PassInfo("CombineParallelMatmul"))


class _Combiner:
    def __init__(
        self, edit: FunctionRewriter, dataflow: ir.Operation, mod: IRModule, check: Check | None
    ) -> None:
        self._edit, self._mod, self._check = edit, mod, check
        self._ops = bindings_of(dataflow)
        self._block = dataflow.regions[0].blocks[0]
        self._values = {
            self._var(each): view_op(each, mod) for each in self._ops if len(each.results)
        }

    def run(self) -> bool:
        """Combine the products of one left matrix; returns whether there were some."""
        groups: dict[Any, list[_Branch]] = {}
        for each in self._ops:
            if each.name == "relax.matmul":
                branch = self._branch(each)
                if branch is not None:
                    right, result = branch.right.ty, T.tensor_dtype(each.results[0].type)
                    key = each.operands[0], tuple(right.dims[:-2]), right.dtype, result
                    groups.setdefault(key, []).append(branch)
        for branches in groups.values():
            replaced = self._combined(self._independent(branches))
            if replaced:
                places = sorted(replaced, key=self._ops.index)
                replacements = {self._var(each): replaced[each] for each in places}
                replace_together(self._edit, self._block, replacements)
                return True
        return False

    def _var(self, each: ir.Operation) -> Any:
        return var(each.results[0], self._mod)

    def _branch(self, product: ir.Operation) -> _Branch | None:
        call = view_op(product, self._mod)
        left, right = (each.ty for each in call.args)
        if any(not isinstance(t, TensorType) or t.dims is None for t in (left, right)):
            return None
        if right.ndim < 2 or left.ndim < 1:
            return None
        branch = _Branch(product, call.args[1])
        after = self._only_user(product)
        if after is not None and after.name == "relax.add":
            sides = list(after.operands)
            other = sides[1] if sides[0] == product.results[0] else sides[0]
            branch.bias, branch.bias_add = view_op(after, self._mod), after
            branch.bias = branch.bias.args[sides.index(other)]
            after = self._only_user(after)
        if after is not None and after.name in _ACTIVATIONS:
            branch.activation = after
        return branch

    def _only_user(self, each: ir.Operation) -> ir.Operation | None:
        users = [use.owner.operation for use in each.results[0].uses]
        return users[0] if len(users) == 1 and is_local(each.results[0]) else None

    def _independent(self, branches: Sequence[_Branch]) -> list[_Branch]:
        """Return the branches that need no other one, without biases that do."""
        products = {each.product: each for each in branches}
        needing: set[ir.Operation | None] = set()
        result = []
        for here in (view.operation for view in self._block.operations):
            needs = not needing.isdisjoint(map(defining_op, here.operands))
            if not needs and here in products:
                result.append(products[here])
            if needs or here in products:
                needing.add(here)
        for each in result:
            value = None if each.bias is None else each.bias.mlir_value
            if value is not None and defining_op(value) in needing:
                each.bias = each.bias_add = each.activation = None
        return result

    def _combined(self, branches: Sequence[_Branch]) -> dict[ir.Operation, Any]:
        """Return what stands for the results of branches, by the operations that make them."""
        static = [each for each in branches if each.width.is_const]
        # The last part of a split may be of any size.
        chosen = static + [each for each in branches if not each.width.is_const][:1]
        if len(chosen) < 2:
            return {}
        call = view_op(chosen[0].product, self._mod)
        left, rank = call.args[0], chosen[0].right.ty.ndim
        has_bias = all(
            each.bias is not None and each.bias.ty.ndim == chosen[0].bias.ty.ndim
            and each.bias.ty.dims is not None and each.bias.ty.dims[-1:] == (each.width,)
            for each in chosen
        )  # fmt: skip
        kinds = {None if each.activation is None else each.activation.name for each in chosen}
        plain = all(each.bias is None for each in chosen)
        activation = kinds.pop() if len(kinds) == 1 and (has_bias or plain) else None
        biases = [each.bias for each in chosen] if has_bias else []
        rights = [each.right for each in chosen]
        if self._check is not None and not self._check(left, rights, biases, self._values):
            return {}
        dtype = T.tensor_dtype(chosen[0].product.results[0].type)
        whole = op.matmul(left, op.concat(rights, axis=rank - 1), out_dtype=dtype or None)
        if has_bias:
            whole = op.add(whole, op.concat(biases, axis=biases[0].ty.ndim - 1))
        if activation is not None:
            whole = getattr(op, activation.removeprefix("relax."))(whole)
        places = list(itertools.accumulate(each.width.value or 0 for each in chosen[:-1]))
        axis = max(left.ty.ndim, rank) - 1
        ends = [self._end(each, has_bias, activation) for each in chosen]
        with self._edit.builder.insert_before(max(ends, key=self._ops.index)):
            made = self._edit.value_of(op.split(whole, places, axis=axis), "")
        parts = var(made, self._mod)
        return {end: TupleGetItem(parts, index) for index, end in enumerate(ends)}

    def _end(self, branch: _Branch, has_bias: bool, activation: str | None) -> ir.Operation:
        result = branch.product
        if has_bias and branch.bias_add is not None:
            result = branch.bias_add
        if activation is not None and branch.activation is not None:
            result = branch.activation
        return result
