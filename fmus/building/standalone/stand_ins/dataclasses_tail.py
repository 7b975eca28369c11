"""Appended to ``dataclasses``: methods that were compiled when the FMU was built.

Python writes the methods of a data class as texts and compiles them at each start, which takes half
of the time that it spends on the class. ``COMPILED``, which the build fills, has the code of these
texts; other texts are compiled as usual. ``inspect`` is imported only when it is needed, for a
class without a docstring.
"""

import builtins
import marshal
from typing import Any

COMPILED: dict[str, bytes] = {}


class _Late:
    """The module ``inspect``, imported when something in it is used."""

    def __getattr__(self, name: str) -> Any:
        import inspect as module

        return getattr(module, name)


inspect = _Late()


def exec(text: Any, *spaces: Any) -> None:  # noqa: A001 - this is the name that is called
    """Run a text, by the code that was compiled from it if there is one."""
    code = COMPILED.get(text)
    builtins.exec(text if code is None else marshal.loads(code), *spaces)
