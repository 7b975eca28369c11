"""Labels of images as text files that programs for KITTI read: a line an object.

    type truncated occluded alpha  left top right bottom  h w l  x y z  rotation_y

type        one word
truncated   share of the full box that is outside of the image, 0 to 1
occluded    0 fully visible, 1 partly hidden, 2 largely hidden. KITTI's are judged by eye; here they
            follow from the share of visible pixels, with the bounds of nuScenes, 0.8 and 0.4
alpha       rotation_y - atan2(x, z), rad: how the object is seen, within -pi to pi
left ...    the full box as far as it is in the image, in pixels whose middles are whole numbers
h w l       size of the box in 3D, m
x y z       middle of its lower face, m, in the frame of the camera: x right, y down, z forward
rotation_y  its turn about y, rad, within -pi to pi: 0 if its length points along x

A box in 3D is upright in the image here. The axis of the box that is closest to the vertical of the
image is its height, and of the others the first its length; its middle and size are exact, and what
it is tilted by against the image is left out. Where camera and object stand level that is nothing.
Objects of which too little is seen to be labelled have no line, and there is no ``DontCare``.

Source: Geiger, Lenz, Urtasun, "Are we ready for autonomous driving?", CVPR 2012, and the readme and
``computeBox3D.m`` of its object development kit; Caesar and others, "nuScenes", CVPR 2020, for the
bounds of visibility.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.tools.datasets.shards import Sample

#: Where the files are in a data set, for each camera in a folder of its own.
FOLDER, LABELS = "kitti", "label_2"
#: Shares of visible pixels from which on an object is fully visible, and partly hidden.
FULLY_VISIBLE, PARTLY_HIDDEN = 0.8, 0.4
#: Rows are the axes of KITTI's camera in the frame of ours: right, down, forward.
_TO_KITTI = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])

Sizes = Mapping[str, tuple[int, int]]


def write_labels(
    directory: Path, sample: Sample, types: Mapping[int, str], sizes: Sizes
) -> list[Path]:
    """Write a file for each camera of a sample of a data set; returns them.

    Args:
        directory: of the data set.
        sample: with its annotations.
        types: the word for each semantic label.
        sizes: width and height of the images, in pixels, by camera.
    """
    files = []
    for camera, annotations in sample.annotations.items():
        folder = directory / FOLDER / camera / LABELS
        folder.mkdir(parents=True, exist_ok=True)
        lines = [label_line(a, types[a["category_id"]], sizes[camera]) for a in annotations]
        files.append(folder / f"{sample.number:06d}.txt")
        files[-1].write_text("".join(lines), encoding="utf-8")
    return files


def label_line(found: Mapping[str, Any], kind: str, size: tuple[int, int]) -> str:
    """The line of an annotation of ``boxes``."""
    extents, place, turn = _upright(found["box_3d"])
    alpha = _wrapped(turn - math.atan2(place[0], place[2]))
    numbers = [alpha, *_corners(found["full_bbox"], size), *extents, *place, turn]
    words = " ".join(f"{round(number, 6) + 0.0:.6f}" for number in numbers)  # no -0
    return f"{kind} {found['truncation']:.6f} {_occluded(found['visibility'])} {words}\n"


def _occluded(visibility: float) -> int:
    if visibility >= FULLY_VISIBLE:
        return 0
    return 1 if visibility >= PARTLY_HIDDEN else 2


def _corners(full: Sequence[float], size: tuple[int, int]) -> list[float]:
    """Left, top, right and bottom; edges of pixels are at whole numbers in ``full``."""
    left, top, width, height = full
    places = (left, top, left + width, top + height)
    return [
        min(max(place - 0.5, 0.0), most - 1.0)
        for place, most in zip(places, (*size, *size), strict=True)
    ]


def _upright(box: Mapping[str, Any]) -> tuple[list[float], list[float], float]:
    """Height, width and length of a box, the middle of its lower face, and its turn about y."""
    axes: NDArray[np.float64] = _TO_KITTI @ np.array(box["axes"])
    up = int(np.abs(axes[1]).argmax())
    along, across = sorted({0, 1, 2} - {up})
    size, place = box["size"], _TO_KITTI @ np.array(box["centre"])
    place[1] += size[up] / 2.0
    turn = math.atan2(-axes[2, along], axes[0, along])
    return [size[up], size[across], size[along]], place.tolist(), turn


def _wrapped(angle: float) -> float:
    """An angle within -pi to pi."""
    return math.remainder(angle, math.tau)
