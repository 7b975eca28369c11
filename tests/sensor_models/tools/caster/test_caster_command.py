"""The command line of the quick caster."""

import numpy as np
import pytest
from PIL import Image

from sensor_models.tools.pictures.caster_command import main


def test_a_scene_is_divided_and_cast(tmp_path, capsys):
    directory = str(tmp_path / "parts")
    assert main(["split", "targets", directory, "--parts", "3", "--bands", "905e-9,1550e-9"]) == 0
    assert "facets in 3 parts" in capsys.readouterr().out
    picture = str(tmp_path / "range.png")
    view = ["--size", "60", "40", "--position", "0", "0", "1.5", "--workers", "1"]
    assert main(["cast", directory, "--picture", picture, *view]) == 0
    assert "60 x 40 rays" in capsys.readouterr().out
    with np.load(tmp_path / "parts" / "image.npz") as found:
        assert found["distance"].shape == (40, 60)
        assert found["values"].shape == (40, 60, 2)
        assert np.isfinite(found["distance"]).mean() > 0.3
    with Image.open(picture) as image:
        assert image.size == (60, 40)


def test_a_picture_is_taken(tmp_path):
    directory, picture = str(tmp_path / "parts"), tmp_path / "picture.png"
    assert main(["split", "yard", directory, "--parts", "2", "--bands", "450e-9,650e-9"]) == 0
    view = ["--size", "60", "40", "--position", "-12", "-10", "1.6", "--workers", "1"]
    assert main(["photograph", directory, "yard", "--output", str(picture), *view]) == 0
    with Image.open(picture) as image:
        shades = np.asarray(image)
    assert shades.shape == (40, 60, 3)
    assert 20 < shades.mean() < 235
    assert len(np.unique(shades)) > 20


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["split", "nowhere", "{tmp}"], "nowhere"),
        (["cast", "{tmp}"], "parts.json"),
        (["split", "targets", "{tmp}", "--parts", "0"], "parts = 0 is out of range"),
        (["split", "targets", "{tmp}", "--bands", ",".join(["905e-9"] * 7)], "bands = 7"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path, capsys, arguments, said):
    assert main([part.format(tmp=tmp_path) for part in arguments]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
