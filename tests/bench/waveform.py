"""Bars of the full-waveform lidar: pulses of 19 and 2,053 rays, and the decomposition.

Pulses   the landscape of ``bench.tracing``, 650,000 triangles, an ideal receiver and Gaussian
         decomposition of each pulse. The bare casts of ``RayScene`` are the peer, along as many
         rays in the same run: what a pulse's rays cost over them is the histogram and the echoes.
         The detail has returns per second beside the 0.07 million of HELIOS++ 2.2 on two threads,
         19 sub-rays, as its authors' measure was quoted: another machine, so no bar.
Fit      single echoes with noise, per echo, as the bar of 3 us has it on the reference machine.
"""

import time

import numpy as np

from sensor_models.kernels.waveform.extraction import extract_all
from sensor_models.kernels.waveform.layout import MOST_ECHOES, new_found
from sensor_models.lidar.patterns import ScanPattern
from sensor_models.scene.tracing import RayScene
from sensor_models.scene.workers import processors
from sensor_models.waveform import (
    ReceiverParameters,
    SubrayPattern,
    WaveformLidar,
    WaveformParameters,
)
from sensor_models.waveform.receiver import pack_extraction
from tests.bench.bars import Bar, best_in_turns
from tests.bench.lidar import POSE, furnished, painted
from tests.bench.tracing import RANGE

TURNS = 5
#: Returns per second that HELIOS++ was measured at: two threads, 19 sub-rays.
HELIOS = 0.07e6


def pattern(pulses: int) -> ScanPattern:
    """Pulses all around, 32 rows."""
    columns = pulses // 32
    elevation = np.radians(np.linspace(10.0, -20.0, 32))
    azimuth = np.linspace(-np.pi, np.pi, columns, endpoint=False)
    return ScanPattern.from_arrays(np.repeat(azimuth, 32), np.tile(elevation, columns), rows=32)


def pulses(threads: int, count: int, rays_a_pulse: int, **own: object) -> tuple[float, float, int]:
    """Seconds of a frame, of bare casts of as many rays, and returns of the frame."""
    gate = {"t_stop": 2.0 * RANGE / 299_792_458.0, "max_depth": 0}
    lidar = WaveformLidar(WaveformParameters(**gate, **own), pattern(count))  # type: ignore[arg-type]
    assert len(lidar.pulse.share) == rays_a_pulse
    with RayScene(painted(furnished()), threads) as rays:
        cloud = lidar.capture(rays, POSE)
        rng = np.random.default_rng(0)
        along = np.repeat(lidar.pattern.directions(0), rays_a_pulse, axis=0)
        along = along + rng.normal(0.0, 2.5e-3, along.shape)
        along = along.astype(np.float32)

        def seconds(what: object) -> float:
            begin = time.perf_counter()
            what()  # type: ignore[operator]
            return time.perf_counter() - begin

        out = rays.trace_bare(POSE[:3], along, RANGE, coherent=True)
        found = best_in_turns(
            {
                "frame": lambda: seconds(lambda: lidar.capture(rays, POSE, out=cloud)),
                "bare": lambda: seconds(
                    lambda: rays.trace_bare(POSE[:3], along, RANGE, coherent=True, out=out)
                ),
            },
            TURNS,
        )
    return found["frame"], found["bare"], cloud.number


def fits() -> Bar:
    """Time of a decomposition."""
    own = WaveformParameters(t_res=1e-9)
    times = np.arange(100.0)
    rng = np.random.default_rng(1)
    places = rng.uniform(30.0, 70.0, (20_000, 1))
    signals = np.exp(-0.5 * ((times - places) / 2.12) ** 2) + rng.normal(0, 0.02, (20_000, 100))
    ask, found = pack_extraction(own, ReceiverParameters()), new_found(100)
    counts = np.zeros(len(signals), np.int64)
    echoes = np.zeros((len(signals), MOST_ECHOES, 3))

    def seconds() -> float:
        begin = time.perf_counter()
        extract_all(signals, ask, 0.1, 0.02, found, counts, echoes)
        return time.perf_counter() - begin

    seconds()
    took = best_in_turns({"fit": seconds}, TURNS)["fit"] / counts.sum()
    return Bar("waveform, search and fit of an echo", 1e6 * took, 3.0, "us", "")


def bars() -> list[Bar]:
    """The bars of the full-waveform lidar."""
    threads, found = processors(), []
    for count, rays_a_pulse, bound, own in (
        (32_768, 19, 6.0, {"subrays": 19}),
        (512, 2053, 6.0, {"subray_pattern": SubrayPattern.grid}),
    ):
        frame, bare, returns = pulses(threads, count, rays_a_pulse, **own)
        rate = returns / frame
        detail = (
            f"{1e9 * frame * threads / (count * rays_a_pulse):.0f} ns a ray and thread, "
            f"{1e-6 * rate:.2f} M returns/s, {rate / HELIOS:.1f} x HELIOS++"
        )
        name = f"waveform, {rays_a_pulse} rays a pulse, over bare casts"
        found.append(Bar(name, frame / bare, bound, "x", detail))
    return [*found, fits()]
