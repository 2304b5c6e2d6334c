"""Types of the MLIR bindings' `dialects.ext`: dialects whose operations are Python classes."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from typing_extensions import Self

from relax_mlir.dialects import _mlir_ir as ir

_cext: Any
Operand = ir.Value
Result = ir.OpResult
Region = ir.Region

class DialectAlreadyLoadedError(RuntimeError): ...

def operand(*, kw_only: bool = False) -> Any: ...
def result(*, default_factory: Callable[[], Any] | None = None, kw_only: bool = False) -> Any: ...
def infer_result() -> Any: ...
def attribute(
    *, default_factory: Callable[[], Any] | None = None, kw_only: bool = False
) -> Any: ...

class Operation(ir.OpView):
    """Base class of operations defined in Python; the fields are the arguments."""

    OPERATION_NAME: ClassVar[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        traits: Sequence[type] | None = None,
        dialect: type[Dialect] | None = None,
        **kwargs: Any,
    ) -> None: ...

class Type(ir.DynamicType):
    """Base class of types defined in Python."""

    type_name: ClassVar[str]

    def __init_subclass__(
        cls, *, name: str | None = None, dialect: type[Dialect] | None = None, **kwargs: Any
    ) -> None: ...
    @classmethod
    def get(cls, *args: Any, context: ir.Context | None = None) -> Self: ...

class Attribute(ir.DynamicAttr):
    """Base class of attributes defined in Python."""

    attr_name: ClassVar[str]

    def __init_subclass__(
        cls, *, name: str | None = None, dialect: type[Dialect] | None = None, **kwargs: Any
    ) -> None: ...
    @classmethod
    def get(cls, *args: Any, context: ir.Context | None = None) -> Self: ...

_Operation = Operation
_Type = Type
_Attribute = Attribute

class Dialect(ir.Dialect):
    """A dialect whose members are Python classes."""

    DIALECT_NAMESPACE: ClassVar[str]
    operations: ClassVar[list[type[Operation]]]
    types: ClassVar[list[type[Type]]]
    attributes: ClassVar[list[type[Attribute]]]
    _mlir_module: ClassVar[ir.Module | None]

    class Operation(_Operation): ...
    class Type(_Type): ...
    class Attribute(_Attribute): ...

    def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None: ...
    @classmethod
    def load(cls) -> None: ...

class Pure:
    """Trait of operations that touch no memory and may be speculated."""

    class NoMemoryEffect(ir.MemoryEffectsOpInterface): ...
    class AlwaysSpeculatable(ir.ConditionallySpeculatable): ...

    @staticmethod
    def attach(op_name: str) -> None: ...
