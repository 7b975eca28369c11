"""RINEX files of the FMU Gnss by RTKLIB: where it puts the receiver, and how much that scatters.

The pseudoranges of the FMU are distance plus error, without the time that light travels, which
RTKLIB takes out of them: alone they are some 100 m off. So they are used as those of a rover with a
base at a known place are: by what the base's differ from the model of a range at its place, the
rover's are corrected, which takes off all that the two have in common. RTKLIB then reads
satellites, epochs and pseudoranges from our file, and orbits from a navigation file that is written
here, and finds the rover by its own least squares.
"""

import datetime
import math
import subprocess
from pathlib import Path

import numpy as np
import pymap3d
import pytest

from sensor_models.gnss.constellation import WALKERS
from sensor_models.kernels.gnss import orbits as at
from tests.fmus.host import open_fmu
from tests.tools import need

PLACE = (48.1, 11.6, 520.0)  # deg, deg, m
ORIGIN = {
    "origin.latitude": math.radians(PLACE[0]),
    "origin.longitude": math.radians(PLACE[1]),
    "origin.height": PLACE[2],
}
EAST, NORTH = 300.0, 400.0
START = datetime.datetime(2026, 3, 3, 12, 0, 18)  # GPS time of 12:00:00 UTC
SINCE = (START - datetime.datetime(1980, 1, 6)).total_seconds()
WEEK, TIME_OF_WEEK = int(SINCE // 604800), SINCE % 604800
EPOCHS, WHITE, MASK = 400, 0.3, math.radians(10.0)
GNSS = {
    **ORIGIN, "sample_rate": 1.0, "error.mode": 3, "range.correlated": 0.0, "range.white": WHITE,
    "constellation": 0, "utc_start": "2026-03-03T12:00:00Z", "rinex.on": True, "record": True,
    "elevation_mask": MASK,
}  # fmt: skip
LIGHT, EARTH_RATE = 299792458.0, 7.2921151467e-5
CLOCK = 1e-12  # s, of all satellites: RTKLIB takes a clock that is 0 for one that is not known
OPTIONS = """
pos1-posmode=single
pos1-elmask=0
pos1-ionoopt=off
pos1-tropopt=off
pos1-sateph=brdc
pos1-navsys=1
out-solformat=xyz
"""

Ranges = list[tuple[str, dict[str, float]]]


def observed(fmu: Path, folder: Path, seed: int, east: float, north: float) -> Path:
    """The observation file of a resting receiver."""
    place = {"body.position.x": east, "body.position.y": north}
    with open_fmu(fmu, "receiver") as gnss:
        gnss.initialize({**GNSS, **place, "seed": seed, "output_directory": str(folder)})
        for second in range(EPOCHS):
            gnss.step(float(second), 1.0)
        gnss.terminate()
    return folder / "receiver.rnx"


def orbit(number: int) -> np.ndarray:
    """The orbit of a GPS satellite, counted from 1."""
    row: np.ndarray = WALKERS[0].orbits()[number - 1]
    return row


def satellite(number: int, time: float) -> np.ndarray:
    """Where a satellite is at a time of the week, in the axes that the Earth has then."""
    own = orbit(number)
    place = own[at.ANOMALY] + own[at.MEAN_MOTION] * time
    node, tilt = own[at.NODE] - EARTH_RATE * time, own[at.INCLINATION]
    across, up = math.sin(place) * math.cos(tilt), math.sin(place) * math.sin(tilt)
    x = math.cos(place) * math.cos(node) - across * math.sin(node)
    y = math.cos(place) * math.sin(node) + across * math.cos(node)
    return float(own[at.AXIS]) * np.array([x, y, up])


def light_range(number: int, time: float, receiver: np.ndarray) -> float:
    """The way of the light that arrives at a receiver, while the Earth turns."""
    distance = 2.2e7
    for _ in range(4):
        x, y, z = satellite(number, time - distance / LIGHT)
        turn = EARTH_RATE * distance / LIGHT
        moved = np.array([x + turn * y, y - turn * x, z])
        distance = float(np.linalg.norm(moved - receiver))
    return distance


def write_navigation(path: Path) -> None:
    """The orbits as RINEX 3.04 has them; without clocks, perturbations and excentricity."""
    toe = TIME_OF_WEEK - 18.0
    lines = [
        f"{3.04:9.2f}{'':11}{'N: GNSS NAV DATA':20}{'G: GPS':20}RINEX VERSION / TYPE",
        f"{'':60}END OF HEADER",
    ]
    for number in range(1, WALKERS[0].satellites + 1):
        own = orbit(number)
        anomaly = (own[at.ANOMALY] + own[at.MEAN_MOTION] * toe) % math.tau
        records = [
            [1, 0, 0, anomaly], [0, 0, 0, math.sqrt(own[at.AXIS])], [toe, 0, own[at.NODE], 0],
            [own[at.INCLINATION], 0, 0, 0], [0, 0, WEEK, 0], [2, 0, 0, 1], [toe, 4, 0, 0],
        ]  # fmt: skip
        first = f"G{number:02d} {START:%Y %m %d} 12 00 00"
        for head, values in [(first, [CLOCK, 0, 0]), *(("    ", values) for values in records)]:
            lines.append(head + "".join(f"{value:19.12E}" for value in values))
    path.write_text("\n".join(lines) + "\n")


def corrected(rover: Path, base: Path, path: Path) -> None:
    """The rover's file with the base's errors taken off: everything else stays as it is."""
    antenna = np.array(pymap3d.geodetic2ecef(*PLACE))
    found, second = [], -1
    for own, other in zip(
        rover.read_text().splitlines(), base.read_text().splitlines(), strict=True
    ):
        if own.startswith(">"):
            second += 1
        line = own
        if own.startswith("G") and second >= 0:
            assert own[:3] == other[:3]
            way = light_range(int(own[1:3]), TIME_OF_WEEK + second, antenna)
            line = f"{own[:3]}{float(own[3:17]) - (float(other[3:17]) - way):14.3f}{own[17:]}"
        found.append(line)
    path.write_text("\n".join(found) + "\n")


def covariance(time: float) -> np.ndarray:
    """What errors of the ranges at an instant make of east, north and up, m2.

    By least squares with equal weights, as RTKLIB's nearly are, for errors that grow as 1 / sin of
    the elevation, of rover and base.
    """
    rows, sines = [], []
    for number in range(1, WALKERS[0].satellites + 1):
        east, north, up = pymap3d.ecef2enu(*satellite(number, time), *PLACE)
        distance = math.sqrt(east * east + north * north + up * up)
        if up / distance > math.sin(MASK):
            rows.append([-east / distance, -north / distance, -up / distance, 1.0])
            sines.append(up / distance)
    g, errors = np.array(rows), math.sqrt(2.0) * WHITE / np.array(sines)
    inverse = np.linalg.inv(g.T @ g) @ g.T
    whole: np.ndarray = inverse @ np.diag(errors**2) @ inverse.T
    return whole[:3, :3]


def test_rtklib_finds_the_receiver_where_it_is(fmu_directory: Path, tmp_path: Path) -> None:
    need("RTKLIB")
    fmu = fmu_directory / "Gnss.fmu"
    base = observed(fmu, tmp_path / "base", 1, 0.0, 0.0)
    rover = observed(fmu, tmp_path / "rover", 2, EAST, NORTH)
    corrected(rover, base, tmp_path / "corrected.rnx")
    write_navigation(tmp_path / "orbits.nav")
    (tmp_path / "options.conf").write_text(OPTIONS)
    files = ["options.conf", "found.pos", "corrected.rnx", "orbits.nav"]
    options, found, *read = (str(tmp_path / name) for name in files)
    subprocess.run(["rnx2rtkp", "-k", options, "-o", found, *read], check=True, capture_output=True)
    lines = [line for line in Path(found).read_text().splitlines() if line[0] != "%"]
    assert len(lines) == EPOCHS
    places = np.array([[float(word) for word in line.split()[2:5]] for line in lines])
    local = np.stack(pymap3d.ecef2enu(*places.T, *PLACE), axis=1)
    whole = np.mean([covariance(TIME_OF_WEEK + second) for second in range(EPOCHS)], axis=0)
    expected = np.sqrt(np.diag(whole))
    error = local.mean(axis=0) - (EAST, NORTH, 0.0)
    print(f"mean error {error.round(3)} m, scatter {local.std(axis=0).round(3)}, "
          f"of {expected.round(3)} m")  # fmt: skip
    # four deviations of a mean of that many epochs; 2 cm of the plane that the world is
    assert (abs(error) < 4.0 * expected / math.sqrt(EPOCHS) + 0.02).all()
    assert local.std(axis=0) == pytest.approx(expected, rel=0.15)  # four of a deviation
