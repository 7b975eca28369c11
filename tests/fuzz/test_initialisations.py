"""The short run of first initialisations; ``python -m tests.fuzz`` is the long one."""

from pathlib import Path

from tests.fuzz.initialisations import PAIR, failures
from tests.masters.fmu_files import FmuFiles

PROCESSES = 40


def test_first_initialisations_in_two_threads_end_well_in_each_fresh_process(
    fmu_directory: Path, tmp_path: Path
) -> None:
    files = [FmuFiles.unpack(fmu_directory / f"{name}.fmu", tmp_path / name) for name in PAIR]
    assert not failures(files, PROCESSES)
