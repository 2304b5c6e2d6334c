"""Scopes of a function: variables, symbols, and names local to a dataflow block."""

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.atoms import SIGNED, signed, variable
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ScriptError, did_you_mean
from relax_mlir.script.parser.env import MISSING, Env
from relax_mlir.script.parser.source import Node, Source

# What library calls raise for unexpected operands.
UNFORESEEN = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError,
              MemoryError, ir.MLIRError)  # fmt: skip


class Scope:
    """One function being parsed.

    Attributes:
        values: variables by name: MLIR values, symbolic integers, or tuples of them.
        symbols: names of symbolic integers; whether something binds each at run time.
        ended: names whose block has ended, with the kind of block.
        depth: how many macros are being read inside each other.
        modules: what the function calls its own module, in addition to `cls`.
        integers: the symbolic integer that an `i64` value stands for.
        functions: the signature of a value that is a function.
        carried: the symbol that an integer had in the loop that it is the result of.
        spent: the symbols that integers had in blocks that have ended.
    """

    def __init__(self, source: Source, env: Env) -> None:
        self.source = source
        self.env = env
        self.values: dict[str, Any] = {}
        self.symbols: dict[str, bool] = {}
        self.ended: dict[str, str] = {}
        self.integers: list[tuple[ir.Value, SymExpr]] = []
        self.functions: list[tuple[ir.Value, Any]] = []
        self.carried: list[tuple[ir.Value, str]] = []
        self.spent: set[str] = set()
        self.block_names: list[set[str]] = []
        self.modules: set[str] = set()
        self.depth = 0

    def fail(self, node: Node, message: str) -> NoReturn:
        """Raise a ScriptError that underlines the node."""
        self.source.fail(node, message)

    @contextmanager
    def guarded(self, node: Node) -> Iterator[None]:
        """Turn what the code inside did not foresee into a ScriptError that underlines the node.

        Raises:
            ScriptError: chained to the error that it stands for.
        """
        try:
            yield
        except ScriptError:
            raise
        except RecursionError as error:
            message, cause = "this is nested too deeply; split it into several statements", error
        except MemoryError as error:
            message, cause = "this needs more memory than there is", error
        except UNFORESEEN as error:
            # The bindings list every overload after the first line.
            detail = (str(error).splitlines() or [""])[0]
            message, cause = f"this cannot be read: {type(error).__name__}: {detail}", error
        else:
            return
        try:
            self.fail(node, message)
        except ScriptError as wrong:
            raise wrong from cause

    def location(self, node: Node, name: str | None = None) -> ir.Location:
        """Return the location of a node, carrying a variable's name where there is one."""
        line = getattr(node, "lineno", 1)
        column = self.source.column(line, getattr(node, "col_offset", 0)) + 1
        place = ir.Location.file(self.source.filename, line, column)
        return ir.Location.name(name, childLoc=place) if name else place

    def bind(self, name: str, value: Any) -> None:
        """Give a variable its value; a later binding of the name replaces it."""
        self.values[name] = value
        self.ended.pop(name, None)
        if self.block_names:
            self.block_names[-1].add(name)

    def is_outer(self, name: str) -> bool:
        """Whether a name belongs to a scope around the innermost open block."""
        if not self.block_names or name in self.block_names[-1]:
            return False
        return name in self.values or name in self.symbols

    def hide(self, names: Iterable[str], kind: str) -> None:
        """Make variables mean nothing after blocks of a kind that have bound them again."""
        for name in names:
            if self.values.pop(name, MISSING) is not MISSING:
                self.ended[name] = f"changed {kind}"
                if self.block_names:
                    self.block_names[-1].add(name)

    def path(self, node: Node) -> str | None:
        """Return the path of a name of the script language unless a variable shadows it."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self.values:
            return None
        return self.env.path(node)

    def lookup_or(self, node: Node, default: Any) -> Any:
        """Return what a name means here: variable, symbol, or captured Python value."""
        name = node.id
        if name in self.values:
            return self.values[name]
        if name in self.symbols:
            return SymExpr.var(name)
        if name not in self.ended:
            captured = self.env.lookup(name)
            if captured is not MISSING:
                return captured
        return default

    def undefined(self, node: Node, name: str) -> NoReturn:
        """Raise a ScriptError that a name means nothing here and says what may have been meant."""
        if self.ended.get(name) == "dataflow":
            self.fail(
                node,
                f"'{name}' is local to its dataflow block; add it to R.output(...) to use it here",
            )
        if self.ended.get(name, "").startswith("changed"):
            kind = self.ended[name].removeprefix("changed ")
            self.fail(
                node,
                f"'{name}' was bound again in a {kind} that does not give it back, so it means "
                "nothing here; use another name there",
            )
        if self.ended.get(name) == "one branch":
            self.fail(node, f"'{name}' is bound in one branch only; bind it before the 'if'")
        if name in self.ended:
            self.fail(node, f"'{name}' is local to its {self.ended[name]} and means nothing here")
        if name == "metadata":
            self.fail(
                node,
                "undefined variable 'metadata': it holds the constants of a printed module. "
                "save_script(module, path) writes them next to the text, for load_script(path) and "
                "the tools; or pass the second result of script_with_metadata(module) as "
                "from_source(text, extra_vars={'metadata': constants})",
            )
        near = did_you_mean(name, [*self.values, *self.symbols])
        self.fail(node, f"undefined variable '{name}'{near}")

    @contextmanager
    def nested(self, kind: str) -> Iterator[set[str]]:
        """Open a block; yields the set of names bound in it, which end with the block."""
        outer, symbols, known = dict(self.values), dict(self.symbols), len(self.integers)
        self.block_names.append(set())
        yield self.block_names[-1]
        names = self.block_names.pop()
        self.values = outer
        for name in names:
            if name not in outer:
                self.ended[name] = kind
        if kind in ("branch", "loop", "function"):
            # What stands for an integer in there has no value here.
            del self.integers[known:]
            for name in self.symbols.keys() - symbols.keys():
                self.ended[name] = kind
            self.symbols = symbols
        if kind == "dataflow":
            self.hide(names, "dataflow block")

    def fresh_symbol(self, hint: str, *, local: bool = False) -> str:
        """Return a name for a symbol, and declare it.

        Args:
            hint: the name, unless something has it.
            local: whether it may be that of a symbol whose block has ended, as no variable that is
                called like it outlives the block.
        """
        base, suffix = variable(hint), SIGNED if hint.endswith(SIGNED) else ""
        plain, count = base, 0
        while self._is_taken(plain, local):
            count += 1
            plain = f"{base}_{count}"
        name = plain + suffix
        self.symbols[name] = True
        self.spent.add(name)
        return name

    def _is_taken(self, name: str, local: bool) -> bool:
        names = (name, signed(name))
        return any(each in self.symbols or (each in self.spent and not local) for each in names)

    def bind_symbol(
        self, value: ir.Value, hint: str, node: Node, *, local: bool = False
    ) -> SymExpr:
        """Give an integer known at run time a symbol, which holds to the end of this block.

        Args:
            value: the integer.
            hint: the symbol's name, unless something has it; `signed` where it may be negative.
            node: where this happens, for messages.
            local: as for `fresh_symbol`.
        """
        expr = SymExpr.var(self.fresh_symbol(hint, local=local))
        ir.Operation.create(
            "relax.match_prim",
            operands=[value],
            attributes={"value": Dims.of([expr])},
            loc=self.location(node),
        )
        self.integers.append((value, expr))
        return expr

    def symbol_of(self, value: ir.Value, hint: str, node: Node) -> SymExpr | None:
        """Return the symbolic integer that an `i64` value is, None for any other value."""
        if str(value.type) != "i64":
            return None
        known = self.integer_of(value)
        if known is not None:
            return known
        own = next((name for each, name in self.carried if each == value), None)
        return self.bind_symbol(value, own or signed(hint), node, local=own is not None)

    def integer_of(self, value: ir.Value) -> SymExpr | None:
        """Return the symbolic integer that a value is known to be."""
        return next((expr for known, expr in self.integers if known == value), None)
