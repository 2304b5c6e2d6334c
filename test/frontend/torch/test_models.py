"""Programs of torch in, compiled functions out: names, dynamic sizes, weights, state, errors."""

import operator

import numpy as np
import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
from torch import nn
from torch.export import Dim, export

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import ModelError, ShapeMismatchError, UnsupportedOpError, VMError
from relax_mlir.frontend.torch import coverage, from_exported_program, parameters_of


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 4)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        return {"scores": self.head(y).softmax(-1), "twice": torch.cat([y, y])}


def test_compile_is_called_as_the_model():
    model, x = Cnn().eval(), torch.randn(4, 3, 8, 8)
    compiled = relax_mlir.compile(model, inputs=x, dynamic_shapes=({0: Dim("n", max=9)},))
    for count in (4, 1, 9):
        x = torch.randn(count, 3, 8, 8)
        actual, expected = compiled(x), model(x)
        for key, value in expected.items():
            torch.testing.assert_close(actual[key], value.detach())
    assert isinstance(compiled(x.numpy())["scores"], np.ndarray)
    with pytest.raises(ShapeMismatchError, match="9"):
        compiled(torch.randn(10, 3, 8, 8))


def test_sizes_keep_their_relations():
    program = export(Cnn().eval(), (torch.randn(4, 3, 8, 8),), dynamic_shapes=({0: Dim("n")},))
    text = from_exported_program(program).script()
    assert '* 2", 8)' in text
    kept = from_exported_program(program, keep_params_as_input=True)
    weights = parameters_of(program)
    with relax_mlir.transform.PassContext(opt_level=0):
        main = relax.VirtualMachine(relax.build(kept))["main"]
    x = torch.randn(2, 3, 8, 8)
    scores, _ = main(x.numpy(), *weights.values())
    expected = program.module()(x)["scores"].detach().numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-6)
    assert weights["conv.weight"].ctypes.data == program.state_dict["conv.weight"].data_ptr()


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total += x.sum(0)
        return self.total * 2


def test_buffers_are_kept_from_call_to_call():
    model, x = Counter(), torch.ones(2, 3)
    compiled = relax_mlir.compile(export(model, (x,)))
    assert [compiled(x)[0].item() for _ in range(3)] == [4.0, 8.0, 12.0]
    assert model.total[0] == 0


class Branch(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda t: (t + 1,), lambda t: (t * 2,), (x,))


class Scanned(nn.Module):
    """Two states, two results of each slice, from the last slice to the first, and a weight."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        def step(state, part):
            sums, count = state
            return (torch.tanh(self.linear(sums) + part), count + 1), (sums * 2, part.sum())

        start = torch.zeros(x.shape[1], 4), torch.tensor(0.0)
        return scan(step, start, x, reverse=True)


@torch.no_grad()
def test_a_scan_has_as_many_turns_as_there_are_slices():
    model = Scanned()
    dims = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)
    with relax_mlir.transform.PassContext(opt_level=0):
        compiled = relax_mlir.compile(model, inputs=(torch.randn(5, 3, 4),), dynamic_shapes=dims)
    for size in ((5, 3, 4), (9, 2, 4), (1, 3, 4)):
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x), model(x))


class Nested(nn.Module):
    def forward(self, x):
        return {"sum": x + 1, "rest": [None, (x * 2, 3)]}


def test_results_are_nested_as_the_models_with_none_in_its_place():
    x = torch.ones(2)
    compiled = relax_mlir.compile(Nested(), inputs=(x,))
    assert str(compiled(x)) == str(Nested()(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(10, 3)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return self.gru(y), h, c


# torch.export specialises the sizes of an LSTM, so only the branch has a dynamic one.
@pytest.mark.parametrize(
    ("model", "shape", "dims"),
    [(Branch(), (3, 4), {0: Dim("n")}), (Recurrent(), (2, 5, 4), None)],
)
def test_control_flow(model, shape, dims):
    x = torch.randn(shape)
    with relax_mlir.transform.PassContext(opt_level=0):
        compiled = relax_mlir.compile(model, inputs=(x,), dynamic_shapes=(dims,))
    count = shape[0] + 2 if dims else shape[0]
    x = torch.randn(count, *shape[1:])
    for each in (x, -x):
        torch.testing.assert_close(compiled(each), model(each), rtol=1e-4, atol=1e-5)


def test_missing_operators_are_listed_together():
    class Missing(nn.Module):
        def forward(self, x):
            return (
                torch.linalg.eigvals(x).abs(),
                torch.linalg.svdvals(x),
                torch.linalg.qr(x)[0],
            )

    program = export(Missing(), (torch.randn(3, 3),))
    with pytest.raises(UnsupportedOpError, match="eig") as error:
        from_exported_program(program)
    assert "svd" in str(error.value)
    assert "linalg_qr" in str(error.value)
    assert "MISSING" in str(coverage(program))


def test_a_singular_matrix_is_an_error():
    class Model(nn.Module):
        def forward(self, x):
            return torch.inverse(x)

    compiled = relax_mlir.compile(export(Model(), (torch.eye(3),)))
    with pytest.raises(VMError, match="inv: Singular matrix"):
        compiled(torch.zeros(3, 3))


@pytest.mark.parametrize("combine", [operator.and_, operator.or_])
def test_conditions_of_sizes_are_combined(combine):
    class Model(nn.Module):
        def forward(self, x):
            places = torch.nonzero(x)
            count = places.shape[0]
            torch._check(combine(count >= 2, count * 3 >= 7))
            return places + 1

    x = torch.tensor([1.0, 0.0, 2.0, 3.0])
    program = export(Model(), (x,))
    assert combine.__name__ in str(program.graph)
    torch.testing.assert_close(relax_mlir.compile(program)(x), Model()(x))


def test_a_custom_converter_goes_first():
    class Relu(nn.Module):
        def forward(self, x):
            return torch.relu(x)

    def negated(node, importer):
        (x,) = importer.retrieve_args(node)
        return relax.op.negative(x)

    program = export(Relu(), (torch.randn(3),))
    module = from_exported_program(
        program, custom_convert_map={"relu.default": negated}, unwrap_unit_return_tuple=True
    )
    assert "R.negative" in module.script()


def test_mistakes():
    with pytest.raises(ModelError, match="example inputs"):
        relax_mlir.compile(Cnn())
    with pytest.raises(ModelError, match="ExportedProgram"):
        from_exported_program(Cnn())
    with pytest.raises(TypeError, match="inputs"):
        relax_mlir.compile(3, inputs=1)


@pytest.mark.parametrize(
    ("function", "decomposed"),
    [
        (lambda x: torch.relu(x).max(x.type_as(x.double())).multiply(x), False),
        (lambda x: torch.relu(x).add_(1), True),
        (lambda x: torch.special.entr(x), True),
    ],
)
def test_what_has_converters_is_not_decomposed(function, decomposed, monkeypatch):
    class Model(nn.Module):
        def forward(self, x):
            return function(x)

    x = torch.randn(5)
    program = export(Model(), (x,))
    calls = []
    run = torch.export.ExportedProgram.run_decompositions
    monkeypatch.setattr(
        torch.export.ExportedProgram, "run_decompositions",
        lambda self, table: calls.append(table) or run(self, table),
    )  # fmt: skip
    result = relax_mlir.compile(program)(x)
    assert bool(calls) == decomposed
    torch.testing.assert_close(result, Model()(x), equal_nan=True, rtol=1e-6, atol=1e-6)
