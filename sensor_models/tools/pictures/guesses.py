"""Which materials of a scene were guessed, by false colours: grey is known, a colour is a guess.

Each material of the library that something was taken for has a colour of its own, the same in every
picture, which a legend names.
"""

import colorsys
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from sensor_models.scene.materials import material_library
from sensor_models.scene.model import Material, Scene, SurfaceKind, SurfaceParameters
from sensor_models.scene.worlds.guesses import GUESS

Color = tuple[float, float, float]

KNOWN: Color = (0.75, 0.75, 0.75)
#: Of the legend: height of a line, margin, side of a patch, pixels.
_LINE, _MARGIN, _PATCH = 14, 8, 10


def guess_of(material: Material) -> str | None:
    """The material of the library that one was taken for; None if it was not guessed."""
    if not material.source.startswith(GUESS):
        return None
    return material.source.removeprefix(GUESS).partition(",")[0]


def color_of(base: str) -> Color:
    """The false colour of a material of the library: hues a golden section apart."""
    names = sorted(material_library())
    number = names.index(base) if base in names else len(names)
    return colorsys.hsv_to_rgb(number * 0.6180339887 % 1.0, (0.95, 0.6)[number % 2], 0.95)


def by_guesses(scene: Scene) -> Scene:
    """The scene with matt materials in false colours, without pictures on them."""
    numbers = {905e-9: SurfaceParameters(diffuse_reflectance=0.5)}
    materials = []
    for material in scene.materials:
        base = guess_of(material)
        color = KNOWN if base is None else color_of(base)
        materials.append(Material(material.name, SurfaceKind.lambert, numbers, color=color))
    meshes = tuple(
        replace(mesh, face_texture=None, face_maps=None, texture_places=None)
        for mesh in scene.meshes
    )
    return replace(scene, meshes=meshes, materials=tuple(materials), textures=())


def legend_of(scene: Scene) -> list[tuple[str, Color]]:
    """What the colours of a picture say."""
    bases = [guess_of(material) for material in scene.materials]
    lines = [(f"guessed: {base}", color_of(base)) for base in sorted(set(filter(None, bases)))]
    return [("known", KNOWN), *lines] if None in bases else lines


def with_legend(picture: NDArray[np.uint8], legend: list[tuple[str, Color]]) -> NDArray[np.uint8]:
    """A picture with a legend in its upper left corner."""
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    wide = max((len(text) for text, _ in legend), default=0)
    box = (0, 0, 2 * _MARGIN + _PATCH + 7 * wide, 2 * _MARGIN + _LINE * len(legend))
    draw.rectangle(box, fill=(255, 255, 255))
    for number, (text, color) in enumerate(legend):
        top = _MARGIN + _LINE * number
        patch = (_MARGIN, top, _MARGIN + _PATCH, top + _PATCH)
        draw.rectangle(patch, fill=tuple(round(255 * part) for part in color), outline=(0, 0, 0))
        draw.text((_MARGIN + _PATCH + 5, top - 1), text, fill=(0, 0, 0))
    return np.asarray(image, np.uint8)
