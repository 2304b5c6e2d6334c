"""Types of the MLIR bindings' `ir`; made by .ci/stubs, do not edit."""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, overload

from typing_extensions import Buffer, CapsuleType, Self, TypeVar

_T = TypeVar("_T", default=Type)

class DiagnosticSeverity(enum.Enum):
    ERROR = 0
    WARNING = 1
    NOTE = 2
    REMARK = 3

class WalkOrder(enum.Enum):
    PRE_ORDER = 0
    POST_ORDER = 1

class WalkResult(enum.Enum):
    ADVANCE = 0
    INTERRUPT = 1
    SKIP = 2

class Diagnostic:
    @property
    def severity(self) -> DiagnosticSeverity:
        """Returns the severity of the diagnostic."""

    @property
    def location(self) -> Location:
        """Returns the location associated with the diagnostic."""

    @property
    def message(self) -> str:
        """Returns the message text of the diagnostic."""

    @property
    def notes(self) -> tuple[Diagnostic]:
        """Returns a tuple of attached note diagnostics."""

    def __str__(self) -> str:
        """Returns the diagnostic message as a string."""

class DiagnosticInfo:
    def __init__(self, diag: Diagnostic) -> None:
        """Creates a DiagnosticInfo from a Diagnostic."""

    @property
    def severity(self) -> DiagnosticSeverity:
        """The severity level of the diagnostic."""

    @property
    def location(self) -> Location:
        """The location associated with the diagnostic."""

    @property
    def message(self) -> str:
        """The message text of the diagnostic."""

    @property
    def notes(self) -> list[DiagnosticInfo]:
        """List of attached note diagnostics."""

    def __str__(self) -> str:
        """Returns the diagnostic message as a string."""

class DiagnosticHandler:
    def detach(self) -> None:
        """Detaches the diagnostic handler from the context."""

    @property
    def attached(self) -> bool:
        """Returns True if the handler is attached to a context."""

    @property
    def had_error(self) -> bool:
        """Returns True if an error was encountered during diagnostic handling."""

    def __enter__(self, /) -> DiagnosticHandler:
        """Enters the diagnostic handler as a context manager."""

    def __exit__(
        self, exc_type: object | None, exc_value: object | None, traceback: object | None
    ) -> None:
        """Exits the diagnostic handler context manager."""

class ThreadPool:
    def __init__(self) -> None:
        """Creates a new thread pool with default concurrency."""

    def get_max_concurrency(self) -> int:
        """Returns the maximum number of threads in the pool."""

    def _mlir_thread_pool_ptr(self) -> str:
        """Returns the raw pointer to the LLVM thread pool as a string."""

class Context:
    def __init__(self) -> None:
        """Creates a new MLIR context."""

    @staticmethod
    def _get_live_count() -> int:
        """Gets the number of live Context objects."""

    def _get_context_again(self) -> Context:
        """Gets another reference to the same context."""

    def _get_live_module_count(self) -> int:
        """Gets the number of live modules owned by this context."""

    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the MlirContext."""

    @staticmethod
    def _CAPICreate(arg: object, /) -> Any:
        """Creates a Context from a capsule wrapping MlirContext."""

    def __enter__(self, /) -> Context:
        """Enters the context as a context manager."""

    def __exit__(
        self, exc_type: object | None, exc_value: object | None, traceback: object | None
    ) -> None:
        """Exits the context manager."""
    current: ClassVar[Context | Any] = ...

    @property
    def dialects(self) -> Dialects:
        """Gets a container for accessing dialects by name."""

    @property
    def d(self) -> Dialects:
        """Alias for `dialects`."""

    def get_dialect_descriptor(self, dialect_name: str) -> DialectDescriptor:
        """Gets or loads a dialect by name, returning its descriptor object."""

    def is_dialect_loaded(self, dialect_name: str) -> bool:
        """Checks if a dialect is loaded in the context."""

    @property
    def allow_unregistered_dialects(self) -> bool:
        """Controls whether unregistered dialects are allowed in this context."""

    @allow_unregistered_dialects.setter
    def allow_unregistered_dialects(self, arg: bool, /) -> None: ...
    def attach_diagnostic_handler(self, callback: object) -> Any:
        """Attaches a diagnostic handler that will receive callbacks."""

    def enable_multithreading(self, enable: bool) -> None:
        """Enables or disables multi-threading support in the context."""

    def set_thread_pool(self, arg: ThreadPool, /) -> None:
        """Sets a custom thread pool for the context to use."""

    def get_num_threads(self) -> int:
        """Gets the number of threads in the context's thread pool."""

    def _mlir_thread_pool_ptr(self) -> str:
        """Gets the raw pointer to the LLVM thread pool as a string."""

    def is_registered_operation(self, operation_name: str) -> bool:
        """Checks whether an operation with the given name is registered."""

    def append_dialect_registry(self, registry: DialectRegistry) -> None:
        """Appends the contents of a dialect registry to the context."""

    @property
    def emit_error_diagnostics(self) -> bool:
        """Controls whether error diagnostics are emitted to diagnostic handlers."""

    @emit_error_diagnostics.setter
    def emit_error_diagnostics(self, arg: bool, /) -> None: ...
    def load_all_available_dialects(self) -> None:
        """Loads all dialects available in the registry into the context."""

class DialectDescriptor:
    @property
    def namespace(self) -> str:
        """Returns the namespace of the dialect."""

    def __repr__(self) -> str:
        """Returns a string representation of the dialect descriptor."""

class Dialects:
    def __getitem__(self, arg: str, /) -> Any:
        """Gets a dialect by name using subscript notation."""

    def __getattr__(self, arg: str, /) -> Any:
        """Gets a dialect by name using attribute notation."""

class Dialect:
    def __init__(self, descriptor: object) -> None:
        """Creates a Dialect from a DialectDescriptor."""

    @property
    def descriptor(self) -> Any:
        """Returns the DialectDescriptor for this dialect."""

    def __repr__(self) -> str:
        """Returns a string representation of the dialect."""

class DialectRegistry:
    def __init__(self) -> None:
        """Creates a new empty dialect registry."""

    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the MlirDialectRegistry."""

    @staticmethod
    def _CAPICreate(arg: object, /) -> DialectRegistry:
        """Creates a DialectRegistry from a capsule wrapping `MlirDialectRegistry`."""

class Location:
    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the MlirLocation."""

    @staticmethod
    def _CAPICreate(arg: object, /) -> Location:
        """Creates a Location from a capsule wrapping MlirLocation."""

    def __enter__(self, /) -> Location:
        """Enters the location as a context manager."""

    def __exit__(
        self, exc_type: object | None, exc_value: object | None, traceback: object | None
    ) -> None:
        """Exits the location context manager."""

    @overload
    def __eq__(self, arg: Location, /) -> bool:
        """Compares two locations for equality."""

    @overload
    def __eq__(self, arg: object, /) -> bool:
        """Compares location with non-location object (always returns False)."""
    current: ClassVar[Location | Any] = ...

    @staticmethod
    def from_attr(attribute: Attribute, context: Context | None = None) -> Location:
        """Gets a Location from a `LocationAttr`."""

    @staticmethod
    def unknown(context: Context | None = None) -> UnknownLoc:
        """Alias for `UnknownLoc.get()`."""

    @overload
    @staticmethod
    def file(filename: str, line: int, col: int, context: Context | None = None) -> FileLineColLoc:
        """Alias for `FileLineColLoc.get()`."""

    @overload
    @staticmethod
    def file(
        filename: str,
        start_line: int,
        start_col: int,
        end_line: int,
        end_col: int,
        context: Context | None = None,
    ) -> FileLineColLoc:
        """Alias for `FileLineColLoc.get()` over a range."""

    @staticmethod
    def name(
        name: str, childLoc: Location | None = None, context: Context | None = None
    ) -> NameLoc:
        """Alias for `NameLoc.get()`."""

    @staticmethod
    def callsite(
        callee: Location, frames: Sequence[Location], context: Context | None = None
    ) -> CallSiteLoc:
        """Alias for `CallSiteLoc.get()`."""

    @staticmethod
    def fused(
        locations: Sequence[Location],
        metadata: Attribute | None = None,
        context: Context | None = None,
    ) -> Location:
        """Alias for `FusedLoc.get()` (may collapse to a non-fused location)."""

    @property
    def context(self) -> Context:
        """Context that owns the `Location`."""

    @property
    def attr(self) -> Attribute:
        """Get the underlying `LocationAttr`."""

    @property
    def typeid(self) -> TypeID:
        """Gets the `TypeID` of the underlying LocationAttr."""

    def emit_error(self, message: str) -> None:
        """Emits an error diagnostic at this location."""

    def __str__(self) -> str:
        """Returns the assembly form of the Location."""

    def __repr__(self) -> str:
        """Returns the assembly representation of the location."""

    def __hash__(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...

class UnknownLoc(Location):
    def __init__(self, cast_from_loc: Location) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    def __repr__(self) -> str: ...
    @staticmethod
    def get(context: Context | None = None) -> UnknownLoc:
        """Gets a Location representing an unknown location."""

class FileLineColLoc(Location):
    def __init__(self, cast_from_loc: Location) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    def __repr__(self) -> str: ...
    @overload
    @staticmethod
    def get(filename: str, line: int, col: int, context: Context | None = None) -> FileLineColLoc:
        """Gets a FileLineColLoc for a file, line, and column."""

    @overload
    @staticmethod
    def get(
        filename: str,
        start_line: int,
        start_col: int,
        end_line: int,
        end_col: int,
        context: Context | None = None,
    ) -> FileLineColLoc:
        """Gets a FileLineColLoc spanning a file and line/column range."""

    @property
    def filename(self) -> str:
        """Gets the filename from a `FileLineColLoc`."""

    @property
    def start_line(self) -> int:
        """Gets the start line number from a `FileLineColLoc`."""

    @property
    def start_col(self) -> int:
        """Gets the start column number from a `FileLineColLoc`."""

    @property
    def end_line(self) -> int:
        """Gets the end line number from a `FileLineColLoc`."""

    @property
    def end_col(self) -> int:
        """Gets the end column number from a `FileLineColLoc`."""

class NameLoc(Location):
    def __init__(self, cast_from_loc: Location) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    def __repr__(self) -> str: ...
    @staticmethod
    def get(
        name: str, child_loc: Location | None = None, context: Context | None = None
    ) -> NameLoc:
        """Gets a NameLoc with an optional child location."""

    @property
    def name_str(self) -> str:
        """Gets the name string from a `NameLoc`."""

    @property
    def child_loc(self) -> Location:
        """Gets the child location from a `NameLoc`."""

class CallSiteLoc(Location):
    def __init__(self, cast_from_loc: Location) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    def __repr__(self) -> str: ...
    @staticmethod
    def get(
        callee: Location, frames: Sequence[Location], context: Context | None = None
    ) -> CallSiteLoc:
        """Gets a CallSiteLoc chaining a callee and one or more caller frames."""

    @property
    def callee(self) -> Location:
        """Gets the callee location from a `CallSiteLoc`."""

    @property
    def caller(self) -> Location:
        """Gets the caller location from a `CallSiteLoc`."""

class FusedLoc(Location):
    def __init__(self, cast_from_loc: Location) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    def __repr__(self) -> str: ...
    @staticmethod
    def get(
        locations: Sequence[Location],
        metadata: Attribute | None = None,
        context: Context | None = None,
    ) -> FusedLoc:
        """Gets a FusedLoc from an array of locations and optional metadata. Raises if the fuse would collapse to a non-fused location; use `Location.fused(...)` for the permissive variant."""

    @property
    def locations(self) -> list[Any]:
        """Gets the list of locations from a `FusedLoc`."""

    @property
    def metadata(self) -> Attribute | Any:
        """Gets the metadata attribute from a `FusedLoc`, or None if absent."""

class Module:
    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the MlirModule."""

    @staticmethod
    def _CAPICreate(arg: object, /) -> Any:
        """Creates a Module from a `MlirModule` wrapped by a capsule (i.e. `module._CAPIPtr`)."""

    def _clear_mlir_module(self) -> None:
        """Clears the internal MLIR module reference."""

    @overload
    @staticmethod
    def parse(asm: str, context: Context | None = None) -> Module: ...
    @overload
    @staticmethod
    def parse(asm: bytes, context: Context | None = None) -> Module:
        """Parses a module's assembly format from a string."""

    @staticmethod
    def parseFile(path: str, context: Context | None = None) -> Module:
        """Parses a module's assembly format from a string."""

    @staticmethod
    def create(loc: Location | None = None) -> Module:
        """Creates an empty module."""

    @property
    def context(self) -> Context:
        """Context that created the `Module`."""

    @property
    def operation(self) -> Operation:
        """Accesses the module as an operation."""

    @property
    def body(self) -> Block:
        """Return the block for this module."""

    def dump(self) -> None:
        """Dumps a debug representation of the object to stderr."""

    def __str__(self) -> str:
        """Gets the assembly form of the operation with default options."""

    def __eq__(self, other: Module) -> bool:
        """Compares two modules for equality."""

    def __hash__(self) -> int:
        """Returns the hash value of the module."""

class _OperationBase:
    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the `MlirOperation`."""

    @overload
    def __eq__(self, arg: _OperationBase, /) -> bool:
        """Compares two operations for equality."""

    @overload
    def __eq__(self, arg: object, /) -> bool:
        """Compares operation with non-operation object (always returns False)."""

    @property
    def attributes(self) -> OpAttributeMap:
        """Returns a dictionary-like map of operation attributes."""

    @property
    def context(self) -> Context:
        """Context that owns the operation."""

    @property
    def name(self) -> Any:
        """Returns the fully qualified name of the operation."""

    @property
    def operands(self) -> OpOperandList:
        """Returns the list of operation operands."""

    @property
    def op_operands(self) -> OpOperands:
        """Returns the list of op operands."""

    @property
    def regions(self) -> RegionSequence:
        """Returns the list of operation regions."""

    @property
    def results(self) -> OpResultList:
        """Returns the list of Operation results."""

    @property
    def result(self) -> OpResult:
        """Shortcut to get an op result if it has only one (throws an error otherwise)."""

    @property
    def location(self) -> Location:
        """Returns the source location the operation was defined or derived from."""

    @location.setter
    def location(self, arg: Location, /) -> None:
        """Sets the source location the operation was defined or derived from."""

    @property
    def parent(self) -> Operation | Any:
        """Returns the parent operation, or `None` if at top level."""

    def __str__(self) -> str:
        """Returns the assembly form of the operation."""

    @overload
    def print(self, state: AsmState, file: object | None = None, binary: bool = False) -> None:
        """Prints the assembly form of the operation to a file like object."""

    @overload
    def print(
        self,
        large_elements_limit: int | None = None,
        large_resource_limit: int | None = None,
        enable_debug_info: bool = False,
        pretty_debug_info: bool = False,
        print_generic_op_form: bool = False,
        use_local_scope: bool = False,
        use_name_loc_as_prefix: bool = False,
        assume_verified: bool = False,
        file: object | None = None,
        binary: bool = False,
        skip_regions: bool = False,
    ) -> None:
        """Prints the assembly form of the operation to a file like object."""

    def write_bytecode(self, file: object, desired_version: int | None = None) -> None:
        """Write the bytecode form of the operation to a file like object."""

    def get_asm(
        self,
        binary: bool = False,
        large_elements_limit: int | None = None,
        large_resource_limit: int | None = None,
        enable_debug_info: bool = False,
        pretty_debug_info: bool = False,
        print_generic_op_form: bool = False,
        use_local_scope: bool = False,
        use_name_loc_as_prefix: bool = False,
        assume_verified: bool = False,
        skip_regions: bool = False,
    ) -> Any:
        """Gets the assembly form of the operation with all options available."""

    def verify(self) -> bool:
        """Verify the operation. Raises MLIRError if verification fails, and returns true otherwise."""

    def move_after(self, other: _OperationBase) -> None:
        """Puts self immediately after the other operation in its parent block."""

    def move_before(self, other: _OperationBase) -> None:
        """Puts self immediately before the other operation in its parent block."""

    def is_before_in_block(self, other: _OperationBase) -> bool:
        """Checks if this operation is before another in the same block."""

    def clone(self, ip: object | None = None) -> Operation:
        """Creates a deep copy of the operation."""

    def detach_from_parent(self) -> OpView:
        """Detaches the operation from its parent block."""

    @property
    def attached(self) -> bool:
        """Reports if the operation is attached to its parent block."""

    def erase(self) -> None:
        """Erases the operation and frees its memory."""

    def walk(
        self,
        callback: Callable[[Operation], WalkResult],
        walk_order: WalkOrder = ...,
        op_class: type[OpView] | None = None,
    ) -> None:
        """Walks the operation tree with a callback function."""

    def has_trait(self, trait_cls: type) -> bool:
        """Checks if the operation has a given trait."""

    def __hash__(self) -> int: ...

class Operation(_OperationBase):
    @staticmethod
    def create(
        name: str,
        results: Sequence[Type] | None = None,
        operands: Sequence[Value] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        successors: Sequence[Block] | None = None,
        regions: int = 0,
        loc: Location | None = None,
        ip: object | None = None,
        infer_type: bool = False,
    ) -> Operation:
        """Creates a new operation."""

    @staticmethod
    def parse(source: str, *, source_name: str = "", context: Context | None = None) -> OpView:
        """Parses an operation. Supports both text assembly format and binary bytecode format."""

    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the MlirOperation."""

    @staticmethod
    def _CAPICreate(arg: object, /) -> Any:
        """Creates an Operation from a capsule wrapping MlirOperation."""

    @property
    def operation(self) -> Operation:
        """Returns self (the operation)."""

    @property
    def opview(self) -> OpView:
        """Returns an OpView of this operation."""

    @property
    def block(self) -> Block:
        """Returns the block containing this operation."""

    @property
    def successors(self) -> OpSuccessors:
        """Returns the list of Operation successors."""

    def replace_uses_of_with(self, of: Value, with_: Value) -> None:
        """Replaces uses of the 'of' value with the 'with' value inside the operation."""

    def _set_invalid(self) -> None:
        """Invalidate the operation."""

class OpView(_OperationBase):
    @overload
    def __init__(self, operation: Operation) -> None: ...
    @overload
    def __init__(
        self,
        name: str,
        opRegionSpec: tuple[int, bool],
        operandSegmentSpecObj: object | None = None,
        resultSegmentSpecObj: object | None = None,
        results: Sequence[Any] | None = None,
        operands: Sequence[Any] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        successors: Sequence[Block] | None = None,
        regions: int | None = None,
        loc: Location | None = None,
        ip: object | None = None,
    ) -> None: ...
    @property
    def operation(self) -> Operation: ...
    @property
    def opview(self) -> OpView: ...
    def __str__(self) -> str: ...
    @property
    def successors(self) -> OpSuccessors:
        """Returns the list of Operation successors."""

    def _set_invalid(self) -> None:
        """Invalidate the operation."""
    _ODS_REGIONS: tuple[Any, ...] = (0, True)
    _ODS_OPERAND_SEGMENTS: None = None
    _ODS_RESULT_SEGMENTS: None = None

    @classmethod
    def build_generic(
        cls,
        results: Sequence[Type] | None = None,
        operands: Sequence[Value] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        successors: Sequence[Block] | None = None,
        regions: int | None = None,
        loc: Location | None = None,
        ip: InsertionPoint | None = None,
    ) -> Self:
        """Builds a specific, generated OpView based on class level attributes."""

    @classmethod
    def parse(cls, source: str, *, source_name: str = "", context: Context | None = None) -> Self:
        """Parses a specific, generated OpView based on class level attributes."""

    @classmethod
    def has_trait(cls, trait_cls: type, context: Context | None = None) -> bool:
        """Checks if the operation has a given trait."""

    def __getattr__(self, name: str) -> Any: ...

class OpAdaptor:
    @overload
    def __init__(self, operands: list[Value], attributes: OpAttributeMap) -> None:
        """Creates an OpAdaptor with the given operands and attributes."""

    @overload
    def __init__(self, operands: list[Value], opview: OpView) -> None:
        """Creates an OpAdaptor with the given operands and operation view."""

    @property
    def operands(self) -> list[Any]:
        """Returns the operands of the adaptor."""

    @property
    def attributes(self) -> OpAttributeMap:
        """Returns the attributes of the adaptor."""

class Region:
    @property
    def blocks(self) -> BlockList:
        """Returns a forward-optimized sequence of blocks."""

    @property
    def owner(self) -> OpView:
        """Returns the operation owning this region."""

    def __iter__(self) -> BlockIterator:
        """Iterates over blocks in the region."""

    @overload
    def __eq__(self, arg: Region, /) -> bool:
        """Compares two regions for pointer equality."""

    @overload
    def __eq__(self, arg: object, /) -> bool:
        """Compares region with non-region object (always returns False)."""

    def __hash__(self) -> int: ...

class Block:
    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the MlirBlock."""

    @property
    def owner(self) -> OpView:
        """Returns the owning operation of this block."""

    @property
    def region(self) -> Region:
        """Returns the owning region of this block."""

    @property
    def arguments(self) -> BlockArgumentList:
        """Returns a list of block arguments."""

    def add_argument(self, type: Type, loc: Location) -> BlockArgument:
        """Appends an argument of the specified type to the block."""

    def erase_argument(self, index: int) -> None:
        """Erases the argument at the specified index."""

    @property
    def operations(self) -> OperationList:
        """Returns a forward-optimized sequence of operations."""

    @staticmethod
    def create_at_start(
        parent: Region, arg_types: Sequence[Type] = [], arg_locs: Sequence[Location] | None = None
    ) -> Block:
        """Creates and returns a new Block at the beginning of the given region (with given argument types and locations)."""

    def append_to(self, region: Region) -> None:
        """Appends this block to a region."""

    def create_before(self, *arg_types: Any, arg_locs: Sequence[Location] | None = None) -> Block:
        """Creates and returns a new Block before this block (with given argument types and locations)."""

    def create_after(self, *arg_types: Any, arg_locs: Sequence[Location] | None = None) -> Block:
        """Creates and returns a new Block after this block (with given argument types and locations)."""

    def __iter__(self) -> OperationIterator:
        """Iterates over operations in the block."""

    @overload
    def __eq__(self, arg: Block, /) -> bool:
        """Compares two blocks for pointer equality."""

    @overload
    def __eq__(self, arg: object, /) -> bool:
        """Compares block with non-block object (always returns False)."""

    def __hash__(self) -> int:
        """Returns the hash value of the block."""

    def __str__(self) -> str:
        """Returns the assembly form of the block."""

    def append(self, operation: _OperationBase) -> None:
        """Appends an operation to this block."""

    @property
    def successors(self) -> BlockSuccessors:
        """Returns the list of Block successors."""

    @property
    def predecessors(self) -> BlockPredecessors:
        """Returns the list of Block predecessors."""

class InsertionPoint:
    @overload
    def __init__(self, block: Block) -> None:
        """Inserts after the last operation but still inside the block."""

    @overload
    def __init__(self, beforeOperation: _OperationBase) -> None:
        """Inserts before a referenced operation."""

    def __enter__(self, /) -> InsertionPoint:
        """Enters the insertion point as a context manager."""

    def __exit__(
        self, exc_type: object | None, exc_value: object | None, traceback: object | None
    ) -> None:
        """Exits the insertion point context manager."""
    current: ClassVar[InsertionPoint] = ...

    @staticmethod
    def at_block_begin(block: Block) -> InsertionPoint:
        """Creates an insertion point at the beginning of a block."""

    @staticmethod
    def at_block_terminator(block: Block) -> InsertionPoint:
        """Creates an insertion point before a block's terminator."""

    @staticmethod
    def after(operation: _OperationBase) -> InsertionPoint:
        """Creates an insertion point immediately after an operation."""

    def insert(self, operation: _OperationBase) -> None:
        """Inserts an operation at this insertion point."""

    @property
    def block(self) -> Block:
        """Returns the block that this `InsertionPoint` points to."""

    @property
    def ref_operation(self) -> Operation | Any:
        """The reference operation before which new operations are inserted, or None if the insertion point is at the end of the block."""

class Attribute:
    def __init__(self, cast_from_type: Attribute) -> None:
        """Casts the passed attribute to the generic `Attribute`."""

    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the MlirAttribute."""

    @staticmethod
    def _CAPICreate(arg: object, /) -> Attribute:
        """Creates an Attribute from a capsule wrapping `MlirAttribute`."""

    @staticmethod
    def parse(asm: str, context: Context | None = None) -> Attribute:
        """Parses an attribute from an assembly form. Raises an `MLIRError` on failure."""

    @property
    def context(self) -> Context:
        """Context that owns the `Attribute`."""

    @property
    def type(self) -> Type:
        """Returns the type of the `Attribute`."""

    def get_named(self, arg: str, /) -> NamedAttribute:
        """Binds a name to the attribute, creating a `NamedAttribute`."""

    @overload
    def __eq__(self, arg: Attribute, /) -> bool:
        """Compares two attributes for equality."""

    @overload
    def __eq__(self, arg: object, /) -> bool:
        """Compares attribute with non-attribute object (always returns False)."""

    def __hash__(self) -> int:
        """Returns the hash value of the attribute."""

    def dump(self) -> None:
        """Dumps a debug representation of the object to stderr."""

    def __str__(self) -> str:
        """Returns the assembly form of the Attribute."""

    def __repr__(self) -> str:
        """Returns a string representation of the attribute."""

    @property
    def typeid(self) -> TypeID:
        """Returns the `TypeID` of the attribute."""

    def maybe_downcast(self) -> Attribute:
        """Downcasts the attribute to a more specific attribute if possible."""

    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...

class NamedAttribute:
    def __repr__(self) -> str:
        """Returns a string representation of the named attribute."""

    @property
    def name(self) -> Any:
        """The name of the `NamedAttribute` binding."""

    @property
    def attr(self) -> Attribute:
        """The underlying generic attribute of the `NamedAttribute` binding."""

class Type:
    def __init__(self, cast_from_type: Type) -> None:
        """Casts the passed type to the generic `Type`."""

    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the `MlirType`."""

    @staticmethod
    def _CAPICreate(arg: object, /) -> Type:
        """Creates a Type from a capsule wrapping `MlirType`."""

    @staticmethod
    def parse(asm: str, context: Context | None = None) -> Type:
        """Parses the assembly form of a type."""

    @property
    def context(self) -> Context:
        """Context that owns the `Type`."""

    @overload
    def __eq__(self, arg: Type, /) -> bool:
        """Compares two types for equality."""

    @overload
    def __eq__(self, other: object | None) -> bool:
        """Compares type with non-type object (always returns False)."""

    def __hash__(self) -> int:
        """Returns the hash value of the `Type`."""

    def dump(self) -> None:
        """Dumps a debug representation of the object to stderr."""

    def __str__(self) -> str:
        """Returns the assembly form of the `Type`."""

    def __repr__(self) -> str:
        """Returns a string representation of the `Type`."""

    def maybe_downcast(self) -> Type:
        """Downcasts the Type to a more specific `Type` if possible."""

    @property
    def typeid(self) -> TypeID:
        """Returns the `TypeID` of the `Type`, or raises `ValueError` if `Type` has no `TypeID`."""

    def __getattr__(self, name: str) -> Any: ...

class TypeID:
    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the `MlirTypeID`."""

    @staticmethod
    def _CAPICreate(arg: object, /) -> TypeID:
        """Creates a `TypeID` from a capsule wrapping `MlirTypeID`."""

    @overload
    def __eq__(self, arg: TypeID, /) -> bool:
        """Compares two `TypeID`s for equality."""

    @overload
    def __eq__(self, arg: object, /) -> bool:
        """Compares TypeID with non-TypeID object (always returns False)."""

    def __hash__(self) -> int:
        """Returns the hash value of the `TypeID`."""

class Value(Generic[_T]):
    def __init__(self, value: Value) -> None:
        """Creates a Value reference from another `Value`."""

    @property
    def _CAPIPtr(self) -> Any:
        """Gets a capsule wrapping the `MlirValue`."""

    @staticmethod
    def _CAPICreate(arg: object, /) -> Value:
        """Creates a `Value` from a capsule wrapping `MlirValue`."""

    @property
    def context(self) -> Context:
        """Context in which the value lives."""

    def dump(self) -> None:
        """Dumps a debug representation of the object to stderr."""

    @property
    def owner(self) -> OpView | Any:
        """Returns the owner of the value (`Operation` for results, `Block` for arguments)."""

    @property
    def uses(self) -> OpOperandIterator:
        """Returns an iterator over uses of this value."""

    @overload
    def __eq__(self, arg: Value, /) -> bool:
        """Compares two values for pointer equality."""

    @overload
    def __eq__(self, arg: object, /) -> bool:
        """Compares value with non-value object (always returns False)."""

    def __hash__(self) -> int:
        """Returns the hash value of the value."""

    def __str__(self) -> str:
        """Returns the string form of the value."""

    @overload
    def get_name(self, use_local_scope: bool = False, use_name_loc_as_prefix: bool = False) -> str:
        """Returns the string form of value as an operand."""

    @overload
    def get_name(self, state: AsmState) -> str:
        """Returns the string form of value as an operand (i.e., the ValueID)."""

    @property
    def type(self) -> _T:
        """Returns the type of the value."""

    def set_type(self, type: _T) -> None:
        """Sets the type of the value."""

    def replace_all_uses_with(self, arg: Value, /) -> None:
        """Replace all uses of value with the new value, updating anything in the IR that uses `self` to use the other value instead."""

    @overload
    def replace_all_uses_except(self, with_: Value, exceptions: Operation) -> None: ...
    @overload
    def replace_all_uses_except(self, with_: Value, exceptions: Sequence[Operation]) -> None:
        """Replace all uses of this value with the `with` value, except for those in `exceptions`. `exceptions` can be either a single operation or a list of operations."""

    def maybe_downcast(self) -> BlockArgument | OpResult | Value:
        """Downcasts the `Value` to a more specific kind if possible."""

    @property
    def location(self) -> Location:
        """Returns the source location of the value."""

    def __getattr__(self, name: str) -> Any: ...

class BlockArgument(Value[_T]):
    def __init__(self, value: Value) -> None: ...
    def maybe_downcast(self) -> BlockArgument: ...
    def __str__(self) -> str: ...
    @property
    def owner(self) -> Block:
        """Returns the block that owns this argument."""

    @property
    def arg_number(self) -> int:
        """Returns the position of this argument in the block's argument list."""

    def set_type(self, type: Type) -> None:
        """Sets the type of this block argument."""

    def set_location(self, loc: Location) -> None:
        """Sets the location of this block argument."""

class OpResult(Value[_T]):
    def __init__(self, value: Value) -> None: ...
    def maybe_downcast(self) -> OpResult: ...
    def __str__(self) -> str: ...
    @property
    def owner(self) -> OpView:
        """Returns the operation that produces this result."""

    @property
    def result_number(self) -> int:
        """Returns the position of this result in the operation's result list."""

class OpOperand:
    @property
    def owner(self) -> OpView:
        """Returns the operation that owns this operand."""

    @property
    def operand_number(self) -> int:
        """Returns the operand number in the owning operation."""

class AsmState:
    @overload
    def __init__(self, value: Value, use_local_scope: bool = False) -> None:
        """Creates an `AsmState` for consistent SSA value naming."""

    @overload
    def __init__(self, op: _OperationBase, use_local_scope: bool = False) -> None:
        """Creates an AsmState for consistent SSA value naming."""

class SymbolTable:
    def __init__(self, arg: _OperationBase, /) -> None:
        """Creates a symbol table for an operation."""

    def __getitem__(self, arg: str, /) -> OpView:
        """Looks up a symbol by name in the symbol table."""

    def insert(self, operation: _OperationBase) -> StringAttr:
        """Inserts a symbol operation into the symbol table."""

    def erase(self, operation: _OperationBase) -> None:
        """Erases a symbol operation from the symbol table."""

    def __delitem__(self, arg: str, /) -> None:
        """Deletes a symbol by name from the symbol table."""

    def __contains__(self, arg: str, /) -> bool:
        """Checks if a symbol with the given name exists in the table."""

    @staticmethod
    def set_symbol_name(symbol: _OperationBase, name: str) -> None:
        """Sets the symbol name for a symbol operation."""

    @staticmethod
    def get_symbol_name(symbol: _OperationBase) -> StringAttr:
        """Gets the symbol name from a symbol operation."""

    @staticmethod
    def get_visibility(symbol: _OperationBase) -> StringAttr:
        """Gets the visibility attribute of a symbol operation."""

    @staticmethod
    def set_visibility(symbol: _OperationBase, visibility: str) -> None:
        """Sets the visibility attribute of a symbol operation."""

    @staticmethod
    def replace_all_symbol_uses(old_symbol: str, new_symbol: str, from_op: _OperationBase) -> None:
        """Replaces all uses of a symbol with a new symbol name within the given operation."""

    @staticmethod
    def walk_symbol_tables(
        from_op: _OperationBase, all_sym_uses_visible: bool, callback: object
    ) -> None:
        """Walks symbol tables starting from an operation with a callback function."""

class BlockArgumentList(Sequence[Value]):
    def __add__(self, arg: BlockArgumentList, /) -> list[Value]: ...
    @property
    def types(self) -> list[Type]:
        """Returns a list of types for all arguments in this argument list."""

class BlockIterator:
    def __iter__(self) -> BlockIterator:
        """Returns an iterator over the blocks in the operation's region."""

    def __next__(self) -> Block:
        """Returns the next block in the iteration."""

class BlockList:
    def __getitem__(self, arg: int, /) -> Block:
        """Returns the block at the specified index."""

    def __iter__(self) -> BlockIterator:
        """Returns an iterator over blocks in the operation's region."""

    def __len__(self) -> int:
        """Returns the number of blocks in the operation's region."""

    def append(self, *args: Any, arg_locs: Sequence[Any] | None = None) -> Block:
        """Appends a new block, with argument types as positional args."""

class BlockSuccessors(Sequence[Block]):
    def __add__(self, arg: BlockSuccessors, /) -> list[Block]: ...

class BlockPredecessors(Sequence[Block]):
    def __add__(self, arg: BlockPredecessors, /) -> list[Block]: ...

class OperationIterator:
    def __iter__(self) -> OperationIterator:
        """Returns an iterator over the operations in an operation's block."""

    def __next__(self) -> OpView:
        """Returns the next operation in the iteration."""

class OperationList:
    def __getitem__(self, arg: int, /) -> OpView:
        """Returns the operation at the specified index."""

    def __iter__(self) -> OperationIterator:
        """Returns an iterator over operations in the list."""

    def __len__(self) -> int:
        """Returns the number of operations in the list."""

class OpAttributeMap:
    def __contains__(self, name: str) -> bool:
        """Checks if an attribute with the given name exists in the map."""

    def __len__(self) -> int:
        """Returns the number of attributes in the map."""

    @overload
    def __getitem__(self, name: str) -> Attribute:
        """Gets an attribute by name."""

    @overload
    def __getitem__(self, index: int) -> NamedAttribute:
        """Gets a named attribute by index."""

    def __setitem__(self, name: str, attr: Attribute) -> None:
        """Sets an attribute with the given name."""

    def __delitem__(self, name: str) -> None:
        """Deletes an attribute with the given name."""

    def get(self, key: str, default: object | None = None) -> Attribute | Any:
        """Gets an attribute by name or the default value, if it does not exist."""

    def __iter__(self) -> Iterator[str]:
        """Iterates over attribute names."""

    def keys(self) -> list[str]:
        """Returns a list of attribute names."""

    def values(self) -> list[Attribute]:
        """Returns a list of attribute values."""

    def items(self) -> list[tuple[str, Attribute]]:
        """Returns a list of `(name, attribute)` tuples."""

class OpOperandIterator:
    def __iter__(self) -> OpOperandIterator:
        """Returns an iterator over operands."""

    def __next__(self) -> OpOperand:
        """Returns the next operand in the iteration."""

class OpOperandList(Sequence[Value], Generic[_T]):
    def __add__(self, arg: OpOperandList, /) -> list[Value]: ...
    def __setitem__(self, index: int, value: Value) -> None:
        """Sets the operand at the specified index to a new value."""

class OpOperands(Sequence[OpOperand]):
    def __add__(self, arg: OpOperands, /) -> list[OpOperand]: ...

class OpResultList(Sequence[Value], Generic[_T]):
    def __add__(self, arg: OpResultList, /) -> list[Value]: ...
    @property
    def types(self) -> list[Type]:
        """Returns a list of types for all results in this result list."""

    @property
    def owner(self) -> OpView:
        """Returns the operation that owns this result list."""

class OpSuccessors(Sequence[Block]):
    def __add__(self, arg: OpSuccessors, /) -> list[Block]: ...
    def __setitem__(self, index: int, block: Block) -> None:
        """Sets the successor block at the specified index."""

class RegionSequence(Sequence[Region]):
    def __add__(self, arg: RegionSequence, /) -> list[Region]: ...

class _GlobalDebug:
    flag: ClassVar[bool] = ...

    @overload
    @staticmethod
    def set_types(types: str) -> None:
        """Sets specific debug types to be produced by LLVM."""

    @overload
    @staticmethod
    def set_types(types: Sequence[str]) -> None:
        """Sets multiple specific debug types to be produced by LLVM."""

class AttrBuilder:
    @staticmethod
    def contains(attribute_kind: str) -> bool:
        """Checks whether an attribute builder is registered for the given attribute kind."""

    @staticmethod
    def get(attribute_kind: str) -> Callable[..., Any]:
        """Gets the registered attribute builder for the given attribute kind."""

    @staticmethod
    def insert(
        attribute_kind: str,
        attr_builder: Callable[..., Any],
        replace: bool = False,
        allow_existing: bool = False,
    ) -> None:
        """Register an attribute builder for building MLIR attributes from Python values."""

class DynamicOpTrait:
    @classmethod
    def attach(
        cls, op_name: object, target: object | None = None, context: Context | None = None
    ) -> bool:
        """Attach the dynamic op trait subclass to the given operation name."""

class IsTerminatorTrait(DynamicOpTrait):
    _trait_typeid: TypeID = ...

    @classmethod
    def attach(cls, op_name: object, context: Context | None = None) -> bool:
        """Attach IsTerminator trait to the given operation name."""

class NoTerminatorTrait(DynamicOpTrait):
    _trait_typeid: TypeID = ...

    @classmethod
    def attach(cls, op_name: object, context: Context | None = None) -> bool:
        """Attach NoTerminator trait to the given operation name."""

class IsIsolatedFromAboveTrait(DynamicOpTrait):
    _trait_typeid: TypeID = ...

    @classmethod
    def attach(cls, op_name: object, context: Context | None = None) -> bool:
        """Attach IsIsolatedFromAbove trait to the given operation name."""

class MLIRError(Exception):
    @property
    def message(self) -> str: ...
    @property
    def error_diagnostics(self) -> list[DiagnosticInfo]: ...

class AffineExpr:
    @property
    def _CAPIPtr(self) -> Any: ...
    def _CAPICreate(self) -> AffineExpr: ...
    @overload
    def __add__(self, arg: AffineExpr, /) -> AffineAddExpr: ...
    @overload
    def __add__(self, arg: int, /) -> AffineAddExpr: ...
    def __radd__(self, arg: int, /) -> AffineAddExpr: ...
    @overload
    def __mul__(self, arg: AffineExpr, /) -> AffineMulExpr: ...
    @overload
    def __mul__(self, arg: int, /) -> AffineMulExpr: ...
    def __rmul__(self, arg: int, /) -> AffineMulExpr: ...
    @overload
    def __mod__(self, arg: AffineExpr, /) -> AffineModExpr: ...
    @overload
    def __mod__(self, arg: int, /) -> AffineModExpr: ...
    def __rmod__(self, arg: int, /) -> AffineModExpr: ...
    @overload
    def __sub__(self, arg: AffineExpr, /) -> AffineAddExpr: ...
    @overload
    def __sub__(self, arg: int, /) -> AffineAddExpr: ...
    def __rsub__(self, arg: int, /) -> AffineAddExpr: ...
    @overload
    def __eq__(self, arg: AffineExpr, /) -> bool: ...
    @overload
    def __eq__(self, arg: object, /) -> bool: ...
    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    @property
    def context(self) -> Context: ...
    def compose(self, arg: AffineMap, /) -> AffineExpr: ...
    def maybe_downcast(self) -> AffineExpr: ...
    def shift_dims(self, num_dims: int, shift: int, offset: int = 0) -> AffineExpr: ...
    def shift_symbols(self, num_symbols: int, shift: int, offset: int = 0) -> AffineExpr: ...
    @staticmethod
    def simplify_affine_expr(expr: AffineExpr, num_dims: int, num_symbols: int) -> AffineExpr:
        """Simplify an affine expression by flattening and some amount of simple analysis."""

    @overload
    @staticmethod
    def get_add(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineAddExpr:
        """Gets an affine expression containing a sum of two expressions."""

    @overload
    @staticmethod
    def get_add(arg0: int, arg1: AffineExpr, /) -> AffineAddExpr:
        """Gets an affine expression containing a sum of a constant and another expression."""

    @overload
    @staticmethod
    def get_add(arg0: AffineExpr, arg1: int, /) -> AffineAddExpr:
        """Gets an affine expression containing a sum of an expression and a constant."""

    @overload
    @staticmethod
    def get_mul(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineMulExpr:
        """Gets an affine expression containing a product of two expressions."""

    @overload
    @staticmethod
    def get_mul(arg0: int, arg1: AffineExpr, /) -> AffineMulExpr:
        """Gets an affine expression containing a product of a constant and another expression."""

    @overload
    @staticmethod
    def get_mul(arg0: AffineExpr, arg1: int, /) -> AffineMulExpr:
        """Gets an affine expression containing a product of an expression and a constant."""

    @overload
    @staticmethod
    def get_mod(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineModExpr:
        """Gets an affine expression containing the modulo of dividing one expression by another."""

    @overload
    @staticmethod
    def get_mod(arg0: int, arg1: AffineExpr, /) -> AffineModExpr:
        """Gets a semi-affine expression containing the modulo of dividing a constant by an expression."""

    @overload
    @staticmethod
    def get_mod(arg0: AffineExpr, arg1: int, /) -> AffineModExpr:
        """Gets an affine expression containing the module of dividingan expression by a constant."""

    @overload
    @staticmethod
    def get_floor_div(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineFloorDivExpr:
        """Gets an affine expression containing the rounded-down result of dividing one expression by another."""

    @overload
    @staticmethod
    def get_floor_div(arg0: int, arg1: AffineExpr, /) -> AffineFloorDivExpr:
        """Gets a semi-affine expression containing the rounded-down result of dividing a constant by an expression."""

    @overload
    @staticmethod
    def get_floor_div(arg0: AffineExpr, arg1: int, /) -> AffineFloorDivExpr:
        """Gets an affine expression containing the rounded-down result of dividing an expression by a constant."""

    @overload
    @staticmethod
    def get_ceil_div(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineCeilDivExpr:
        """Gets an affine expression containing the rounded-up result of dividing one expression by another."""

    @overload
    @staticmethod
    def get_ceil_div(arg0: int, arg1: AffineExpr, /) -> AffineCeilDivExpr:
        """Gets a semi-affine expression containing the rounded-up result of dividing a constant by an expression."""

    @overload
    @staticmethod
    def get_ceil_div(arg0: AffineExpr, arg1: int, /) -> AffineCeilDivExpr:
        """Gets an affine expression containing the rounded-up result of dividing an expression by a constant."""

    @staticmethod
    def get_constant(value: int, context: Context | None = None) -> AffineConstantExpr:
        """Gets a constant affine expression with the given value."""

    @staticmethod
    def get_dim(position: int, context: Context | None = None) -> AffineDimExpr:
        """Gets an affine expression of a dimension at the given position."""

    @staticmethod
    def get_symbol(position: int, context: Context | None = None) -> AffineSymbolExpr:
        """Gets an affine expression of a symbol at the given position."""

    def dump(self) -> None:
        """Dumps a debug representation of the object to stderr."""

    def __getattr__(self, name: str) -> Any: ...

class AffineConstantExpr(AffineExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(value: int, context: Context | None = None) -> AffineConstantExpr: ...
    @property
    def value(self) -> int: ...

class AffineDimExpr(AffineExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(position: int, context: Context | None = None) -> AffineDimExpr: ...
    @property
    def position(self) -> int: ...

class AffineSymbolExpr(AffineExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(position: int, context: Context | None = None) -> AffineSymbolExpr: ...
    @property
    def position(self) -> int: ...

class AffineBinaryExpr(AffineExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @property
    def lhs(self) -> AffineExpr: ...
    @property
    def rhs(self) -> AffineExpr: ...

class AffineAddExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineAddExpr: ...

class AffineMulExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineMulExpr: ...

class AffineModExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineModExpr: ...

class AffineFloorDivExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineFloorDivExpr: ...

class AffineCeilDivExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineCeilDivExpr: ...

class AffineMap:
    @property
    def _CAPIPtr(self) -> Any: ...
    def _CAPICreate(self) -> AffineMap: ...
    @overload
    def __eq__(self, arg: AffineMap, /) -> bool: ...
    @overload
    def __eq__(self, arg: object, /) -> bool: ...
    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    @staticmethod
    def compress_unused_symbols(arg0: Sequence[AffineMap], arg1: Context, /) -> list[AffineMap]: ...
    @property
    def context(self) -> Context:
        """Context that owns the Affine Map"""

    def dump(self) -> None:
        """Dumps a debug representation of the object to stderr."""

    @staticmethod
    def get(
        dim_count: int,
        symbol_count: int,
        exprs: Sequence[AffineExpr],
        context: Context | None = None,
    ) -> AffineMap:
        """Gets a map with the given expressions as results."""

    @staticmethod
    def get_constant(value: int, context: Context | None = None) -> AffineMap:
        """Gets an affine map with a single constant result"""

    @staticmethod
    def get_empty(context: Context | None = None) -> AffineMap:
        """Gets an empty affine map."""

    @staticmethod
    def get_identity(n_dims: int, context: Context | None = None) -> AffineMap:
        """Gets an identity map with the given number of dimensions."""

    @staticmethod
    def get_minor_identity(
        n_dims: int, n_results: int, context: Context | None = None
    ) -> AffineMap:
        """Gets a minor identity map with the given number of dimensions and results."""

    @staticmethod
    def get_permutation(permutation: Sequence[int], context: Context | None = None) -> AffineMap:
        """Gets an affine map that permutes its inputs."""

    def get_submap(self, result_positions: Sequence[int]) -> AffineMap: ...
    def get_major_submap(self, n_results: int) -> AffineMap: ...
    def get_minor_submap(self, n_results: int) -> AffineMap: ...
    def replace(
        self, expr: AffineExpr, replacement: AffineExpr, n_result_dims: int, n_result_syms: int
    ) -> AffineMap: ...
    @property
    def is_permutation(self) -> bool: ...
    @property
    def is_projected_permutation(self) -> bool: ...
    @property
    def n_dims(self) -> int: ...
    @property
    def n_inputs(self) -> int: ...
    @property
    def n_symbols(self) -> int: ...
    @property
    def results(self) -> AffineExprList: ...

class AffineExprList(Sequence[AffineExpr]):
    def __add__(self, arg: AffineExprList, /) -> list[AffineExpr]: ...

class IntegerSet:
    @property
    def _CAPIPtr(self) -> Any: ...
    def _CAPICreate(self) -> IntegerSet: ...
    @overload
    def __eq__(self, arg: IntegerSet, /) -> bool: ...
    @overload
    def __eq__(self, arg: object, /) -> bool: ...
    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    @property
    def context(self) -> Context: ...
    def dump(self) -> None:
        """Dumps a debug representation of the object to stderr."""

    @staticmethod
    def get(
        num_dims: int,
        num_symbols: int,
        exprs: Sequence[AffineExpr],
        eq_flags: Sequence[bool],
        context: Context | None = None,
    ) -> IntegerSet: ...
    @staticmethod
    def get_empty(
        num_dims: int, num_symbols: int, context: Context | None = None
    ) -> IntegerSet: ...
    def get_replaced(
        self,
        dim_exprs: Sequence[AffineExpr],
        symbol_exprs: Sequence[AffineExpr],
        num_result_dims: int,
        num_result_symbols: int,
    ) -> IntegerSet: ...
    @property
    def is_canonical_empty(self) -> bool: ...
    @property
    def n_dims(self) -> int: ...
    @property
    def n_symbols(self) -> int: ...
    @property
    def n_inputs(self) -> int: ...
    @property
    def n_equalities(self) -> int: ...
    @property
    def n_inequalities(self) -> int: ...
    @property
    def constraints(self) -> IntegerSetConstraintList: ...

class IntegerSetConstraint:
    @property
    def expr(self) -> AffineExpr: ...
    @property
    def is_eq(self) -> bool: ...

class IntegerSetConstraintList(Sequence[IntegerSetConstraint]):
    def __add__(self, arg: IntegerSetConstraintList, /) -> list[IntegerSetConstraint]: ...

class AffineMapAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(affine_map: AffineMap) -> AffineMapAttr:
        """Gets an attribute wrapping an AffineMap."""

    @property
    def value(self) -> AffineMap:
        """Returns the value of the AffineMap attribute"""

class DenseBoolArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(values: Sequence[Any], context: Context | None = None) -> DenseBoolArrayAttr:
        """Gets a uniqued dense array attribute"""

    def __getitem__(self, arg: int, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> DenseBoolArrayIterator: ...
    def __add__(self, arg: Sequence[Any], /) -> DenseBoolArrayAttr: ...

class DenseBoolArrayIterator:
    def __iter__(self) -> DenseBoolArrayIterator: ...
    def __next__(self) -> bool: ...

class DenseI8ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(values: Sequence[int], context: Context | None = None) -> DenseI8ArrayAttr:
        """Gets a uniqued dense array attribute"""

    def __getitem__(self, arg: int, /) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> DenseI8ArrayIterator: ...
    def __add__(self, arg: Sequence[Any], /) -> DenseI8ArrayAttr: ...

class DenseI8ArrayIterator:
    def __iter__(self) -> DenseI8ArrayIterator: ...
    def __next__(self) -> int: ...

class DenseI16ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(values: Sequence[int], context: Context | None = None) -> DenseI16ArrayAttr:
        """Gets a uniqued dense array attribute"""

    def __getitem__(self, arg: int, /) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> DenseI16ArrayIterator: ...
    def __add__(self, arg: Sequence[Any], /) -> DenseI16ArrayAttr: ...

class DenseI16ArrayIterator:
    def __iter__(self) -> DenseI16ArrayIterator: ...
    def __next__(self) -> int: ...

class DenseI32ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(values: Sequence[int], context: Context | None = None) -> DenseI32ArrayAttr:
        """Gets a uniqued dense array attribute"""

    def __getitem__(self, arg: int, /) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> DenseI32ArrayIterator: ...
    def __add__(self, arg: Sequence[Any], /) -> DenseI32ArrayAttr: ...

class DenseI32ArrayIterator:
    def __iter__(self) -> DenseI32ArrayIterator: ...
    def __next__(self) -> int: ...

class DenseI64ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(values: Sequence[int], context: Context | None = None) -> DenseI64ArrayAttr:
        """Gets a uniqued dense array attribute"""

    def __getitem__(self, arg: int, /) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> DenseI64ArrayIterator: ...
    def __add__(self, arg: Sequence[Any], /) -> DenseI64ArrayAttr: ...

class DenseI64ArrayIterator:
    def __iter__(self) -> DenseI64ArrayIterator: ...
    def __next__(self) -> int: ...

class DenseF32ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(values: Sequence[float], context: Context | None = None) -> DenseF32ArrayAttr:
        """Gets a uniqued dense array attribute"""

    def __getitem__(self, arg: int, /) -> float: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> DenseF32ArrayIterator: ...
    def __add__(self, arg: Sequence[Any], /) -> DenseF32ArrayAttr: ...

class DenseF32ArrayIterator:
    def __iter__(self) -> DenseF32ArrayIterator: ...
    def __next__(self) -> float: ...

class DenseF64ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(values: Sequence[float], context: Context | None = None) -> DenseF64ArrayAttr:
        """Gets a uniqued dense array attribute"""

    def __getitem__(self, arg: int, /) -> float: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> DenseF64ArrayIterator: ...
    def __add__(self, arg: Sequence[Any], /) -> DenseF64ArrayAttr: ...

class DenseF64ArrayIterator:
    def __iter__(self) -> DenseF64ArrayIterator: ...
    def __next__(self) -> float: ...

class ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(attributes: Sequence[Attribute], context: Context | None = None) -> ArrayAttr:
        """Gets a uniqued Array attribute"""

    def __getitem__(self, arg: int, /) -> Attribute: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> ArrayAttributeIterator: ...
    def __add__(self, arg: Sequence[Attribute], /) -> ArrayAttr: ...

class ArrayAttributeIterator:
    def __iter__(self) -> ArrayAttributeIterator: ...
    def __next__(self) -> Attribute: ...

class BoolAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(value: bool, context: Context | None = None) -> BoolAttr:
        """Gets an uniqued bool attribute"""

    @property
    def value(self) -> bool:
        """Returns the value of the bool attribute"""

    def __bool__(self) -> bool:
        """Converts the value of the bool attribute to a Python bool"""

class DenseElementsAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    def __len__(self) -> int: ...
    @overload
    @staticmethod
    def get(
        array: Buffer,
        signless: bool = True,
        type: Type | None = None,
        shape: Sequence[int] | None = None,
        context: Context | None = None,
    ) -> DenseElementsAttr:
        """Gets a DenseElementsAttr from a Python buffer or array."""

    @overload
    @staticmethod
    def get(
        attrs: Sequence[Attribute], type: Type | None = None, context: Context | None = None
    ) -> DenseElementsAttr:
        """Gets a DenseElementsAttr from a Python list of attributes."""

    @staticmethod
    def get_splat(shaped_type: Type, element_attr: Attribute) -> DenseElementsAttr:
        """Gets a DenseElementsAttr where all values are the same"""

    @property
    def is_splat(self) -> bool: ...
    def get_splat_value(self) -> Attribute: ...

class DenseFPElementsAttr(DenseElementsAttr):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @overload
    @staticmethod
    def get(
        array: Buffer,
        signless: bool = True,
        type: Type | None = None,
        shape: Sequence[int] | None = None,
        context: Context | None = None,
    ) -> DenseFPElementsAttr:
        """Gets a DenseElementsAttr from a Python buffer or array."""

    @overload
    @staticmethod
    def get(
        attrs: Sequence[Attribute], type: Type | None = None, context: Context | None = None
    ) -> DenseFPElementsAttr:
        """Gets a DenseElementsAttr from a Python list of attributes."""

    @staticmethod
    def get_splat(shaped_type: Type, element_attr: Attribute) -> DenseFPElementsAttr:
        """Gets a DenseFPElementsAttr where all values are the same"""

    def __getitem__(self, arg: int, /) -> float: ...

class DenseIntElementsAttr(DenseElementsAttr):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @overload
    @staticmethod
    def get(
        array: Buffer,
        signless: bool = True,
        type: Type | None = None,
        shape: Sequence[int] | None = None,
        context: Context | None = None,
    ) -> DenseIntElementsAttr:
        """Gets a DenseElementsAttr from a Python buffer or array."""

    @overload
    @staticmethod
    def get(
        attrs: Sequence[Attribute], type: Type | None = None, context: Context | None = None
    ) -> DenseIntElementsAttr:
        """Gets a DenseElementsAttr from a Python list of attributes."""

    @staticmethod
    def get_splat(shaped_type: Type, element_attr: Attribute) -> DenseIntElementsAttr:
        """Gets a DenseIntElementsAttr where all values are the same"""

    def __getitem__(self, arg: int, /) -> int: ...

class DenseResourceElementsAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get_from_buffer(
        array: Buffer,
        name: str,
        type: Type,
        alignment: int | None = None,
        is_mutable: bool = False,
        context: Context | None = None,
    ) -> DenseResourceElementsAttr:
        """Gets a DenseResourceElementsAttr from a Python buffer or array."""

class DictAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    def __contains__(self, arg: str, /) -> bool: ...
    def __len__(self) -> int: ...
    @staticmethod
    def get(value: Mapping[str, Attribute] = {}, context: Context | None = None) -> DictAttr:
        """Gets an uniqued dict attribute"""

    @overload
    def __getitem__(self, arg: str, /) -> Attribute: ...
    @overload
    def __getitem__(self, arg: int, /) -> NamedAttribute: ...

class SymbolRefAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(symbols: Sequence[str], context: Context | None = None) -> SymbolRefAttr:
        """Gets a uniqued SymbolRef attribute from a list of symbol names"""

    @property
    def value(self) -> list[str]:
        """Returns the value of the SymbolRef attribute as a list[str]"""

class FlatSymbolRefAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(value: str, context: Context | None = None) -> FlatSymbolRefAttr:
        """Gets a uniqued FlatSymbolRef attribute"""

    @property
    def value(self) -> str:
        """Returns the value of the FlatSymbolRef attribute as a string"""

class OpaqueAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(
        dialect_namespace: str, buffer: Buffer, type: Type, context: Context | None = None
    ) -> OpaqueAttr:
        """Gets an Opaque attribute."""

    @property
    def dialect_namespace(self) -> str:
        """Returns the dialect namespace for the Opaque attribute as a string"""

    @property
    def data(self) -> bytes:
        """Returns the data for the Opaqued attributes as `bytes`"""

class FloatAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(type: Type, value: float, loc: Location | None = None) -> FloatAttr:
        """Gets an uniqued float point attribute associated to a type"""

    @staticmethod
    def get_unchecked(type: Type, value: float, context: Context | None = None) -> FloatAttr:
        """Gets an uniqued float point attribute associated to a type"""

    @staticmethod
    def get_f32(value: float, context: Context | None = None) -> FloatAttr:
        """Gets an uniqued float point attribute associated to a f32 type"""

    @staticmethod
    def get_f64(value: float, context: Context | None = None) -> FloatAttr:
        """Gets an uniqued float point attribute associated to a f64 type"""

    @property
    def value(self) -> float:
        """Returns the value of the float attribute"""

    def __float__(self) -> float:
        """Converts the value of the float attribute to a Python float"""

class IntegerAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(type: Type, value: object) -> IntegerAttr:
        """Gets an uniqued integer attribute associated to a type"""

    @property
    def value(self) -> int:
        """Returns the value of the integer attribute"""

    def __int__(self) -> int:
        """Converts the value of the integer attribute to a Python int"""

class IntegerSetAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(integer_set: IntegerSet) -> IntegerSetAttr:
        """Gets an attribute wrapping an IntegerSet."""

class StringAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @overload
    @staticmethod
    def get(value: str, context: Context | None = None) -> StringAttr: ...
    @overload
    @staticmethod
    def get(value: bytes, context: Context | None = None) -> StringAttr:
        """Gets a uniqued string attribute"""

    @staticmethod
    def get_typed(type: Type, value: str) -> StringAttr:
        """Gets a uniqued string attribute associated to a type"""

    @property
    def value(self) -> str:
        """Returns the value of the string attribute"""

    @property
    def value_bytes(self) -> bytes:
        """Returns the value of the string attribute as `bytes`"""

class TypeAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(value: Type, context: Context | None = None) -> TypeAttr:
        """Gets a uniqued Type attribute"""

    @property
    def value(self) -> Type: ...

class UnitAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> UnitAttr:
        """Create a Unit attribute."""

class StridedLayoutAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    attr_name: ClassVar[str] = ...

    @staticmethod
    def get(
        offset: int, strides: Sequence[int], context: Context | None = None
    ) -> StridedLayoutAttr:
        """Gets a strided layout attribute."""

    @staticmethod
    def get_fully_dynamic(rank: int, context: Context | None = None) -> StridedLayoutAttr:
        """Gets a strided layout attribute with dynamic offset and strides of a given rank."""

    @property
    def offset(self) -> int:
        """Returns the value of the float point attribute"""

    @property
    def strides(self) -> list[int]:
        """Returns the value of the float point attribute"""

class DynamicAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    @property
    def type(self) -> Type: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(
        full_attr_name: str, attributes: Sequence[Attribute], context: Context | None = None
    ) -> DynamicAttr:
        """Create a dynamic attribute."""

    @property
    def params(self) -> list[Attribute]:
        """Returns the parameters of the dynamic attribute as a list of attributes."""

    @property
    def attr_name(self) -> str: ...
    @staticmethod
    def lookup_typeid(full_attr_name: str, context: Context | None = None) -> TypeID:
        """Look up the TypeID for the given dynamic attribute name."""

class Speculatability(enum.Enum):
    NotSpeculatable = 0
    Speculatable = 1
    RecursivelySpeculatable = 2

class MemoryEffect:
    Allocate: ClassVar[MemoryEffect] = ...
    Free: ClassVar[MemoryEffect] = ...
    Read: ClassVar[MemoryEffect] = ...
    Write: ClassVar[MemoryEffect] = ...

class SideEffectResource:
    Default: ClassVar[SideEffectResource] = ...

class MemoryEffectInstancesList:
    def append(
        self,
        effect: MemoryEffect,
        target: OpOperand | OpResult | BlockArgument | SymbolRefAttr | None = None,
        *,
        parameters: Attribute | None = None,
        stage: int = 0,
        effect_on_full_region: bool = False,
        resource: SideEffectResource = ...,
    ) -> None:
        """Append a memory effect instance. The target may be an OpOperand, OpResult, BlockArgument, SymbolRefAttr, or None."""

class ConditionallySpeculatable:
    def __init__(self, object: object, context: Context | None = None) -> None:
        """Creates an interface from a given operation/opview object or from a subclass of OpView. Raises ValueError if the operation does not implement the interface."""

    @property
    def operation(self) -> Operation:
        """Returns an Operation for which the interface was constructed."""

    @property
    def opview(self) -> OpView:
        """Returns an OpView subclass _instance_ for which the interface was constructed"""

    def getSpeculatability(self) -> Speculatability:
        """Returns the speculatability of the given operation."""

    @classmethod
    def attach(
        cls, op_name: object, *, target: object | None = None, context: Context | None = None
    ) -> None:
        """Attach the interface subclass to the given operation name."""

class InferShapedTypeOpInterface:
    def __init__(self, object: object, context: Context | None = None) -> None:
        """Creates an interface from a given operation/opview object or from a subclass of OpView. Raises ValueError if the operation does not implement the interface."""

    @property
    def operation(self) -> Operation:
        """Returns an Operation for which the interface was constructed."""

    @property
    def opview(self) -> OpView:
        """Returns an OpView subclass _instance_ for which the interface was constructed"""

    def inferReturnTypeComponents(
        self,
        operands: Sequence[Any] | None = None,
        attributes: Attribute | None = None,
        regions: CapsuleType | None = None,
        properties: Sequence[Region] | None = None,
        context: Context | None = None,
        loc: Location | None = None,
    ) -> list[ShapedTypeComponents]:
        """Given the arguments required to build an operation, attempts to infer its return shaped type components. Raises ValueError on failure."""

class InferTypeOpInterface:
    def __init__(self, object: object, context: Context | None = None) -> None:
        """Creates an interface from a given operation/opview object or from a subclass of OpView. Raises ValueError if the operation does not implement the interface."""

    @property
    def operation(self) -> Operation:
        """Returns an Operation for which the interface was constructed."""

    @property
    def opview(self) -> OpView:
        """Returns an OpView subclass _instance_ for which the interface was constructed"""

    def inferReturnTypes(
        self,
        operands: Sequence[Any] | None = None,
        attributes: Attribute | None = None,
        properties: CapsuleType | None = None,
        regions: Sequence[Region] | None = None,
        context: Context | None = None,
        loc: Location | None = None,
    ) -> list[Type]:
        """Given the arguments required to build an operation, attempts to infer its return types. Raises ValueError on failure."""

class MemoryEffectsOpInterface:
    def __init__(self, object: object, context: Context | None = None) -> None:
        """Creates an interface from a given operation/opview object or from a subclass of OpView. Raises ValueError if the operation does not implement the interface."""

    @property
    def operation(self) -> Operation:
        """Returns an Operation for which the interface was constructed."""

    @property
    def opview(self) -> OpView:
        """Returns an OpView subclass _instance_ for which the interface was constructed"""

    @classmethod
    def attach(
        cls, op_name: object, *, target: object | None = None, context: Context | None = None
    ) -> None:
        """Attach the interface subclass to the given operation name."""

class ShapedTypeComponents:
    @property
    def element_type(self) -> Type:
        """Returns the element type of the shaped type components."""

    @overload
    @staticmethod
    def get(element_type: Type) -> ShapedTypeComponents:
        """Create an shaped type components object with only the element type."""

    @overload
    @staticmethod
    def get(shape: list[int], element_type: Type) -> ShapedTypeComponents:
        """Create a ranked shaped type components object."""

    @overload
    @staticmethod
    def get(shape: list[int], element_type: Type, attribute: Attribute) -> ShapedTypeComponents:
        """Create a ranked shaped type components object with attribute."""

    @property
    def has_rank(self) -> bool:
        """Returns whether the given shaped type component is ranked."""

    @property
    def rank(self) -> int | Any:
        """Returns the rank of the given ranked shaped type components. If the shaped type components does not have a rank, None is returned."""

    @property
    def shape(self) -> list[Any] | Any:
        """Returns the shape of the ranked shaped type components as a list of integers. Returns none if the shaped type component does not have a rank."""

class IntegerType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    class Signedness(enum.Enum):
        SIGNLESS = 0
        SIGNED = 1
        UNSIGNED = 2

    SIGNLESS: IntegerType.Signedness = IntegerType.Signedness.SIGNLESS
    SIGNED: IntegerType.Signedness = IntegerType.Signedness.SIGNED
    UNSIGNED: IntegerType.Signedness = IntegerType.Signedness.UNSIGNED

    @staticmethod
    def get_signless(width: int, context: Context | None = None) -> IntegerType:
        """Create a signless integer type"""

    @staticmethod
    def get_signed(width: int, context: Context | None = None) -> IntegerType:
        """Create a signed integer type"""

    @staticmethod
    def get_unsigned(width: int, context: Context | None = None) -> IntegerType:
        """Create an unsigned integer type"""

    @staticmethod
    def get(
        width: int,
        signedness: IntegerType.Signedness = IntegerType.Signedness.SIGNLESS,
        context: Context | None = None,
    ) -> IntegerType:
        """Create an integer type"""

    @property
    def signedness(self) -> IntegerType.Signedness: ...
    @property
    def width(self) -> int:
        """Returns the width of the integer type"""

    @property
    def is_signless(self) -> bool:
        """Returns whether this is a signless integer"""

    @property
    def is_signed(self) -> bool:
        """Returns whether this is a signed integer"""

    @property
    def is_unsigned(self) -> bool:
        """Returns whether this is an unsigned integer"""

class FloatType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @property
    def width(self) -> int:
        """Returns the width of the floating-point type"""

class IndexType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> IndexType:
        """Create a index type."""

class Float4E2M1FNType(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float4E2M1FNType:
        """Create a float4_e2m1fn type."""

class Float6E2M3FNType(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float6E2M3FNType:
        """Create a float6_e2m3fn type."""

class Float6E3M2FNType(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float6E3M2FNType:
        """Create a float6_e3m2fn type."""

class Float8E4M3FNType(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float8E4M3FNType:
        """Create a float8_e4m3fn type."""

class Float8E5M2Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float8E5M2Type:
        """Create a float8_e5m2 type."""

class Float8E4M3Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float8E4M3Type:
        """Create a float8_e4m3 type."""

class Float8E4M3FNUZType(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float8E4M3FNUZType:
        """Create a float8_e4m3fnuz type."""

class Float8E4M3B11FNUZType(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float8E4M3B11FNUZType:
        """Create a float8_e4m3b11fnuz type."""

class Float8E5M2FNUZType(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float8E5M2FNUZType:
        """Create a float8_e5m2fnuz type."""

class Float8E3M4Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float8E3M4Type:
        """Create a float8_e3m4 type."""

class Float8E8M0FNUType(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> Float8E8M0FNUType:
        """Create a float8_e8m0fnu type."""

class Float8E5M3FNUType(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(context: Context | None = None) -> Float8E5M3FNUType:
        """Create a float8_e5m3fnu type."""

class BF16Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> BF16Type:
        """Create a bf16 type."""

class F16Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> F16Type:
        """Create a f16 type."""

class FloatTF32Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> FloatTF32Type:
        """Create a tf32 type."""

class F32Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> F32Type:
        """Create a f32 type."""

class F64Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> F64Type:
        """Create a f64 type."""

class NoneType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(context: Context | None = None) -> NoneType:
        """Create a none type."""

class ComplexType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(arg: Type, /) -> ComplexType:
        """Create a complex type"""

    @property
    def element_type(self) -> Type:
        """Returns element type."""

class ShapedType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @property
    def element_type(self) -> Type:
        """Returns the element type of the shaped type."""

    @property
    def has_rank(self) -> bool:
        """Returns whether the given shaped type is ranked."""

    @property
    def rank(self) -> int:
        """Returns the rank of the given ranked shaped type."""

    @property
    def has_static_shape(self) -> bool:
        """Returns whether the given shaped type has a static shape."""

    def is_dynamic_dim(self, dim: int) -> bool:
        """Returns whether the dim-th dimension of the given shaped type is dynamic."""

    def is_static_dim(self, dim: int) -> bool:
        """Returns whether the dim-th dimension of the given shaped type is static."""

    def get_dim_size(self, dim: int) -> int:
        """Returns the dim-th dimension of the given ranked shaped type."""

    @staticmethod
    def is_dynamic_size(dim_size: int) -> bool:
        """Returns whether the given dimension size indicates a dynamic dimension."""

    @staticmethod
    def is_static_size(dim_size: int) -> bool:
        """Returns whether the given dimension size indicates a static dimension."""

    def is_dynamic_stride_or_offset(self, dim_size: int) -> bool:
        """Returns whether the given value is used as a placeholder for dynamic strides and offsets in shaped types."""

    def is_static_stride_or_offset(self, dim_size: int) -> bool:
        """Returns whether the given shaped type stride or offset value is statically-sized."""

    @property
    def shape(self) -> list[int]:
        """Returns the shape of the ranked shaped type as a list of integers."""

    @staticmethod
    def get_dynamic_size() -> int:
        """Returns the value used to indicate dynamic dimensions in shaped types."""

    @staticmethod
    def get_dynamic_stride_or_offset() -> int:
        """Returns the value used to indicate dynamic strides or offsets in shaped types."""

class VectorType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(
        shape: Sequence[int],
        element_type: Type,
        *,
        scalable: Sequence[Any] | None = None,
        scalable_dims: Sequence[int] | None = None,
        loc: Location | None = None,
    ) -> VectorType:
        """Create a vector type"""

    @staticmethod
    def get_unchecked(
        shape: Sequence[int],
        element_type: Type,
        *,
        scalable: Sequence[Any] | None = None,
        scalable_dims: Sequence[int] | None = None,
        context: Context | None = None,
    ) -> VectorType:
        """Create a vector type"""

    @property
    def scalable(self) -> bool: ...
    @property
    def scalable_dims(self) -> list[bool]: ...

class RankedTensorType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(
        shape: Sequence[int],
        element_type: Type,
        encoding: Attribute | None = None,
        loc: Location | None = None,
    ) -> RankedTensorType:
        """Create a ranked tensor type"""

    @staticmethod
    def get_unchecked(
        shape: Sequence[int],
        element_type: Type,
        encoding: Attribute | None = None,
        context: Context | None = None,
    ) -> RankedTensorType:
        """Create a ranked tensor type"""

    @property
    def encoding(self) -> Attribute | Any: ...

class UnrankedTensorType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(element_type: Type, loc: Location | None = None) -> UnrankedTensorType:
        """Create a unranked tensor type"""

    @staticmethod
    def get_unchecked(element_type: Type, context: Context | None = None) -> UnrankedTensorType:
        """Create a unranked tensor type"""

class MemRefType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(
        shape: Sequence[int],
        element_type: Type,
        layout: Attribute | None = None,
        memory_space: Attribute | None = None,
        loc: Location | None = None,
    ) -> MemRefType:
        """Create a memref type"""

    @staticmethod
    def get_unchecked(
        shape: Sequence[int],
        element_type: Type,
        layout: Attribute | None = None,
        memory_space: Attribute | None = None,
        context: Context | None = None,
    ) -> MemRefType:
        """Create a memref type"""

    @property
    def layout(self) -> Attribute:
        """The layout of the MemRef type."""

    def get_strides_and_offset(self) -> tuple[list[int], int]:
        """The strides and offset of the MemRef type."""

    @property
    def affine_map(self) -> AffineMap:
        """The layout of the MemRef type as an affine map."""

    @property
    def memory_space(self) -> Attribute | Any:
        """Returns the memory space of the given MemRef type."""

class UnrankedMemRefType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(
        element_type: Type, memory_space: Attribute | None, loc: Location | None = None
    ) -> UnrankedMemRefType:
        """Create a unranked memref type"""

    @staticmethod
    def get_unchecked(
        element_type: Type, memory_space: Attribute | None, context: Context | None = None
    ) -> UnrankedMemRefType:
        """Create a unranked memref type"""

    @property
    def memory_space(self) -> Attribute | Any:
        """Returns the memory space of the given Unranked MemRef type."""

class TupleType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get_tuple(elements: Sequence[Type], context: Context | None = None) -> TupleType:
        """Create a tuple type"""

    def get_type(self, pos: int) -> Type:
        """Returns the pos-th type in the tuple type."""

    @property
    def num_types(self) -> int:
        """Returns the number of types contained in a tuple."""

class FunctionType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(
        inputs: Sequence[Type], results: Sequence[Type], context: Context | None = None
    ) -> FunctionType:
        """Gets a FunctionType from a list of input and result types"""

    @property
    def inputs(self) -> list[Type]:
        """Returns the list of input types in the FunctionType."""

    @property
    def results(self) -> list[Type]:
        """Returns the list of result types in the FunctionType."""

class OpaqueType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    type_name: ClassVar[str] = ...

    @staticmethod
    def get(dialect_namespace: str, buffer: str, context: Context | None = None) -> OpaqueType:
        """Create an unregistered (opaque) dialect type."""

    @property
    def dialect_namespace(self) -> str:
        """Returns the dialect namespace for the Opaque type as a string."""

    @property
    def data(self) -> str:
        """Returns the data for the Opaque type as a string."""

class DynamicType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    static_typeid: ClassVar[TypeID] = ...

    @property
    def typeid(self) -> TypeID: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(
        full_type_name: str, attributes: Sequence[Attribute], context: Context | None = None
    ) -> DynamicType:
        """Create a dynamic type."""

    @property
    def params(self) -> list[Attribute]:
        """Returns the parameters of the dynamic type as a list of attributes."""

    @property
    def type_name(self) -> str: ...
    @staticmethod
    def lookup_typeid(full_type_name: str, context: Context | None = None) -> TypeID:
        """Look up the TypeID for the given dynamic type name."""

_Context: TypeAlias = Context
