"""From modules of `frontend.nn` to functions of an IRModule."""

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.frontend.nn import spec as specs
from relax_mlir.frontend.nn.effects import Effect, IOEffect
from relax_mlir.frontend.nn.tensor import Parameter, Tensor, current_builder
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr import ObjectType, ShapeType, Tuple, TupleType, Var

_CURRENT: ContextVar["Exporter | None"] = ContextVar("exporter", default=None)
INITIALIZE = "_initialize_effect"


class Object:
    """Something opaque of the program, such as a cache that other code manages.

    Attributes:
        _expr: the variable.
    """

    def __init__(self, *, _expr: Any, _name: str) -> None:
        is_var = isinstance(_expr, Var)
        self._expr = _expr if is_var else current_builder().emit(_expr, _name)


def attributes_of(
    root: Any, wanted: Callable[[Any], bool], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield what a module and those inside of it have, by dotted name, in order of definition.

    Args:
        root: a module or container; `named_children` gives its attributes.
        wanted: whether to yield one.
        prefix: of the names.
    """
    for name, item in root.named_children():
        if wanted(item):
            yield f"{prefix}{name}", item
        elif hasattr(item, "named_children"):
            yield from attributes_of(item, wanted, f"{prefix}{name}.")


def add_extern(mod: Any) -> None:
    """Add an external module to the module that is exported.

    Raises:
        RuntimeError: none is.
    """
    exporter = _CURRENT.get()
    if exporter is None:
        raise RuntimeError("`nn.add_extern` should only be invoked when exporting a module.")
    exporter.add_external_module(mod)


class Exporter:
    """One export.

    Args:
        debug: whether printing and debugging work in the program.

    Attributes:
        builder: of the module.
        io_effect: the effect of printing, None unless debugging.
        extern_mods: external modules that the program calls.
    """

    def __init__(self, debug: bool = False) -> None:
        self.builder: BlockBuilder = BlockBuilder()
        self.io_effect: IOEffect | None = IOEffect() if debug else None
        self.extern_mods: list[Any] = []

    @staticmethod
    def current() -> "Exporter":
        """Return the export that runs.

        Raises:
            BuilderError: none does.
        """
        exporter = _CURRENT.get()
        if exporter is None:
            raise BuilderError("no module is exported; export_tvm and jit do")
        return exporter

    def add_external_module(self, mod: Any) -> None:
        """Add an external module.

        Raises:
            ValueError: another one has a function of that name.
        """
        known = {symbol for each in self.extern_mods for symbol in each.symbols}
        twice = sorted(known & set(mod.symbols))
        if twice:
            raise ValueError(f"Duplicate symbols: {twice}")
        self.extern_mods.append(mod)

    def build(
        self, spec: specs.ModuleSpec
    ) -> tuple[IRModule, list[tuple[str, Parameter]], list[Any]]:
        """Return the IRModule, the parameters in order, and the external modules."""
        effects = [] if self.io_effect is None else [("", self.io_effect)]
        effects += attributes_of(spec.module, lambda item: isinstance(item, Effect))
        params = list(attributes_of(spec.module, lambda item: isinstance(item, Parameter)))
        token = _CURRENT.set(self)
        try:
            if effects:
                self._initialize(effects)
            for name, method in zip(spec.method_names, spec.method_specs, strict=True):
                self._method(name, method, params, effects)
        finally:
            _CURRENT.reset(token)
        return self.builder.finalize(), params, self.extern_mods

    def _initialize(self, effects: Sequence[tuple[str, Effect]]) -> None:
        builder = self.builder
        with builder.function(INITIALIZE, []):
            with builder.dataflow():
                made = [v for name, each in effects for v in each.emit_init(name, builder)]
                result = builder.emit_output(builder.emit(Tuple(made)))
            builder.emit_func_output(result)

    def _method(
        self, name: str, spec: specs.MethodSpec, params: Sequence[tuple[str, Parameter]],
        effects: Sequence[tuple[str, Effect]],
    ) -> None:  # fmt: skip
        builder = self.builder
        inputs = [_input(*each) for each in zip(spec.arg_names, spec.arg_specs, strict=True)]
        states = [effect.create(key) for key, effect in effects]
        given = [v for each in states for v in each]
        weights = []
        for key, param in params:
            param._expr = Tensor.placeholder(param.shape, param.dtype, key)._expr
            weights.append(param._expr)
        state_vars = _packed("packed_effects", given, spec.effect_mode)
        weight_vars = _packed("packed_params", weights, spec.param_mode)
        attrs = {"num_input": len(inputs) + len(state_vars)}
        variables = [*(var for var, _ in inputs), *state_vars, *weight_vars]
        with builder.function(name, variables, attrs=attrs):
            with builder.dataflow():
                if spec.effect_mode == "packed":
                    given = self._unpacked(state_vars[0], [v.name_hint for v in given])
                rest = iter(given)
                for (_, effect), each in zip(effects, states, strict=True):
                    effect.set_state([next(rest) for _ in each])
                if spec.param_mode == "packed":
                    fields = self._unpacked(weight_vars[0], [key for key, _ in params])
                    for (_, param), field in zip(params, fields, strict=True):
                        param._expr = field
                pairs = zip(spec.arg_specs, inputs, strict=True)
                arguments = [self._argument(*each) for each in pairs]
                result = _unwrapped(spec.method(*arguments))
                after = [v for _, effect in effects for v in effect.finalize()]
                if after and spec.effect_mode != "none":
                    result = Tuple([result, Tuple(after)])
                result = builder.emit_output(result)
            builder.emit_func_output(result)

    def _unpacked(self, packed: Any, names: Sequence[str]) -> list[Any]:
        emit = self.builder.emit
        return [emit(packed[i], name.replace(".", "_")) for i, name in enumerate(names)]

    def _argument(self, spec: Any, given: tuple[Any, Any]) -> Any:
        """Return what the method is called with."""
        var, value = given
        if not isinstance(spec, specs.Tuple):
            return value
        return self._fields(spec, var)

    def _fields(self, spec: Any, var: Any) -> Any:
        if isinstance(spec, specs.Tuple):
            fields = self._unpacked(
                var, [f"{var.name_hint}_{index}" for index in range(len(spec.elements))]
            )
            pairs = zip(spec.elements, fields, strict=True)
            return type(spec.elements)([self._fields(*pair) for pair in pairs])
        if isinstance(spec, specs.Int):
            return var.ty.values[0]
        return Tensor(_expr=var)


def _input(name: str, spec: Any) -> tuple[Var, Any]:
    """Return the parameter of an input, and what the method gets for it."""
    if isinstance(spec, specs.Int):
        symbol = SymExpr.var(name)
        return Var(name, ShapeType([symbol])), symbol
    if isinstance(spec, specs.Tensor):
        made = Tensor.placeholder(spec.shape, spec.dtype, name)
        return made._expr, made
    if isinstance(spec, specs.Object):
        var = Var(name, ObjectType())
        return var, spec.object_type(_expr=var, _name=name)
    if isinstance(spec, specs.Tuple):
        fields = [_input(f"{name}_{i}", each)[0].ty for i, each in enumerate(spec.elements)]
        return Var(name, TupleType(fields)), None
    raise TypeError(f"Invalid spec for argument {name}: {spec}")


def _packed(name: str, variables: list[Var], mode: str) -> list[Var]:
    if mode == "packed":
        return [Var(name, TupleType([var.ty for var in variables]))]
    return variables if mode == "plain" else []


def _unwrapped(value: Any) -> Any:
    if isinstance(value, (Tensor, Object)):
        return value._expr
    if isinstance(value, (list, tuple)):
        return Tuple([_unwrapped(each) for each in value])
    raise ExprTypeError(f"a method gives tensors, or lists and tuples of them, got {value!r}")
