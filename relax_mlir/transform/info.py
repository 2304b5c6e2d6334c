"""PassInfo: what the infrastructure knows of a pass without running it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PassInfo:
    """Name, optimisation level and the passes to run first (P02)."""

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
