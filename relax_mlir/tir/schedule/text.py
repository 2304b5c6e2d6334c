"""Symbolic integers as Python text, with the names that the reader of the text knows."""


class Text:
    """Text of an expression with the operators that `SymExpr.fold` needs."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __add__(self, other: "Text") -> "Text":
        return Text(f"({self.text} + {other.text})")

    def __mul__(self, other: "Text") -> "Text":
        return Text(f"({self.text} * {other.text})")

    @staticmethod
    def divide(kind: str, a: "Text", b: "Text") -> "Text":
        """Return a quotient, a remainder, a minimum or a maximum."""
        sign = {"floordiv": "//", "mod": "%"}.get(kind)
        return Text(f"({a.text} {sign} {b.text})" if sign else f"{a.text}.{kind}({b.text})")
