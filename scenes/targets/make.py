"""Makes the manifest of the scene ``targets``: ``python -m scenes.targets.make``."""

import math
from pathlib import Path

REFLECTANCES = (10, 50, 80, 94)  # per cent
DISTANCES = {10: 0.0, 20: 5.0, 40: 8.0, 80: 10.0}  # m: deg to the left within its reflectance
PITCH = 16.0  # deg, from one reflectance to the next
RIGHTMOST = -29.5  # deg
HEIGHT = 1.5  # m

HEAD = """\
# Lambert plates of 1 m by 1 m with 10, 50, 80 and 94 % at 10, 20, 40 and 80 m from (0, 0, 1.5),
# where a lidar belongs. Each plate faces it: its middle lies at exactly that distance, and none
# hides another. Entity ids are 100 times the reflectance in per cent plus the distance in metres.
# This file is written by make.py.
format = 1
name = "targets"
description = "Lambert plates of 10, 50, 80 and 94 % at 10, 20, 40 and 80 m"
labels = { ground = 1, plate = 2, stand = 3 }

[view]
position = [-5.0, 2.0, 3.2]
target = [14, 0.0, 0.9]
field_of_view_deg = 60

[sky]
preset = "clear"
sun_direction = [-0.6, -0.35, 0.72]

[meshes.ground]
plane = { size = [260, 260] }
material = "asphalt"

[meshes.stand]
box = { size = [0.06, 0.06, 1] }
material = "plastic_black"

[[instances]]
mesh = "ground"
label = "ground"
entity_id = 1
"""

KIND = """
[materials.plate_{percent}]
kind = "lambert"
color = [{grey:.2f}, {grey:.2f}, {grey:.2f}]
source = "by definition"
surface = [{{ diffuse_reflectance = {share:.2f} }}]

[meshes.plate_{percent}]
plane = {{ size = [1, 1] }}
material = "plate_{percent}"
"""

PLATE = """
[[instances]]
name = "plate_{percent}_{distance}m"
mesh = "plate_{percent}"
label = "plate"
entity_id = {entity}
position = [{x:.6f}, {y:.6f}, {height}]
roll_pitch_yaw_deg = [0, -90, {azimuth:g}]
"""

STANDS = """
# Behind the plates, from where no more than their feet is seen.
[[instances]]
mesh = "stand"
label = "stand"
entity_id = 10
position = [0, 0, 0.5]
places = [
"""


def make(folder: Path) -> None:
    """Write the manifest into a folder."""
    (folder / "scene.toml").write_text(manifest(), encoding="utf-8", newline="\n")


def manifest() -> str:
    """The manifest with all plates and their stands."""
    kinds, plates, stands = "", "", STANDS
    for number, percent in enumerate(REFLECTANCES):
        share = percent / 100.0
        kinds += KIND.format(percent=percent, share=share, grey=share ** (1.0 / 2.2))
        for distance, left in DISTANCES.items():
            azimuth = RIGHTMOST + PITCH * number + left
            a = math.radians(azimuth)
            plates += PLATE.format(
                percent=percent,
                distance=distance,
                entity=100 * percent + distance,
                x=distance * math.cos(a),
                y=distance * math.sin(a),
                height=HEIGHT,
                azimuth=azimuth,
            )
            x, y = (distance + 0.05) * math.cos(a), (distance + 0.05) * math.sin(a)
            stands += f"  {{ position = [{x:.3f}, {y:.3f}, 0], yaw_deg = {azimuth:g} }},\n"
    return HEAD + kinds + plates + stands + "]\n"


if __name__ == "__main__":
    make(Path(__file__).parent)
