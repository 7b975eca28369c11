"""How often the intervals of fits hold the truth: ``python -m tests.fit_coverage KIND``.

Each trial makes data with known parameters by a generator of its own, fits them, and looks whether
each true value is in its interval of 95 %. 200 trials take minutes; the suite has a few of them.
``--workers 2`` makes them in two processes, ``--only NAME`` those of one generator, and
``--first 200`` draws others than the first 200.
"""

import argparse
import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from sensor_models.tools.fitting import ccd, depth, encoder, gnss, lidar
from sensor_models.tools.fitting.estimates import Estimate
from sensor_models.tools.fitting.imu import fit_part
from sensor_models.tools.fitting.lidar_noise import EXPONENT
from sensor_models.tools.fitting.sampling import Sampled
from sensor_models.tools.fitting.tables import Columns
from sensor_models.tools.fitting.targets import Group
from tests import noise_generators as make

#: What was true, by the name of the estimate, and what was estimated.
Trial = tuple[Mapping[str, float], Mapping[str, Estimate]]


def quiet(done: int, total: int) -> None:
    """No progress."""


def by_name(estimates: Sequence[Estimate]) -> dict[str, Estimate]:
    return {estimate.name: estimate for estimate in estimates}


RATE, SAMPLES = 20.0, 72_000


def imu(seed: int) -> Trial:
    """White noise, flicker noise, a walk, and a temperature that rises, in one hour at 20 Hz."""
    rng = np.random.default_rng([1, seed])
    values = make.own(SAMPLES, RATE, rng, 1e-3, 3e-4, 3e-5)
    time = np.arange(SAMPLES) / RATE
    warmth = 298.0 + 4.0 * np.sin(time / 200.0) + time / 1800.0
    sampled = Sampled(
        RATE, {"gyroscope.x": values + 2e-4 * (warmth - 298.0), "temperature": warmth}, ()
    )
    fit = fit_part(sampled, "gyroscope", ["gyroscope.x"], quiet)
    truth = {
        "gyroscope.noise.density.x": 1e-3,
        "gyroscope.instability.x": 3e-4,
        "gyroscope.drift.walk.x": 3e-5,
        "gyroscope.bias_temperature.x": 2e-4,
    }
    return truth, fit.by_name


def imu_gauss_markov(seed: int) -> Trial:
    """White noise and a process with a correlation time of 40 s, with gnss-ins-sim's formulas."""
    rng = np.random.default_rng([2, seed])
    values = make.gnss_ins_sim(SAMPLES, RATE, rng, 1e-3, 2e-3, 40.0)
    sampled = Sampled(RATE, {"gyroscope.x": values}, ())
    fit = fit_part(sampled, "gyroscope", ["gyroscope.x"], quiet)
    truth = {
        "gyroscope.noise.density.x": 1e-3,
        "gyroscope.drift.std.x": make.gnss_ins_sim_deviation(RATE, 2e-3, 40.0),
        "gyroscope.drift.time_constant": 40.0,
    }
    return truth, fit.by_name


def imu_basilisk(seed: int) -> Trial:
    """White noise and a walk, as states of Basilisk's Gauss-Markov model."""
    rng = np.random.default_rng([10, seed])
    values = make.basilisk(SAMPLES, 0.0, 1e-3 * math.sqrt(RATE), rng)
    values += make.basilisk(SAMPLES, 1.0, 3e-5 / math.sqrt(RATE), rng)
    fit = fit_part(Sampled(RATE, {"gyroscope.x": values}, ()), "gyroscope", ["gyroscope.x"], quiet)
    truth = {"gyroscope.noise.density.x": 1e-3, "gyroscope.drift.walk.x": 3e-5}
    return truth, fit.by_name


def flat_fields(rng: np.random.Generator, side: int = 96) -> list[ccd.Flat]:
    """Frames of a camera by EMVA's model: Poisson light and dark current, fixed patterns."""
    gain, black = 0.25, 40.0
    prnu, dsnu = rng.normal(1.0, 0.01, (side, side)), rng.normal(0.0, 3.0, (side, side))
    flats = []
    for exposure, photons in [(t, 0.0) for t in (1e-3, 1.0)] + [
        (1e-3, n) for n in (400.0, 2e3, 5e3, 1e4, 1.5e4, 2.6e4)
    ]:
        mean = 0.6 * photons * prnu + dsnu + 60.0 * exposure
        frames = []
        for _ in range(4):
            electrons = rng.poisson(np.maximum(0.6 * photons * prnu + 60.0 * exposure, 0.0))
            electrons = electrons + (mean - 0.6 * photons * prnu - 60.0 * exposure)
            electrons = np.minimum(electrons + rng.normal(0.0, 6.0, mean.shape), 1.2e4)
            frames.append(np.clip(np.floor(gain * electrons + black + 0.5), 0.0, 4095.0))
        facts = {"exposure": exposure, "dark": photons == 0.0, "photons": photons}
        flats.append(ccd.flat_of(np.stack(frames), Group("trial", (), facts)))
    return flats


def camera(seed: int) -> Trial:
    """Flat fields of 96 x 96 pixels, six lights and two dark exposures, four frames each."""
    fit = ccd.fit_flats(flat_fields(np.random.default_rng([3, seed])), "trial")
    truth = {
        "sensor.system_gain": 0.25,
        "sensor.read_noise": 6.0,
        "sensor.black_level": 40.0,
        "sensor.full_well": 1.2e4,
        "sensor.dsnu": 3.0,
        "sensor.prnu": 0.01,
        "sensor.dark_current": 60.0,
        "sensor.qe": 0.6,
    }
    return truth, fit.by_name


def planes(seed: int) -> Trial:
    """Clouds of planes at three distances and three tilts, ranges in steps of 2 mm."""
    rng = np.random.default_rng([4, seed])
    found = []
    for distance, turn, tip in (
        (4.0, 0.0, 0.0),
        (15.0, 1.0, 0.0),
        (40.0, 0.0, 0.3),
        (25.0, 0.9, 0.8),
    ):
        azimuth, elevation = rng.uniform(-0.1, 0.1, (2, 2500))
        normal = np.array([np.cos(turn) * np.cos(tip), np.sin(turn) * np.cos(tip), np.sin(tip)])

        def direction(a, e):
            return np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], axis=1)

        true = direction(
            azimuth + rng.normal(0.0, 1e-3, 2500), elevation + rng.normal(0.0, 2e-3, 2500)
        )
        r = distance / (true @ normal)
        r = r + rng.normal(0.0, 1.0, 2500) * (0.01 + 3e-4 * r) + 0.004
        r = 0.002 * np.rint(r / 0.002)
        back = rng.random(2500) < 0.9
        shown = rng.normal(250.0 * 0.5 * (true @ normal), 5.0)
        points = r[:, None] * direction(azimuth, elevation)
        cloud = {axis: points[back, i] for i, axis in enumerate("xyz")}
        cloud |= {"range": r[back], "intensity": np.rint(shown[back])}
        facts = {"distance": distance, "normal": normal.tolist(), "rays": 2500, "reflectance": 0.5}
        found.append(lidar.plane_of([cloud], Group("trial", (), facts)))
    fit = lidar.fit_planes([plane for plane, _ in found], found[0][1], {})
    truth = {
        "noise.distance_sigma_base": 0.01,
        "noise.distance_sigma_slope": 3e-4,
        "noise.azimuth_sigma": 1e-3,
        "noise.elevation_sigma": 2e-3,
        "detection_probability": 0.9,
        "intensity.full_scale": 1.02,
        EXPONENT: 0.0,
        "bias at 4.01 m": 0.004,
    }
    return truth, {("bias at 4.01 m" if n.startswith("bias at 4.0") else n): e
                   for n, e in fit.by_name.items()}  # fmt: skip


def planes_by_intensity(seed: int) -> Trial:
    """Clouds of bright and dark planes at two distances: noise by the root of the intensity."""
    rng = np.random.default_rng([11, seed])
    found = []
    for distance, share in ((5.0, 0.8), (5.0, 0.1), (20.0, 0.8), (20.0, 0.1)):
        azimuth, elevation = rng.uniform(-0.1, 0.1, (2, 2000))
        u = (np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth))
        shown = rng.poisson(1000.0 * share * u[0])
        sigma = (0.01 + 5e-4 * distance / u[0]) / np.sqrt(share * u[0] / math.sqrt(0.8 * 0.1))
        r = distance / u[0] + sigma * rng.standard_normal(2000)
        points = (r * u[0], r * u[1], r * np.sin(elevation))
        cloud = dict(zip("xyz", points, strict=True)) | {"range": r, "intensity": shown}
        facts = {"distance": distance, "normal": [1.0, 0.0, 0.0]}
        found.append(lidar.plane_of([cloud], Group("trial", (), facts))[0])
    return {EXPONENT: -0.5}, lidar.fit_planes(found, 0.0, {}).by_name


def _wall(rng, z, factor, rms, step, multiplier, distance) -> depth.Wall:
    """A frame of a plane that is tilted a little."""
    _, u = np.indices((60, 80))
    disparity = factor / (z * (1.0 + 0.02 * (u - 40.0) / 80.0))
    noisy = disparity + rms * rng.standard_normal(u.shape)
    if step:
        noisy = step * np.rint(noisy / step)
    frame = factor / noisy * (1.0 + multiplier * rng.standard_normal(u.shape))
    frame[rng.random(u.shape) < 0.02] = 0.0
    return depth.wall_of([frame], Group("trial", (), {"distance": distance}), factor, 0.0)


def stereo(seed: int) -> Trial:
    """Planes at three depths: noise of disparities, and a relative error."""
    rng = np.random.default_rng([5, seed])
    factor = 640.0 * 0.095
    walls = [_wall(rng, z, factor, 0.08, 0.0, 4e-3, z) for z in (0.8, 2.0, 5.0)]
    fit = depth.fit_walls(walls, stereo=True, factor=factor, settings={})
    truth = {"noise.disparity.rms": 0.08, "noise.multiplier": 4e-3, "noise.dropout": 0.02}
    return truth, fit.by_name


def stereo_steps(seed: int) -> Trial:
    """The same with disparities in steps of an eighth of a pixel and less noise than that."""
    rng = np.random.default_rng([6, seed])
    factor = 640.0 * 0.095
    walls = [_wall(rng, z, factor, 0.05, 0.125, 0.0, z) for z in (1.0, 2.0)]
    fit = depth.fit_walls(walls, stereo=True, factor=factor, settings={})
    return {"noise.disparity.rms": 0.05, "noise.disparity.step": 0.125}, fit.by_name


def receiver(seed: int) -> Trial:
    """Two hours of fixes at 1 Hz on a path, with their references and a latency."""
    rng = np.random.default_rng([7, seed])
    n, tau = 7200, 30.0
    time = np.arange(n) * 1.0
    path = np.stack([300.0 * np.sin(time / 60.0), 200.0 * np.cos(time / 45.0), 0.0 * time])
    speed = np.stack([5.0 * np.cos(time / 60.0), -200.0 / 45.0 * np.sin(time / 45.0), 0.0 * time])
    sizes = ((1.2, 0.3), (1.2, 0.3), (2.0, 0.6))
    wrong = np.stack(
        [make.gauss_markov(n, 1.0, s, tau, rng) + w * rng.standard_normal(n) for s, w in sizes]
    )
    values = {}
    for prefix, place in (("", path + wrong - 0.2 * speed), ("reference.", path)):
        along, across = earth(0.8)
        metres = np.array([across * np.cos(0.8), along, 1.0])
        east, north, up = place / metres[:, None]
        values |= {f"{prefix}longitude": east, f"{prefix}latitude": 0.8 + north}
        values |= {f"{prefix}height": up}
    for name, true in zip(("east", "north", "up"), speed, strict=True):
        values[f"velocity.{name}"] = true + (
            0.05 * rng.standard_normal(n) + make.gauss_markov(n, 1.0, 0.03, tau, rng)
        )
    fit = gnss.fit_places(Sampled(1.0, values, ()), quiet)
    truth = {
        "error.white.horizontal": 0.3,
        "error.correlated.horizontal": 1.2,
        "error.white.vertical": 0.6,
        "error.correlated.vertical": 2.0,
        "error.time_constant": tau,
        "velocity.white": 0.05,
        "velocity.correlated": 0.03,
        "latency": 0.2,
    }
    return truth, fit.by_name


def earth(latitude: float) -> tuple[float, float]:
    """Radii of curvature of WGS 84 along a meridian and across it, by pymap3d."""
    from pymap3d import rcurve

    return rcurve.meridian(latitude, deg=False), rcurve.transverse(latitude, deg=False)


def _positions(seed: int, fixed: bool) -> Trial:
    rng = np.random.default_rng([8 + fixed, seed])
    time = np.arange(5000) * 1e-3
    true = 0.3 + 1.7 * time + (0.2 * np.sin(3.0 * time) if fixed else 0.0)
    step = 2.0 * np.pi / 4096.0
    code = np.floor((true + 4e-4 + rng.normal(0.0, 5e-4, len(time))) / step + 1e-9)
    values = {"time": time, "position": step * (code % 4096)}
    if fixed:
        values["reference"] = true
    fit = encoder.fit_positions(Columns(Path("trial"), values))
    truth = {"noise.rms": 5e-4, "resolution": step}
    return ({**truth, "bias": 4e-4} if fixed else truth), fit.by_name


def positions(seed: int) -> Trial:
    """Codes of a steady motion, three turns in 5 s."""
    return _positions(seed, fixed=False)


def positions_and_reference(seed: int) -> Trial:
    """Codes of a motion that is known."""
    return _positions(seed, fixed=True)


TRIALS: Mapping[str, Sequence[Callable[[int], Trial]]] = {
    "imu": (imu, imu_gauss_markov, imu_basilisk),
    "encoder": (positions, positions_and_reference),
    "lidar": (planes, planes_by_intensity),
    "depth": (stereo, stereo_steps),
    "gnss": (receiver,),
    "ccd": (camera,),
}


def holds(estimate: Estimate, truth: float) -> bool:
    """Whether an interval holds the true value."""
    if estimate.is_exact:
        return math.isclose(estimate.value, truth, rel_tol=1e-9)
    return estimate.low <= truth <= estimate.high


def outcome(trial: Callable[[int], Trial], seed: int) -> dict[str, tuple[int, int]]:
    """Of each number, whether the interval held the truth, and whether there was one."""
    truth, estimates = trial(seed)
    return {
        name: (int(holds(estimates[name], value)), 1) if name in estimates else (0, 0)
        for name, value in truth.items()
    }


def coverage(
    trial: Callable[[int], Trial], trials: int, workers: int = 1, first: int = 0
) -> dict[str, tuple[int, int]]:
    """Of each number, in how many trials the interval held the truth, and in how many there was
    one."""
    found: dict[str, tuple[int, int]] = {}
    one = functools.partial(outcome, trial)
    with contextlib.ExitStack() as stack:
        run = map if workers == 1 else stack.enter_context(ProcessPoolExecutor(workers)).map
        for made, each in enumerate(run(one, range(first, first + trials))):
            for name, (held, there) in each.items():
                before = found.get(name, (0, 0))
                found[name] = before[0] + held, before[1] + there
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{made + 1}/{trials} ")
    return found


def fewest(trials: int, chance: float = 1e-3) -> int:
    """The fewest of so many intervals of 95 % that hold the truth, but for bad luck."""
    below = 0.0
    for count in range(trials + 1):
        below += math.comb(trials, count) * 0.95**count * 0.05 ** (trials - count)
        if below > chance:
            return count
    return trials


def lines(given: argparse.Namespace) -> Iterator[str]:
    """A row of the table for each number."""
    yield "| of | number | intervals | hold the truth |"
    yield "| --- | --- | --- | --- |"
    for trial in TRIALS[given.kind]:
        if given.only not in ("", trial.__name__):
            continue
        found = coverage(trial, given.trials, given.workers, given.first)
        for name, (held, there) in found.items():
            share = f"{held / there:.1%}" if there else ""
            yield f"| {trial.__name__} | `{name}` | {there} of {given.trials} | {share} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(TRIALS))
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", metavar="NAME", help="one generator of the kind")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the draws")
    for line in lines(parser.parse_args()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
