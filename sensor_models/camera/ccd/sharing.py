"""The light from around that neighbours in a picture share (``kernels.camera.ccd.shared``)."""

import numpy as np

from sensor_models.kernels.camera.ccd import shared, survey
from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.shared import GROUPS, SIDE, SPOT, Records
from sensor_models.kernels.camera.ccd.shots import Shot
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.scene.tracing import RayScene

#: How far apart the cells are that are averaged, pass by pass.
GAPS = (1, 2, 4, 8)


def unshared(light: Light) -> Records:
    """The records of a picture whose points share nothing."""
    return _new_records(0, 0, len(light.sun))


class SharedLight:
    """What the points of pictures share; its memory is kept from one picture to the next."""

    def __init__(self) -> None:
        self._records = self._other = _new_records(0, 0, 0)

    def of(self, rays: RayScene, view: SceneView, path: Path, light: Light, shot: Shot) -> Records:
        """What the points of a picture share, until that of the next one is asked for."""
        self._clear(-(-shot.rows // SIDE), -(-shot.columns // SIDE), len(light.sun))
        records, other = self._records, self._other
        rays.run(survey.survey, path, light, shot, records, view=view)
        rays.pool.run(shared.measure, records)
        rays.run(survey.refine, path, light, shot, records, view=view)
        rays.pool.run(shared.measure, records)
        for gap in GAPS:
            rays.pool.run(shared.smooth, records, gap, other)
            records, other = other, records
        return records

    def _clear(self, down: int, across: int, wavelengths: int) -> None:
        """Make room for a picture; light that counts nothing may stay."""
        own = self._records
        if (own.down, own.across, own.light.shape[-1]) != (down, across, wavelengths):
            self._records = own = _new_records(down, across, wavelengths)
            self._other = own._replace(
                counts=np.zeros_like(own.counts), light=np.zeros_like(own.light)
            )
        own.spots[:], own.counts[:] = 0.0, 0.0


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
