"""What docs/gnss.md shows: the picture of a drive, the command that makes it, the example."""

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sensor_models.core.georeference import Georeference
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import GnssParameters
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.pictures.gnss_command import CANYON, OPEN, SIZE, drive, drive_picture, main

ROOT = Path(__file__).parents[4]
PLACE = Georeference(math.radians(48.1), math.radians(11.6), 520.0)
WAY = np.array([-20.0, -3.0, 1.7]), np.array([70.0, -3.0, 1.7])


def test_a_drive_counts_every_satellite_above_the_mask():
    with RayScene(load_scene("street_canyon")) as rays:
        seen = drive(Gnss(GnssParameters(), None, PLACE, rays=rays), *WAY, speed=9.0)
    assert len(seen.along) == len(seen.fixes) == 51
    assert seen.along[-1] == pytest.approx(90.0)
    sines = np.array([sky[:, 3] for sky in seen.skies])
    above = (sines >= math.sin(math.radians(5.0))).sum(axis=1)
    assert [sum(counts) for counts in seen.counts] == above.tolist()
    assert [counts[0] for counts in seen.counts] == [fix.satellites for fix in seen.fixes]
    assert seen.counts[0][0] > seen.counts[-1][0]


def test_the_picture_shows_fixes_in_both_skies():
    with RayScene(load_scene("street_canyon")) as rays:
        picture = drive_picture(rays, GnssParameters(), PLACE, WAY, speed=9.0)
    assert picture.shape == (SIZE[1], SIZE[0], 3)
    for color in (OPEN, CANYON):
        assert (picture[490:780, 70:1250] == color).all(axis=2).sum() > 100


def test_the_command_writes_a_file(tmp_path, capsys):
    file = tmp_path / "drive.png"
    main(["--from=-20,-3,1.7", "--to=0,-3,1.7", "--multipath", "none", "--output", str(file)])
    assert capsys.readouterr().out.strip() == str(file)
    with Image.open(file) as picture:
        assert picture.size == SIZE


@pytest.mark.parametrize("given", ["1,2", "1,2,nan", "x,y,z"])
def test_a_bad_place_is_refused(given, capsys):
    with pytest.raises(SystemExit):
        main([f"--from={given}"])
    assert "--from" in capsys.readouterr().err


def test_the_example_of_the_document_runs():
    document = (ROOT / "docs" / "gnss.md").read_text(encoding="utf-8")
    _, example = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    command = [sys.executable, "-c", example]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    latitude, satellites, dilution = map(float, done.stdout.split())
    assert latitude == pytest.approx(48.1, abs=0.01)
    assert satellites > 0 < dilution


def test_the_document_shows_a_picture_of_the_size_that_is_made():
    file = ROOT / "docs" / "gnss" / "street_canyon.png"
    with Image.open(file) as picture:
        assert picture.size == SIZE
    assert file.stat().st_size < 120_000
