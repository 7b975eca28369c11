"""The command that draws the waveform of a pulse."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sensor_models.tools.pictures.drawing import PALETTE
from sensor_models.tools.pictures.waveform_command import SIGNAL, main

TWO = ["yard", "--azimuth", "82", "--elevation", "-1", "--set", "beam.subrays=500"]


def test_a_pulse_with_several_echoes_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pulse.png"
    assert main([*TWO, "--output", str(file)]) == 0
    told = capsys.readouterr().out.splitlines()
    ranges = [float(line.split()[0]) for line in told[:-1]]
    assert ranges[:2] == pytest.approx([5.69, 12.23], abs=0.1)
    picture = np.asarray(Image.open(file))
    plot = picture[70:450, 110:850]
    (signal,) = np.nonzero((plot == SIGNAL).all(axis=2).any(axis=0))
    for number in (1, 2):
        (columns,) = np.nonzero((plot == PALETTE[number]).all(axis=2).any(axis=0))
        assert len(columns) > 10, "each echo has a colour of its own"
    assert len(signal) > 10


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["nowhere"], "nowhere"),
        (["yard", "--elevation", "80"], "nothing comes back"),
        (["yard", "--set", "t_res=-1"], "t_res"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    wrong: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*wrong, "--output", str(tmp_path / "pulse.png")]) == 1
    assert message in capsys.readouterr().err
