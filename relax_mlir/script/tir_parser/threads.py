"""Thread names: `threadIdx.x` and others."""

import re

from relax_mlir.errors import did_you_mean
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node

_THREAD = re.compile(r"(blockIdx|threadIdx|clusterIdx|clusterCtaIdx)\.[xyz]|[cv]thread(\.[xyz])?")
_COMMON = [f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"]


def check_thread(scope: Scope, node: Node, name: str) -> None:
    """Check the name of a thread.

    Raises:
        ScriptError: there is none of that name.
    """
    if not _THREAD.fullmatch(name):
        known = did_you_mean(name, _COMMON) or "; there are blockIdx.x, threadIdx.x and vthread.x"
        scope.fail(node, f"'{name}' is no thread{known}")
