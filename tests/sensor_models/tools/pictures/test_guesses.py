"""False colours of what was guessed."""

from pathlib import Path

import numpy as np
from PIL import Image

from sensor_models.scene.manifest import load_scene
from sensor_models.scene.materials import material_library
from sensor_models.tools.pictures.guesses import (
    KNOWN,
    by_guesses,
    color_of,
    guess_of,
    legend_of,
    with_legend,
)
from sensor_models.tools.pictures.scene_command import main
from tests.sensor_models.scene.openmaterial import asset_files


def test_each_material_of_the_library_has_a_colour_of_its_own() -> None:
    colors = np.array([color_of(name) for name in material_library()])
    apart = np.abs(colors[:, np.newaxis] - colors).max(axis=2) + np.eye(len(colors))
    assert apart.min() > 0.02
    assert np.abs(colors - np.array(KNOWN)).max(axis=1).min() > 0.15


def test_guesses_have_colours_and_what_is_known_is_grey(tmp_path: Path) -> None:
    scene = load_scene(asset_files.write_asset(tmp_path))
    shown = by_guesses(scene)
    for material, other in zip(scene.materials, shown.materials, strict=True):
        base = guess_of(material)
        assert other.color == (KNOWN if base is None else color_of(base))
    assert guess_of(next(m for m in scene.materials if m.name == "Road")) == "asphalt"
    legend = dict(legend_of(scene))
    assert legend["known"] == KNOWN
    assert legend["guessed: asphalt"] == color_of("asphalt")
    picture = with_legend(np.zeros((100, 200, 3), np.uint8), legend_of(scene))
    patch = [round(255 * part) for part in KNOWN]
    assert (picture[:30, :30] == patch).all(axis=2).sum() > 50


def test_a_picture_of_guesses_is_another_one(tmp_path: Path) -> None:
    asset = asset_files.write_asset(tmp_path)
    pictures = []
    for show in ("looks", "guesses"):
        file = tmp_path / f"{show}.png"
        given = ["view", str(asset), "--size", "96x64", "--from=0,0,0", "--at=10,0,0"]
        assert main([*given, "--output", str(file), "--show", show]) == 0
        pictures.append(np.asarray(Image.open(file).convert("RGB"), int))
    assert pictures[0].shape == pictures[1].shape
    assert np.abs(pictures[0] - pictures[1]).max() > 50
