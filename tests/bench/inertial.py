"""What an IMU costs: in compiled code with all error terms, as a batch, and as an FMU."""

import ctypes
import time
from pathlib import Path

import numpy as np
from numba import njit

from fmus.fmi.sensors import fmu_of
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import MountParameters
from sensor_models.core.step import Step
from sensor_models.inertial.accelerometer import AccelerometerParameters
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.gyroscope import GyroscopeParameters
from sensor_models.inertial.imu import Imu, ImuParameters, Subsensors
from sensor_models.inertial.magnetometer import MagnetometerParameters
from tests.bench.bars import Bar
from tests.bench.calls import BODY_INPUTS, start_values
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles

RATE = 1000.0
#: Errors that most datasheets give, the same for the three sensors but for their units.
TYPICAL = {
    "noise_rms": (1e-3,) * 3,
    "noise_density": (1e-4,) * 3,
    "drift_type": DriftType.random_walk,
    "drift_walk": (1e-5,) * 3,
    "discretization_on": True,
    "discretization_lsb": (1e-3,) * 3,
    "saturation_on": True,
    "saturation_min": (-40.0,) * 3,
    "saturation_max": (40.0,) * 3,
}
#: Every other stage on top.
EVERYTHING = {
    **TYPICAL,
    "range_lower": (-39.0,) * 3,
    "range_upper": (39.0,) * 3,
    "bias": (1e-3,) * 3,
    "bias_temperature": (1e-4,) * 3,
    "cross_axis": (1.0, 0.01, 0.0, 0.0, 1.0, 0.02, 0.0, 0.0, 1.0),
    "misalignment": (1e-3,) * 6,
    "scale_error": (1e-3,) * 3,
    "scale_temperature": (1e-5,) * 3,
    "drift_bound": (1.0,) * 3,
    "instability": (1e-4,) * 3,
    "filter_cutoff": 200.0,
    "filter_order": 2,
    "delay": 1.5e-3,
    "jitter": 1e-5,
}


def imu(errors: dict[str, object]) -> Imu:
    """An IMU whose three sensors have these errors."""
    sensors = Subsensors(
        accelerometer=AccelerometerParameters(**errors),
        gyroscope=GyroscopeParameters(**errors, linear_acceleration_effect=(1e-4,) * 9),
        magnetometer=MagnetometerParameters(**errors, field=(2e-5, 0.0, -4e-5)),
    )
    return Imu(ImuParameters(), sensors, MountParameters(), 1, "bench", RATE)


def seconds_per_sample(errors: dict[str, object]) -> float:
    """The best of several batches over a body that swings and turns."""
    count = 200_000
    times = np.arange(count) / RATE
    bodies = np.zeros((count, 13))
    bodies[:, 3] = np.cos(0.2 * times)
    bodies[:, 6] = np.sin(0.2 * times)
    bodies[:, 7] = np.sin(3.0 * times)
    bodies[:, 12] = 0.4
    unit = imu(errors)
    best = np.inf
    for _ in range(5):
        unit.reset()
        start = time.perf_counter()
        unit.sample_batch(0, times, bodies)
        best = min(best, (time.perf_counter() - start) / count)
    return best


def seconds_per_call(address: int, context: int, rate: float) -> float:
    """The best of several runs of compiled steps, a sample in each, called from compiled code."""
    number_type = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_double)
    call = number_type(address)

    @njit
    def run(context: int, first: int, count: int) -> int:
        failures = 0
        for number in range(first, first + count):
            failures += call(context, number / rate, 1.0 / rate) != 0
        return failures

    count, best = 50_000, np.inf
    run(context, 0, 1)
    for turn in range(5):
        start = time.perf_counter()
        assert run(context, 1 + turn * count, count) == 0
        best = min(best, (time.perf_counter() - start) / count)
    return float(best)


def seconds_per_step(errors: dict[str, object]) -> float:
    """A step of an IMU with these errors."""
    step = Step(imu(errors).plan(), SamplingParameters(sample_rate=RATE))
    step.observe(0.0)
    return seconds_per_call(step.address, step.context, RATE)


#: The IMU that a master steps: a product, with noise on one axis of each sensor besides.
PRESET, PRESET_RATE = "VN-100", 800.0
SETTINGS = {
    f"{sensor}.{name}.x": 1e-4
    for sensor in ("accelerometer", "gyroscope", "magnetometer")
    for name in ("noise.rms", "instability")
}


def seconds_per_step_of_fmu() -> float:
    """The compiled step of that IMU alone, without a master and without the binding."""
    instance = fmu_of("Imu")(instance_name="bench")
    variables = instance.table().by_name
    for name, value in {"preset": PRESET, **SETTINGS}.items():
        instance.values.set(variables[name], value)
    instance.setup_experiment(0.0)
    instance.exit_initialization_mode()
    cost = seconds_per_call(*instance.compiled_step(), PRESET_RATE)
    instance.close()
    return cost


def step_of_fmu(master_file: Path, files: FmuFiles) -> float:
    """Microseconds for set 13 Reals, doStep and get 16 Reals of the IMU in the C master."""
    with CMaster(master_file) as master:
        instance = master.load(files).instantiate()
        instance.set_string({"preset": PRESET}).expect()
        instance.set_real(SETTINGS).expect()
        instance.initialize()
        inputs = {name: (start_values()[name], 0.0) for name in BODY_INPUTS}
        outputs = files.names("output", "Real")
        # the step is the sampling period of the preset: one sample falls into each
        cost = instance.bench(inputs, outputs, 1.0 / PRESET_RATE, 50_000)
        instance.free()
    return cost.best


def bars(master: Path, files: FmuFiles) -> list[Bar]:
    """The bars of the IMU."""
    everything = seconds_per_sample(EVERYTHING) * 1e6
    typical = 1e-6 / seconds_per_sample(TYPICAL)
    whole, alone = seconds_per_step(TYPICAL), seconds_per_sample(TYPICAL)
    fmu = min(step_of_fmu(master, files) for _ in range(3))
    over_step = fmu / (seconds_per_step_of_fmu() * 1e6)
    return [
        Bar("IMU, all terms on, compiled", everything, 3.0, "us", "nine axes, one core"),
        Bar("IMU, typical terms, batch", typical, 2.0, "M/s", "nine axes, one core", at_least=True),
        Bar("IMU, compiled step over its sample", whole / alone, 2.0, "x", "typical terms"),
        Bar("IMU FMU, C master: set, doStep, get", fmu, 2.5, "us", f"{PRESET}, a sample a step"),
        Bar("IMU FMU, C master, over its compiled step", over_step, 3.0, "x", PRESET),
    ]
