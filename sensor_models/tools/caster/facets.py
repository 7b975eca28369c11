"""Properties of facets in spectral bands: reflectance, temperature, colour.

A property is given for each facet, and is constant on it, or for each node, and is then
interpolated with the barycentric weights of a hit: (1 - u - v) p0 + u p1 + v p2. A run can have at
most six bands.

The parts of the quick caster use it, and so can programs that trace a scene with the library and
shade the hits with tables of their own. Other sensors do not.

Source: VANE, quick caster.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import ParameterError

#: The most spectral bands of one run.
MAX_BANDS = 6


def check_bands(count: int) -> None:
    """Refuse a number of spectral bands that a run cannot have."""
    if not 1 <= count <= MAX_BANDS:
        raise ParameterError(f"bands = {count} is out of range, allowed is 1 to {MAX_BANDS}")


@dataclass(frozen=True)
class FacetProperty:
    """A property of the facets of a mesh, in each band.

    ``values`` are (facets, bands), or (nodes, bands) if the mesh's ``faces`` are given.
    """

    values: NDArray[np.float64]
    faces: NDArray[np.uint32] | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 2:
            raise ParameterError(f"values have {self.values.ndim} axes, need items x bands")
        check_bands(self.values.shape[1])

    def at(self, primitive: ArrayLike, u: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
        """The property where facets were hit: an array of the shape (hits, bands).

        Rays that hit nothing (facet -1) have NaN.
        """
        facet = np.asarray(primitive).reshape(-1)
        hit = facet >= 0
        found = np.full((len(facet), self.values.shape[1]), np.nan)
        if self.faces is None:
            found[hit] = self.values[facet[hit]]
            return found
        second, third = (np.asarray(weight, float).reshape(-1)[hit] for weight in (u, v))
        corners = self.values[self.faces[facet[hit]]]
        weights = np.stack([1.0 - second - third, second, third], axis=-1)
        found[hit] = (weights[:, :, None] * corners).sum(axis=1)
        return found
