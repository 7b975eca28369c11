"""Pictures on surfaces: PNG and JPEG as texels, within bounds that are checked before unpacking.

Alpha is left out: a surface is there or not, whatever its picture says.
"""

import io

import numpy as np
from PIL import Image

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.model import Texture, Use, Wrap

#: Texels of one picture, and of all of a scene. Each takes 16 bytes in a camera.
MOST_TEXELS, MOST_TEXELS_OF_SCENE = 2**24, 2**25
#: Modes of pictures whose colours are 8 bits of sRGB, or become that.
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I")
#: From 16 bits of grey to 8.
_TO_BYTE = 257.0


def texture_of(
    data: bytes,
    name: str,
    factor: tuple[float, float, float] = (1.0, 1.0, 1.0),
    wrap: tuple[Wrap, Wrap] = (Wrap.repeat, Wrap.repeat),
    use: Use = Use.color,
) -> Texture:
    """The texture of a picture's file; ``MeshFileError`` says what is wrong with it."""
    try:
        with Image.open(io.BytesIO(data), formats=["PNG", "JPEG"]) as picture:
            width, height = picture.size  # checked before anything is unpacked
            if width * height > MOST_TEXELS:
                raise MeshFileError(
                    f"has the picture {name} of {width} x {height} texels, "
                    f"allowed are {MOST_TEXELS}"
                )
            if picture.mode not in _MODES:
                raise MeshFileError(f"has the picture {name} of the mode {picture.mode}")
            if picture.mode.startswith("I"):
                grey = np.asarray(picture, np.float64) / _TO_BYTE
                pixels = np.repeat(np.rint(grey).clip(0, 255).astype(np.uint8)[..., None], 3, 2)
            else:
                pixels = np.asarray(picture.convert("RGB"), np.uint8)
    except MeshFileError:
        raise
    except Exception as error:  # a damaged file can raise anything inside of the reader
        raise MeshFileError(f"has the picture {name}, which cannot be read: {error}") from error
    return Texture(name, np.array(pixels), factor, wrap, use)


def plain_light(luminance: tuple[float, float, float]) -> Texture:
    """The picture of a surface that is equally bright everywhere, in cd/m2 by colour."""
    return Texture("light", np.full((1, 1, 3), 255, np.uint8), luminance, use=Use.emission)


def roughness_of(rough: Texture | None, metal: Texture | None) -> Texture:
    """The picture of roughness and metal of two grey ones, of which one may be missing."""
    given = [each for each in (rough, metal) if each is not None]
    rows = max(each.pixels.shape[0] for each in given)
    columns = max(each.pixels.shape[1] for each in given)
    pixels = np.full((rows, columns, 3), 255, np.uint8)
    for channel, each in ((1, rough), (2, metal)):
        if each is not None:
            grey = Image.fromarray(each.pixels[..., 0])
            pixels[..., channel] = np.asarray(grey.resize((columns, rows), Image.Resampling.BOX))
    told = (1.0 if rough else 0.0) + (2.0 if metal else 0.0)
    factor = (told, rough.factor[0] if rough else 1.0, metal.factor[0] if metal else 1.0)
    return Texture(given[0].name, pixels, factor, given[0].wrap, Use.roughness)
