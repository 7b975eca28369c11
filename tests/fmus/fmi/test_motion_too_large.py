"""Motion that no sensor can compute with is refused by name, and nothing of it is left behind."""

from pathlib import Path
from typing import Any

import pytest

from tests.fmus.histories import parameters_of
from tests.fmus.host import Instance, open_fmu

#: One frame in each step of the master.
EACH_STEP = {"sample_rate": 0.0, "body.position.x": 0.2, "body.velocity.x": 0.3, "poses": 1}


def frames(camera: Instance, *, disturbed: bool) -> list[dict[str, Any]]:
    """What a run shows after each good step; before some steps bad ones are tried."""
    camera.initialize({**parameters_of("DepthCamera"), **EACH_STEP})
    found = []
    for number in range(6):
        if disturbed and number in (0, 1, 3):
            for name in ("body.angular_velocity.z", "body.velocity.y", "body.position.z"):
                camera.set({name: 1e300})
                refusal = camera.refusal(camera.step, 0.1 * number, 0.1)
                assert f"{name} = 1e+300" in refusal
                camera.set({name: 0.0})
        camera.step(0.1 * number, 0.1)
        found.append(camera.outputs())
    return found


@pytest.mark.parametrize("at_end", [False, True])
def test_a_camera_with_a_frame_in_each_step_goes_on_after_refused_steps(
    fmu_directory: Path, at_end: bool
) -> None:
    fmu = fmu_directory / "DepthCamera.fmu"
    with open_fmu(fmu) as camera:
        camera.set({"inputs_at_step_end": at_end})
        expected = frames(camera, disturbed=False)
    with open_fmu(fmu) as camera:
        camera.set({"inputs_at_step_end": at_end})
        assert frames(camera, disturbed=True) == expected
    assert expected[-1]["sample.count"] > expected[0]["sample.count"] > 0
