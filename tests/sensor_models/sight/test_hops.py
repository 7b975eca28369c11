"""How far it is from the module of a sensor that sees to its kernel: three modules at the most.

A reader who opens the module of a sensor should be at the compiled code soon. So a frame is taken,
and at each kernel that the scene is asked to run (``RayScene.begin``) the modules of the sensor
are counted through which the call came: each of them, and then the kernel, is one to be opened.
The life that all of these sensors share (``sight.seeing``, ``sight.schedule``) calls the sensor's
own module, and is not on the way from there.
"""

import sys
from typing import Any

import numpy as np
import pytest

from sensor_models import catalog
from sensor_models.core.named import named_parameters
from sensor_models.core.sensor import Held, Inputs, Setup
from sensor_models.core.spec import Groups
from sensor_models.scene.registry import open_scene
from sensor_models.scene.tracing import RayScene
from tests.conftest import SEEING

#: From the module of the sensor: each further module, and the kernel.
MOST_HOPS = 3
FAMILIES = tuple(
    f"sensor_models.{family}." for family in ("camera", "lidar", "radar", "sight", "waveform")
)
#: What calls the modules of all of them.
SHARED = ("sensor_models.sight.seeing", "sensor_models.sight.schedule")
#: Small frames.
FRAMES: dict[str, dict[str, Any]] = {
    "CcdCamera": {"pixels.width": 8, "pixels.height": 6, "light.rays": 4},
    "DepthCamera": {"width": 8, "height": 6},
    "Lidar": {"pattern.rows": 2, "pattern.columns": 8, "scan_mode": 1},
    "Radar": {
        "model": 1,
        "chirp.count": 16,
        "chirp.samples": 16,
        "fov.azimuth": 0.1,
        "fov.elevation": 0.1,
    },
    "WaveformLidar": {"pattern.rows": 1, "pattern.columns": 4},
}
BODY = np.array([0.0, 0.0, 1.0, 1.0, *[0.0] * 9])


def family_modules() -> list[str]:
    """The modules of one sensor that the present call came through, the innermost first."""
    frame, found = sys._getframe(1), []
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(FAMILIES) and name not in (*found, *SHARED):
            found.append(name)
        frame = frame.f_back
    return found


@pytest.mark.parametrize("name", SEEING)
def test_the_kernels_of_a_frame_are_three_modules_from_that_of_the_sensor_at_the_most(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: list[list[str]] = []
    begin = RayScene.begin

    def noted(rays: RayScene, *arguments: Any, **named: Any) -> Any:
        ways.append(family_modules())
        return begin(rays, *arguments, **named)

    spec = catalog.spec_of(name)
    values = {"sample_rate": 10.0, **FRAMES[name]}
    sensor = spec.make(Setup(spec, named_parameters(spec, values), name))
    parts = (sensor, getattr(sensor, "schedule", sensor))
    own = {kind.__module__ for part in parts for kind in type(part).__mro__}
    monkeypatch.setattr(RayScene, "begin", noted)
    held = Groups({group: group.declaring() for group in spec.held})
    with open_scene("targets") as world:
        inputs = Inputs(BODY, *[Held(held, world)] * 2, 0.2)
        sensor.begin(inputs)
        assert list(sensor.advance(inputs, 0.0, 0.2))
        sensor.close()
    assert ways
    for way in ways:
        assert way[-1] in own
        assert len(way) <= MOST_HOPS, " <- ".join(way)
