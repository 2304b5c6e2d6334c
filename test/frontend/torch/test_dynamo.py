"""`torch.compile(model, backend="relax_mlir")`: graphs, dynamic shapes, state, training."""

from importlib.metadata import entry_points

import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed

from relax_mlir.frontend.torch import compile_counts
from relax_mlir.frontend.torch.dynamo import compile_graph
from relax_mlir.transform import PassContext


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with PassContext(opt_level=0):
        yield


def compiled(model, **options):
    return torch.compile(model, backend=compile_graph, **options)


def counted(run):
    before = compile_counts.graphs, compile_counts.recompiles, compile_counts.eager
    result = run()
    after = compile_counts.graphs, compile_counts.recompiles, compile_counts.eager
    return result, tuple(b - a for a, b in zip(before, after, strict=True))


def test_torch_finds_the_backend_by_name():
    (entry,) = entry_points(group="torch_dynamo_backends", name="relax_mlir")
    assert entry.load() is compile_graph
    assert "relax_mlir" in torch._dynamo.list_backends()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        x = x + self.attention(x, x, x, need_weights=False)[0]
        y = x + self.down(nn.functional.gelu(self.up(self.norm(x))))
        return {"y": y, "rows": y.shape[1] * 2, "turned": y.transpose(1, 2)}


@torch.no_grad()
def test_a_dynamic_size_recompiles_once():
    model = Block().eval()
    ours = compiled(model)

    def run():
        for rows in (3, 5, 6, 9):
            x = torch.randn(2, rows, 8)
            actual, expected = ours(x), model(x)
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
            assert actual["turned"].stride() == expected["turned"].stride()

    assert counted(run)[1] == (2, 1, 0)


@torch.no_grad()
def test_a_size_from_before_a_graph_break():
    def model(x):
        y = x * 2
        torch._dynamo.graph_break()
        return y + x.shape[0]

    ours = compiled(model)
    for rows in (2, 3, 5):
        torch.testing.assert_close(ours(torch.ones(rows, 4)), model(torch.ones(rows, 4)))


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.total += x.sum(0)
        torch._dynamo.graph_break()
        x.mul_(2)
        return self.total * self.scale


@torch.no_grad()
def test_graph_breaks_state_and_new_weights():
    model, x = Stateful(), torch.ones(2, 3)
    ours, breaks = compiled(model), compile_counts.graph_breaks
    result, counts = counted(lambda: ours(x))
    assert (result[0].item(), counts[0], compile_counts.graph_breaks - breaks) == (2.0, 2, 1)
    assert x[0, 0] == 2
    model.scale.fill_(3)
    assert ours(x)[0].item() == 18.0
    assert model.total[0] == 6


@torch.no_grad()
def test_results_share_memory_where_torch_has_it():
    def views(x):
        y = x + 1
        return x.clone(), y, y.clone(), y.reshape(3, 2), y.T

    x = torch.randn(2, 3)
    copied, y, copy, reshaped, turned = compiled(views)(x)
    before = y.clone()
    x.zero_()
    y.mul_(3)
    torch.testing.assert_close(copied + 1, before)
    torch.testing.assert_close(copy, before)
    torch.testing.assert_close(reshaped, y.reshape(3, 2))
    torch.testing.assert_close(turned, y.T)


def test_training_stays_in_eager_torch():
    model = nn.Linear(4, 2)
    result, counts = counted(lambda: compiled(model)(torch.randn(3, 4)))
    assert counts == (0, 0, 1)
    result.sum().backward()
    assert model.weight.grad is not None


@torch.no_grad()
def test_mistakes():
    x = torch.randn(3, 3)
    with pytest.raises(BackendCompilerFailed, match="linalg_qr"):
        compiled(lambda x: torch.linalg.qr(x)[0], fullgraph=True)(x)
    with pytest.raises(BackendCompilerFailed, match="takes target, pipeline"):
        compiled(torch.relu, options={"level": 3})(x)
