"""Analyses of prim funcs under TVM's names: forms, arithmetic, memory, accesses."""

from collections.abc import Iterable, Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError, VerifyError, missing
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import is_function, single
from relax_mlir.tir.scalar.dtypes import bits
from relax_mlir.tir.scalar.nodes import Reduce
from relax_mlir.tir.scalar.prim_expr import Leaf, PrimExpr, Size
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.statements import Block, BufferRegion, described, regions

# What counts as one operation of arithmetic, of numbers that are no indices.
_COUNTED = frozenset(
    f"arith.{name}"
    for name in (
        *("addf", "subf", "mulf", "divf", "remf", "negf", "addi", "subi", "muli", "divsi", "divui"),
        *("floordivsi", "remsi", "remui", "maximumf", "maxnumf", "maxsi", "maxui", "minimumf"),
        *("minnumf", "minsi", "minui"),
    )
)
_UNSUPPORTED = {
    "OOBChecker": "tir.transform.InstrumentBoundCheckers asserts that indices are inside",
    "verify_gpu_code": "GPUs have no lowering",
    "detect_buffer_access_lca": "get_block_access_region says what a block reads and writes",
    "expr_deep_equal": "relax_mlir.ir.structural_equal compares functions",
}


def __getattr__(name: str) -> Any:
    raise AttributeError(missing("tir.analysis", name, _UNSUPPORTED, globals()))


def verify_well_formed(obj: Any, assert_mode: bool = True) -> bool:
    """Whether a module or a function keeps the rules of its dialects.

    Args:
        obj: a module, or one of its functions.
        assert_mode: raise an error where it does not.

    Raises:
        VerifyError: it does not, and `assert_mode` is true.
        ExprTypeError: it is neither module nor function.
    """
    try:
        _module(obj, "verify_well_formed").verify()
    except VerifyError:
        if assert_mode:
            raise
        return False
    return True


def verify_ssa(func: Any) -> bool:
    """Whether each variable is defined once, which operations of MLIR that verify always do."""
    return verify_well_formed(func, assert_mode=False)


def verify_memory(func: Any) -> bool:
    """Whether code of the host leaves other devices' memory alone: all memory is the host's."""
    return verify_well_formed(func, assert_mode=False)


def estimate_tir_flops(stmt_or_mod: Any) -> float:
    """Return how many additions, products, quotients, minima and maxima prim funcs compute.

    Operations on indices, comparisons, conversions and functions such as `exp` are none; what
    functions such as `sigmoid` are made of counts. Of two branches the one with more counts, the
    body of a `while` once.

    Args:
        stmt_or_mod: a module, a function, a loop or a block.

    Raises:
        ExprTypeError: it is none of these.
        ExprError: a loop's extent is symbolic; `specialize` gives it a number.
    """
    return float(sum(_flops(each) for each in _roots(stmt_or_mod, "estimate_tir_flops")))


def _flops(operation: ir.Operation) -> int:
    own = 0
    if operation.name in _COUNTED and str(operation.results[0].type) != "index":
        own = 0 if _is_index(operation.results[0]) else 1
    inner = [
        sum(_flops(view.operation) for block in region.blocks for view in block.operations)
        for region in operation.regions
    ]
    if operation.name == "scf.if":
        return own + max(inner)
    if operation.name == tree.LOOP:
        return own + sum(inner) * _steps(operation)
    return own + sum(inner)


def _is_index(value: ir.Value) -> bool:
    """Whether a number serves only to say where something is."""
    uses = [use.owner.operation for use in value.uses]
    return bool(uses) and all(
        use.name == "arith.index_cast" or (
            use.name in _COUNTED and _is_index(use.results[0])
        )
        for use in uses
    )  # fmt: skip


def _steps(loop: ir.Operation) -> int:
    extent = Indices(tree.function_of(loop)).lift(loop.operands[1])
    if extent.value is None:
        raise ExprError(
            f"the extent of loop '{tree.loop_name(loop)}' is no number; specialize the prim func "
            "for sizes first"
        )
    return extent.value


def calculate_allocated_bytes(func_or_mod: Any) -> dict[str, dict[str, int]]:
    """Return how many bytes prim funcs allocate, by function and then by storage scope.

    Args:
        func_or_mod: a module, or a function, which is called `main`.

    Raises:
        ExprTypeError: it is neither.
        ExprError: a buffer's size is symbolic; `specialize` gives it a number.
    """
    module = _module(func_or_mod, "calculate_allocated_bytes")
    whole = func_or_mod is module
    result: dict[str, dict[str, int]] = {}
    for func in _prim_funcs(module):
        scopes: dict[str, int] = {}
        for operation in tree.walk(func):
            if operation.name != "memref.alloc":
                continue
            buffer = described(operation.results[0])
            count = 1
            for dim in buffer.shape:
                if not isinstance(dim, int):
                    raise ExprError(
                        f"the size of buffer '{buffer.name}' is no number; specialize the prim "
                        "func for sizes first"
                    )
                count *= dim
            size = (count * bits(buffer.dtype) + 7) // 8
            scopes[buffer.scope] = scopes.get(buffer.scope, 0) + size
        result[tree.string(func, "sym_name") if whole else "main"] = scopes
    return result


def get_block_access_region(
    block: Block, buffer_var_map: Mapping[Any, Any] | None = None
) -> list[list[BufferRegion]]:
    """Return which parts of buffers the body of a block accesses, each buffer once.

    Args:
        block: a `tir.Block`, as `sch.get` or `tir.stmt_functor.post_order_visit` gives it.
        buffer_var_map: as in TVM; a block knows the buffers of its function.

    Returns:
        What it reads, what it writes, and what it accesses in ways that are not known, such as
        calls, which is all of the buffer.

    Raises:
        ExprTypeError: it is no block.
    """
    result = _regions(block, "get_block_access_region")
    known = [(each, part) for each, part in result if each.ranges is not None]
    return [
        [part for each, part in known if each.reads],
        [part for each, part in known if each.writes],
        [part for each, part in result if each.ranges is None],
    ]


def get_block_read_write_region(
    block: Block, buffer_var_map: Mapping[Any, Any] | None = None
) -> list[list[BufferRegion]]:
    """Return which parts of buffers the body of a block reads, and which it writes.

    Args:
        block: as for `get_block_access_region`.
        buffer_var_map: as there.

    Raises:
        ExprTypeError: it is no block.
    """
    result = _regions(block, "get_block_read_write_region")
    return [
        [part for each, part in result if each.reads],
        [part for each, part in result if each.writes],
    ]


# Their names since TVM 0.23.
get_sblock_access_region = get_block_access_region
get_sblock_read_write_region = get_block_read_write_region


def _regions(block: Any, name: str) -> list[Any]:
    if not isinstance(block, Block):
        raise ExprTypeError(
            f"tir.analysis.{name} takes a tir.Block, which sch.get(block) gives, got "
            f"{type(block).__name__}"
        )
    return regions(block.operation)


def find_anchor_block(mod: Any) -> Block | None:
    """Return the block that computes most of those that reduce, None where there is none.

    Args:
        mod: a module, or a function.

    Raises:
        ExprTypeError: it is neither.
        ExprError: several reduce, and a loop's extent is symbolic.
    """
    module = _module(mod, "find_anchor_block")
    blocks = [
        each for func in _prim_funcs(module) for each in tree.nested_blocks(func)
        if tree.has_init(each)
    ]  # fmt: skip
    if not blocks:
        return None
    best = blocks[0] if len(blocks) == 1 else max(blocks, key=_cost)
    made = Block(best)
    made._keep = module
    return made


find_anchor_sblock = find_anchor_block


def _cost(block: ir.Operation) -> int:
    steps = 1
    for loop in tree.ancestors(block):
        steps *= _steps(loop) if loop.name == tree.LOOP else 1
    return steps * _flops(block)


def undefined_vars(node: Any, defs: Iterable[Any] | None = None) -> list[Any]:
    """Return the variables that an expression mentions and nothing in it defines, in order.

    Args:
        node: a scalar expression or a symbolic integer.
        defs: variables that count as defined.

    Raises:
        ExprTypeError: it is no expression.
    """
    known = {_key(each) for each in defs or ()}
    result: dict[Any, Any] = {}
    for each in _variables(node):
        if _key(each) not in known:
            result.setdefault(_key(each), each)
    return list(result.values())


def _key(variable: Any) -> Any:
    return str(variable) if isinstance(variable, SymExpr) else id(variable)


def _variables(node: Any) -> list[Any]:
    if isinstance(node, Size):
        node = node.expr
    if isinstance(node, SymExpr):
        return [SymExpr.var(name) for name in sorted(node.symbols)]
    if not isinstance(node, PrimExpr):
        raise ExprTypeError(
            f"undefined_vars takes a scalar expression, got {type(node).__name__}; operations of "
            "MLIR say what they use: op.operands"
        )
    if isinstance(node, Leaf):
        return [node]
    if isinstance(node, Reduce):
        own = {id(axis) for axis in node.reduction.axis}
        inside = [v for each in node.reduction.source for v in _variables(each)]
        return [each for each in inside if id(each) not in own]
    return [variable for each in node.operands for variable in _variables(each)]


def _module(obj: Any, name: str) -> IRModule:
    if isinstance(obj, IRModule):
        return obj
    if not is_function(obj):
        raise ExprTypeError(
            f"tir.analysis.{name} takes a module or a function, got {type(obj).__name__}"
        )
    return IRModule.from_expr(obj)


def _prim_funcs(module: IRModule) -> list[ir.Operation]:
    result = [view.operation for view in module.mlir_module.body.operations]
    return [func for func in result if "tir.prim_func" in func.attributes]


def _roots(obj: Any, name: str) -> list[ir.Operation]:
    operation: Any = getattr(obj, "operation", None)
    if isinstance(operation, ir.Operation) and operation.name != "func.func":
        return [operation]
    # A module made of it would end before its operations are looked at.
    return [single(obj)] if is_function(obj) else _prim_funcs(_module(obj, name))
