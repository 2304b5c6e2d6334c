"""`script()` of types, expressions and bindings."""

from typing import Any

from relax_mlir.extension_points import extension


class Scripted:
    """What has a text in TVMScript."""

    __slots__ = ()

    def script(self, **options: Any) -> str:
        """Return this as it stands in TVMScript.

        Args:
            options: `verbose_expr=True` puts lines before the text that declare the symbols and
                variables in it.

        Raises:
            TypeError: there is no such option.
        """
        return extension("relax.script_text")(self, **options)

    # TVM's types whose `script` is taken call it so.
    _relax_script = script
