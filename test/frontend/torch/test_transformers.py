"""Whole models of `transformers`, small, with a dynamic length: captured by `torch.compile`."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

# ruff: noqa: E402
from relax_mlir.frontend.torch import compile_counts
from relax_mlir.transform import PassContext

TOKENS = {"vocab_size": 100, "bos_token_id": 1, "eos_token_id": 2}
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, **TOKENS}
MODELS = {
    "Bert": {**SIZES, "intermediate_size": 64},
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4, **TOKENS},
    "Llama": {**SIZES, "intermediate_size": 64, "num_key_value_heads": 2},
}


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_model(name):
    torch._dynamo.reset()
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**MODELS[name])
    model = getattr(transformers, f"{name}Model")(config).eval()
    ours = torch.compile(model, backend="relax_mlir", fullgraph=True)
    before = compile_counts.graphs
    for length in (5, 9, 12):
        ids = torch.randint(0, 100, (2, length))
        expected = model(ids, use_cache=False).last_hidden_state
        with PassContext(opt_level=0):
            actual = ours(ids, use_cache=False).last_hidden_state
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    assert compile_counts.graphs - before == 2
