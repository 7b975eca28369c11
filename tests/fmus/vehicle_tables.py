"""What masters rely on of ``VehicleDynamics``: names, types, units, ranges."""

from tests.fmus.inertial_tables import ACCELERATIONS, BODY_INPUTS

RADIANS, SPEED = ("Real", "rad"), ("Real", "rad/s")

JOINTS = [*(f"wheel_{n}" for n in (1, 2, 3, 4)), *(f"arm.joint_{n}" for n in (1, 2))]

FIXED: dict[str, dict[str, dict[str, tuple[str, str | None]]]] = {
    "VehicleDynamics": {
        "input": {
            "drive.left": SPEED,
            "drive.right": SPEED,
            "arm.joint_1.command": RADIANS,
            "arm.joint_2.command": RADIANS,
        },
        "parameter": {
            "start.position.x": ("Real", "m"),
            "start.position.y": ("Real", "m"),
            "start.yaw": RADIANS,
            "mass": ("Real", "kg"),
            "wheel_radius": ("Real", "m"),
            "track": ("Real", "m"),
            "wheel_base": ("Real", "m"),
            "suspension.stiffness": ("Real", "N/m"),
            "suspension.damping": ("Real", "N.s/m"),
            "friction": ("Real", "1"),
            "drive.torque": ("Real", "N.m"),
            "time_step": ("Real", "s"),
            "scene": ("String", None),
        },
        "output": {
            **BODY_INPUTS,
            **ACCELERATIONS,
            **{f"{joint}.position": RADIANS for joint in JOINTS},
            **{f"{joint}.velocity": SPEED for joint in JOINTS},
            **{
                name.replace("body", f"vehicle_{n}"): typed
                for n in (1, 2, 3)
                for name, typed in BODY_INPUTS.items()
            },
        },
    },
}

RANGES: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "VehicleDynamics": {
        "drive.left": (-20.0, 20.0),
        "drive.right": (-20.0, 20.0),
        "arm.joint_1.command": (-1.3, 0.4),
        "arm.joint_2.command": (-0.4, 1.9),
        "start.position.x": (-1e5, 1e5),
        "start.position.y": (-1e5, 1e5),
        "mass": (20.0, 20000.0),
        "wheel_radius": (0.1, 0.6),
        "track": (0.5, 3.0),
        "wheel_base": (0.5, 3.0),
        "suspension.stiffness": (1e3, 1e7),
        "suspension.damping": (0.0, 1e6),
        "friction": (0.05, 2.0),
        "drive.torque": (0.0, 1e5),
        "time_step": (1e-4, 2e-3),
    },
}
