"""Validity of attributes and types that MLIR does not check at construction.

Neither attributes nor types have verifiers in the Python bindings, so the verifiers of operations
ask here about every type they meet, and the checks of whole functions about signatures.
"""

from itertools import pairwise

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import AnyDtype, Dims, Shape, remembered
from relax_mlir.dialects.symbolic.parse import leaf

_INTEGERS = (8, 16, 32, 64)
_FLOATS = (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type)
# Those of other dialects are not judged.
_FOREIGN = (
    ir.IndexType,
    ir.NoneType,
    ir.ComplexType,
    ir.VectorType,
    ir.MemRefType,
    ir.UnrankedMemRefType,
)


def dims_problem(attribute: ir.Attribute) -> str:
    """Return what is wrong with a `#relax.dims` attribute, `""` when nothing is."""
    if not isinstance(attribute, Dims):
        return f"expected #relax.dims, got {attribute}"
    names, exprs = (a.maybe_downcast() for a in (attribute.names, attribute.exprs))
    if not isinstance(names, ir.ArrayAttr) or not isinstance(exprs, ir.AffineMapAttr):
        return f"#relax.dims takes an array of names and an affine map, got {names} and {exprs}"
    spelled = []
    for name in names:
        if not isinstance(name, ir.StringAttr):
            return f"the names in #relax.dims are strings, got {name}"
        spelled.append(name.value)
    for name in spelled:
        try:
            leaf(name)
        except ValueError as error:
            return str(error)
    for before, name in pairwise(spelled):
        if before == name:
            return f"symbol '{name}' occurs twice in #relax.dims"
        if before > name:
            return f"the names in #relax.dims must be sorted, got '{before}' before '{name}'"
    affine = exprs.value
    if affine.n_dims:
        return f"#relax.dims names symbols, not dimension identifiers, got {affine}"
    if affine.n_symbols != len(spelled):
        return f"#relax.dims has {len(spelled)} names for {affine.n_symbols} symbols"
    try:
        dims = attribute.dims
    except ValueError as error:
        return str(error)
    used = frozenset().union(*(dim.leaves for dim in dims))
    for name in spelled:
        if name not in used:
            return f"no dimension of #relax.dims uses symbol '{name}'"
    return ""


def element_problem(element: ir.Type) -> str:
    """Return why no Relax tensor has elements of this type, `""` when one has."""
    if isinstance(element, (*_FLOATS, AnyDtype)):
        return ""
    if isinstance(element, ir.IntegerType):
        width = element.width
        if (element.is_signless and width in (1, *_INTEGERS)) or (
            element.is_unsigned and width in _INTEGERS
        ):
            return ""
    return f"'{element}' is not an element type of a Relax tensor"


def type_problem(type_: ir.Type) -> str:
    """Return what is wrong with the type of a Relax value, `""` when nothing is."""
    answers, key = remembered("_relax_problems", type_), hash(type_)
    if key not in answers:
        answers[key] = _type_problem(type_)
    return answers[key]


def _type_problem(type_: ir.Type) -> str:
    if isinstance(type_, ir.RankedTensorType):
        return element_problem(type_.element_type) or _encoding_problem(type_)
    if isinstance(type_, ir.UnrankedTensorType):
        return element_problem(type_.element_type)
    if isinstance(type_, Shape):
        return _shape_problem(type_)
    if isinstance(type_, ir.TupleType):
        for index in range(type_.num_types):
            problem = type_problem(type_.get_type(index))
            if problem:
                return problem
    foreign = isinstance(type_, (*_FOREIGN, ir.FloatType, ir.IntegerType))
    if foreign and (isinstance(type_, AnyDtype) or element_problem(type_)):
        return f"no Relax value has type '{type_}'"
    return ""


def _encoding_problem(type_: ir.RankedTensorType) -> str:
    encoding = type_.encoding
    if encoding is None:
        return ""
    if not isinstance(encoding, Dims):
        return f"the encoding of a Relax tensor must be #relax.dims, got {encoding}"
    problem = dims_problem(encoding)
    if problem:
        return problem
    dims = encoding.dims
    if len(dims) != type_.rank:
        return f"#relax.dims has {len(dims)} dimensions for a tensor of {type_.rank}"
    if type_.has_static_shape:
        return f"a tensor of static shape has no encoding, got {type_}"
    for index, dim in enumerate(dims):
        size = None if type_.is_dynamic_dim(index) else type_.get_dim_size(index)
        if size != dim.value:
            declared = "?" if size is None else size
            return f"dimension {index} is {declared} in the tensor and {dim} in its #relax.dims"
    return ""


def _shape_problem(type_: Shape) -> str:
    known = type_.known.maybe_downcast()
    if isinstance(known, ir.UnitAttr):
        return ""
    if isinstance(known, ir.IntegerAttr):
        if str(known.type) == "i64" and known.value >= 0:
            return ""
        return f"the length of !relax.shape is a non-negative i64, got {known}"
    if isinstance(known, Dims):
        problem = dims_problem(known)
        if problem:
            return problem
        for index, dim in enumerate(known.dims):
            if dim.value is not None and dim.value < 0:
                return f"dimension {index} of a shape cannot be negative, got {dim}"
        return ""
    return f"!relax.shape takes #relax.dims, a length or unit, got {known}"
