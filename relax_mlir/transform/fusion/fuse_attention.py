"""The pass `fuse-attention`: matmul, softmax, matmul become one attention operation.

`matmul(softmax(where(mask, matmul(q, k) * scale + bias, score)), v)`, as models spell attention,
needs all scores at once; `relax.attention` keeps a block of them at a time. Transposes around it
become its layout, and heads that are repeated are read where they are.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.attention import heads_of_each
from relax_mlir.dialects.relax.ops.base import build
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, written_values
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.walk import INNER_FIRST, named
from relax_mlir.transform.fusion.attention_masks import Band, read_band
from relax_mlir.transform.fusion.attention_patterns import (
    INFINITY,
    Operand,
    Scores,
    attributes,
    axes,
    before_zeros,
    made_by,
    mask_of_bias,
    read_operand,
    read_scores,
    softmax_input,
    uses,
)
from relax_mlir.transform.relax.dead_code_elimination import remove_unused

# Letters of the operation's dimensions, in the order that products of matrices have them.
_LAYOUTS = {2: "SH", 3: "BSH", 4: "BNSH"}
# What sums of products of a dtype are kept in, where that is wider.
_WIDE = {"float16": "float32", "bfloat16": "float32"}
# So low a score has no weight in a softmax.
_LOW = -1e9


@dataclass
class _Attention:
    """Composed attention.

    Attributes:
        query, key, value: the operands of the products.
        scores: what becomes of the products.
        root: what makes the result: the last product, or what narrows it.
        zeros: whether a query that sees no key gets zeros; else NaN.
        band: what its mask is, if that goes by the numbers of queries and keys.
    """

    query: Operand
    key: Operand
    value: Operand
    scores: Scores
    root: ir.Operation
    zeros: bool = False
    band: Band | None = None

    @property
    def operands(self) -> list[ir.Value]:
        """Whatever the operation will read."""
        mask = [] if self.scores.mask is None or self.band is not None else [self.scores.mask]
        factors = [value for value, _ in self.scores.factors]
        each = [x.value for x in (self.query, self.key, self.value)]
        return [*each, *self.scores.biases, *mask, *factors]


def fuse_attention(module: ir.Operation) -> None:
    """Replace composed attention whose scores and softmax have no other use.

    Rows of which no key is seen stay NaN, as a softmax makes them, unless the program makes zeros
    of NaN, as exported models do; scores that are NaN for another reason then stay NaN.
    """
    for func in functions_to_optimize(module):
        products = named(func, ("relax.matmul",), INNER_FIRST)
        candidates = [(op, match) for op in products if (match := _match(op)) is not None]
        written = written_values(func) if candidates else ()
        # Something may write to an operand, perhaps between its first use and the last.
        done = [
            _rewrite(op, match)
            for op, match in candidates
            if not any(value in written for value in match.operands)
        ]
        if any(done):
            remove_unused(func)


def _match(last: ir.Operation) -> _Attention | None:
    return _match_up_to(last, _narrowed(last)) or _match_up_to(last, last)


def _match_up_to(last: ir.Operation, root: ir.Operation) -> _Attention | None:
    dims = T.tensor_dims(last.results[0].type)
    if dims is None or len(dims) not in _LAYOUTS:
        return None
    letters = _LAYOUTS[len(dims)]
    dtype = T.tensor_dtype(root.results[0].type)
    dtypes = [dtype, _WIDE.get(dtype, dtype)]
    shares = last.operands[0]
    narrow = made_by(shares, "astype")
    if T.tensor_dtype(shares.type) not in dtypes:
        return None
    shares = shares if narrow is None else narrow.operands[0]
    zeros = before_zeros(shares)
    value = (
        softmax_input(shares, len(dims)) if zeros is None else softmax_input(zeros, len(dims), 2)
    )
    scores = None if value is None else read_scores(value, dtypes)
    if scores is None or scores.product is None:
        return None
    product = scores.product
    if any(attributes(op)["out_dtype"] not in (None, "", *dtypes) for op in (last, product)):
        return None
    keys = letters[:-2] + "HS"
    result = _Attention(
        read_operand(product.operands[0], letters, dtype),
        read_operand(product.operands[1], keys, dtype),
        read_operand(last.operands[1], letters, dtype, scaled=False),
        scores,
        root,
        zeros is not None,
    )
    if any(T.tensor_dtype(x.value.type) != dtype for x in (result.query, result.key, result.value)):
        return None
    length = _fits(result, dims, letters)
    if length is None:
        return None
    mask_of_bias(scores)
    if scores.mask is not None:
        band = read_band(scores.mask, scores.inverted, dims[-2], length)
        low = scores.unseen == -INFINITY or (scores.unseen <= _LOW and band and band.sees_some)
        result.band = band if low else None
    return result


def _narrowed(last: ir.Operation) -> ir.Operation:
    """Return the conversion of a product to a narrower type, or the product where none is."""
    users = uses(last.results[0])
    dtype = T.tensor_dtype(last.results[0].type)
    if len(users) == 1 and users[0].name == "relax.astype":
        to = T.tensor_dtype(users[0].results[0].type)
        if _WIDE.get(to) == dtype:
            return users[0]
    return last


def _fits(match: _Attention, dims: list[SymExpr], letters: str) -> SymExpr | None:
    """Return the number of keys where the products take whole operands, else None.

    None is broadcast but keys of one head, and what is added.
    """
    sizes = []
    for operand in (match.query, match.key, match.value):
        each = T.tensor_dims(operand.value.type)
        if each is None or len(each) != len(operand.letters):
            return None
        sizes.append(dict(zip(operand.letters, each, strict=True)))
    query, key, value = sizes
    if len(letters) > 2 and not query["B"] == key["B"] == value["B"]:
        return None
    if "N" in letters:
        whole = all(x.heads in (query["N"], 1) for x in (match.key, match.value))
        if not whole or key["N"] != value["N"] or heads_of_each(query["N"], key["N"]) is None:
            return None
        if key["N"] != query["N"] and not query["N"].is_const:
            return None
        if any(x.heads == 1 and key["N"] != 1 for x in (match.key, match.value)):
            return None
    if query["H"] != key["H"] or key["S"] != value["S"]:
        return None
    scores = [*dims[:-1], key["S"]]
    added = [*match.scores.biases, *([] if match.scores.mask is None else [match.scores.mask])]
    for x in added:
        each = T.tensor_dims(x.type)
        if each is None or not 1 <= len(each) <= len(scores):
            return None
        last = scores[len(scores) - len(each) :]
        if not all(dim in (size, 1) for dim, size in zip(each, last, strict=True)):
            return None
    return key["S"]


def _rewrite(last: ir.Operation, match: _Attention) -> bool:
    """Replace the last product and what only moves or narrows its result; whether it could be."""
    rank = len(T.tensor_dims(last.results[0].type) or ())
    letters = _LAYOUTS[rank]
    root, result = match.root, letters
    users = uses(root.results[0])
    if len(users) == 1 and users[0].name == "relax.permute_dims":
        root = users[0]
        result = "".join(letters[axis] for axis in axes(root, rank))
    layouts = [match.query.letters, match.key.letters, match.value.letters, result]
    layout = layouts[0] if len(set(layouts)) == 1 else ",".join(layouts)
    scores, band = match.scores, match.band
    attrs: dict[str, Any] = {
        "scale": scores.scale * match.query.scale * match.key.scale,
        "layout": layout,
        "zero_unseen": match.zeros,
    }
    made: list[ir.Value] = []

    def make(name: str, operands: list[ir.Value], **given: Any) -> ir.Value:
        made.append(build(name, operands, given))
        return made[-1]

    with ir.InsertionPoint(root), root.location:
        try:
            query = match.query.value
            for factor, divides in scores.factors:
                query = make("divide" if divides else "multiply", [query, factor])
            biases = [_of_rank(bias, max(rank, 3), make) for bias in scores.biases]
            bias = reduce(lambda a, b: make("add", [a, b]), biases) if biases else None
            mask = None
            if band is not None:
                attrs |= {"causal_mask": band.corner, "window_size": band.window}
            elif scores.mask is not None:
                mask = _of_rank(scores.mask, max(rank, 3), make)
                mask = make("logical_not", [mask]) if scores.inverted else mask
                attrs["unseen_score"] = scores.unseen
            operands = [query, match.key.value, match.value.value, bias, mask]
            made.append(build("attention", operands, attrs))
        except InferError:
            _discard(made)
            return False
        if made[-1].type != root.results[0].type:
            _discard(made)
            return False
    root.results[0].replace_all_uses_with(made[-1])
    return True


def _discard(values: list[ir.Value]) -> None:
    for value in reversed(values):
        value.owner.operation.erase()


def _of_rank(x: ir.Value, rank: int, make: Any) -> ir.Value:
    """Return a bias or mask with dimensions of 1 before its own, up to the rank of the scores."""
    missing = rank - len(T.tensor_dims(x.type) or ())
    return make("expand_dims", [x], axis=list(range(missing))) if missing > 0 else x
