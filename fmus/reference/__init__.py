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

from fmus.reference.page import index_page, reference_page

__all__ = ["index_page", "reference_page"]
