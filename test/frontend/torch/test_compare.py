"""`testing.compare`: errors of outputs, and the first operation that differs."""

import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
from torch import nn

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import ModelError
from relax_mlir.frontend.torch import ops, program


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x, scale=1.0):
        y = torch.tanh(self.head(x)) * scale
        self.total += y.sum(0)
        return {"scores": torch.exp(y), "largest": y.argmax(-1), "count": x.shape[0]}


@pytest.fixture(autouse=True)
def _quick():
    torch.manual_seed(0)
    with relax_mlir.transform.PassContext(opt_level=0):
        yield


def test_outputs_that_agree():
    model = Scores().eval()
    found = relax_mlir.testing.compare(
        model, (torch.randn(5, 4),), dynamic_shapes=({0: torch.export.Dim("n")},)
    )
    found.check()
    assert [each.name for each in found.outputs] == ["['scores']", "['largest']", "['count']"]
    assert found.outputs[0].error < 1e-5
    assert "largest error" in str(found)
    assert model.total.eq(0).all()


def test_the_first_operation_that_differs_is_named(monkeypatch):
    wrong = {"aten.tanh.default": lambda importer, x: relax.op.sigmoid(x)}
    monkeypatch.setattr(program, "converters", lambda: ops.converters() | wrong)
    found = relax_mlir.testing.compare(Scores().eval(), (torch.randn(5, 4), 2.0))
    assert not found.agrees
    assert "aten.tanh.default" in found.first
    assert "test_compare.py" in found.first
    with pytest.raises(AssertionError, match="DIFFERS"):
        found.check()


def test_other_models():
    with pytest.raises(ModelError, match="PyTorch, got int"):
        relax_mlir.testing.compare(3, ())
