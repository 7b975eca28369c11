"""Added to ``dataclasses``: methods that were compiled when the FMU was built.

What a data class is given is written as a text and compiled at each start, which takes as long as
all else that is done for it. ``COMPILED``, filled by the build, has the code of these texts;
others are compiled as ever. ``inspect`` is imported when it is needed, for a class without a
docstring.
"""

import builtins
import marshal
from typing import Any

COMPILED: dict[str, bytes] = {}


class _Late:
    """The module ``inspect``, imported when something of it is wanted."""

    def __getattr__(self, name: str) -> Any:
        import inspect as module

        return getattr(module, name)


inspect = _Late()


def exec(text: Any, *spaces: Any) -> None:  # noqa: A001 - this is the name that is called
    """Run a text, or the code that was made of it."""
    code = COMPILED.get(text)
    builtins.exec(text if code is None else marshal.loads(code), *spaces)
