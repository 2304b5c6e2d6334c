"""Compiled functions that tests call with everything wrong, and values to call them with."""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from programs import tensor

from relax_mlir import IRModule, relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.runtime import register_func, remove_global_func

HOOK: dict[str, Callable[..., Any]] = {}


@contextlib.contextmanager
def hooked() -> Iterator[None]:
    """Register `test.bad.hook`, which is whatever HOOK["call"] is; a VM looks it up only once."""
    register_func("test.bad.hook", lambda *args: HOOK["call"](*args), override=True)
    try:
        yield
    finally:
        remove_global_func("test.bad.hook")


def build() -> relax.Executable:
    """Compile the functions."""
    with default_context(), ir.Location.unknown():
        return relax.build(IRModule(ir.Module.parse(program())))


def program() -> str:
    """Return the functions as MLIR text; `n` and `m` are symbols, `test.bad.late` is missing."""
    x, y, row = tensor(["n", 4]), tensor(["n", "m"]), tensor(["m"])
    shape = '!relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>>'
    fields = f"tuple<{x}, tuple<{tensor(['n'])}, {shape}>>"
    static = tensor([3, 4])

    def function(name: str, params: str, result: Any, body: str) -> str:
        names = ", ".join(f'"{p}"' for p in re.findall(r"%(\w+):", params))
        attributes = f"{{relax.function, relax.params = [{names}]}}"
        return f"func.func @{name}({params}) -> {result} attributes {attributes} {{ {body} }}"

    def call(name: str, args: str, types: Any, result: Any, kind: str = "packed") -> str:
        return f"""
            %t_{name} = builtin.unrealized_conversion_cast {args} : {types} to tuple<{types}>
            %{name} = "relax.call_{kind}"(%t_{name}) {{func = "test.bad.{name}"}}
                : (tuple<{types}>) -> {result}"""

    return "\n".join([
        function("plus", f"%x: {x}, %y: {x}", x, f"""
            %0 = "relax.add"(%x, %y) : ({x}, {x}) -> {x}
            return %0 : {x}"""),
        function("dot", f"%x: {y}, %v: {row}", tensor(["n"]), f"""
            %0 = "relax.matmul"(%x, %v) : ({y}, {row}) -> {tensor(["n"])}
            return %0 : {tensor(["n"])}"""),
        function("packed", f"%x: {x}", x, f"""{call("hook", "%x", x, x)}
            %0 = "relax.add"(%hook, %x) : ({x}, {x}) -> {x}
            return %0 : {x}"""),
        function("update", f"%x: {x}", x, f"""{call("hook", "%x", x, "!relax.object")}
            return %x : {x}"""),
        function("give", f"%x: {x}", "!relax.object", f"""
            {call("hook", "%x", x, "!relax.object")}
            return %hook : !relax.object"""),
        function("middle", f"%x: {x}", x, f"""
            %0 = "relax.exp"(%x) : ({x}) -> {x}{call("hook", "%0", x, "!relax.object")}
            %1 = "relax.exp"(%0) : ({x}) -> {x}
            %2 = "relax.exp"(%1) : ({x}) -> {x}
            return %2 : {x}"""),
        function("constant", "", static, f"""
            %c = "relax.constant"() {{value = dense<1.5> : {static}}} : () -> {static}
            return %c : {static}"""),
        function("write_constant", f"%x: {static}", static, f"""
            %c = "relax.constant"() {{value = dense<1.5> : {static}}} : () -> {static}
            {call("hook", "%c", static, "!relax.object")}
            %0 = "relax.add"(%x, %c) : ({static}, {static}) -> {static}
            return %0 : {static}"""),
        function("late", f"%x: {x}", x, f"""{call("late", "%x", x, x)}
            return %late : {x}"""),
        function("fill", f"%s: {shape}", x, f"""
            %e = "relax.shape_expr"() : () -> {shape}
            %u = builtin.unrealized_conversion_cast to tuple<>
            %0 = "relax.call_dps_packed"(%e, %u) {{func = "test.bad.hook"}}
                : ({shape}, tuple<>) -> {x}
            return %0 : {x}"""),
        function("fields", f"%x: {fields}", x, f"""
            %0 = "relax.tuple_get_item"(%x) {{index = 0 : i64}} : ({fields}) -> {x}
            return %0 : {x}"""),
    ])  # fmt: skip


def good() -> np.ndarray:
    """Return a (3, 4) float32 array that nobody else has."""
    return np.arange(12, dtype="f4").reshape(3, 4)


class Producer:
    """Something with `__dlpack__`, like another library's tensor."""

    def __init__(self, array: np.ndarray, error: Exception | None = None) -> None:
        self.array, self.error = array, error

    def __dlpack__(self, **options: Any) -> Any:
        if self.error is not None:
            raise self.error
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Converts:
    """Something that numpy converts to an array, or tries to."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.result
