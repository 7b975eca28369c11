"""Noise of FMUs: a function of seed, instance name and sample, and of nothing else."""

import itertools
from pathlib import Path

from tests.fmus.driving import WIDE, drive
from tests.fmus.host import Instance, open_fmu

NOISY = {**WIDE, "noise.rms": 1.0}


def positions(encoder: Instance, count: int = 20) -> list[float]:
    """What an encoder reports of a joint at rest."""
    return [r["position"] for r in drive(encoder, [k / 10 for k in range(count + 1)], lambda t: {})]


def noise_of(fmu: Path, name: str, seed: int) -> list[float]:
    with open_fmu(fmu, name) as encoder:
        encoder.initialize({**NOISY, "seed": seed})
        return positions(encoder)


def test_noise_differs_with_name_and_seed_and_repeats_with_both(encoder_fmu: Path) -> None:
    runs = [noise_of(encoder_fmu, name, seed) for name in ("left", "right") for seed in (1, 2)]
    for one, other in itertools.combinations(runs, 2):
        assert not set(one) & set(other), "no draw is shared"
    assert noise_of(encoder_fmu, "left", 1) == runs[0]


def test_noise_differs_between_kinds_of_sensors_of_one_name(
    encoder_fmu: Path, odometer_fmu: Path
) -> None:
    with open_fmu(odometer_fmu, "left") as odometer:
        odometer.initialize({"noise.rms": 1.0, "seed": 1})
        readings = drive(odometer, [k / 10 for k in range(21)], lambda t: {})
    distances = [reading["distance"] for reading in readings]
    assert not set(distances) & set(noise_of(encoder_fmu, "left", 1))


def test_noise_does_not_depend_on_what_else_is_switched_on(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu, "left") as encoder:
        encoder.initialize({**NOISY, "seed": 1, "fault.wave": 1, "fault.amplitude": 0.0})
        assert positions(encoder) == noise_of(encoder_fmu, "left", 1)
