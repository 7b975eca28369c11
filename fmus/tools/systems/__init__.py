"""Systems of FMUs as one file (SSP); used by the build only.

``description``  what a system is made of, read from TOML
``ssp``          the files of its package
``ssp2``         those of a package of FMI 3.0, by SSP 2.0
"""

from fmus.tools.systems.description import DescriptionError, System, read_system
from fmus.tools.systems.ssp import fmu_place, system_files
from fmus.tools.systems.ssp2 import package, system_files2

__all__ = [
    "DescriptionError",
    "System",
    "fmu_place",
    "package",
    "read_system",
    "system_files",
    "system_files2",
]
