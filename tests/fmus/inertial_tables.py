"""Names, types, units and ranges of the inertial sensors' FMUs that masters rely on, literally.

What occurs several times is written once: the errors of a sensor with three axes are the same in
``Accelerometer``, ``Gyroscope`` and ``Magnetometer``, and behind a prefix in ``Imu``.
"""

import math
from collections.abc import Mapping
from typing import TypeVar

#: Type and unit of a variable; lowest and highest value.
Typed = tuple[str, str | None]
Range = tuple[float | None, float | None]
T = TypeVar("T")

XYZ = ("x", "y", "z")
WXYZ = ("w", "x", "y", "z")
MATRIX = ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz")
OFF_DIAGONAL = ("xy", "xz", "yx", "yz", "zx", "zy")

AT_LEAST_0: Range = (0.0, None)


def spread(name: str, components: tuple[str, ...], value: T) -> dict[str, T]:
    """The same of all components of a vector."""
    return {f"{name}.{component}": value for component in components}


def behind(prefix: str, table: Mapping[str, T]) -> dict[str, T]:
    """A table with longer names."""
    return {f"{prefix}.{name}": value for name, value in table.items()}


BODY_INPUTS: dict[str, Typed] = {
    **spread("body.position", XYZ, ("Real", "m")),
    **spread("body.orientation", WXYZ, ("Real", "1")),
    **spread("body.velocity", XYZ, ("Real", "m/s")),
    **spread("body.angular_velocity", XYZ, ("Real", "rad/s")),
}
ACCELERATIONS: dict[str, Typed] = {
    **spread("body.acceleration", XYZ, ("Real", "m/s2")),
    **spread("body.angular_acceleration", XYZ, ("Real", "rad/s2")),
}
FAULT: dict[str, Typed] = {
    "fault.mode": ("Enumeration", None),
    "fault.value": ("Real", "1"),
    "fault.wave": ("Enumeration", None),
    "fault.amplitude": ("Real", "1"),
    "fault.period": ("Real", "s"),
    "fault.offset": ("Real", "1"),
}
FAULTS = {
    name.replace("fault.", f"fault.{axis}."): typed for name, typed in FAULT.items() for axis in XYZ
}

MOUNT: dict[str, Typed] = {
    **spread("mount.position", XYZ, ("Real", "m")),
    **spread("mount.orientation", WXYZ, ("Real", "1")),
}
MOTION: dict[str, Typed] = {
    **spread("gravity", XYZ, ("Real", "m/s2")),
    "use_acceleration_inputs": ("Boolean", None),
    "velocities": ("Enumeration", None),
}
POSE: dict[str, Typed] = {
    **spread("position", XYZ, ("Real", "m")),
    **spread("orientation", WXYZ, ("Real", "1")),
}


def triaxial(unit: str) -> dict[str, Typed]:
    """The errors of a sensor with three axes whose signal has a unit."""
    signal = ("Real", unit)
    return {
        "axes": ("String", None),
        **spread("range.lower", XYZ, signal),
        **spread("range.upper", XYZ, signal),
        **spread("bias", XYZ, signal),
        **spread("bias_temperature", XYZ, ("Real", f"{unit}/K")),
        "reference_temperature": ("Real", "K"),
        **spread("misalignment", OFF_DIAGONAL, ("Real", "rad")),
        **spread("cross_axis", MATRIX, ("Real", "1")),
        **spread("noise.rms", XYZ, signal),
        **spread("noise.density", XYZ, ("Real", f"{unit}/sqrt(Hz)")),
        "noise.one_sided": ("Boolean", None),
        "noise.bandwidth": ("Real", "Hz"),
        "drift.type": ("Enumeration", None),
        **spread("drift.walk", XYZ, ("Real", f"{unit}/sqrt(s)")),
        **spread("drift.std", XYZ, signal),
        "drift.time_constant": ("Real", "s"),
        **spread("drift.bound", XYZ, signal),
        "drift.bound_mode": ("Enumeration", None),
        "drift.stationary_start": ("Boolean", None),
        **spread("instability", XYZ, signal),
        **spread("scale", XYZ, ("Real", "1")),
        **spread("scale_error", XYZ, ("Real", "1")),
        **spread("scale_temperature", XYZ, ("Real", "1/K")),
        "discretization.on": ("Boolean", None),
        "discretization.mode": ("Enumeration", None),
        **spread("discretization.lsb", XYZ, signal),
        "discretization.bits": ("Integer", None),
        "saturation.on": ("Boolean", None),
        "saturation.average": ("Boolean", None),
        **spread("saturation.min", XYZ, signal),
        **spread("saturation.max", XYZ, signal),
        "filter.cutoff": ("Real", "Hz"),
        "filter.order": ("Integer", None),
        "filter.noise": ("Boolean", None),
        **dict.fromkeys(("delay", "jitter"), ("Real", "s")),
    }


TRIAXIAL_RANGES: dict[str, Range] = {
    "reference_temperature": AT_LEAST_0,
    **spread("misalignment", OFF_DIAGONAL, (-0.5, 0.5)),
    **spread("noise.rms", XYZ, AT_LEAST_0),
    **spread("noise.density", XYZ, AT_LEAST_0),
    "noise.bandwidth": AT_LEAST_0,
    **spread("drift.walk", XYZ, AT_LEAST_0),
    **spread("drift.std", XYZ, AT_LEAST_0),
    "drift.time_constant": (1e-9, None),
    **spread("drift.bound", XYZ, AT_LEAST_0),
    **spread("instability", XYZ, AT_LEAST_0),
    **spread("discretization.lsb", XYZ, AT_LEAST_0),
    "discretization.bits": (0.0, 32.0),
    "filter.cutoff": AT_LEAST_0,
    "filter.order": (1.0, 2.0),
    "delay": AT_LEAST_0,
    "jitter": AT_LEAST_0,
}

ACCELEROMETER = {**triaxial("m/s2"), "differentiation": ("Enumeration", None)}
GYROSCOPE = {
    **triaxial("rad/s"),
    "differentiation": ("Enumeration", None),
    **spread("linear_acceleration_effect", MATRIX, ("Real", "rad.s/m")),
}
MAGNETOMETER = {
    **triaxial("T"),
    **spread("field", XYZ, ("Real", "T")),
    "earth.on": ("Boolean", None),
    "earth.latitude": ("Real", "rad"),
    "earth.longitude": ("Real", "rad"),
    "earth.height": ("Real", "m"),
    "earth.year": ("Real", "1"),
}
EARTH_RANGES: dict[str, Range] = {
    "earth.latitude": (-0.5 * math.pi, 0.5 * math.pi),
    "earth.longitude": (-2.0 * math.pi, 2.0 * math.pi),
    "earth.height": (-1000.0, 850_000.0),
    "earth.year": (2025.0, 2030.0),
}

TEMPERATURE: dict[str, Typed] = {"temperature": ("Real", "K")}
SCENE: dict[str, Typed] = {"scene_handle": ("Integer", None)}

#: By causality, of each FMU.
FIXED: dict[str, dict[str, dict[str, Typed]]] = {
    "Accelerometer": {
        "input": {**BODY_INPUTS, **ACCELERATIONS, **TEMPERATURE, **FAULTS},
        "parameter": {**MOUNT, **MOTION, **ACCELEROMETER},
        "output": spread("acceleration", XYZ, ("Real", "m/s2")),
    },
    "Gyroscope": {
        "input": {**BODY_INPUTS, **ACCELERATIONS, **TEMPERATURE, **FAULTS},
        "parameter": {**MOUNT, **MOTION, **GYROSCOPE},
        "output": spread("angular_rate", XYZ, ("Real", "rad/s")),
    },
    "Magnetometer": {
        "input": {**BODY_INPUTS, **TEMPERATURE, **SCENE, **FAULTS},
        "parameter": {**MOUNT, **MAGNETOMETER},
        "output": spread("flux_density", XYZ, ("Real", "T")),
    },
    "Imu": {
        "input": {
            **BODY_INPUTS,
            **ACCELERATIONS,
            **TEMPERATURE,
            **SCENE,
            **behind("accelerometer", FAULTS),
            **behind("gyroscope", FAULTS),
            **behind("magnetometer", FAULTS),
        },
        "parameter": {
            **MOUNT,
            **MOTION,
            **behind("accelerometer", {**ACCELEROMETER, **POSE}),
            **behind("gyroscope", {**GYROSCOPE, **POSE}),
            **behind("magnetometer", {**MAGNETOMETER, **POSE}),
            "increments.discretize": ("Boolean", None),
            "increments.lsb_velocity": ("Real", "m/s"),
            "increments.lsb_angle": ("Real", "rad"),
            "increments.angle_mode": ("Enumeration", None),
        },
        "output": {
            **spread("accelerometer", XYZ, ("Real", "m/s2")),
            **spread("gyroscope", XYZ, ("Real", "rad/s")),
            **spread("magnetometer", XYZ, ("Real", "T")),
            **spread("delta_velocity", XYZ, ("Real", "m/s")),
            **spread("delta_angle", XYZ, ("Real", "rad")),
        },
    },
}

ONE_SENSOR: dict[str, Range] = {
    "fault.x.period": AT_LEAST_0,
    "fault.y.period": AT_LEAST_0,
    "fault.z.period": AT_LEAST_0,
    **TRIAXIAL_RANGES,
}
ALWAYS: dict[str, Range] = {"sample_rate": (0.0, 1e6), "temperature": AT_LEAST_0}

#: Ranges that are narrower than their type, of each FMU.
RANGES: dict[str, dict[str, Range]] = {
    "Accelerometer": {**ALWAYS, **ONE_SENSOR},
    "Gyroscope": {**ALWAYS, **ONE_SENSOR},
    "Magnetometer": {**ALWAYS, **ONE_SENSOR, **EARTH_RANGES, "scene_handle": AT_LEAST_0},
    "Imu": {
        **ALWAYS,
        "scene_handle": AT_LEAST_0,
        **behind("accelerometer", ONE_SENSOR),
        **behind("gyroscope", ONE_SENSOR),
        **behind("magnetometer", {**ONE_SENSOR, **EARTH_RANGES}),
        "increments.lsb_velocity": AT_LEAST_0,
        "increments.lsb_angle": AT_LEAST_0,
    },
}

#: Items of the choices of one sensor, in the order of their numbers.
ITEMS = {
    "drift.type": ["none", "random_walk", "gauss_markov", "flicker"],
    "drift.bound_mode": ["truncated", "reflect", "pull", "clamp"],
    "discretization.mode": ["toward_zero", "floor", "ceil", "round"],
    "differentiation": ["backward", "bdf2"],
    "increments.angle_mode": ["component", "compose"],
    "velocities": ["given", "from_poses"],
    **{f"fault.{a}.mode": ["none", "off", "on", "present", "set", "max", "min"] for a in XYZ},
    **{f"fault.{a}.wave": ["none", "square", "triangle", "ramp"] for a in XYZ},
}
