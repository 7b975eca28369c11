r"""Rosettes: beams behind two rotating prisms, and perhaps a rotating mirror.

A beam of unit direction d meets a surface of unit normal n, d . n > 0, between media of the
refractive indices a (before) and b (after). Snell's law in vectors, exact:

    d' = r d + (sqrt(1 - r^2 (1 - c^2)) - r c) n,    r = a / b,  c = d . n

Through a face that is square to the axis only the components across the axis are scaled, by r.
The first prism has its square face toward the laser, the second one away from it, as in the
Livox Mid-40. The defaults are that device: speeds of Liu, Wu and Lin, "Low-cost retina-like
robotic lidars based on incommensurable scanning" (doi 10.1109/TMECH.2021.3058173), wedges and
index of the simulator HELIOS++; together they have the field of view of its manual. With the
thick end of prism i at the angle phi_i = phase_i + speed_i t and its wedge angle w_i, the tilted
faces have the normals

    (-sin w_1 cos phi_1, -sin w_1 sin phi_1, cos w_1),
    ( sin w_2 cos phi_2,  sin w_2 sin phi_2, cos w_2)

where the third component is along the axis. Thin wedges bend a beam by (n - 1) w toward the thick
end: the rosette (n - 1) (w_1 e^(i phi_1) + w_2 e^(i phi_2)), which is the usual first order.

The axis is the sensor's x (across: y, z), or with a mirror its z (across: x, y). A plane mirror
of unit normal m makes d - 2 (d . m) m of a beam; with its tilt T it throws the axis to the
elevation 2 T - pi / 2 and to the azimuth psi = phase + speed t. Prisms that turn a little slower
than the mirror then move the elevation up and down at the difference of the speeds.

Beams lie in a fan about the axis, evenly spaced, and fire together. Time runs on through the
frames, so a frame repeats the one before only if all speeds make whole turns in it.

Not modelled: where on the prisms a beam passes (all rays start at the sensor's origin), the
dispersion and the reflections of the glass.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError
from sensor_models.lidar.pattern_parameters import PatternParameters

Floats = NDArray[np.float64]
Vector = tuple[Floats, Floats, Floats]  # two components across the axis, one along it

#: Angles of one prism to the other at which light is looked for that stays in the glass.
TRIED_PHASES = 64
#: Of a turn: a pattern that is off by this after a frame is closed.
CLOSED = 1e-9


class Rosette:
    """The angles of a rosette's rays, for any frame."""

    def __init__(self, parameters: PatternParameters, duration: float) -> None:
        if not duration > 0.0:
            raise ParameterError(
                "sample_rate = 0 Hz leaves the duration of a frame open, allowed is more than "
                "0 Hz where pattern.type is rosette: its prisms need the time"
            )
        self._parameters = parameters
        self._duration = duration
        half = parameters.prism_spread / 2.0
        fan = np.linspace(half, -half, parameters.rows) if parameters.rows > 1 else np.zeros(1)
        self._beams: Vector = (np.zeros_like(fan), np.sin(fan), np.cos(fan))
        columns = np.arange(parameters.columns) * parameters.active_share / parameters.columns
        self._times = (columns * duration)[:, None]
        self._check_exit()

    @property
    def repeats(self) -> bool:
        """Whether all parts make whole turns within a frame."""
        p = self._parameters
        turns = np.array([*p.prism_speed, p.mirror_speed]) * self._duration / math.tau
        return bool(np.all(np.abs(turns - np.round(turns)) <= CLOSED))

    def angles(self, frame: int) -> tuple[Floats, Floats]:
        """Azimuth and elevation of the rays of a frame, column by column."""
        p = self._parameters
        first, second = (
            self._turned(phase, speed, frame)
            for phase, speed in zip(p.prism_phase, p.prism_speed, strict=True)
        )
        across, over, along = _through_prisms(p, self._beams, first, second)[0]
        if p.mirror_tilt == 0.0:
            x, y, z = along, across, over
        else:
            psi = self._turned(p.mirror_phase, p.mirror_speed, frame)
            x, y, z = _reflect((across, over, along), p.mirror_tilt, psi)
        elevation = np.arcsin(np.clip(z, -1.0, 1.0))
        return np.arctan2(y, x).ravel(), elevation.ravel()

    def _turned(self, phase: float, speed: float, frame: int) -> Floats:
        """Angles of a part at the times of the columns."""
        # without whole turns, so that late frames keep their digits
        turns = math.fmod(math.fmod(speed * self._duration / math.tau, 1.0) * frame, 1.0)
        return np.asarray(phase + math.tau * turns + speed * self._times)

    def _check_exit(self) -> None:
        """Refuse prisms that keep the outermost beam at some of their angles."""
        p = self._parameters
        tried = np.linspace(0.0, math.tau, TRIED_PHASES, endpoint=False)
        first, second = (angle.reshape(-1, 1) for angle in np.meshgrid(tried, tried))
        u, v, w = self._beams
        if not _through_prisms(p, (u[:1], v[:1], w[:1]), first, second)[1]:
            raise ParameterError(
                f"pattern.prism.wedge = {p.prism_wedge} rad at pattern.prism.index = "
                f"{p.prism_index} keeps light inside (total reflection), allowed are smaller "
                "wedges or a smaller index"
            )


def _through_prisms(
    p: PatternParameters, beams: Vector, first: Floats, second: Floats
) -> tuple[Vector, bool]:
    """Beams behind prisms at these angles, and whether all of them come out."""
    n = p.prism_index
    beams, _ = _through_square_face(beams, 1.0 / n)
    beams, out_1 = _through_tilted_face(beams, n, -p.prism_wedge[0], first)
    beams, out_2 = _through_tilted_face(beams, 1.0 / n, p.prism_wedge[1], second)
    beams, out_3 = _through_square_face(beams, n)
    return beams, out_1 and out_2 and out_3


def _through_square_face(beams: Vector, ratio: float) -> tuple[Vector, bool]:
    u, v, _ = beams
    u, v = ratio * u, ratio * v
    left = 1.0 - u * u - v * v
    return (u, v, np.sqrt(np.maximum(left, 0.0))), bool(np.all(left > 0.0))


def _through_tilted_face(
    beams: Vector, ratio: float, wedge: float, angle: Floats
) -> tuple[Vector, bool]:
    """Beams behind a face whose normal leans by the wedge toward an angle."""
    u, v, w = beams
    nu, nv, nw = math.sin(wedge) * np.cos(angle), math.sin(wedge) * np.sin(angle), math.cos(wedge)
    c = u * nu + v * nv + w * nw
    left = 1.0 - ratio * ratio * (1.0 - c * c)
    shift = np.sqrt(np.maximum(left, 0.0)) - ratio * c
    passed = (ratio * u + shift * nu, ratio * v + shift * nv, ratio * w + shift * nw)
    return passed, bool(np.all(left > 0.0) and np.all(c > 0.0))


def _reflect(beams: Vector, tilt: float, azimuth: Floats) -> Vector:
    """Beams behind the mirror, x, y and z."""
    u, v, w = beams
    mu, mv = math.sin(tilt) * np.cos(azimuth), math.sin(tilt) * np.sin(azimuth)
    mw = -math.cos(tilt)  # the side toward the light
    twice = 2.0 * (u * mu + v * mv + w * mw)
    return u - twice * mu, v - twice * mv, w - twice * mw
