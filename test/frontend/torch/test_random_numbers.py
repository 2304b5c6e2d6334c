"""Random operators of torch: other numbers at each run, the same ones after a seed."""

import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
import relax_mlir
from relax_mlir import runtime

X = torch.full((300, 200), 3.0)
CASES = {
    "rand": lambda x: torch.rand(300, 200),
    "rand_like": torch.rand_like,
    "randn": lambda x: torch.randn_like(x, dtype=torch.float64),
    "randint": lambda x: torch.randint(2, 8, (300, 200)),
    "bernoulli": lambda x: torch.bernoulli(x / 4),
    "dropout": lambda x: torch.dropout(x, 0.25, train=True),
    "feature_dropout": lambda x: torch.feature_dropout(x.reshape(300, 200, 1, 1), 0.25, train=True),
    "alpha_dropout": lambda x: torch.alpha_dropout(x, 0.25, train=True),
    "replacement": lambda x: torch.multinomial(torch.tensor([1.0, 1, 2]), 60000, True),
    "no replacement": lambda x: torch.multinomial(torch.ones(400, 9), 9),
}


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", CASES)
def test_numbers(name):
    function = CASES[name]
    model = relax_mlir.compile(Model(function).train(), inputs=(X,))
    runtime.manual_seed(1)
    first, second = model(X), model(X)
    runtime.manual_seed(1)
    assert torch.equal(model(X), first)
    assert not torch.equal(first, second)
    expected = function(X)
    for numbers in (first, second):
        assert (numbers.dtype, numbers.shape) == (expected.dtype, expected.shape)
        for moment in (torch.mean, torch.std):
            wanted = moment(expected.double()).item()
            assert moment(numbers.double()).item() == pytest.approx(wanted, abs=0.06)


def test_no_index_is_drawn_twice_without_replacement():
    model = relax_mlir.compile(Model(lambda x: torch.multinomial(x, 5)), inputs=(X,))
    assert all(len(set(row)) == 5 for row in model(X).tolist())


def test_dropout_does_nothing_in_inference():
    model = torch.nn.Sequential(torch.nn.Linear(200, 5), torch.nn.Dropout(0.9)).eval()
    torch.testing.assert_close(relax_mlir.compile(model, inputs=(X,))(X), model(X))
