"""What handing runs out costs, and how many samples of a data set are made in a second.

The peer of a campaign is the same runs one after the other in as many processes as it has workers,
without rows or batches. Opening the FMUs counts on both sides.

The peer of a vehicle's campaign is MuJoCo itself: the same start and as many of its steps, in this
process. Everything else that a run takes, and the start of the workers, is what the campaign adds.

The bar of data sets is what a user got who called the library by hand for each sample, on two
processors: 41 samples a second with a depth image of 320 x 240 with labels and a sweep of a VLP-16.
"""

import math
import resource
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import mujoco  # type: ignore[import-untyped]  # it carries no types
import numpy as np
from numpy.typing import NDArray

import build_fmus
from fmus.binding.compile import host_platform
from fmus.tools.campaigns.campaign import open_campaign, run_campaign, run_once
from fmus.tools.campaigns.design import runs_of
from fmus.tools.campaigns.master import Master
from fmus.tools.campaigns.report import write_report
from fmus.vehicle.parameters import VehicleCommands, VehicleParameters
from fmus.vehicle.simulation import VehicleSimulation
from sensor_models.core.frames import matrix_from_quaternion
from sensor_models.lidar.named import named_lidar
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.datasets.dataset import make_dataset, make_samples
from sensor_models.tools.datasets.description import read_description
from sensor_models.tools.datasets.sensing import taker_of
from sensor_models.tools.workers.local import LocalPool
from tests.bench.bars import Bar
from tests.campaigns import write_campaign

WORKERS = 2
RUNS = 10_000
VEHICLE_RUNS = 200
EXAMPLE = Path(__file__).parents[2] / "examples" / "campaign"
SAMPLES = 1000
BY_HAND = 41.0  # samples a second

CAMPAIGN = """
[campaign]
name = "short"
system = "system.toml"
fmus = "{fmus}"
seeds = {seeds}
[metrics]
rate = "np.mean(imu.gyroscope.z)"
"""

DATASET = """
[dataset]
name = "speed"
scene = "yard"
samples = {samples}
shard = 50
[pose]
area = [-12, -8, 12, 8]
height = [1.0, 2.0]
on = ["road", "ground"]
clearance = 0.8
[bodies.vehicle_1]
area = [-8, -6, 8, 6]
on = ["road", "ground"]
[boxes]
labels = ["vehicle"]
[sensors.front]
sensor = "DepthCamera"
parameters = {{ width = 320, height = 240, horizontal_fov = 1.3, max_range = 40.0 }}
[sensors.top]
sensor = "Lidar"
preset = "VLP-16"
"""


def bare(path: str, first: int, end: int) -> None:
    """Runs one after the other, with nothing around them."""
    campaign = open_campaign(Path(path))
    runs = runs_of(campaign.sampling, campaign.variations)
    master = Master(campaign.system, campaign.fmus, campaign.outputs)
    for run in runs[first:end]:
        run_once(campaign, run, master, Path())


def bare_seconds(path: Path, runs: int) -> float:
    """Seconds of the bare runs, in processes."""
    share = runs // WORKERS
    context = get_context("spawn")
    processes = [
        context.Process(target=bare, args=(str(path), k * share, (k + 1) * share))
        for k in range(WORKERS)
    ]
    start = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return time.perf_counter() - start


def campaign_bars(fmus: Path, runs: int = RUNS) -> list[Bar]:
    """The bar of campaigns."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_campaign(Path(folder), fmus, seeds=runs, stop=1.0, text=CAMPAIGN)
        alone = bare_seconds(path, runs)
        start = time.perf_counter()
        with LocalPool(WORKERS) as pool:
            results = run_campaign(path, Path(folder) / "out", pool)
        seconds = time.perf_counter() - start
    failed = sum(row.status != "ok" for row in results.rows.values())
    detail = f"{runs} runs of 1 s, {seconds:.1f} s to {alone:.1f} s bare, {failed} failed"
    efficiency = Bar("campaign, efficiency over bare runs", alone / seconds, 0.9, "", detail, True)
    return [efficiency, *vehicle_bars(fmus)]


def vehicle_bars(fmus: Path, runs: int = VEHICLE_RUNS) -> list[Bar]:
    """The bars of the example's campaign, with more runs: a vehicle with an IMU and an encoder."""
    with tempfile.TemporaryDirectory() as name:
        folder, busy = Path(name), _busy()
        shutil.copy(EXAMPLE / "cart.toml", folder)
        text = (EXAMPLE / "campaign.toml").read_text()
        text = text.replace("../../build/fmus", fmus.as_posix())
        (folder / "campaign.toml").write_text(
            text.replace("samples = 40", f"samples = {runs // 2}")
        )
        start = time.perf_counter()
        with LocalPool(WORKERS) as pool:
            results = run_campaign(folder / "campaign.toml", folder / "out", pool)
        seconds = (time.perf_counter() - start) / runs
        busy = (_busy() - busy) / runs
    assert [row.status for row in results.ordered()] == ["ok"] * runs
    alone = mujoco_seconds()
    detail = f"{runs} runs of 1 s, {1e3 * busy:.0f} ms of processor, MuJoCo {1e3 * alone:.0f} of it"
    return [
        Bar("campaign of a vehicle, a run", seconds, 0.1, "s", detail),
        Bar("campaign of a vehicle beside MuJoCo alone", busy / alone, 2.0, "x", "of processor"),
    ]


def mujoco_seconds(repeats: int = 5) -> float:
    """Processor seconds of MuJoCo for a run of the example: its start, and 1 s of steps; the least.

    They are made in one call, without Python between them.
    """
    own, scene, best = VehicleParameters(), load_scene("yard"), math.inf
    for _ in range(repeats):
        vehicle = VehicleSimulation(own, scene)
        begun = time.process_time()
        vehicle.start(VehicleCommands())
        vehicle.data.ctrl[:4] = 6.0, 7.0, 6.0, 7.0
        vehicle.model.engine.opt.timestep = own.time_step
        mujoco.mj_step(vehicle.model.engine, vehicle.data, nstep=round(1.0 / own.time_step))
        best = min(best, time.process_time() - begun)
    return best


def dataset_bars(samples: int = SAMPLES) -> list[Bar]:
    """The bar of data sets."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speed.toml"
        path.write_text(DATASET.format(samples=samples))
        busy = _busy()
        with LocalPool(WORKERS) as pool:
            start = time.perf_counter()
            make_dataset(path, Path(folder) / "out", pool)
            seconds = time.perf_counter() - start
        busy = _busy() - busy
        bare = bare_rays(path)
        size = sum(file.stat().st_size for file in (Path(folder) / "out").iterdir())
    rate = samples / seconds
    detail = f"{samples} samples in {seconds:.1f} s, {size / samples / 1e6:.1f} MB each"
    detail += f", {1e3 * busy / samples:.1f} ms of processor each, of bare rays {1e3 * bare:.1f}"
    return [Bar("data set, samples a second over 41", rate / BY_HAND, 3.0, "", detail, True)]


def bare_rays(path: Path, samples: int = 50) -> float:
    """Processor seconds of nothing but tracing the rays of a sample, from the poses of some."""
    about = read_description(path)
    takers = [taker_of(rule, about.seed) for rule in about.sensors]
    front = next(taker.camera for taker in takers if taker.camera is not None)
    lidar, _ = named_lidar("VLP-16")
    seen = front.axes, lidar.pattern.directions(0).reshape(-1, lidar.pattern.rows, 3)
    poses = [np.array(sample.pose) for sample in make_samples(path, range(samples))]
    with RayScene(load_scene("yard"), threads=1) as rays:

        def trace_all(several: list[NDArray[np.float64]]) -> float:
            given = []
            for pose in several:
                turn = matrix_from_quaternion(pose[3:]).T
                given += [(pose[:3], directions @ turn) for directions in seen]
            begun = time.process_time()
            for origin, directions in given:
                rays.trace_bare(origin, directions)
            return time.process_time() - begun

        trace_all(poses[:5])
        return trace_all(poses) / samples


#: Runs of a campaign in the table of ``growth``.
GROWING = (100, 1_000, 10_000)


def growth() -> None:
    """A table of time and memory over runs, for docs/campaigns.md.

    Each campaign is run by a process of its own, and two workers that start with it. Seconds are
    those of all their processors: other programs on the machine change them less than those of a
    clock.
    """
    print("| runs | processors s | ms a run | caller MB | worker MB | files MB | report s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    sources = build_fmus.fmu_sources()
    with tempfile.TemporaryDirectory() as folder:
        fmus = Path(folder) / "fmus"
        used = [sources[name] for name in ("Imu", "Encoder")]
        build_fmus.build(used, fmus, platforms=[host_platform()], levels=["host"])
        for runs in GROWING:
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                figures = alone.submit(cost_of, fmus, Path(folder) / str(runs), runs).result()
            print(f"| {runs} | {' | '.join(f'{figure:.3g}' for figure in figures)} |", flush=True)


def cost_of(fmus: Path, folder: Path, runs: int) -> tuple[float, ...]:
    """What a campaign takes, as in the table of ``growth``."""
    path = write_campaign(folder, fmus, seeds=runs, stop=1.0, text=CAMPAIGN)
    begun = _busy()
    with LocalPool(WORKERS) as pool:
        results = run_campaign(path, folder / "out", pool)
    busy = _busy() - begun
    size = sum(file.stat().st_size for file in (folder / "out").iterdir()) / 1e6
    assert [row.status for row in results.ordered()] == ["ok"] * runs
    start = time.perf_counter()
    write_report(open_campaign(path), results.ordered(), folder / "report.html")
    reported = time.perf_counter() - start
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    memory = [one.ru_maxrss / 1024.0 for one in used]
    return busy, 1e3 * busy / runs, *memory, size, reported


def _busy() -> float:
    """Seconds of processors that this process took, and those of its children that have ended."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    growth()
