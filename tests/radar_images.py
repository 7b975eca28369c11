"""What image theory makes of an object beside a large plane: slow, and with rays of its own.

The plane is taken away. A source and a receiver stand where the radar is, and once more where the
plane shows it; each has the wave that the plane sends on, by its coefficients. The object scatters
from each of the two sources to each of the two receivers: four amplitudes, added by their phases.

Scattering is physical optics of a conductor, point by point with rays much closer than a wavelength
(no tubes, no sinc, no facets as planes), which bounce from face to face.
"""

from typing import NamedTuple

import numpy as np

LIGHT = 299792458.0


class Plane(NamedTuple):
    """A large plane: a point, its normal on the radar's side, and its index; None conducts."""

    point: np.ndarray
    normal: np.ndarray
    index: complex | None = None

    def mirrored(self, place: np.ndarray) -> np.ndarray:
        return place - 2.0 * ((place - self.point) @ self.normal)[..., np.newaxis] * self.normal

    def coefficients(self, cosine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of fields across and in the plane of incidence, by e^(j w t)."""
        if self.index is None:
            return -np.ones(cosine.shape, complex), -np.ones(cosine.shape, complex)
        square = self.index**2
        root = np.sqrt(square - 1.0 + cosine**2 + 0j)
        return (cosine - root) / (cosine + root), -(square * cosine - root) / (
            square * cosine + root
        )

    def sent(self, place: np.ndarray, targets: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """The field at targets of a source at a place over this plane; ``axis`` is its wave's v."""
        image = self.mirrored(place)
        out = unit(targets - image)  # behind the plane
        into = out - 2.0 * (out @ self.normal)[:, np.newaxis] * self.normal  # before it
        field = polarised(into, axis)
        side = np.cross(into, self.normal)
        length = np.linalg.norm(side, axis=1, keepdims=True)
        side = np.where(length > 1e-9, side / np.maximum(length, 1e-12), polarised(into, axis))
        r_s, r_p = self.coefficients(-(into @ self.normal))
        along = r_s * np.einsum("ij,ij->i", field, side)
        up = r_p * np.einsum("ij,ij->i", field, np.cross(side, into))
        return along[:, np.newaxis] * side + up[:, np.newaxis] * np.cross(out, side)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def polarised(ways: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """v of waves along ``ways``: across them, in their plane with ``axis``; h if that is y."""
    return unit(axis - (ways @ axis)[:, np.newaxis] * ways)


def nearest_hits(corners: np.ndarray, starts: np.ndarray, ways: np.ndarray):
    """Distance and face of the first triangle that each ray meets; inf for none."""
    best, face = np.full(len(starts), np.inf), np.full(len(starts), -1)
    for number, (a, b, c) in enumerate(corners):
        e, f = b - a, c - a
        p = np.cross(ways, f)
        det = p @ e
        with np.errstate(divide="ignore", invalid="ignore"):
            t = starts - a
            u = np.einsum("ij,ij->i", t, p) / det
            q = np.cross(t, e)
            v = np.einsum("ij,ij->i", ways, q) / det
            distance = q @ f / det
            hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (distance > 1e-7) & (distance < best)
        best, face = np.where(hit, distance, best), np.where(hit, number, face)
    return best, face


def grid_of(center: np.ndarray, source: np.ndarray, size: float, step: float) -> tuple:
    """Directions from a source at a square of points around an object, and their solid angle."""
    ahead = unit(center - source)
    side = unit(np.cross(ahead, [0.123, 0.456, 0.789]))
    up = np.cross(ahead, side)
    steps = np.arange(-0.5 * size, 0.5 * size, step) + 0.5 * step
    a, b = (axis.ravel() for axis in np.meshgrid(steps, steps))
    points = center + a[:, np.newaxis] * side + b[:, np.newaxis] * up
    distance = np.linalg.norm(points - source, axis=1)
    return unit(points - source), step**2 * (ahead @ (points - source).T) / distance**3


def scattered(corners, source, field, receiver, listen, size, step, k, bounces=3) -> complex:
    """Sum of the currents of a conductor between two places, its phase included: sqrt(sigma).

    ``field`` and ``listen`` give what a source and a receiver would send to points.
    """
    center = corners.reshape(-1, 3).mean(axis=0)
    ways, solid = grid_of(center, source, size, step)
    starts, lengths = np.tile(source, (len(ways), 1)), np.zeros(len(ways))
    waves = field(source + ways * np.linalg.norm(center - source))
    total = 0j
    reference = np.linalg.norm(center - source) * np.linalg.norm(center - receiver)
    for _ in range(bounces):
        distance, face = nearest_hits(corners, starts, ways)
        met = np.isfinite(distance)
        if not met.any():
            break
        starts, ways, waves = starts[met], ways[met], waves[met]
        lengths, solid, face = lengths[met] + distance[met], solid[met], face[met]
        places = starts + distance[met][:, np.newaxis] * ways
        a, b, c = corners[face].transpose(1, 0, 2)
        normals = unit(np.cross(b - a, c - a))
        cosine = np.einsum("ij,ij->i", normals, ways)
        normals = -np.sign(cosine)[:, np.newaxis] * normals
        cosine = np.abs(cosine)
        to = receiver - places
        back = np.linalg.norm(to, axis=1)
        to = to / back[:, np.newaxis]
        _, blocked = nearest_hits(corners, places + 1e-6 * normals, to)
        seen = (np.einsum("ij,ij->i", to, normals) > 0.0) & (blocked < 0)
        magnetic = np.cross(ways, waves)
        currents = 2.0 * np.cross(normals, magnetic)
        received = np.einsum("ij,ij->i", listen(places), currents)
        area = solid * lengths**2 / cosine
        phase = np.exp(-1j * k * (lengths + back))
        total += (seen * received * area * phase * reference / (lengths * back)).sum()
        along = np.einsum("ij,ij->i", normals, waves)[:, np.newaxis]
        waves = 2.0 * along * normals - waves
        ways = ways + 2.0 * cosine[:, np.newaxis] * normals
        starts = places
    return complex(total * k / (2.0 * np.sqrt(np.pi)))


def section_over(plane: Plane, corners, radar, axis, size, step, wavelength, bounces=3):
    """Cross sections of an object at a radar: beside a plane, and without; m2.

    Both are referred to the distance straight to its middle.
    """
    k = 2.0 * np.pi / wavelength
    center = corners.reshape(-1, 3).mean(axis=0)
    image = plane.mirrored(radar)
    straight = np.linalg.norm(center - radar)

    def direct(points):
        return polarised(unit(points - radar), axis)

    def over(points):
        return plane.sent(radar, points, axis)

    stations = ((radar, direct), (image, over))
    parts = []
    for source, field in stations:
        for receiver, listen in stations:
            far = np.linalg.norm(center - source) * np.linalg.norm(center - receiver)
            part = scattered(corners, source, field, receiver, listen, size, step, k, bounces)
            parts.append(part * straight**2 / far)
    return abs(sum(parts)) ** 2, abs(parts[0]) ** 2, parts


def shortest(one: np.ndarray, other: np.ndarray, centre: np.ndarray, radius: float):
    """The point of a sphere that a wave from one place to another is mirrored at."""
    toward = unit(one - centre) + unit(other - centre)
    for _ in range(20):  # the normal halves the angle between both ways
        point = centre + radius * unit(toward)
        toward = unit(one - point) + unit(other - point)
    return point


def sphere_over(plane: Plane, centre, radius, radar, axis, wavelength) -> list[complex]:
    """What a conducting sphere over a plane sends back on each of the four ways; its own is 1.

    By geometric optics of the sphere, from and to places that are not infinitely far (its own
    spread of a wave included), and by the coefficients of the plane. The ways over the plane meet
    another point of the sphere, which point scatterers do not know of: at a radius of 0.1 m that is
    0.3 rad. Ways that meet the sphere twice are left out.
    """
    k = 2.0 * np.pi / wavelength
    stations = ((radar, False), (plane.mirrored(radar), True))
    ways = []
    for source, source_is_image in stations:
        for receiver, receiver_is_image in stations:
            point = shortest(source, receiver, centre, radius)
            there, back = (float(np.linalg.norm(p - point)) for p in (source, receiver))
            factor = 1.0 + 0j
            for place, is_image in ((source, source_is_image), (receiver, receiver_is_image)):
                if is_image:
                    cosine = np.array([unit(point - place) @ plane.normal])
                    r_s, r_p = plane.coefficients(cosine)
                    # p turns over with the wave: r_p of fields that are upright before and behind
                    factor *= complex(r_s[0] if abs(axis[2]) < 0.5 else -r_p[0])
            spread = there * back + 0.5 * radius * (there + back)
            ways.append(factor / spread * np.exp(-1j * k * (there + back)))
    own = abs(ways[0])
    return [complex(way / own) for way in ways]
