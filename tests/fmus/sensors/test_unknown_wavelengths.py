"""Sensors that see by light of one wavelength refuse a scene that knows nothing of it.

They do so at the end of Initialization Mode: a scenario that cannot run is told before it runs.
"""

from pathlib import Path

import pytest

from tests.fmus.host import open_fmu
from tests.sensor_models.scene_files import BOX, write_manifest

FOG = """
[media.bank]
preset = "fog"
visibility = 50.0

[world]
medium = "bank"
"""
DYED = """
[media.dyed]
absorption = 0.2
band = [500e-9, 560e-9]

[meshes.pool]
box = { size = [4, 4, 4] }
material = "brick"

[[volumes]]
medium = "dyed"
mesh = "pool"
"""


@pytest.fixture
def refused(fmu_directory: Path):
    """The message with which a sensor refuses to leave Initialization Mode."""

    def attempt(fmu: str, values: dict[str, object]) -> str:
        with open_fmu(fmu_directory / f"{fmu}.fmu", "eye") as sensor:
            sensor.set(values)
            sensor.set_up()
            sensor.enter()
            return sensor.refusal(sensor.exit)

    return attempt


@pytest.mark.parametrize("fmu", ["Lidar", "WaveformLidar"])
@pytest.mark.parametrize("by_handle", [False, True])
def test_a_material_without_the_band_is_refused_at_initialisation(
    refused, environment_fmu: Path, tmp_path: Path, fmu: str, by_handle: bool
) -> None:
    scene = str(write_manifest(tmp_path, BOX))
    with open_fmu(environment_fmu, "world") as environment:
        environment.initialize({"scene": scene})
        number = environment.get("scene_handle")
        values = {"scene_handle": number} if by_handle else {"scene": scene}
        message = refused(fmu, {**values, "wavelength": 10.6e-6})
    assert "brick: has no numbers for 10.6 um (infrared), its bands are 850 nm to" in message


@pytest.mark.parametrize(
    ("text", "wavelength", "words"),
    [
        (FOG, 1.0e-3, "bank: has no numbers for 1 mm (submillimetre), its band is 350 nm to 2"),
        (DYED, 905e-9, "dyed: has no numbers for 905 nm (near infrared), its band is 500 nm to"),
    ],
)
def test_a_medium_without_the_band_is_refused_at_initialisation(
    refused, tmp_path: Path, text: str, wavelength: float, words: str
) -> None:
    scene = str(write_manifest(tmp_path, text))
    assert words in refused("Lidar", {"scene": scene, "wavelength": wavelength})


def test_the_extinction_of_a_lidars_own_stands_for_that_of_the_medium(
    fmu_directory: Path, tmp_path: Path
) -> None:
    scene = str(write_manifest(tmp_path, FOG))
    own = {"scene": scene, "wavelength": 3e-6, "ambient.absorption": 0.01}
    with open_fmu(fmu_directory / "Lidar.fmu", "eye") as sensor:
        sensor.initialize(own)
        sensor.step(0.0, 0.1)
        assert sensor.get("frame.count") == 1


def test_the_default_scene_waits_for_a_handle(
    fmu_directory: Path, environment_fmu: Path, tmp_path: Path
) -> None:
    scene = str(
        write_manifest(
            tmp_path,
            BOX.replace("brick", "dye")
            + """
[materials.dye]
kind = "lambert"
source = "estimate"
surface = [{ wavelength = 532e-9, diffuse_reflectance = 0.5 }]
""",
        )
    )
    with (
        open_fmu(environment_fmu, "world") as environment,
        open_fmu(fmu_directory / "Lidar.fmu", "eye") as sensor,
    ):
        environment.initialize({"scene": scene})
        sensor.initialize({"wavelength": 532e-9})
        sensor.set({"scene_handle": environment.get("scene_handle")})
        sensor.step(0.0, 0.1)
        assert sensor.get("frame.count") == 1
