"""Scripts with words lost, doubled, swapped or replaced: they are read or refused, nothing else."""

import io
import random
import tokenize
import warnings

import pytest
from scripts import DOCUMENT

from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source

CONTROL_FLOW = """
@I.ir_module
class Module:
    @R.function
    def power(x: R.Tensor(("n",), "float32"), k: R.Prim(value="k")):
        y = R.ones_like(x)
        for i in range(k):
            y = y * x
        return y

    @R.function
    def settle(x: R.Tensor(("n",), "float32")):
        turns = 0
        while R.max(x) > R.const(1.0, "float32") and turns < 100:
            x = x * R.const(0.5, "float32")
            turns += 1
        return (x, turns)

    @R.function
    def apply(x: R.Tensor(("n",), "float32"), squared: R.Tensor((), "bool")):
        @R.function
        def shifted(y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            return y + x

        if squared:
            return shifted(x * x)
        a, (b, c) = x[1:3], (x, R.match_cast(x, R.Tensor(("n",), "float32")))
        return shifted(b if squared else c)
"""
PROGRAMS = [*DOCUMENT.values(), CONTROL_FLOW]
WORDS = (
    "0", "-1", "n", "None", "''", "()", "[]", "...", "x", "1.5", "R", "T", "(1<<70)", "'n'",
    "*x", "**x", "True", "{}", "yield", "1j", "x[0]", "x.shape", "not", "R.add", "T.int64()",
    "cls", "i", "1e400", "float('nan')", "(lambda:0)", "f'{n}'", "b'a'", "n*m//0", "R.Tensor",
    "R.function",
)  # fmt: skip
SKIPPED = {
    tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.COMMENT,
}  # fmt: skip


def words_of(text: str) -> list[tuple[int, int]]:
    """Return where each word of a program begins and ends."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return [
        (starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in SKIPPED
    ]


def mutated(text: str, rng: random.Random) -> str:
    """Return a program with one to three words changed."""
    spans = words_of(text)
    chosen = sorted(rng.sample(range(len(spans)), rng.choice((1, 1, 2, 3))), reverse=True)
    for begin, end in (spans[i] for i in chosen):
        word, other = text[begin:end], text[slice(*rng.choice(spans))] if len(chosen) == 1 else "x"
        new = rng.choice(("", f"{word} {word}", other, rng.choice(WORDS), rng.choice(WORDS)))
        text = text[:begin] + new + text[end:]
    return text


@pytest.mark.parametrize("seed", range(3))
def test_only_script_errors_come(seed) -> None:
    rng = random.Random(seed)
    outcomes = set()
    for _ in range(60):
        source = mutated(rng.choice(PROGRAMS), rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            try:
                module = from_source(source)
            except ScriptError as error:
                outcomes.add("refused" if str(error).startswith("<str>:") else source)
                continue
        assert "class Module" in module.script(), source
        outcomes.add("read")
    assert outcomes == {"read", "refused"}
