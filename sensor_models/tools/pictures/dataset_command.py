"""A look at the first samples of a data set.

``python -m sensor_models.tools.datasets FILE [--samples 12] [--across 4] [--output samples.png]``

The pictures of the first camera, or its depth from near (bright) to far, black where there is
none; green boxes are around what is seen of an entity, blue ones around its whole box, with
visibility v and truncation t.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from sensor_models.core.quantities import ParameterError
from sensor_models.output.images import png_of_colors
from sensor_models.scene.errors import SceneError
from sensor_models.tools.datasets.dataset import make_samples
from sensor_models.tools.datasets.shards import Sample
from sensor_models.tools.pictures.camera_command import colors_of_distances

SEEN, WHOLE, INK = (0, 255, 0), (0, 160, 255), (255, 255, 255)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the picture; 0 if it went well."""
    given = _parser().parse_args(arguments)
    try:
        tiles = [tile_of(sample) for sample in make_samples(given.file, range(given.samples))]
    except (ParameterError, SceneError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    blank = np.zeros_like(tiles[0])
    tiles += [blank] * (-len(tiles) % given.across)
    rows = [np.hstack(tiles[k : k + given.across]) for k in range(0, len(tiles), given.across)]
    given.output.write_bytes(png_of_colors(np.vstack(rows)))
    print(given.output)
    return 0


def tile_of(sample: Sample) -> NDArray[np.uint8]:
    """The image of the first camera of a sample, with its boxes."""
    name = next((name for name, arrays in sample.arrays.items() if "image" in arrays), None)
    if name is None:
        raise ParameterError("the data set has no camera")
    image = sample.arrays[name]["image"]
    picture = Image.fromarray(_colors(image, sample.largest.get(name, 0)))
    pen = ImageDraw.Draw(picture)
    for found in sample.annotations.get(name, ()):
        for key, ink in (("full_bbox", WHOLE), ("bbox", SEEN)):
            left, top, width, height = found[key]
            pen.rectangle([left, top, left + width, top + height], outline=ink)
        text = f"{found['name']} v{found['visibility']:.2f} t{found['truncation']:.2f}"
        left, top = found["bbox"][:2]
        pen.text((left + 2, top), text, fill=INK)
    return np.asarray(picture)


def _colors(image: NDArray[Any], largest: int) -> NDArray[np.uint8]:
    """A picture of numbers up to the largest one, or a depth image in colours."""
    if image.dtype.kind == "u":
        channels = image if image.shape[2] == 3 else np.repeat(image[:, :, :1], 3, axis=2)
        return np.asarray(channels.astype(np.uint32) * 255 // (largest or 255), np.uint8)
    farthest = float(np.nanmax(image))
    return colors_of_distances(np.where(image < farthest, image, np.nan), 0.0, farthest)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sensor_models.tools.datasets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="description of the data set")
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--across", type=int, default=4)
    parser.add_argument("--output", type=Path, default=Path("samples.png"))
    return parser
