"""What a fix of a GNSS receiver costs: in the library, as a compiled step, and as an FMU from C."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fmus.fmi.sensors import fmu_of
from sensor_models.core.georeference import Georeference
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import ErrorMode, GnssParameters, Multipath
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.bench.bars import Bar, best_in_turns
from tests.bench.calls import BODY_INPUTS
from tests.bench.inertial import seconds_per_call
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles

ORIGIN = Georeference(math.radians(48.1), math.radians(11.6), 520.0)
#: In the middle of the street.
BODY = np.array([60.0, -3.0, 1.7, 1.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0])
RATE = 10.0
START = dict(zip(BODY_INPUTS, BODY.tolist(), strict=True))


def in_a_batch(**parameters: object) -> Callable[[], float]:
    """Measures microseconds a sample of a batch under an open sky."""
    gnss = Gnss(GnssParameters(**parameters), None, ORIGIN)
    times, bodies = np.arange(20_000) / RATE, np.tile(BODY, (20_000, 1))

    def measure() -> float:
        gnss.reset()
        start = time.perf_counter()
        gnss.sample_batch(0, times, bodies)
        return (time.perf_counter() - start) / len(times) * 1e6

    return measure


def one_by_one(rays: RayScene, **parameters: object) -> Callable[[], float]:
    """Measures microseconds a sample in a scene, as Python calls it."""
    gnss = Gnss(GnssParameters(**parameters), None, ORIGIN, rays=rays)

    def measure() -> float:
        start = time.perf_counter()
        for index in range(2000):
            gnss.measure(index, index / RATE, BODY)
        return (time.perf_counter() - start) / 2000 * 1e6

    return measure


@contextmanager
def running(**values: object) -> Iterator[Any]:
    """An instance of the FMU in this process, without the binding."""
    instance = fmu_of("Gnss")(instance_name="bench")
    variables = instance.table().by_name
    for name, value in {"sample_rate": RATE, **START, **values}.items():
        instance.values.set(variables[name], value)
    instance.setup_experiment(0.0)
    instance.exit_initialization_mode()
    yield instance
    instance.close()


def compiled_step(**values: object) -> float:
    """Microseconds of the compiled step of an instance, a fix in each."""
    with running(**values) as instance:
        address, context = instance.compiled_step()
        return seconds_per_call(address, context, RATE) * 1e6


def whole_step(**values: object) -> float:
    """Microseconds of a step of an instance that needs Python, a fix in each."""
    best, steps = math.inf, 50
    with running(**values) as instance:
        for turn in range(400):
            start = time.perf_counter()
            for k in range(steps * turn, steps * (turn + 1)):
                instance.do_step(k / RATE, 1.0 / RATE)
            best = min(best, (time.perf_counter() - start) / steps)
    return best * 1e6


def step_of_fmu(
    master_file: Path,
    files: FmuFiles,
    *,
    step: float = 1.0 / RATE,
    scene: str = "",
    integers: Mapping[str, int] | None = None,
    nmea: bool = False,
) -> float:
    """Microseconds for set 13 Reals, doStep and get 13 Reals of the receiver in the C master."""
    with CMaster(master_file) as master:
        instance = master.load(files).instantiate()
        instance.set_string({"scene": scene}).expect()
        instance.set_integer(integers or {}).expect()
        instance.set_boolean({"nmea.on": nmea}).expect()
        instance.set_real({"sample_rate": RATE, **START}).expect()
        instance.initialize()
        inputs = {name: (START[name], 0.0) for name in BODY_INPUTS}
        cost = instance.bench(inputs, files.names("output", "Real"), step, 20_000)
        instance.free()
    return cost.best


def fmu_bars(master: Path, files: FmuFiles) -> list[Bar]:
    """The bars of the FMU, driven from C."""
    ranges = {"error.mode": int(ErrorMode.pseudorange)}
    image = {**ranges, "multipath": int(Multipath.image)}
    canyon = {"scene": "street_canyon"}

    def best(**given: object) -> float:
        return min(step_of_fmu(master, files, **given) for _ in range(3))  # type: ignore[arg-type]

    between = "a fix in each tenth step"
    every = "a fix in each step"
    return [
        Bar("GNSS FMU, fixed, compiled step", compiled_step(), 1.0, "us", every),
        Bar("GNSS FMU, canyon, step", whole_step(**canyon), 20.0, "us", every),
        Bar("GNSS FMU, fixed, C master", best(), 2.0, "us", every),
        Bar("GNSS FMU, pseudorange, C master", best(integers=ranges), 15.0, "us", every),
        Bar("GNSS FMU, canyon, C master", best(**canyon), 20.0, "us", every),
        Bar("GNSS FMU, canyon, C master", best(**canyon, step=0.01), 5.0, "us", between),
        Bar("GNSS FMU, image, C master", best(**canyon, integers=image), 60.0, "us", every),
        Bar("GNSS FMU, fixed and NMEA, C master", best(nmea=True), 150.0, "us", every),
    ]


def bars(master: Path, files: FmuFiles) -> list[Bar]:
    """The bars of the receiver."""
    return [*library_bars(), *fmu_bars(master, files)]


def library_bars() -> list[Bar]:
    """The bars of the library alone."""
    ranges = {"error_mode": ErrorMode.pseudorange}
    with RayScene(load_scene("street_canyon")) as rays:
        found = best_in_turns(
            {
                "fixed": in_a_batch(),
                "ranges": in_a_batch(**ranges),
                "sky": one_by_one(rays),
                "image": one_by_one(rays, multipath=Multipath.image, **ranges),
            },
            turns=7,
        )
    return [
        Bar("GNSS, fixed, compiled", found["fixed"], 1.0, "us", "24 satellites, 10 Hz"),
        Bar("GNSS, pseudorange, compiled", found["ranges"], 15.0, "us", "24 satellites"),
        Bar("GNSS, fixed, hidden by a scene", found["sky"], 20.0, "us", "street_canyon, 24 rays"),
        Bar("GNSS, reflected by a scene", found["image"], 200.0, "us", "street_canyon, mirrors"),
    ]
