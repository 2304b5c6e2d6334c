"""`topi.nn`: blocks of space, padding, losses, local normalisation, recurrence, matching."""

import numpy as np
import pytest
from te_cases import Case, check, random

from relax_mlir import te, tir, topi
from relax_mlir.errors import ExprError, ExprTypeError

IMAGE = random(2, 8, 4, 6)
LAST = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))


def test_space() -> None:
    deep = IMAGE.reshape(2, 2, 2, 2, 4, 6).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 8, 12)
    inner = IMAGE.reshape(2, 2, 2, 2, 4, 6).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 8, 12)
    flat = IMAGE.reshape(2, 8, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 32, 2, 3)
    padded = np.pad(LAST, ((0, 0), (1, 1), (0, 0), (0, 0)), constant_values=7)
    batches = padded.reshape(2, 3, 2, 2, 3, 8).transpose(2, 4, 0, 1, 3, 5).reshape(12, 3, 2, 8)
    check([
        Case("dcr", lambda x: topi.nn.depth_to_space(x, 2), [IMAGE], deep, ["n_hw"]),
        Case("crd", lambda x: topi.nn.depth_to_space(x, 2, mode="CRD"), [IMAGE], inner),
        Case("last", lambda x: topi.nn.depth_to_space(x, 2, "NHWC"), [LAST],
             deep.transpose(0, 2, 3, 1), ["nhw_"]),
        Case("space", lambda x: topi.nn.space_to_depth(x, 2), [IMAGE], flat, ["nc__"]),
        Case("space_last", lambda x: topi.nn.space_to_depth(x, 2, "NHWC"), [LAST],
             flat.transpose(0, 2, 3, 1)),
        Case("shuffle", lambda x: topi.nn.pixel_shuffle(x, 2), [IMAGE], inner, ["n_hw"]),
        Case("batch", lambda x: topi.nn.space_to_batch_nd(x, [2, 3], [1, 0], [1, 0], 7), [LAST],
             batches, ["n__c"]),
        Case("unbatch", lambda x: topi.nn.batch_to_space_nd(x, [2, 3], [1, 0], [1, 0]),
             [np.ascontiguousarray(batches)], LAST, ["_hwc"]),
    ])  # fmt: skip


@pytest.mark.parametrize("mode", ["symmetric", "reflect", "edge", "wrap"])
def test_padding(mode: str) -> None:
    function = {
        "symmetric": topi.nn.mirror_pad, "reflect": topi.nn.reflect_pad,
        "edge": topi.nn.replicate_pad, "wrap": topi.nn.circular_pad,
    }[mode]  # fmt: skip
    before, after = [0, 0, 3, 2], [0, 1, 1, 5]
    want = np.pad(IMAGE, list(zip(before, after, strict=True)), mode)
    check([Case("pad", lambda x: function(x, before, after), [IMAGE], want, ["nchw"])])


def test_normalised_by_neighbours() -> None:
    square = np.pad(IMAGE**2, ((0, 0), (2, 2), (0, 0), (0, 0)))
    total = sum(square[:, k : k + 8] for k in range(5))
    want = IMAGE / (1.5 + 0.1 / 5 * total) ** 0.75
    check([
        Case("lrn", lambda x: topi.nn.lrn(x, 5, 1, 0.1, 0.75, 1.5), [IMAGE],
             want.astype("float32"), ["nchw"]),
        Case("last", lambda x: topi.nn.lrn(x, 5, -1, 0.1, 0.75, 1.5), [LAST],
             want.transpose(0, 2, 3, 1).astype("float32")),
    ])  # fmt: skip


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_nll_loss(reduction: str) -> None:
    scores, weight = random(3, 5, 4), random(5, low=0.5)
    target = np.array([[0, 1, 9, 3], [4, -100, 2, 2], [-1, 0, 0, 1]])
    known = (target >= 0) & (target < 5)
    own = np.where(known, weight[np.where(known, target, 0)], 0).astype("float32")
    picked = np.take_along_axis(scores, np.where(known, target, 0)[:, None], 1)[:, 0]
    losses = np.where(known, -picked * own, 0)
    want = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / own.sum()}[reduction]
    one = {"none": -scores[0, :, 0][2] * weight[2], "sum": -scores[0, :, 0][2] * weight[2],
           "mean": -scores[0, :, 0][2]}[reduction]  # fmt: skip
    check([
        Case("loss", lambda p, t, w: topi.nn.nll_loss(p, t, w, reduction, -100),
             [scores, target, weight], np.float32(want), ["ncd", "nd", "c"]),
        Case("one", lambda p, t, w: topi.nn.nll_loss(p, t, w, reduction, -100),
             [scores[0, :, 0].copy(), np.array(2), weight], np.float32(one)),
    ])  # fmt: skip


def recurrent(x, wi, wh, b, h, c, proj, peep, backwards, order) -> list[np.ndarray]:
    """Return the states of a long short-term memory, step by step."""

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    hidden, states, cells = wi.shape[0] // 4, [], []
    for step in x[::-1] if backwards else x:
        total = step @ wi.T + h @ wh.T + b
        part = {k: total[:, i * hidden : (i + 1) * hidden] for i, k in enumerate(order)}
        p = [0, 0, 0] if peep is None else peep
        cell = sigmoid(part["F"] + p[1] * c) * c + sigmoid(part["I"] + p[0] * c) * np.tanh(
            part["G"]
        )
        h = sigmoid(part["O"] + p[2] * cell) * np.tanh(cell)
        h, c = (h if proj is None else h @ proj.T), cell
        states.append(h)
        cells.append(c)
    return [np.float32(states), np.float32(cells)]


def test_lstm() -> None:
    x, wi, wh, b = random(5, 2, 3), random(16, 3), random(16, 4), random(16)
    h, c, proj, small = random(2, 4), random(2, 4) / 2, random(3, 4), random(16, 3) / 2
    peep = [random(2, 4) * k for k in (1, 2, 3)]
    zeros = np.zeros((2, 4), "float32")
    check([
        Case("plain", topi.nn.lstm, [x, wi, wh],
             recurrent(x, wi, wh, 0, zeros, zeros, None, None, False, "IFGO"),
             ["tb_", "__", "__"], 1e-4),
        Case("begun", lambda x, wi, wh, b, h, c: topi.nn.lstm(
             x, wi, wh, b, b, h, c, reverse=True, weight_layout="GOFI"), [x, wi, wh, b, h, c],
             recurrent(x, wi, wh, 2 * b, h, c, None, None, True, "GOFI"), rtol=1e-4),
        Case("projected", lambda x, wi, wh, p, i, f, o: topi.nn.lstm(
             x, wi, wh, proj=p, p_i=i, p_f=f, p_o=o), [x, wi, small, proj, *peep],
             recurrent(x, wi, small, 0, zeros[:, :3], zeros, proj, peep, False, "IFGO"),
             rtol=1e-4),
    ])  # fmt: skip


def test_matching() -> None:
    one, two = IMAGE, random(2, 8, 4, 6, low=-1)
    want = np.zeros((2, 9, 4, 6))
    wide = np.pad(two, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for q in range(9):
        y, x = divmod(q, 3)
        want[:, q] = (one * wide[:, :, y : y + 4, x : x + 6]).mean(1)
    kernel, offset = random(4, 8, 3, 3), np.zeros((2, 18, 2, 4), "float32")
    image = np.lib.stride_tricks.sliding_window_view(IMAGE, (3, 3), axis=(2, 3))
    plain = np.einsum("nchwyx,ocyx->nohw", image, kernel)
    moved = offset.copy()
    moved[:, 1::2] = 0.5
    shifted = np.pad(IMAGE, ((0, 0), (0, 0), (0, 0), (0, 1)))
    half = (shifted[..., 1:] + shifted[..., :-1]) / 2
    between = np.lib.stride_tricks.sliding_window_view(half, (3, 3), axis=(2, 3))
    check([
        Case("correlation", lambda a, b: topi.nn.correlation_nchw(a, b, 1, 1, 1, 1, 1, True),
             [one, two], want.astype("float32"), ["n_hw", "n_hw"]),
        Case("still", lambda x, o, k: topi.nn.deformable_conv2d_nchw(x, o, k, 1, 0, 1, 1, 1),
             [IMAGE, offset, kernel], plain, rtol=1e-4),
        Case("moved", lambda x, o, k: topi.nn.deformable_conv2d_nhwc(x, o, k, 1, 0, 1, 1, 1),
             [LAST, np.ascontiguousarray(moved.transpose(0, 2, 3, 1)),
              np.ascontiguousarray(kernel.transpose(2, 3, 1, 0))],
             np.einsum("nchwyx,ocyx->nhwo", between, kernel), rtol=1e-4),
        Case("fifo", lambda x, b: topi.nn.fifo_buffer(x, b, 1), [IMAGE[:, :3], IMAGE],
             np.concatenate([IMAGE[:, 3:], IMAGE[:, :3]], 1), ["nkhw", "nchw"]),
    ])  # fmt: skip


def test_channels() -> None:
    kernel = random(3, 3, 8, 2)
    window = np.lib.stride_tricks.sliding_window_view(LAST, (3, 3), axis=(1, 2))
    want = np.einsum("nhwcyx,yxcm->nhwcm", window, kernel).reshape(2, 2, 4, 16)
    rows = np.lib.stride_tricks.sliding_window_view(IMAGE[:, :, 0], 3, axis=2)
    wide, scale, shift = random(4, 8, 3), random(8), random(8, low=0)
    check([
        Case("depthwise", lambda x, k: topi.nn.depthwise_conv2d_nhwc(x, k, 1, 0, 1),
             [LAST, kernel], want, ["nhw_", "____"], 1e-4),
        Case("conv1d", topi.nn.conv1d, [IMAGE[:, :, 0], wide],
             np.einsum("ncwx,ocx->now", rows, wide), rtol=1e-4),
        Case("shifted", topi.nn.scale_shift_nhwc, [LAST, scale, shift], LAST * scale + shift,
             ["nhwc", "c", "c"]),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda x: topi.nn.depth_to_space(x, 3), "whole parts of 9"),
        (lambda x: topi.nn.depth_to_space(x, 2, "NCWH"), "NCHW or NHWC"),
        (lambda x: topi.nn.reflect_pad(x, [0, 0, 4, 0]), "are not mirrored"),
        (lambda x: topi.nn.mirror_pad(x, [0, 0, 4, 0], mode="EDGE"), "SYMMETRIC or REFLECT"),
        (lambda x: topi.nn.circular_pad(x, [0, 0]), "a number for each of 4 axes"),
        (lambda x: topi.nn.lrn(x, 4), "odd and positive"),
        (lambda x: topi.nn.nll_loss(x, x, x, "mean", 0), "integer indices"),
        (lambda x: topi.nn.nll_loss(x, topi.cast(x, "int32"), x, "mean", 0), "does not fit"),
        (lambda x: topi.nn.lstm(x, x, x), "takes"),
        (lambda x: topi.nn.space_to_batch_nd(x, [2], [0], [1]), "whole parts of 2"),
    ],
)  # fmt: skip
def test_refusals(call, why: str) -> None:
    with pytest.raises((ExprError, ExprTypeError), match=why):
        call(te.placeholder((2, 8, 4, 6), name="x"))


def test_helpers() -> None:
    n = te.var("n")
    utils = topi.utils
    assert utils.get_const_tuple((1, n, tir.IntImm("int64", 3))) == (1, n, 3)
    assert utils.get_shape((1, 2, 3, 4), "NCHW", "NHWC") == (1, 3, 4, 2)
    assert utils.prod((2, 3, 4)) == 24
    assert utils.get_max_power2_factor(48, 8) == 8
    assert utils.swap([1, 2, 3], 0) == [3, 2, 1]
    assert utils.is_dynamic_shape((1, n))
    assert not utils.is_empty_shape((1, n))
    with pytest.raises(ExprError, match="an integer is needed"):
        utils.get_const_int(n)
    assert topi.tag.is_injective(topi.tag.BROADCAST)
    matrix = random(2, 3)
    check([Case("matrix", lambda x: x + utils.const_matrix(matrix), [matrix], matrix * 2)])
