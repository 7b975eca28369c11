"""Where the package's own data files are.

The package may have moved since it was imported: an FMU's copy goes when the FMU goes, and
``__path__`` of the loaded package then leads to another FMU's, or to the installed one. So data
are looked for along ``__path__`` when they are needed; what a module remembers of its own place
may be gone.
"""

from pathlib import Path

import sensor_models


def data_files(folder: str, pattern: str) -> list[Path]:
    """The files in a folder of the package that match, sorted, of the first copy that has any."""
    for place in sensor_models.__path__:
        files = sorted((Path(place) / folder).glob(pattern))
        if files:
            return files
    return []
