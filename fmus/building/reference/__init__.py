"""Reference pages: for each FMU one HTML page, made from what the models declare.

``page``       a page from its sections, and the index of pages; start reading here
``tables``     variables and enumerations as tables, equal ones in one row
``chapters``   which modules describe what an FMU computes, and their docstrings
``presets``    the products that an FMU has presets for, each with its datasheet
``usage``      notes for many FMUs, shown on the pages of those with the variables concerned
``markup``     HTML elements, and docstrings as such elements

Pages are made when FMUs are built and go into their ``documentation``. A page has no scripts and
refers to nothing outside of itself; equal sources give equal bytes. Nothing here is packed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fmus.building.reference.page import index_page, reference_page

if TYPE_CHECKING:
    from fmus.fmi.base import FmuBase

__all__ = ["index_page", "reference_page", "write_pages"]


def write_pages(models: "Sequence[type[FmuBase]]", directory: Path) -> Path:
    """Write the pages of FMUs, and an index of them, which is returned."""
    pages = {f"{model.model_name}.html": reference_page(model) for model in models}
    directory.mkdir(parents=True, exist_ok=True)
    for name, page in {**pages, "index.html": index_page(models)}.items():
        (directory / name).write_bytes(page)
    return directory / "index.html"
