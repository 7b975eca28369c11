"""The light from around that neighbours in a picture share (``kernels.camera.ccd.shared``)."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from sensor_models.core.lending import Lending
from sensor_models.kernels.camera.ccd import shared, survey
from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.shared import GROUPS, SIDE, SPOT, Records
from sensor_models.kernels.camera.ccd.shots import Shot
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.scene.tracing import RayScene

#: How far apart the cells are that are averaged, pass by pass.
GAPS = (1, 2, 4, 8)
#: Cells down and across, and wavelengths.
Size = tuple[int, int, int]
Pair = tuple[Records, Records]


@contextmanager
def unshared(light: Light) -> Iterator[Records]:
    """The records of a picture whose points share nothing."""
    yield _new_records(0, 0, len(light.sun))


class Buffers(Lending[Pair]):
    """Records that cameras borrow, each for the time of a picture; one size of them is kept.

    They come in pairs, between which light goes to and fro.
    """

    def take(self, size: Size) -> Pair:
        """A pair, as it was given back: ``survey`` begins all records of the first one anew."""
        with self._lock:
            pair = self._free.pop() if self._free and _size_of(self._free[-1]) == size else None
        if pair is None:
            own = _new_records(*size)
            # Places, normals and masks stay what they are while light is averaged.
            other = own._replace(counts=np.zeros_like(own.counts), light=np.zeros_like(own.light))
            return own, other
        return pair

    def give(self, pair: Pair) -> None:
        """Have others take it."""
        with self._lock:
            if self._free and _size_of(self._free[-1]) != _size_of(pair):
                self._free.clear()
            self._free.append(pair)


#: Those of this process.
BUFFERS = Buffers()


class SharedLight:
    """What the points of pictures of one camera share."""

    def __init__(self) -> None:
        BUFFERS.join(self)

    @contextmanager
    def of(
        self, rays: RayScene, view: SceneView, path: Path, light: Light, shot: Shot
    ) -> Iterator[Records]:
        """What the points of a picture share, as long as the context lasts."""
        pair = BUFFERS.take((-(-shot.rows // SIDE), -(-shot.columns // SIDE), len(light.sun)))
        try:
            records, other = pair
            rays.run(survey.survey, path, light, shot, records, view=view)
            rays.pool.run(shared.measure, records)
            rays.run(survey.refine, path, light, shot, records, view=view)
            rays.pool.run(shared.measure, records)
            for gap in GAPS:
                rays.pool.run(shared.smooth, records, gap, other)
                records, other = other, records
            yield records
        finally:
            BUFFERS.give(pair)


def _size_of(pair: Pair) -> Size:
    own = pair[0]
    return own.down, own.across, own.light.shape[-1]


def _new_records(down: int, across: int, wavelengths: int) -> Records:
    cells = down * across
    return Records(
        down,
        across,
        np.zeros((GROUPS, cells, SPOT)),
        np.zeros((2, GROUPS, cells)),
        np.zeros((2, GROUPS, cells, wavelengths), np.float32),
        np.zeros((2, cells), np.uint8),
    )
