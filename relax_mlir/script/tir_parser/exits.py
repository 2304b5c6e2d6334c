"""`break`, `continue` and `return`: the skipped statements become conditional."""

import ast
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.script.parser.interfaces import TirStmtParser
from relax_mlir.script.parser.source import Node

_CALLS = {
    "T.break_loop": "break", "T.Break": "break", "T.continue_loop": "continue",
    "T.Continue": "continue", "T.ret": "return", "T.Return": "return", "T.thread_return": "return",
}  # fmt: skip
_NODES = {ast.Break: "break", ast.Continue: "continue", ast.Return: "return"}
_LOOPS = (ast.For, ast.While)


@dataclass
class _Loop:
    """An open loop: the flags that say that it, or its turn, is over."""

    done: Buffer | None = None
    skipped: Buffer | None = None
    body: ir.Block | None = None
    returns: bool = False


@dataclass
class Exits:
    """The ways out of the statements that are being read."""

    stmts: TirStmtParser
    result: Buffer | None = None
    _loops: list[_Loop] = field(default_factory=list)
    _returned: Buffer | None = None
    _taken: set[str] = field(default_factory=set)

    def kind(self, node: Node) -> str:
        """Return which way out a statement is, `""` for any other statement."""
        kind = _NODES.get(type(node), "")
        call = node.value if isinstance(node, ast.Expr) else None
        path = self._path(call)
        if path == "T.evaluate" and isinstance(call, ast.Call) and call.args:
            path = self._path(call.args[0])
        return kind or _CALLS.get(path or "", "")

    def _path(self, node: Node) -> str | None:
        return self.stmts.scope.path(node.func) if isinstance(node, ast.Call) else None

    def inside(self, node: Node) -> set[str]:
        """Return the ways out of a statement that are in it; loops keep `break` and `continue`."""
        kind = self.kind(node)
        if kind:
            return {kind}
        bodies = [getattr(node, name, []) for name in ("body", "orelse")]
        if not isinstance(node, ast.stmt) or isinstance(node, ast.FunctionDef):
            return set()
        result = {each for body in bodies for inner in body for each in self.inside(inner)}
        return result & {"return"} if isinstance(node, _LOOPS) else result

    def leave(self, node: Node, kind: str, last: bool) -> None:
        """Write what a way out does: notes that it was taken, and what is returned.

        Args:
            node: the statement.
            kind: which way.
            last: whether nothing of the function could run after it.
        """
        if kind == "return":
            self._give(node)
            if not last:
                self._raise(self._return_flag())
            return
        if not self._loops:
            self.stmts.scope.fail(node, f"'{kind}' is outside of loops")
        loop = self._loops[-1]
        if kind == "break" and loop.done is not None:
            self._raise(loop.done)
        elif kind == "continue" and not last:
            self._raise(self._skip_flag(loop))

    def _give(self, node: Node) -> None:
        """Store the number that a `return` gives."""
        value = node.value
        if isinstance(node, ast.Expr):
            call = value.args[0] if self._path(value) == "T.evaluate" else value
            value = call.args[0] if call.args else None
        plain = isinstance(value, ast.Constant) and (value.value is None or value.value == 0)
        if self.result is not None and value is not None:
            raw = self.stmts.expr.evaluate(value)
            self.result.store(self.stmts.expr.to_scalar(raw, value, self.result.dtype), ())
        elif value is not None and not plain:
            self.stmts.scope.fail(
                value, "say what the function returns, 'def f(...) -> T.float32:', or store the "
                "number in a buffer"
            )  # fmt: skip

    @contextmanager
    def loop(self, node: Node, kind: str = "serial", count: int = 1) -> Iterator[None]:
        """Open a loop in front of its operation.

        Raises:
            ScriptError: a `break` of a loop whose turns have no order, or of several at once.
        """
        exits = {each for inner in node.body for each in self.inside(inner)}
        ends = exits & {"break", "return"}
        if ends and (kind not in ("serial", "unrolled") or count != 1):
            word = min(ends)
            where = "several loops at once" if count != 1 else f"a {kind} loop"
            self.stmts.scope.fail(node, f"'{word}' leaves {where}; use one serial loop")
        loop = _Loop(returns="return" in exits)
        if "break" in exits:
            loop.done = self._flag("done")
        if loop.returns:
            self._return_flag()
        self._loops.append(loop)
        yield
        self._loops.pop()

    def running(self) -> Scalar | None:
        """Return whether the innermost loop goes on, None where nothing ends it early."""
        loop = self._loops[-1]
        flags = [loop.done, self._returned if loop.returns else None]
        return self._none_of([flag for flag in flags if flag is not None])

    @property
    def in_loop(self) -> bool:
        """Whether a loop is open."""
        return bool(self._loops)

    def turn(self, statements: Sequence[Node], guarded: bool = True) -> None:
        """Read the statements of one turn of the innermost loop.

        Args:
            statements: the loop's body.
            guarded: whether the loop runs on, its turns doing nothing, when it is left.
        """
        self._loops[-1].body = ir.InsertionPoint.current.block
        condition = self.running() if guarded else None
        if condition is None:
            self.stmts.body(statements, tail=True)
        else:
            with self.stmts.branch(condition):
                self.stmts.body(statements, tail=True)

    def going(self, kinds: set[str]) -> Scalar | None:
        """Return whether none of these ways out was taken by what was read."""
        flags = []
        if kinds & {"break", "continue"} and self._loops:
            loop = self._loops[-1]
            flags += [loop.done if "break" in kinds else None]
            flags += [loop.skipped if "continue" in kinds else None]
        flags.append(self._returned if "return" in kinds else None)
        return self._none_of([flag for flag in flags if flag is not None])

    def _none_of(self, flags: list[Buffer]) -> Scalar | None:
        condition = None
        for flag in flags:
            one = S.compare("eq", flag[()], S.const(False, "bool"))
            condition = one if condition is None else S.binary("and", condition, one)
        return condition

    def _flag(self, word: str) -> Buffer:
        names = itertools.chain([word], (f"{word}{number}" for number in itertools.count(1)))
        name = next(each for each in names if each not in self._taken)
        self._taken.add(name)
        flag = self.stmts.builder.alloc(name, [], "bool")
        flag.store(S.const(False, "bool"), ())
        return flag

    def _raise(self, flag: Buffer) -> None:
        flag.store(S.const(True, "bool"), ())

    def _return_flag(self) -> Buffer:
        if self._returned is None:
            with ir.InsertionPoint.at_block_begin(self.stmts.builder.entry):
                self._returned = self._flag("returned")
        return self._returned

    def _skip_flag(self, loop: _Loop) -> Buffer:
        if loop.skipped is None:
            assert loop.body is not None
            with ir.InsertionPoint.at_block_begin(loop.body):
                loop.skipped = self._flag("skipped")
        return loop.skipped


def changing_names(statements: Sequence[Node]) -> set[str]:
    """Return the variables that a statement updates, or binds again deeper than it was bound."""
    changing: set[str] = set()
    places: dict[str, list[tuple[int, ...]]] = {}

    def visit(nodes: Sequence[Node], place: tuple[int, ...]) -> None:
        for number, node in enumerate(nodes):
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            is_bind = isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign))
            for target in targets if is_bind else ():
                if not isinstance(target, ast.Name):
                    continue
                before = places.setdefault(target.id, [])
                bare = isinstance(node, ast.AnnAssign) and node.value is None
                outer = any(place[: len(each)] == each and place != each for each in before)
                if isinstance(node, ast.AugAssign) or bare or outer:
                    changing.add(target.id)
                before.append(place)
            if not isinstance(node, ast.FunctionDef):
                for which, name in enumerate(("body", "orelse")):
                    visit(getattr(node, name, []), (*place, number, which))

    visit(statements, ())
    return changing
