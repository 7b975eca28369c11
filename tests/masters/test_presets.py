"""Every preset of every sensor, as a master in C runs it: chosen by its name, all else as it is.

The ordinary and the standalone FMU of a sensor must say and write the same.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sensor_models import catalog
from sensor_models.core.spec import scalars_of
from sensor_models.presets import list_presets, load_preset
from tests.masters.c_master import CMaster, Library
from tests.masters.fmu_files import FmuFiles
from tests.masters.whole_runs import files_in, readings

PRESETS = [(sensor, name) for sensor in catalog.names() for name in list_presets(sensor)]

#: How many samples or frames are taken.
COUNT = 10
#: Fewer frames, by sensor: pictures of 2 to 12 million pixels. One of 12 million took a minute on
#: two busy cores.
FEWER = {"CcdCamera": 1}

Readings = list[tuple[tuple[str, ...], ...]]
Open = Callable[[str], Library]


@pytest.fixture(scope="module")
def opened(
    fmu_directory: Path,
    standalone_directory: Path,
    master_executable: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Open, Open]]:
    """What opens ordinary FMUs in one master, and standalone ones in another, each once."""
    unpacked = tmp_path_factory.mktemp("presets")

    def opener(master: CMaster, directory: Path) -> Open:
        known: dict[str, Library] = {}

        def open_once(name: str) -> Library:
            if name not in known:
                place = unpacked / directory.name / name
                known[name] = master.load(FmuFiles.unpack(directory / f"{name}.fmu", place))
            return known[name]

        return open_once

    with CMaster(master_executable) as first, CMaster(master_executable) as second:
        yield opener(first, fmu_directory), opener(second, standalone_directory)


def period_of(sensor: str, preset: str) -> float:
    """The time from one sample to the next with a preset; a communication step without a rate."""
    spec = catalog.spec_of(sensor)
    starts = {name: start for name, _, start in scalars_of(spec.all_parameters)}
    rate = float(load_preset(sensor, preset).get("sample_rate", starts["sample_rate"]))
    return 1.0 / rate if rate > 0.0 else spec.step


def run(library: Library, preset: str, period: float, count: int, output: Path) -> Readings:
    """What each step shows, one a sample."""
    instance = library.instantiate("sensor")
    instance.set("preset", preset).expect()
    instance.set("output_directory", str(output)).expect()
    instance.initialize()
    found = []
    while int(instance.get("sample.count") or 0) < count:
        assert len(found) < count + 2, "a sample is lost"  # rolling ones come a step later
        instance.step(len(found) * period, period).expect()
        found.append(readings(instance))
    instance.terminate().expect()
    instance.free()
    return found


@pytest.mark.parametrize(("sensor", "preset"), PRESETS)
def test_runs_from_c_ordinary_and_standalone_alike(
    opened: tuple[Open, Open], tmp_path: Path, sensor: str, preset: str
) -> None:
    count = FEWER.get(sensor, COUNT)
    period = period_of(sensor, preset)
    here, there = (
        run(open_once(sensor), preset, period, count, tmp_path / str(k))
        for k, open_once in enumerate(opened)
    )
    assert here == there
    written, expected = files_in(tmp_path / "1"), files_in(tmp_path / "0")
    assert written.keys() == expected.keys()
    assert [name for name in expected if written[name] != expected[name]] == []
    frames = catalog.spec_of(sensor).frames is not None
    assert (len(expected) >= count) == frames
    shutil.rmtree(tmp_path)  # pictures are large
    tmp_path.mkdir()


def test_there_are_presets_for_all_sensors_but_the_odometer() -> None:
    assert {sensor for sensor, _ in PRESETS} == {*catalog.names()} - {"Odometer"}
