"""Systems of FMUs as one file (SSP); used by the build only.

``description``  what a system is made of, read from TOML
``ssp``          the files of its package
"""

from fmus.systems.description import DescriptionError, System, read_system
from fmus.systems.ssp import fmu_place, system_files

__all__ = ["DescriptionError", "System", "fmu_place", "read_system", "system_files"]
