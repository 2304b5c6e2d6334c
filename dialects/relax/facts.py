"""Facts about symbols from a function: declared bounds, asserted equalities.

`R.func_attr({"tir_var_upper_bound": {"n": 1024}})`, `tir_var_lower_bound` and `relax.bounds`, which
gives both as `{"n": [1, 1024]}`, are checked when the function is entered; a `relax.match_cast`
checks what it asserts where it stands. So both may be used from there on.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.tuples import field_types, is_tuple
from relax_mlir.dialects.symbolic.atoms import Bounds
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts, assume_bounds

UPPER, LOWER, BOTH = "relax.tir_var_upper_bound", "relax.tir_var_lower_bound", "relax.bounds"


def declared_bounds(func: ir.Operation, *, strict: bool = True) -> dict[str, Bounds]:
    """Return the bounds that a function's attributes give its symbols.

    Args:
        func: the function.
        strict: whether an attribute without sense raises, or else gives no bounds at all.

    Raises:
        ValueError: an attribute does not give bounds.
    """
    try:
        return _declared_bounds(func)
    except ValueError:
        if strict:
            raise
        return {}


def _declared_bounds(func: ir.Operation) -> dict[str, Bounds]:
    bounds: dict[str, Bounds] = {}
    for key in (LOWER, UPPER, BOTH):
        if key not in func.attributes:
            continue
        attribute = func.attributes[key]
        if not isinstance(attribute, ir.DictAttr):
            raise ValueError(f"'{key}' is a dictionary from symbols to integers, got {attribute}")
        for item in attribute:
            low, high = bounds.get(item.name, (None, None))
            value = _integers(item.attr, key, item.name)
            if key == BOTH:
                if len(value) != 2:
                    raise ValueError(f"'{key}' gives '{item.name}' two integers, got {item.attr}")
                low, high = value
            elif len(value) != 1:
                raise ValueError(f"'{key}' gives '{item.name}' one integer, got {item.attr}")
            elif key == LOWER:
                low = value[0]
            else:
                high = value[0]
            if low is not None and high is not None and low > high:
                raise ValueError(f"no '{item.name}' is at least {low} and at most {high}")
            bounds[item.name] = (low, high)
    return bounds


def _integers(attribute: ir.Attribute, key: str, name: str) -> list[int]:
    attribute = attribute.maybe_downcast()
    if isinstance(attribute, ir.IntegerAttr):
        return [attribute.value]
    items = list(attribute) if isinstance(attribute, (ir.ArrayAttr, ir.DenseI64ArrayAttr)) else []
    given = [item if isinstance(item, int) else getattr(item, "value", None) for item in items]
    values = [value for value in given if type(value) is int]
    if not values or len(values) != len(given):
        raise ValueError(f"'{key}' gives '{name}' integers, got {attribute}")
    return values


def declared_facts(func: ir.Operation) -> Facts:
    """Return the facts that hold everywhere in a function; none for attributes without sense."""
    facts = Facts()
    assume_bounds(facts, declared_bounds(func, strict=False))
    return facts


def assume_cast(facts: Facts, op: ir.Operation) -> None:
    """Note what holds after a `relax.match_cast`: dimensions are those it declares."""
    _assume(facts, op.operands[0].type, op.results[0].type)


def _assume(facts: Facts, source: ir.Type, target: ir.Type) -> None:
    if is_tuple(source) and is_tuple(target):
        for a, b in zip(field_types(source), field_types(target), strict=False):
            _assume(facts, a, b)
        return
    left, right = _dims(source), _dims(target)
    if left is not None and right is not None and len(left) == len(right):
        for a, b in zip(left, right, strict=True):
            facts.assume(a == b)


def _dims(type_: ir.Type) -> list[SymExpr] | None:
    if T.is_tensor(type_):
        return T.tensor_dims(type_)
    return T.shape_dims(type_) if isinstance(type_, Shape) else None
