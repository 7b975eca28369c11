"""Pictures on surfaces: PNG and JPEG as texels, within bounds that are checked before unpacking.

Alpha is left out: a surface is there or not, whatever its picture says.
"""

import io

import numpy as np
from PIL import Image

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.model import Texture, Wrap

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
    return Texture(name, np.array(pixels), factor, wrap)
