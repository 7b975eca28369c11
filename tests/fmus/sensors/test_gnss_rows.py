"""Acceptance rows of the GNSS receiver that are about the sensor, through its FMU."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pymap3d
import pynmea2
import pytest

from sensor_models.gnss.parameters import ErrorMode, Solution
from tests.fmus.driving import read_record
from tests.fmus.host import Instance, open_fmu
from tests.sensor_models.gnss.test_gnss_files import ENTRY
from tests.sensor_models.scene_files import write_manifest

ORIGIN = {
    "origin.latitude": math.radians(48.1),
    "origin.longitude": math.radians(11.6),
    "origin.height": 520.0,
}
IDEAL: dict[str, Any] = {**ORIGIN, "error.mode": ErrorMode.off}
#: Walls 15 m east and west of the origin, 12 m above it, as long as the sky is wide.
WALLS = """
[meshes.wall]
box = { size = [1, 20000, 13] }
material = "concrete"

[[instances]]
mesh = "wall"
position = [15.5, 0, 5.5]

[[instances]]
mesh = "wall"
position = [-15.5, 0, 5.5]
"""


@pytest.fixture(scope="module")
def gnss_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Gnss.fmu"


def at(position: tuple[float, float, float], **velocity: float) -> dict[str, float]:
    """Inputs of a body at a place."""
    inputs = {f"body.position.{a}": v for a, v in zip("xyz", position, strict=True)}
    return inputs | {f"body.velocity.{axis}": v for axis, v in velocity.items()}


def distances(fmu: Path, folder: Path, satellite: str, **given: Any) -> list[float]:
    """The pseudoranges of a satellite at the start and an hour later, without errors."""
    recorded = {"record": True, "record_pseudoranges": True, "output_directory": str(folder)}
    with open_fmu(fmu) as gnss:
        every = {"sample_rate": 1.0 / 3600.0, "inputs_at_step_end": True}
        gnss.initialize({"error.mode": ErrorMode.off, **recorded, **every, **given})
        gnss.step(0.0, 3600.0)
        gnss.terminate()
    found: list[float] = read_record(folder)[f"pseudorange.{satellite}"].tolist()
    return found


def origin(latitude: float, longitude: float) -> tuple[dict[str, float], Any]:
    """A world at a place in degrees, and that place Earth-fixed by another library."""
    given = {"origin.latitude": math.radians(latitude), "origin.longitude": math.radians(longitude)}
    return given, np.array(pymap3d.geodetic2ecef(latitude, longitude, 0.0))


@pytest.mark.acceptance("GNSS-13")
def test_gnss_13_ranges_to_a_satellite_of_the_pattern(gnss_fmu: Path, tmp_path: Path) -> None:
    given, place = origin(45.0, -178.0)
    found = distances(gnss_fmu, tmp_path, "G06", **given)
    published = [
        (-16180765.353, 1404287.719, 21015337.461),
        (-20909562.122, -5678963.287, 15361418.809),
    ]
    expected = [float(np.linalg.norm(np.array(satellite) - place)) for satellite in published]
    # the tolerance of the acceptance row
    assert found == pytest.approx(expected, abs=1e-2)


@pytest.mark.acceptance("GNSS-17")
def test_gnss_17_range_to_a_satellite_of_an_almanac(gnss_fmu: Path, tmp_path: Path) -> None:
    # The other satellites are there for a fix.
    entries = "".join(ENTRY.format(prn=n + 2, health="000", anomaly=0.25 * n) for n in range(25))
    first = ENTRY.format(prn=1, health="000", anomaly=1.332284785)
    file = tmp_path / "almanac.alm"
    file.write_text(first + entries)
    given, place = origin(41.0, 23.0)
    almanac = {"constellation": 3, "almanac_file": str(file), "time_of_week": 319488.0}
    found = distances(gnss_fmu, tmp_path, "G01", **given, **almanac)
    expected = np.linalg.norm(np.array((18173790.841, 7815695.405, 17622569.655)) - place)
    # the tolerance of the acceptance row
    assert found[0] == pytest.approx(expected, abs=1e-2)


def test_the_place_of_a_scene_is_overridden_by_the_parameters(gnss_fmu: Path) -> None:
    scene = {"scene": "street_canyon", "error.mode": ErrorMode.off, "multipath": 0}
    own = {"origin.latitude": 0.3, "origin.longitude": -1.2, "origin.height": 77.0}
    high = at((60.0, 0.0, 300.0))  # over the roofs
    with open_fmu(gnss_fmu) as gnss:
        for given, longitude in (({}, math.radians(11.6)), (own, -1.2)):
            gnss.initialize({**scene, **high, **given})
            # 60 m are 1e-5 rad
            assert gnss.get("fix") == 3
            assert gnss.get("longitude") == pytest.approx(longitude, abs=3e-5)
            gnss.reset()


def dilution(gnss: Instance, *parts: str) -> tuple[float, ...]:
    return tuple(gnss.get(f"dop.{part}") for part in parts)


@pytest.mark.acceptance("GNSS-5")
@pytest.mark.parametrize(
    ("heading", "place"),
    [
        (0.0, (48.1179844960, 11.6134297676, 550.3921)),
        (30.0, (48.1110766652, 11.6250569293, 550.3916)),
    ],
)
def test_gnss_5_a_place_of_the_world(
    gnss_fmu: Path, heading: float, place: tuple[float, float, float]
) -> None:
    turned = {"origin.heading": math.radians(heading)}
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**IDEAL, **turned, **at((1000.0, 2000.0, 30.0))})
        # the tolerances of the acceptance row
        assert math.degrees(gnss.get("latitude")) == pytest.approx(place[0], abs=1e-9)
        assert math.degrees(gnss.get("longitude")) == pytest.approx(place[1], abs=1e-9)
        assert gnss.get("height") == pytest.approx(place[2], abs=1e-4)


@pytest.mark.acceptance("GNSS-8")
def test_gnss_8_velocity_at_the_antenna(gnss_fmu: Path) -> None:
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**IDEAL, **at((5000.0, 0.0, 0.0), x=20.0)})
        found = [gnss.get(f"velocity.{way}") for way in ("east", "north", "up")]
    # the tolerance of the acceptance row
    assert found == pytest.approx([19.9999863, -0.0174402, 0.0156482], abs=1e-6)


def in_use(gnss: Instance) -> list[int]:
    """The satellites in use, counted from 0, by the sentence of the receiver."""
    lines = gnss.get("nmea.sentences").splitlines()
    (active,) = [line for line in map(pynmea2.parse, lines) if line.sentence_type == "GSA"]
    numbers = [getattr(active, f"sv_id{k:02d}") for k in range(1, 13)]
    return [int(number) - 1 for number in numbers if number]


@pytest.mark.acceptance("GNSS-14")
def test_gnss_14_satellites_of_a_place(gnss_fmu: Path) -> None:
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**IDEAL, "elevation_mask": math.radians(10.0), "nmea.on": True})
        assert in_use(gnss) == [0, 1, 4, 13, 16, 17, 20]
        assert gnss.get("satellites") == 7
        found = dilution(gnss, "position", "horizontal", "vertical")
    # the tolerance of the acceptance row
    assert found == pytest.approx((1.985398, 1.037533, 1.692729), abs=1e-5)


@pytest.mark.acceptance("GNSS-15")
def test_gnss_15_between_two_walls(gnss_fmu: Path, tmp_path: Path) -> None:
    scene = {"scene": str(write_manifest(tmp_path, WALLS)), "nmea.on": True}
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**IDEAL, **scene, "elevation_mask": math.radians(10.0)})
        assert in_use(gnss) == [0, 13, 17, 20]
        # the tolerance of the acceptance row
        assert dilution(gnss, "position") == pytest.approx((13.71817,), abs=1e-4)
        assert dilution(gnss, "horizontal") == pytest.approx((6.39927,), abs=1e-4)


@pytest.mark.acceptance("GNSS-16")
def test_gnss_16_a_day_of_satellites(gnss_fmu: Path, tmp_path: Path) -> None:
    recorded = {"record": True, "output_directory": str(tmp_path), "inputs_at_step_end": True}
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**IDEAL, **recorded, "sample_rate": 1.0 / 300.0})
        gnss.step(0.0, 287 * 300.0)
        gnss.terminate()
    found = read_record(tmp_path)
    satellites, position = found["satellites"], found["dop.position"]
    assert len(satellites) == 288
    # the tolerance of the acceptance row
    assert (satellites.min(), satellites.max()) == (6, 9)
    assert satellites.mean() == pytest.approx(7.701, abs=1e-3)
    assert (position.mean(), position.max()) == pytest.approx((1.802, 2.908), abs=1e-3)


@pytest.mark.acceptance("GNSS-23")
@pytest.mark.acceptance("GNSS-24")
def test_gnss_23_and_24_sentences_of_a_fix(gnss_fmu: Path) -> None:
    place = {
        "origin.latitude": math.radians(47.28521118),
        "origin.longitude": math.radians(8.56524738),
        "origin.height": 547.6,
        "geoid_undulation": 48.0,
        "utc_start": "2026-03-09T09:27:25Z",
    }
    with open_fmu(gnss_fmu) as gnss:
        moving = at((0.0, 0.0, 0.0), x=3.0, y=4.0)
        gnss.initialize({"error.mode": ErrorMode.off, "nmea.on": True, **place, **moving})
        gga, rmc, *_ = gnss.get("nmea.sentences").splitlines()
        used = f"{gnss.get('satellites'):02d},{gnss.get('dop.horizontal'):.2f}"
    head = "$GPGGA,092725.00,4717.11267,N,00833.91484,E,1"
    assert gga.startswith(f"{head},{used},499.6,M,48.0,M,,*")
    fields = rmc.split(",")
    assert fields[7:9] == ["9.719", "36.87"]


def test_an_rtk_solution_leaps_from_none_to_float_to_fixed_and_back(
    gnss_fmu: Path, tmp_path: Path
) -> None:
    # A cover that stands over the antenna from 4 s to 6 s: the body drives below a plate.
    plate = """
[meshes.plate]
box = { size = [16, 40, 0.2] }
material = "concrete"

[[instances]]
mesh = "plate"
position = [40, 0, 1]
"""
    own = {"solution": Solution.rtk, "rtk.convergence_time": 2.0, "sample_rate": 10.0}
    drive = {"body.velocity.x": 8.0, "inputs_at_step_end": True}
    found = []
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**ORIGIN, **own, **drive, "scene": str(write_manifest(tmp_path, plate))})
        for k in range(1, 101):
            gnss.set({"body.position.x": 0.8 * k})
            gnss.step((k - 1) / 10, 0.1)
            outputs = gnss.outputs()
            found.append((outputs["fix"], outputs["carrier_solution"]))
            if outputs["fix"] == 3:
                sigma = 20.0 if outputs["carrier_solution"] == 1 else 1.0
                # of the defaults, horizontally
                assert outputs["accuracy.horizontal"] == pytest.approx(
                    sigma * math.hypot(1.2, 0.1), rel=1e-12
                )
    assert found[0] == (3, 1)
    assert found[18:20] == [(3, 1), (3, 2)], "2 s after the start"
    assert found[49] == (0, 0), "in the middle of the plate"
    lost = [k for k, (fix, _) in enumerate(found) if fix != 3]
    again = lost[-1] + 1
    assert [carrier for _, carrier in found[again : again + 22]] == [1] * 20 + [2] * 2
