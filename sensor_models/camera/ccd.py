r"""CCD camera: from the light of a scene through a lens to digital numbers.

    spectra        of what each ray sees, for 31 wavelengths
    bands          E_b = ∫ (π L τ / 4N²) F_b Q dλ, W/m2; with the model emva electrons per second
    aberrations    light goes where the lens puts it
    pixels         mean over the sample_factor² cells of each
    vignetting     V = (1 - α r) (f / sqrt(f² + r²))⁴ at r in the image plane, at least 0
    chip           exposure, noise, gain, gamma, rounding

Compiled are the spectra (``kernels.camera.exposure``), the aberrations
(``kernels.camera.aberrations``) and the chip (``kernels.camera.chip``). N is the f-number, τ the
transmission of the lens. Electrons of a band:

    s_b = ∫ E A λ/(hc) η F_b dλ,   A the area of a pixel, η the quantum efficiency

Each ray is that of the middle of a cell, through the distortion of the lens (``lens``); a pixel's
middle is at u + 1/2, v + 1/2 of its indices. Defocus, blur and Seidel's terms then displace the
light of these ideal points. The chief ray alone (one point of the pupil) is displaced by E only.

Source: VANE, eq. 1-6, with the chain of PHYSICS 15; EMVA 1288 Release 4.0 (PHYSICS-2, 32).
Deviation: aberrations outside of the ideal image show its nearest light.
"""

import math
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.camera.ccd_parameters import (
    Bayer,
    ChipParameters,
    FilterParameters,
    LightParameters,
    OpticsParameters,
    PictureParameters,
    SensorModel,
    Shutter,
)
from sensor_models.camera.lens import kernel_lens, unit_rays
from sensor_models.camera.responses import electrons_per_joule, responses, trapezoid, wavelengths_of
from sensor_models.core.random import stream_key
from sensor_models.kernels.camera import aberrations, chip, exposure
from sensor_models.kernels.camera.ways import Lens
from sensor_models.kernels.light.paths import LIMITS
from sensor_models.light.scenery import Scenery
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]

#: Names of the random streams: around points, instants of rays, the noise of the chip.
TERMS = ("light", "instant", "noise", "dsnu", "prnu")
#: Bands of the pixels of a cell, row by row.
CELLS = {
    Bayer.rggb: ((0, 1), (1, 2)),
    Bayer.bggr: ((2, 1), (1, 0)),
    Bayer.grbg: ((1, 0), (2, 1)),
    Bayer.gbrg: ((1, 2), (0, 1)),
}


class Seen(NamedTuple):
    """What a camera saw in a frame."""

    light: NDArray[np.float32]  # (rows, columns, bands), before vignetting
    distance: NDArray[np.float32]  # (rows, columns) of the first surface along the ray; inf: none
    entity: NDArray[np.int32]  # -1 for none
    label: NDArray[np.int32]
    owner: NDArray[np.int32]
    material: NDArray[np.int32]
    lost: NDArray[np.int64]  # what limits cut off, by ``LIMIT_NAMES``


class CcdCamera:
    """A camera with its lens, its chip and its random streams."""

    def __init__(
        self,
        optics: OpticsParameters | None = None,
        picture: PictureParameters | None = None,
        sensor: ChipParameters | None = None,
        filters: tuple[FilterParameters, ...] = (),
        light: LightParameters | None = None,
        *,
        seed: int = 0,
        identity: str = "CcdCamera",
    ) -> None:
        self.optics = optics or OpticsParameters()
        self.picture = picture or PictureParameters()
        self.sensor = sensor or ChipParameters()
        self.lighting = light or LightParameters()
        self.wavelengths = wavelengths_of(self.picture.infrared_filter)
        self._emva = self.sensor.model == SensorModel.emva
        self.response = self._response(filters)
        gains = [each.gain for each in filters[: self.picture.bands]]
        missing = [1.0] * (self.picture.bands - len(gains))
        self._gains = self.picture.gain * np.array([*gains, *missing])
        self._keys = np.array([stream_key(seed, identity, term) for term in TERMS])
        factor = self.optics.sample_factor
        self.directions = self._rays(factor).reshape(-1, 3)
        self.vignette = vignetting(self.optics).ravel()
        self._scenery: Scenery | None = None

    @property
    def largest(self) -> int:
        """The largest digital number."""
        usual = 12 if self._emva else 8
        return int(2 ** (self.picture.bit_depth or usual) - 1)

    @property
    def is_rolling(self) -> bool:
        """Whether rows are exposed one after the other."""
        return self.picture.shutter == Shutter["rolling"] and self.optics.height > 1

    def duration(self, exposure_time: float) -> float:
        """How long light is taken for a frame, from the first row to the last, s."""
        readout = (self.optics.height - 1) * self.picture.line_time if self.is_rolling else 0.0
        return readout + (exposure_time if self.picture.motion_samples > 1 else 0.0)

    def plain(self) -> "CcdCamera":
        """A camera with the same rows and rays of the middles of pixels alone, for what they see.

        It is this one, if that is all that it has.
        """
        if self.picture.motion_samples == 1 and self.optics.sample_factor == 1:
            return self
        return CcdCamera(
            replace(self.optics, sample_factor=1, pupil_samples=1),
            replace(self.picture, motion_samples=1),
            self.sensor,
            light=LightParameters(rays=1, depth=0),
        )

    def flow_lens(self) -> Lens:
        """The lens as the kernels of flow take it."""
        own = self.optics
        return kernel_lens(
            own.focal_lengths, own.principal_point, own.distortion_model, own.distortion
        )

    def axes(self) -> Floats:
        """Unit rays through the middles of pixels in the sensor frame, (rows, columns, 3)."""
        return self._rays(1)

    def scenery(self, rays: RayScene) -> Scenery:
        """The light of a scene at the wavelengths of the camera."""
        if self._scenery is None or self._scenery.scene is not rays.scene:
            self._scenery = Scenery(rays.scene, _in_eights(self.wavelengths, "edge"))
        return self._scenery

    def expose(
        self,
        rays: RayScene,
        poses: Floats,
        frame: int = 0,
        *,
        exposure_time: float = 0.0,
        moving: MovingBodies | None = None,
    ) -> Seen:
        """The light on the chip.

        ``poses`` are those of the camera, (knots, 12), evenly over ``duration(exposure_time)``;
        ``moving`` says where bodies are meanwhile.
        """
        scenery, optics = self.scenery(rays), self.optics
        factor, scene = optics.sample_factor, rays.scene
        rows, columns = optics.height * factor, optics.width * factor
        key, time = self._keys[0], exposure_time or self.picture.exposure_time
        picture = _new_picture(rows * columns, self.picture.bands)
        chunks = rows * columns // exposure.CHUNK + rows + columns + 1
        lost = np.zeros((chunks, LIMITS), np.int64)
        lighting = self.lighting
        rays.run(
            exposure.expose,
            scenery.path(lighting.depth, key, frame),
            scenery.light(lighting.rays, lighting.sky_at_bounce, key, frame),
            self._shot(rays, poses, time, len(scene.media), moving),
            picture,
            lost,
            bodies=moving,
        )
        seen = self.focus(rays, picture.light, picture.distance)
        middle = slice(factor // 2, None, factor)
        others: list[Any] = [a.reshape(rows, columns)[middle, middle] for a in picture[1:]]
        first: list[Any] = [seen, *others, lost.sum(axis=0)]
        return Seen(*first)

    def focus(
        self, rays: RayScene, light: NDArray[np.float32], distance: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The light on the chip, (rows, columns, bands), of that along each ray, (rays, bands)."""
        optics, factor = self.optics, self.optics.sample_factor
        if optics.pupil_samples > 1 or optics.seidel[3] != 0.0:
            displaced = np.zeros_like(light)
            rays.run(aberrations.displace, lens_of(optics, distance), light, distance, displaced)
            light = displaced
        cells = light.reshape(optics.height, factor, optics.width, factor, -1)
        if factor == 1:
            return np.asarray(cells[:, 0, :, 0], np.float32)
        return np.asarray(cells.mean(axis=(1, 3), dtype=np.float64), np.float32)

    def develop(
        self, rays: RayScene, light: NDArray[np.float32], frame: int, exposure_time: float = 0.0
    ) -> tuple[NDArray[np.uint16], int]:
        """Digital numbers, (rows, columns, channels), and how many pixels had no light to tell."""
        height, width, bands = light.shape
        mosaic = self.picture.bayer != Bayer.none
        numbers = np.zeros((height * width, 1 if mosaic else bands), np.float32)
        lost = np.zeros(height, np.int64)
        flat = np.ascontiguousarray(light.reshape(-1, bands))
        job = self._chip(frame, exposure_time or self.picture.exposure_time)
        rays.run(chip.develop, job, flat, self.vignette, numbers, lost)
        image = numbers.reshape(height, width, -1)
        if mosaic and self.picture.demosaic:
            image = demosaiced(image[:, :, 0], self.picture.bayer)
        return image.astype(np.uint16), int(lost.sum())

    def _rays(self, factor: int) -> Floats:
        optics = self.optics
        (fx, fy), (cx, cy) = optics.focal_lengths, optics.principal_point
        columns = (np.arange(optics.width * factor) + 0.5) / factor
        rows = (np.arange(optics.height * factor) + 0.5) / factor
        across, down = np.meshgrid((columns - cx) / fx, (rows - cy) / fy)
        return unit_rays(across, down, optics.distortion_model, optics.distortion)

    def _response(self, filters: tuple[FilterParameters, ...]) -> Floats:
        """What radiance gives in each band, (bands, wavelengths)."""
        optics, places = self.optics, self.wavelengths
        bands = responses(self.picture.bands, filters, places)
        lens = math.pi * optics.lens_transmission / (4.0 * optics.stops**2)
        weights = lens * trapezoid(places) * bands
        if self._emva:
            weights = weights * electrons_per_joule(self.sensor, places) * optics.pixel_area
        return np.ascontiguousarray(weights)

    def _shot(
        self,
        rays: RayScene,
        poses: Floats,
        time: float,
        media: int,
        moving: MovingBodies | None,
    ) -> exposure.Shot:
        optics, duration = self.optics, self.duration(time)
        inside = np.full((len(poses), len(rays.scene.volumes)), -1, np.int32)
        if inside.size:
            times = np.linspace(0.0, 1.0, len(poses))
            inside = rays.volumes_at(poses[:, 9:], bodies=moving, times=times)
        blurred = self.picture.motion_samples > 1
        return exposure.Shot(
            rows=optics.height * optics.sample_factor,
            columns=optics.width * optics.sample_factor,
            samples=self.picture.motion_samples,
            factor=optics.sample_factor,
            directions=self.directions,
            poses=np.ascontiguousarray(poses),
            inside=np.ascontiguousarray(inside),
            row_share=self.picture.line_time / duration if self.is_rolling and duration else 0.0,
            exposed_share=time / duration if blurred else 0.0,
            response=_in_eights(self.response, "constant"),
            key=self._keys[1],
            scene_media=media,
        )

    def _chip(self, frame: int, time: float) -> chip.Chip:
        own, picture = self.sensor, self.picture
        warmer = picture.temperature - own.reference_temperature
        cell = CELLS.get(picture.bayer, ())
        return chip.Chip(
            model=chip.EMVA if self._emva else chip.RELATIVE,
            frame=int(frame),
            columns=self.optics.width,
            exposure=time,
            full_scale=picture.full_scale,
            gains=self._gains,
            gamma=picture.gamma,
            largest=float(self.largest),
            dark=own.dark_current * 2.0 ** (warmer / own.doubling) * time,
            read_noise=own.read_noise,
            full_well=own.full_well,
            system_gain=own.system_gain,
            black=own.black_level,
            dsnu=own.dsnu,
            prnu=own.prnu,
            cell=np.array(cell, np.int64).reshape(-1, 2),
            keys=self._keys[2:],
        )


def _in_eights(table: Floats, mode: Literal["edge", "constant"]) -> Floats:
    """A table over wavelengths, filled up to a multiple of 8 as ``numpy.pad`` does by its mode.

    Loops over wavelengths then have no rest that vectors do not hold: 32 take less time than 31.
    What is filled in has the response 0.
    """
    missing = -table.shape[-1] % 8
    return np.pad(table, [*[(0, 0)] * (table.ndim - 1), (0, missing)], mode=mode)


def _new_picture(pixels: int, bands: int) -> exposure.Picture:
    ids: list[Any] = [np.empty(pixels, np.int32) for _ in range(4)]
    return exposure.Picture(
        np.empty((pixels, bands), np.float32), np.empty(pixels, np.float32), *ids
    )


def vignetting(optics: OpticsParameters) -> Floats:
    """The share V of light that each pixel gets, (rows, columns)."""
    (cx, cy), (width, height) = optics.principal_point, optics.ccd_size
    x = (np.arange(optics.width) + 0.5 - cx) * width / optics.width
    y = (np.arange(optics.height) + 0.5 - cy) * height / optics.height
    return vignetting_at(optics.focal_length, optics.vignetting, x, y[:, None])


def vignetting_at(focal_length: float, loss: float, x: ArrayLike, y: ArrayLike) -> Floats:
    """V at some places of the image plane, m from the axis."""
    square = np.square(x) + np.square(y)
    cosine_squared = focal_length**2 / (focal_length**2 + square)
    return np.asarray(np.maximum(1.0 - loss * np.sqrt(square), 0.0) * cosine_squared**2)


def focus_of(optics: OpticsParameters) -> float:
    """One over the object distance that is in focus, 1/m; negative beyond infinity."""
    return 1.0 / optics.focal_length - 1.0 / optics.image_distance


def pupil_points(radius: float, count: int) -> Floats:
    """Points of equal shares of the pupil's area, (count, 2), on a spiral of golden angles.

    One is the middle.
    """
    if count == 1:
        return np.zeros((1, 2))
    share = (np.arange(count) + 0.5) / count
    turn = np.arange(count) * np.pi * (3.0 - np.sqrt(5.0))
    around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.asarray(radius * np.sqrt(share)[:, None] * around)


def lens_of(optics: OpticsParameters, distance: NDArray[np.float32]) -> aberrations.Lens:
    """What displaces the light of a frame, and how far at most."""
    factor = optics.sample_factor
    pupil = pupil_points(optics.pupil_radius, optics.pupil_samples)
    width = optics.ccd_size[0] / (optics.width * factor)
    height = optics.ccd_size[1] / (optics.height * factor)
    cx, cy = optics.principal_point
    b, c, d, e, f = (abs(term) for term in optics.seidel)
    focus = focus_of(optics)
    seen = distance[distance > 0.0]
    nearest = float(seen.min(initial=np.inf))
    a = 0.5 * max(abs(focus), abs(focus - 1.0 / nearest))
    p, r = optics.pupil_radius, math.hypot(*optics.ccd_size)
    most = 2.0 * a * p + 4.0 * b * p**3 + 2.0 * c * r**2 * p + 2.0 * d * r**2 * p
    most += e * r**3 + 3.0 * f * p**2 * r
    return aberrations.Lens(
        rows=optics.height * factor,
        columns=optics.width * factor,
        cell_width=width,
        cell_height=height,
        middle_x=cx * factor,
        middle_y=cy * factor,
        distance=optics.image_distance,
        in_focus=focus,
        seidel=optics.seidel,
        pupil=pupil,
        margin=min(int(optics.image_distance * most / height) + 2, optics.height * factor),
    )


def demosaiced(raw: NDArray[Any], bayer: Bayer) -> Floats:
    """Three colours for each pixel of a mosaic: its own, and the means of its neighbours'."""
    rows, columns = raw.shape
    cell = np.array(CELLS[bayer])
    band = cell[np.arange(rows)[:, None] & 1, np.arange(columns) & 1]
    image = np.empty((rows, columns, 3))
    for color in range(3):
        own = band == color
        total, weight = _around(np.where(own, raw, 0.0)), _around(own.astype(float))
        image[:, :, color] = np.where(own, raw, np.floor(total / np.maximum(weight, 1e-9) + 0.5))
    return image


def _around(image: Floats) -> Floats:
    """The sum over neighbours with the weights of a bilinear filter."""
    wide = np.pad(image, 1)
    rows = 0.5 * wide[:-2] + wide[1:-1] + 0.5 * wide[2:]
    return np.asarray(0.5 * rows[:, :-2] + rows[:, 1:-1] + 0.5 * rows[:, 2:])
