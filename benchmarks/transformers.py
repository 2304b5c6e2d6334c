"""BERT and GPT-2 of any batch and length, with random weights, for `bench_compile_models.py`."""

import numpy as np

from relax_mlir import relax, tir
from relax_mlir.ir.module import IRModule
from relax_mlir.relax import op

WIDTH, HEADS, HIDDEN = 768, 12, 3072


class _Weights:
    """Constants of small random numbers, other ones each time."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)

    def __call__(self, *shape: int) -> relax.Constant:
        return relax.const(self._random.standard_normal(shape, dtype="float32") * np.float32(0.02))

    def dense(self, x: relax.Expr, inputs: int, outputs: int) -> relax.Expr:
        return op.add(op.matmul(x, self(inputs, outputs)), self(outputs))

    def norm(self, x: relax.Expr) -> relax.Expr:
        return op.nn.layer_norm(x, self(WIDTH), self(WIDTH), axes=[-1])


def _attention(
    bb: relax.BlockBuilder, q: relax.Expr, k: relax.Expr, v: relax.Expr, mask: relax.Expr
) -> relax.Expr:
    scale = relax.const(np.float32((WIDTH // HEADS) ** -0.5))
    scores = op.multiply(op.matmul(q, op.permute_dims(k, [0, 1, 3, 2])), scale)
    return bb.emit(op.matmul(op.nn.softmax(op.add(scores, mask), axis=-1), v))


def _heads(x: relax.Expr, n: tir.Var, s: tir.Var) -> relax.Expr:
    return op.permute_dims(op.reshape(x, (n, s, HEADS, WIDTH // HEADS)), [0, 2, 1, 3])


def _joined(x: relax.Expr, n: tir.Var, s: tir.Var) -> relax.Expr:
    return op.reshape(op.permute_dims(x, [0, 2, 1, 3]), (n, s, WIDTH))


def bert(layers: int = 12) -> IRModule:
    """Return BERT-base: tokens and an additive mask in, hidden states out."""
    w, bb = _Weights(), relax.BlockBuilder()
    n, s = (tir.Var(name, "int64") for name in "ns")
    tokens = relax.Var("tokens", relax.TensorType((n, s), "int64"))
    mask = relax.Var("mask", relax.TensorType((n, 1, 1, s), "float32"))
    with bb.function("main", [tokens, mask]):
        with bb.dataflow():
            x = bb.emit(w.norm(op.take(w(30522, WIDTH), tokens, axis=0)))
            for _ in range(layers):
                q, k, v = (bb.emit(_heads(w.dense(x, WIDTH, WIDTH), n, s)) for _ in range(3))
                found = _joined(_attention(bb, q, k, v, mask), n, s)
                x = bb.emit(w.norm(op.add(x, w.dense(found, WIDTH, WIDTH))))
                y = w.dense(op.nn.gelu(w.dense(x, WIDTH, HIDDEN)), HIDDEN, WIDTH)
                x = bb.emit(w.norm(op.add(x, y)))
            x = bb.emit_output(x)
        bb.emit_func_output(x)
    return bb.get()


def gpt2(layers: int = 12, vocabulary: int = 50257) -> IRModule:
    """Return GPT-2: tokens, a mask and a cache of keys and values in, scores and the cache out."""
    w, bb = _Weights(), relax.BlockBuilder()
    n, s, p = (tir.Var(name, "int64") for name in "nsp")
    tokens = relax.Var("tokens", relax.TensorType((n, s), "int64"))
    mask = relax.Var("mask", relax.TensorType((n, 1, s, s + p), "float32"))
    past = relax.TensorType((n, HEADS, p, WIDTH // HEADS), "float32")
    cache = [relax.Var(f"cache{i}", past) for i in range(2 * layers)]
    with bb.function("main", [tokens, mask, *cache]):
        with bb.dataflow():
            x, grown = bb.emit(op.take(w(vocabulary, WIDTH), tokens, axis=0)), []
            for layer in range(layers):
                parts = bb.emit(op.split(w.dense(w.norm(x), WIDTH, 3 * WIDTH), 3, axis=-1))
                q, k, v = (bb.emit(_heads(parts[i], n, s)) for i in range(3))
                k, v = (
                    bb.emit_output(op.concat([cache[2 * layer + i], each], axis=2))
                    for i, each in enumerate((k, v))
                )
                grown += [k, v]
                found = _joined(_attention(bb, q, k, v, mask), n, s)
                x = bb.emit(op.add(x, w.dense(found, WIDTH, WIDTH)))
                y = op.nn.gelu_tanh(w.dense(w.norm(x), WIDTH, HIDDEN))
                x = bb.emit(op.add(x, w.dense(y, HIDDEN, WIDTH)))
            scores = bb.emit_output(op.matmul(w.norm(x), w(WIDTH, vocabulary)))
        bb.emit_func_output(relax.Tuple([scores, *grown]))
    return bb.get()
