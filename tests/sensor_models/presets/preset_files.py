"""A preset file that is good, to be changed by tests."""

from pathlib import Path

import sensor_models
from sensor_models.presets import read_preset

SHIPPED = sorted((Path(sensor_models.__file__).parent / "presets").glob("*.toml"))

GOOD = """
[preset]
name = "Any-1 X"
sensor = "Lamp"
description = "A lamp"
unknown = []

[preset.datasheet]
publisher = "Maker"
title = "Sheet"
revision = "1"

[parameters]
"""


def written(tmp_path: Path, text: str, name: str = "one.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def parameters(tmp_path: Path, text: str) -> dict:
    return read_preset(written(tmp_path, GOOD + text)).parameters
