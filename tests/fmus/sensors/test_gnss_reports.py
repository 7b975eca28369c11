"""FMU ``Gnss``: constant errors, codes, limits and faults of what it reports, by closed forms."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pymap3d
import pynmea2
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.core.faults import FaultMode
from sensor_models.core.georeference import Georeference
from sensor_models.gnss.parameters import ErrorMode
from tests.fmus.host import open_fmu

PLACE = Georeference(math.radians(-33.9), math.radians(151.2), 20.0)
ORIGIN = {
    "origin.latitude": PLACE.latitude,
    "origin.longitude": PLACE.longitude,
    "origin.height": PLACE.height,
}
ENU = ("east", "north", "up")
SIGNALS = ("latitude", "longitude", "height", *(f"velocity.{way}" for way in ENU))
POSITION, VELOCITY = (120.0, -40.0, 3.125), (3.37, -0.37, 0.91)
MOTION = {
    **{f"body.position.{axis}": value for axis, value in zip("xyz", POSITION, strict=True)},
    **{f"body.velocity.{axis}": value for axis, value in zip("xyz", VELOCITY, strict=True)},
    "poses": 1,
}


@pytest.fixture(scope="session")
def gnss_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Gnss.fmu"


def report(fmu: Path, steps: int = 1, **given: Any) -> dict[str, Any]:
    """The outputs of a receiver without errors of its own, but for those that are given."""
    with open_fmu(fmu) as gnss:
        gnss.initialize({**ORIGIN, **MOTION, "error.mode": ErrorMode.off, **given})
        for number in range(steps):
            gnss.step(0.1 * number, 0.1)
        return gnss.outputs()


def signals(outputs: dict[str, Any]) -> list[float]:
    return [outputs[signal] for signal in SIGNALS]


@pytest.fixture(scope="module")
def truth(gnss_fmu: Path) -> dict[str, Any]:
    return report(gnss_fmu)


def test_a_bias_moves_the_fix_by_metres_to_east_north_and_up(
    gnss_fmu: Path, truth: dict[str, Any]
) -> None:
    bias, drift = (12.0, -7.5, 3.25), (0.5, -0.25, 0.125)
    given = {f"bias.position.{way}": value for way, value in zip(ENU, bias, strict=True)}
    given |= {f"bias.velocity.{way}": value for way, value in zip(ENU, drift, strict=True)}
    found = report(gnss_fmu, **given)
    moved = pymap3d.geodetic2enu(*signals(found)[:3], *signals(truth)[:3], deg=False)
    assert moved == pytest.approx(bias, abs=1e-6)
    velocity = [true + error for true, error in zip(signals(truth)[3:], drift, strict=True)]
    assert signals(found)[3:] == velocity
    others = set(truth) - set(SIGNALS)
    assert {name: found[name] for name in others} == {name: truth[name] for name in others}


def test_a_bias_adds_to_random_errors_and_reaches_sentences_but_no_ranges(gnss_fmu: Path) -> None:
    errors = {"error.mode": ErrorMode.pseudorange, "nmea.on": True, "rinex.on": True}
    plain = report(gnss_fmu, 3, **errors)
    biased = report(gnss_fmu, 3, **errors, **{"bias.position.up": 1000.0})
    assert biased["height"] - plain["height"] == pytest.approx(1000.0, abs=1e-6)
    assert biased["latitude"] == pytest.approx(plain["latitude"], abs=1e-12)
    sentence = pynmea2.parse(biased["nmea.sentences"].splitlines()[0])
    assert sentence.altitude == pytest.approx(biased["height"], abs=0.051)
    assert biased["rinex.epoch"] == plain["rinex.epoch"]


def test_a_reading_without_a_fix_holds_with_its_bias(gnss_fmu: Path) -> None:
    """No satellite stands that high: the receiver reports the origin of the world."""
    blind = {"elevation_mask": math.radians(89.99)}
    held = report(gnss_fmu, **blind)
    found = report(gnss_fmu, **blind, **{"bias.position.up": 5.0})
    assert held["fix"] == found["fix"] == 0
    assert held["height"] == PLACE.height
    assert found["height"] == pytest.approx(PLACE.height + 5.0, abs=1e-6)


@pytest.mark.parametrize(
    ("mode", "rounding"),
    [
        (RoundingMode.toward_zero, np.trunc),
        (RoundingMode.floor, np.floor),
        (RoundingMode.ceil, np.ceil),
        (RoundingMode.round, np.round),
    ],
)
def test_each_signal_has_codes_of_its_own(
    gnss_fmu: Path, truth: dict[str, Any], mode: RoundingMode, rounding: Any
) -> None:
    steps = (1e-6, 3e-7, 0.25, 0.1, 0.2, 0.4)
    given = {f"discretization.lsb.{name}": lsb for name, lsb in zip(SIGNALS, steps, strict=True)}
    on = {"discretization.on": True, "discretization.mode": mode}
    found = signals(report(gnss_fmu, **given, **on))
    codes = np.array(signals(truth)) / steps
    assert np.abs(codes - np.round(codes)).min() > 1e-3  # none is a code already
    np.testing.assert_allclose(found, steps * rounding(codes), rtol=1e-14)
    assert signals(report(gnss_fmu, **given)) == signals(truth)


def limits(**given: tuple[float, float]) -> dict[str, Any]:
    """Saturation with limits of signals; of a velocity without its part, of all three."""
    found: dict[str, Any] = {"saturation.on": True}
    for name, (lowest, highest) in given.items():
        names = [f"velocity.{way}" for way in ENU] if name == "velocity" else [name]
        for signal in names:
            found[f"saturation.min.{signal}"] = lowest
            found[f"saturation.max.{signal}"] = highest
    return found


def test_bits_are_codes_between_the_limits(gnss_fmu: Path, truth: dict[str, Any]) -> None:
    given = limits(height=(0.0, 102.3), velocity=(-8.0, 7.5))
    found = report(gnss_fmu, **given, **{"discretization.on": True, "discretization.bits": 10})
    assert found["height"] == pytest.approx(math.floor(truth["height"] * 10.0) / 10.0)
    lsb = 15.5 / 1023.0
    code = (truth["velocity.east"] + 8.0) / lsb
    assert found["velocity.east"] == pytest.approx(-8.0 + lsb * math.floor(code))
    code = (truth["latitude"] + 0.5 * math.pi) / (math.pi / 1023.0)
    expected = -0.5 * math.pi + math.pi / 1023.0 * math.floor(code)
    assert found["latitude"] == pytest.approx(expected)


def test_what_is_reported_is_limited_last(gnss_fmu: Path, truth: dict[str, Any]) -> None:
    given = limits(height=(100.0, 400.0), velocity=(-0.2, 1.5), latitude=(-0.5, 1.0))
    found = report(gnss_fmu, **given)
    expected = {
        "latitude": -0.5, "longitude": truth["longitude"], "height": 100.0,
        "velocity.east": 1.5, "velocity.north": -0.2, "velocity.up": truth["velocity.up"],
    }  # fmt: skip
    assert {name: found[name] for name in SIGNALS} == expected
    off = report(gnss_fmu, **{**given, "saturation.on": False})
    assert signals(off) == signals(truth)
    wide = report(gnss_fmu, **{"saturation.on": True, "discretization.on": True})
    assert signals(wide) == signals(truth)


@pytest.mark.acceptance("COR-3")
def test_cor_3_limits_are_codes(gnss_fmu: Path) -> None:
    given = {**limits(velocity=(-0.9, 1.0)), "discretization.on": True}
    given |= {f"discretization.lsb.velocity.{way}": 0.25 for way in ENU}
    up = report(gnss_fmu, **given, **{"body.velocity.x": 50.0, "body.velocity.y": -50.0})
    assert up["velocity.east"] == 1.0
    assert up["velocity.north"] == -0.75


def test_codes_of_angles_stay_on_the_earth(gnss_fmu: Path) -> None:
    """Rounded up, the longitude would be beyond 180 degrees."""
    coarse = {"discretization.on": True, "discretization.mode": RoundingMode.ceil}
    found = report(gnss_fmu, **coarse, **{"discretization.lsb.longitude": 2.0})
    assert found["longitude"] == 2.0
    assert report(gnss_fmu)["longitude"] > 2.0


@pytest.mark.parametrize(
    ("mode", "place"), [(FaultMode.on, 1), (FaultMode.max, 1), (FaultMode.min, 0)]
)
def test_faults_are_stuck_at_the_limits(gnss_fmu: Path, mode: FaultMode, place: int) -> None:
    given = limits(height=(-100.0, 9000.0), velocity=(-500.0, 515.0))
    stuck = {f"fault.{signal}.mode": mode for signal in SIGNALS}
    expected = {
        "latitude": (-0.5 * math.pi, 0.5 * math.pi),
        "longitude": (-math.pi, math.pi),
        "height": (-100.0, 9000.0),
        **{f"velocity.{way}": (-500.0, 515.0) for way in ENU},
    }
    found = report(gnss_fmu, **given, **stuck)
    assert {name: found[name] for name in SIGNALS} == {n: e[place] for n, e in expected.items()}


def test_angles_have_limits_by_themselves_and_heights_and_velocities_only_if_given(
    gnss_fmu: Path,
) -> None:
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**ORIGIN, **MOTION})
        gnss.set({"fault.latitude.mode": FaultMode.max, "fault.longitude.mode": FaultMode.min})
        gnss.step(0.0, 0.1)
        assert gnss.get("latitude") == 0.5 * math.pi
        assert gnss.get("longitude") == -math.pi
        gnss.set({"fault.height.mode": FaultMode.max})
        refusal = gnss.refusal(gnss.step, 0.1, 0.1)
        assert "fault.mode of height = 5 (max) needs limits" in refusal
