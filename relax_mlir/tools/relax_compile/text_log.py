"""A build log that keeps the text of native code."""

from relax_mlir.compiler.build_log import BuildLog


class TextLog(BuildLog):
    """A BuildLog that can keep the native code's text without a folder."""

    def __init__(self, dump_dir: str | None = None, *, keep: bool) -> None:
        super().__init__(dump_dir)
        self._keep = keep
        self.texts: dict[str, str] = {}

    @property
    def dumps(self) -> bool:
        """Whether anyone wants the text."""
        return self._keep or super().dumps

    def add(self, name: str, seconds: float, text: str | None = None, suffix: str = "mlir") -> None:
        """Note a stage, and keep its text."""
        if self._keep and text is not None:
            self.texts[f".{suffix}"] = text
        super().add(name, seconds, text, suffix)
