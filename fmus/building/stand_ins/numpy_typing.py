"""In place of ``numpy._typing``: names that stand in annotations, which nothing reads at run time.

To make the types that these stand for takes as long as a tenth of a start.
"""

from typing import Any


class NDArray:
    """An array of anything."""

    def __class_getitem__(cls, kind: Any) -> type["NDArray"]:
        del kind
        return cls


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Any
