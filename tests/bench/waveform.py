"""Bars of the full-waveform lidar: pulses of 19 and 2,053 rays, and the decomposition.

Returns  the landscape of ``bench.tracing``, 650,000 triangles, an ideal receiver and Gaussian
         decomposition of each pulse, over the 0.07 million returns per second (0.27 with one ray)
         that HELIOS++ 2.2 was measured at, on two threads with 19 sub-rays and on another machine.
         It follows no reflections, so the bar is without them; those called "mirrors" have all that
         is on by default.
         What counts is the time of the processors over all threads: on a machine that does
         nothing else it is that on the clock.
Casts    the same time over that of the bare casts of ``RayScene`` along as many rays, in the same
         run: what the histogram and the echoes cost.
         As many rays lie about their pulse by chance. Bare casts of the very rays, packet by packet
         in their order, are told beside each bar: what Embree leaves. 1.4 million returns a second
         with 19 rays would be 69 ns a ray and thread, and 0.03 million pulses with 2,053 rays 32
         ns; such casts take 33 and 21 ns.
FMU      frames back to back through the FMU, by a master in Python: rolling sweeps of a moving
         sensor among 650,000 triangles, an apd with noise, and all files.
Fit      single echoes with noise, per echo, as the bar of 3 us has it on the reference machine.
"""

import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import trimesh

from sensor_models.kernels.compiling import plain
from sensor_models.kernels.waveform.bundles import pulse_at
from sensor_models.kernels.waveform.extraction import extract_all
from sensor_models.kernels.waveform.layout import MOST_ECHOES, new_found
from sensor_models.lidar.patterns import ScanPattern
from sensor_models.scene.tracing import RayScene
from sensor_models.threads.pool import processors
from sensor_models.waveform import (
    ReceiverParameters,
    SubrayPattern,
    WaveformLidar,
    WaveformParameters,
)
from sensor_models.waveform.receiver import pack_extraction
from tests.bench.bars import Bar, best_in_turns
from tests.bench.lidar import POSE, furnished, painted, running
from tests.bench.tracing import RANGE, landscape
from tests.masters.fmu_files import FmuFiles

TURNS, FRAMES = 9, 10
#: Returns per second that HELIOS++ was measured at on two threads, by the rays of a pulse.
HELIOS = {1: 0.27e6, 19: 0.07e6}


def pattern(pulses: int) -> ScanPattern:
    """Pulses all around, 32 rows."""
    columns = pulses // 32
    elevation = np.radians(np.linspace(10.0, -20.0, 32))
    azimuth = np.linspace(-np.pi, np.pi, columns, endpoint=False)
    return ScanPattern.from_arrays(np.repeat(azimuth, 32), np.tile(elevation, columns), rows=32)


def rays_of(lidar: WaveformLidar) -> np.ndarray:
    """Where the rays of all pulses go, in the order in which these are made."""
    shown = lidar.pattern
    order = [plain(pulse_at)(SimpleNamespace(rows=shown.rows, first=0, last=shown.columns), number)
             for number in range(lidar.rays)]  # fmt: skip
    _, along = lidar.rays_of(0, lidar.rays)
    return along[order].reshape(-1, 3).astype(np.float32)


def pulses(
    threads: int, count: int, rays_a_pulse: int, **own: object
) -> tuple[float, float, float, int]:
    """Seconds of processors for a frame, for bare casts of as many and of its rays, and returns."""
    gate = {"t_stop": 2.0 * RANGE / 299_792_458.0}
    lidar = WaveformLidar(WaveformParameters(**gate, **own), pattern(count))  # type: ignore[arg-type]
    assert len(lidar.pulse.share) == rays_a_pulse
    with RayScene(painted(furnished()), threads) as rays:
        cloud = lidar.capture(rays, POSE)
        rng = np.random.default_rng(0)
        along = np.repeat(lidar.pattern.directions(0), rays_a_pulse, axis=0)
        along = along + rng.normal(0.0, 2.5e-3, along.shape)
        along = along.astype(np.float32)

        def seconds(what: object) -> float:
            begin = time.process_time()
            what()  # type: ignore[operator]
            return time.process_time() - begin

        same = rays_of(lidar)
        out = rays.trace_bare(POSE[:3], along, RANGE, coherent=True)
        found = best_in_turns(
            {
                "frame": lambda: seconds(lambda: lidar.capture(rays, POSE, out=cloud)),
                "bare": lambda: seconds(
                    lambda: rays.trace_bare(POSE[:3], along, RANGE, coherent=True, out=out)
                ),
                "same": lambda: seconds(
                    lambda: rays.trace_bare(POSE[:3], same, RANGE, coherent=True, out=out)
                ),
            },
            TURNS,
        )
    return found["frame"], found["bare"], found["same"], cloud.number


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
        begin = time.process_time()
        extract_all(signals, ask, 0.1, 0.02, np.inf, found, counts, echoes)
        return time.process_time() - begin

    seconds()
    took = best_in_turns({"fit": seconds}, TURNS)["fit"] / counts.sum()
    return Bar("waveform, search and fit of an echo", 1e6 * took, 3.0, "us", "")


def through_fmu(files: FmuFiles) -> Bar:
    """Returns per second of frames with their files, one after the other."""
    with tempfile.TemporaryDirectory() as directory:
        mesh = landscape(650_000).meshes[0]
        trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).export(f"{directory}/land.ply")
        manifest = Path(directory) / "scene.toml"
        manifest.write_text(
            'format = 1\nname = "land"\n[meshes.land]\nfile = "land.ply"\nmaterial = "concrete"\n'
            '[[instances]]\nmesh = "land"\n'
        )
        values = {
            "scene": str(manifest), "output_directory": f"{directory}/out", "output_format": 4,
            "pattern.rows": 32, "pattern.columns": 1024, "pattern.endpoint": False,
            "pattern.elevation.min": -0.35, "pattern.elevation.max": 0.175,
            "scan_mode": 1, "sample_rate": 10.0, "receiver.type": 1, "peak_power": 75.0,
            "t_stop": 2.0 * RANGE / 299_792_458.0,
        }  # fmt: skip
        returns = 0
        with running(files.directory, "waves", values) as lidar:
            for k in range(FRAMES + 2):
                if k == 2:
                    begin = time.process_time()
                lidar.set({"body.position.x": 0.2 * k, "body.velocity.x": 2.0})
                lidar.step(0.1 * k, 0.1)
                returns += int(lidar.get("frame.points")) if k >= 2 else 0
            lidar.terminate()
            took = (time.process_time() - begin) / processors()
    rate = returns / took
    detail = f"{1e-6 * rate:.2f} M returns/s, {1e3 * took / FRAMES:.0f} ms a frame of 32,768 pulses"
    name = "waveform, FMU with files, noise and motion, of HELIOS++"
    return Bar(name, rate / HELIOS[19], 1.0, "x", detail, True)


def bars(files: FmuFiles) -> list[Bar]:
    """The bars of the full-waveform lidar."""
    threads, found = processors(), []
    for count, rays_a_pulse, bound, most, own in (
        (32_768, 19, 10.0, 3.0, {"subrays": 19, "max_depth": 0}),
        (32_768, 19, 6.0, 4.0, {"subrays": 19}),
        (32_768, 1, 4.0, 5.0, {"subrays": 1}),
        (512, 2053, 0.0, 1.5, {"subray_pattern": SubrayPattern.grid, "max_depth": 0}),
    ):
        frame, bare, same, returns = pulses(threads, count, rays_a_pulse, **own)
        rate, rays = returns * threads / frame, count * rays_a_pulse
        what = f"waveform, {rays_a_pulse} rays a pulse{'' if 'max_depth' in own else ', mirrors'}"
        detail = (
            f"{1e-6 * rate:.2f} M returns/s, {1e9 * frame / rays:.1f} ns a ray and thread, "
            f"{1e9 * same / rays:.1f} as a bare cast"
        )
        if bound:
            over = rate / HELIOS[rays_a_pulse]
            found.append(Bar(f"{what}, of HELIOS++", over, bound, "x", detail, True))
        found.append(Bar(f"{what}, over bare casts", frame / bare, most, "x", detail))
    return [*found, fits(), through_fmu(files)]
