"""The FMU around ``plain_fmu``: the binding with a Python object that does what a test wants."""

import shutil
from dataclasses import replace
from pathlib import Path

from tests.masters.fmu_files import FmuFiles
from tests.masters.sensors import copied_to

SOURCE = Path(__file__).with_name("plain_fmu.py")


def build_plain_fmu(real: FmuFiles, reference: FmuFiles, directory: Path) -> FmuFiles:
    """Puts the object into a copy of a real FMU, with the reference FMU's description."""
    files = copied_to(real, directory)
    resources = directory / "resources"
    (resources / SOURCE.name).write_text(SOURCE.read_text().replace("@GUID@", reference.guid))
    manifest = (resources / "fmu.txt").read_text().splitlines()
    kept = [line for line in manifest if line.partition("=")[0] not in ("class", "main")]
    lines = [*kept, "class=plain_fmu:PlainFmu", "main=plain"]
    (resources / "fmu.txt").write_text("\n".join(lines) + "\n")
    plain = replace(reference, directory=directory)
    shutil.copy(files.library, plain.library)
    return plain
