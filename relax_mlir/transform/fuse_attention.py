"""The pass `fuse-attention`: a softmax between two products of matrices becomes one operation.

`matmul(softmax(matmul(q, k) * scale + bias), v)`, as models spell attention, needs all scores at
once; `relax.attention` keeps a block of them at a time. Transposes around it become its layout.
"""

from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, build, read_attributes
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.transform.dead_code_elimination import remove_unused
from relax_mlir.transform.effects import functions_to_optimize, written_values

# Letters of the operation's dimensions, in the order that products of matrices have them.
_LAYOUTS = {2: "SH", 3: "BSH", 4: "BNSH"}


@dataclass
class _Found:
    """What a chain of operations computes scores from.

    Attributes:
        query, key, value: the operands of the products, each with its letters.
        scale: what products are multiplied by.
        bias: what is added to them, or None.
    """

    query: tuple[ir.Value, str]
    key: tuple[ir.Value, str]
    value: tuple[ir.Value, str]
    scale: float
    bias: ir.Value | None = field(default=None)


def fuse_attention(module: ir.Operation) -> None:
    """Replace composed attention whose scores and their softmax nobody else uses.

    Rows of which no key is seen stay NaN, as a softmax makes them.
    """
    for func in functions_to_optimize(module):
        products: list[ir.Operation] = []

        def visit(op: ir.Operation, products: list[ir.Operation] = products) -> ir.WalkResult:
            if op.name == "relax.matmul":
                products.append(op)
            return ir.WalkResult.ADVANCE

        func.walk(visit)
        candidates = [(op, found) for op in products if (found := _match(op)) is not None]
        written = written_values(func) if candidates else ()
        done = [_rewrite(*each) for each in candidates if not _changes(each[1], written)]
        if any(done):
            remove_unused(func)


def _changes(found: _Found, written: Any) -> bool:
    """Whether something may write to an operand, perhaps between its first use and the last."""
    values = (found.query[0], found.key[0], found.value[0], found.bias)
    return any(value is not None and value in written for value in values)


def _match(last: ir.Operation) -> _Found | None:
    dims = T.tensor_dims(last.results[0].type)
    if dims is None or len(dims) not in _LAYOUTS:
        return None
    letters = _LAYOUTS[len(dims)]
    softmax = _made_by(last.operands[0], "relax.softmax")
    if softmax is None or _attributes(softmax)["axis"] not in (-1, len(dims) - 1):
        return None
    scores, bias, scale = softmax.operands[0], None, 1.0
    added = _made_by(scores, "relax.add")
    if added is not None:
        scores, bias = _chain_first(*added.operands)
    scores, factor = _scaled(scores)
    scale *= factor
    product = _made_by(scores, "relax.matmul")
    if product is None or any(_attributes(op)["out_dtype"] for op in (last, product)):
        return None
    (query, by_query), (key, by_key) = (_scaled(value) for value in product.operands)
    found = _Found(
        _untransposed(query, letters),
        _untransposed(key, letters[:-2] + "HS"),
        _untransposed(last.operands[1], letters),
        scale * by_query * by_key,
        bias,
    )
    return found if _fits(found, dims, letters) else None


def _chain_first(a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return the operand that comes from a product of matrices, then the other."""
    scaled, _ = _scaled(a)
    return (a, b) if _made_by(scaled, "relax.matmul") is not None else (b, a)


def _fits(found: _Found, dims: list[SymExpr], letters: str) -> bool:
    """Whether the products take whole operands: none is broadcast but keys of one head."""
    sizes = []
    for value, own in (found.query, found.key, found.value):
        each = T.tensor_dims(value.type)
        if each is None or len(each) != len(own):
            return False
        sizes.append(dict(zip(own, each, strict=True)))
    query, key, value = sizes
    if len(letters) > 2 and not query["B"] == key["B"] == value["B"]:
        return False
    if "N" in letters:
        shared = key["N"] == 1 and query["N"].is_const
        if key["N"] != value["N"] or not (shared or key["N"] == query["N"]):
            return False
    if query["H"] != key["H"] or key["S"] != value["S"]:
        return False
    if found.bias is None:
        return True
    added = T.tensor_dims(found.bias.type)
    scores = [*dims[:-1], key["S"]]
    if added is None or not 1 <= len(added) <= len(scores) or len(scores) < 3:
        return False
    last = scores[len(scores) - len(added) :]
    return all(dim in (each, 1) for dim, each in zip(added, last, strict=True))


def _rewrite(last: ir.Operation, found: _Found) -> bool:
    """Replace the last product, and the transpose after it; whether that could be done."""
    letters = _LAYOUTS[len(T.tensor_dims(last.results[0].type) or ())]
    root, result = last, letters
    uses = list(last.results[0].uses)
    if len(uses) == 1 and uses[0].owner.operation.name == "relax.permute_dims":
        root = uses[0].owner.operation
        result = "".join(letters[axis] for axis in _axes(root, len(letters)))
    layouts = [found.query[1], found.key[1], found.value[1], result]
    layout = layouts[0] if len(set(layouts)) == 1 else ",".join(layouts)
    attrs = {"scale": found.scale, "layout": layout, "zero_unseen": False}
    with ir.InsertionPoint(root), root.location:
        bias = _of_rank(found.bias, len(letters))
        operands = [found.query[0], found.key[0], found.value[0], bias]
        try:
            value = build("attention", operands, attrs)
        except InferError:
            return False
        if value.type != root.results[0].type:
            value.owner.operation.erase()
            return False
    root.results[0].replace_all_uses_with(value)
    return True


def _of_rank(bias: ir.Value | None, rank: int) -> ir.Value | None:
    """Return a bias with dimensions of 1 before its own, up to the rank of the scores."""
    if bias is None:
        return None
    missing = rank - len(T.tensor_dims(bias.type) or ())
    if not missing:
        return bias
    return build("expand_dims", [bias], {"axis": list(range(missing))})


def _made_by(value: ir.Value, name: str) -> ir.Operation | None:
    """Return the operation of that name which makes a value that is used once."""
    if isinstance(value.owner, ir.Block) or len(list(value.uses)) != 1:
        return None
    op = value.owner.operation
    return op if op.name == name else None


def _scaled(value: ir.Value) -> tuple[ir.Value, float]:
    """Return what is multiplied or divided by known numbers, and by which together."""
    scale = 1.0
    while not isinstance(value.owner, ir.Block) and len(list(value.uses)) == 1:
        op = value.owner.operation
        if op.name not in ("relax.multiply", "relax.divide"):
            break
        a, b = op.operands
        number = _number(b)
        if number is None and op.name == "relax.multiply":
            a, number = b, _number(a)
        if number is None or (op.name == "relax.divide" and number == 0.0):
            break
        if T.tensor_dims(a.type) != T.tensor_dims(value.type):
            break
        scale = scale * number if op.name == "relax.multiply" else scale / number
        value = a
    return value, scale


def _number(value: ir.Value) -> float | None:
    """Return the finite number that a constant of one element is."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "relax.constant":
        return None
    array = constant_array(value.owner.operation.attributes["value"])
    if array.size != 1:
        return None
    number = float(array.reshape(()))
    return number if abs(number) < float("inf") else None


def _untransposed(value: ir.Value, letters: str) -> tuple[ir.Value, str]:
    """Return what a value is a transpose of, with the letters of its dimensions."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name != "relax.permute_dims":
            break
        own = [""] * len(letters)
        for letter, axis in zip(letters, _axes(op, len(letters)), strict=True):
            own[axis] = letter
        value, letters = op.operands[0], "".join(own)
    return value, letters


def _axes(op: ir.Operation, rank: int) -> list[int]:
    axes = _attributes(op)["axes"]
    if axes is None:
        return list(reversed(range(rank)))
    return [axis % rank for axis in axes]


def _attributes(op: ir.Operation) -> dict[str, Any]:
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)
