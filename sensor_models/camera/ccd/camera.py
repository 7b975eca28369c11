r"""CCD camera: from the light of a scene through a lens to digital numbers.

    spectra        of what each ray sees, for 31 wavelengths
    bands          E_b = ∫ (π L τ / 4N²) F_b Q dλ, W/m2; with the model emva electrons per second
    aberrations    light goes where the lens puts it
    pixels         mean over the sample_factor² cells of each
    vignetting     V = (1 - α r) (f / sqrt(f² + r²))⁴ at r in the image plane, at least 0
    chip           exposure, noise, gain, gamma, rounding
    processing     white balance, colour matrix, tone (``processing``)
    exposure       given, or found from the light (``auto_exposure``)

Compiled are the spectra (``kernels.camera.ccd.exposure``), the aberrations
(``kernels.camera.ccd.aberrations``) and the chip (``kernels.camera.ccd.chip``). N is the f-number,
τ the transmission of the lens. Electrons of a band:

    s_b = ∫ E A λ/(hc) η F_b dλ,   A the area of a pixel, η the quantum efficiency

Each ray is that of the middle of a cell, through the distortion of the lens (``camera.lens``). A
pixel's middle is at u + 1/2, v + 1/2 of its indices. Defocus, blur and Seidel's terms then displace
the light of these ideal points. The chief ray alone (one point of the pupil) is displaced by E
only.

Source: VANE, eq. 1-6, with the chain of PHYSICS 15; EMVA 1288 Release 4.0 (PHYSICS-2, 32).
Deviation: aberrations outside of the ideal image show its nearest light.
"""

import math
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.auto_exposure import AutoExposure, AutoExposureParameters, level_of
from sensor_models.camera.ccd.colors import Colors
from sensor_models.camera.ccd.mosaic import CELLS, demosaiced
from sensor_models.camera.ccd.optics import lens_of, vignetting
from sensor_models.camera.ccd.parameters import (
    RAW,
    Bayer,
    ChipParameters,
    ColorParameters,
    FilterParameters,
    LightParameters,
    OpticsParameters,
    PictureParameters,
    SensorModel,
    Sharing,
    Shutter,
)
from sensor_models.camera.ccd.processing import Processing
from sensor_models.camera.ccd.responses import (
    electrons_per_joule,
    responses,
    trapezoid,
    wavelengths_of,
)
from sensor_models.camera.ccd.sharing import SharedLight, unshared
from sensor_models.camera.ccd.thermal import Heat, ThermalParameters, check_thermal
from sensor_models.camera.lens import kernel_lens, unit_rays
from sensor_models.core.random import stream_key
from sensor_models.kernels.camera.ccd import aberrations, chip, exposure, shots
from sensor_models.kernels.camera.layout import TILE
from sensor_models.kernels.camera.ways import Lens
from sensor_models.kernels.light.paths import LIMITS
from sensor_models.light.scenery import Scenery
from sensor_models.light.thermal import ThermalScenery
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.planck import simpson
from sensor_models.scene.tracing import RayScene
from sensor_models.threads.pool import Pool

Floats = NDArray[np.float64]

#: Names of the random streams: around points, instants of rays, the noise of the chip.
TERMS = ("light", "instant", "noise", "dsnu", "prnu", "thermal")
#: Exposure of light that is measured to find one, s.
PROBED_EXPOSURE = 1.0
#: The greatest exposure where nobody says so, s.
USUAL_LONGEST = {SensorModel.relative: 10.0, SensorModel.emva: 0.1}
#: Rays around a point that are fewer count as so many where neighbours share them: what they have
#: by chance not met would count as far away, and pictures of corners became 3 % too bright with 2.
LEAST_SHARED = 8
#: Pixels that a level is measured with, of light that is there, and of light that is looked for.
MOST_METERED, MOST_PROBED = 2**18, 2**14


class Seen(NamedTuple):
    """What a camera saw in a frame."""

    light: NDArray[np.float32]  # (rows, columns, bands), before vignetting
    distance: NDArray[np.float32]  # (rows, columns) of the first surface along the ray; inf: none
    entity: NDArray[np.int32]  # -1 for none
    label: NDArray[np.int32]  # semantic label, -1 for none
    owner: NDArray[np.int32]  # of the facet, -1 for none
    material: NDArray[np.int32]  # of the facet
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
        auto: AutoExposureParameters | None = None,
        colors: ColorParameters | None = None,
        thermal: ThermalParameters | None = None,
        *,
        seed: int = 0,
        identity: str = "CcdCamera",
    ) -> None:
        self.optics = optics or OpticsParameters()
        self.picture = picture or PictureParameters()
        self.sensor = sensor or ChipParameters()
        self.lighting = light or LightParameters()
        self.auto = auto or AutoExposureParameters()
        self.thermal = thermal or ThermalParameters()
        self._emva = self.sensor.model == SensorModel.emva
        check_thermal(self.thermal, self.picture, self.sensor)
        self.wavelengths = wavelengths_of(self.picture.infrared_filter, self.thermal)
        self.response = self._response(filters)
        self.heat = Heat(self.thermal, self.response, self.wavelengths, self.largest)
        gains = [each.gain for each in filters[: self.picture.bands]]
        missing = [1.0] * (self.picture.bands - len(gains))
        self._gains = self.picture.gain * np.array([*gains, *missing])
        self.processing = Processing(
            RAW if self.thermal.on else colors or ColorParameters(),
            self.picture, self.sensor, self.largest, self._gains,
        )  # fmt: skip
        self._keys = np.array([stream_key(seed, identity, term) for term in TERMS])
        factor = self.optics.sample_factor
        self.directions = self._rays(factor).reshape(-1, 3)
        self.vignette = vignetting(self.optics).ravel()
        self._scenery: Scenery | None = None
        self._shared = SharedLight()
        if self.follows_light:
            self.auto_exposure()  # which says what is wrong with it

    @property
    def follows_light(self) -> bool:
        """Whether the exposure follows the light where nobody says how long it is."""
        if self.thermal.shows_temperature:
            return False
        return self.auto.on or self.picture.exposure_time == 0.0

    def auto_exposure(self) -> AutoExposure:
        """The rule that sets the exposure of each frame of a run by the light."""
        black = 0.0
        if self._emva and self.processing.is_raw:
            black = self.sensor.black_level / self.largest * float(self._shares().sum())
        return AutoExposure(self.auto, black, USUAL_LONGEST[self.sensor.model])

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
            light=LightParameters(rays=1, depth=0, sharing=Sharing.none),
            thermal=self.thermal,
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
            places, own = _in_eights(self.wavelengths, "edge"), self.thermal
            self._scenery = (
                ThermalScenery(rays.scene, places, own.air_temperature)
                if own.on
                else Scenery(rays.scene, places)
            )
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
        time = exposure_time or self.picture.exposure_time or PROBED_EXPOSURE
        shot = self._shot(rays, poses, time, len(rays.scene.media), moving)
        shares = self.lighting.sharing == Sharing.neighbours
        picture, lost = self._traced(rays, shot, frame, moving, shares)
        seen = self.focus(rays.pool, picture.light, picture.distance)
        factor = self.optics.sample_factor
        middle, shape = slice(factor // 2, None, factor), (shot.rows, shot.columns)
        others: list[Any] = [a.reshape(shape)[middle, middle] for a in picture[1:]]
        first: list[Any] = [seen, *others, lost]
        return Seen(*first)

    def probe(
        self, rays: RayScene, pose: Floats, frame: int = 0, moving: MovingBodies | None = None
    ) -> float:
        """The level per second (``level_rate``) that is seen from a pose, by some of the pixels."""
        step = _step_of(self.optics, MOST_PROBED)
        directions = _some(self._rays(1), step)
        rows, columns = directions.shape[:2]
        whole = self._shot(rays, pose[None], PROBED_EXPOSURE, len(rays.scene.media), moving)
        shot = whole._replace(
            rows=rows, columns=columns, samples=1, factor=1, row_share=0.0, exposed_share=0.0,
            cell=step / min(self.optics.focal_lengths),
            directions=np.ascontiguousarray(directions.reshape(-1, 3)),
        )  # fmt: skip
        picture, _ = self._traced(rays, shot, frame, moving, False)
        light = picture.light.reshape(rows, columns, -1)
        return self._level_rate(light, step, self._colors(light, step, self.day(rays)))

    def day(self, rays: RayScene) -> Floats:
        """The light of sun and sky of a scene at the wavelengths of the camera."""
        return self.scenery(rays).day[: len(self.wavelengths)]

    def colors(self, light: NDArray[np.float32], day: Floats | None = None) -> Colors:
        """What makes colours of the light on the chip, on a day or in a light of all colours."""
        step = _step_of(self.optics, MOST_METERED)
        given = np.ones(len(self.wavelengths)) if day is None else day
        return self._colors(_some(light, step), step, given)

    def _colors(self, light: NDArray[np.float32], step: int, day: Floats) -> Colors:
        seen: NDArray[Any] = light
        if self.processing.counts_light:
            seen = light * self._vignette_of(step)[:, :, None]
        return self.processing.colors(seen, self.response, day, self.wavelengths)

    def level_rate(self, light: NDArray[np.float32], colors: Colors) -> float:
        """The level (``auto_exposure``) that light on the chip gives per second of exposure."""
        step = _step_of(self.optics, MOST_METERED)
        return self._level_rate(_some(light, step), step, colors)

    def _vignette_of(self, step: int) -> Floats:
        """The shares of light that are left of every ``step``-th pixel across and down."""
        return _some(self.vignette.reshape(self.optics.height, self.optics.width), step)

    def _level_rate(self, light: NDArray[np.float32], step: int, colors: Colors) -> float:
        """The level of the light of every ``step``-th pixel across and down."""
        shares = self.processing.weights(colors, self._shares() / self._gains) * self._gains
        # In single numbers: a picture in double ones takes longer to make room for than to add up.
        seen = (light @ shares.astype(np.float32)) * self._vignette_of(step)
        if self._emva:
            seen = seen + self._dark() * shares.sum()
            seen = self.sensor.system_gain / (self.largest - self.processing.black) * seen
        else:
            seen = seen / self.picture.full_scale
        return level_of(seen, self.auto.metering)

    def _shares(self) -> Floats:
        """The gain of each band, times its share of the pixels."""
        cell = CELLS.get(self.picture.bayer)
        counts = np.ones(self.picture.bands) if cell is None else np.bincount(np.ravel(cell))
        return np.asarray(self._gains * counts / counts.sum())

    def _traced(
        self,
        rays: RayScene,
        shot: shots.Shot,
        frame: int,
        moving: MovingBodies | None,
        shares: bool,
    ) -> tuple[shots.Picture, NDArray[np.int64]]:
        """What the rays of a frame see, and what limits cut off."""
        scenery, lighting, key = self.scenery(rays), self.lighting, self._keys[0]
        pixels = shot.rows * shot.columns
        picture = _new_picture(pixels, self.picture.bands)
        down, across = (exposure.SQUARE * side for side in TILE)
        squares = -(-shot.rows // down) * -(-shot.columns // across)
        lost = np.zeros((squares, LIMITS), np.int64)
        path = scenery.path(lighting.depth, key, frame)
        count = max(lighting.rays, LEAST_SHARED) if shares else lighting.rays
        light = scenery.light(count, lighting.sky_at_bounce, key, frame)
        if not shares:  # all points send as many rays
            light = light._replace(contrast=0.0)
        view = rays.view_of(moving)
        shared = self._shared.of(rays, view, path, light, shot) if shares else unshared(light)
        with shared as around:
            rays.run(exposure.expose, path, light, around, shot, picture, lost, view=view)
        return picture, lost.sum(axis=0)

    def focus(
        self, pool: Pool, light: NDArray[np.float32], distance: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The light on the chip, (rows, columns, bands), of that along each ray, (rays, bands)."""
        optics, factor = self.optics, self.optics.sample_factor
        if optics.pupil_samples > 1 or optics.seidel[3] != 0.0:
            displaced = np.zeros_like(light)
            pool.run(aberrations.displace, lens_of(optics, distance), light, distance, displaced)
            light = displaced
        cells = light.reshape(optics.height, factor, optics.width, factor, -1)
        if factor == 1:
            return np.asarray(cells[:, 0, :, 0], np.float32)
        return np.asarray(cells.mean(axis=(1, 3), dtype=np.float64), np.float32)

    def develop(
        self,
        pool: Pool,
        light: NDArray[np.float32],
        frame: int,
        exposure_time: float = 0.0,
        colors: Colors | None = None,
    ) -> tuple[NDArray[np.uint16], int]:
        """Digital numbers, (rows, columns, channels), and how many pixels had no light to tell.

        An exposure of 0 s is the one that parameters give, or that this light asks for. Without
        ``colors`` they are those of a light that has all colours alike.
        """
        height, width, bands = light.shape
        mosaic = self.picture.bayer != Bayer.none
        numbers = np.zeros((height * width, 1 if mosaic else bands), np.float32)
        lost = np.zeros(height, np.int64)
        flat = np.ascontiguousarray(light.reshape(-1, bands))
        if self.thermal.on:
            flat = self.heat.noisy(pool, flat, self._keys[5], frame, width)
        if self.thermal.shows_temperature:
            return self.heat.numbers(flat.reshape(light.shape))
        known = colors or self.colors(light)
        job = self._chip(frame, exposure_time or self._exposure_for(light, known))
        pool.run(chip.develop, job, flat, self.vignette, numbers, lost)
        image: NDArray[Any] = numbers.reshape(height, width, -1)
        is_raw = self.processing.is_raw
        if mosaic and self.picture.demosaic:
            image = demosaiced(image[:, :, 0], self.picture.bayer)
            image = np.floor(image + 0.5) if is_raw else image
        if is_raw:
            return image.astype(np.uint16), int(lost.sum())
        return self.processing.graded(pool, image, known), int(lost.sum())

    def saturated(self, numbers: NDArray[np.uint16]) -> float:
        """The share of digital numbers that more light would not raise."""
        most, share, black = self.largest, 1.0, self.processing.black
        if self._emva:
            own = self.sensor
            full = math.floor(own.system_gain * own.full_well + own.black_level + 0.5)
            share = (min(full, most) - black) / (most - black)
        if self._emva or not self.processing.is_raw:
            most = self.processing.number_of(share * float(self._gains.min()))
        return float(np.mean(numbers >= most))

    def _exposure_for(self, light: NDArray[np.float32], colors: Colors) -> float:
        """The exposure of a picture that stands alone."""
        if self.picture.exposure_time > 0.0:
            return self.picture.exposure_time
        return self.auto_exposure().goal(self.level_rate(light, colors))

    def _dark(self) -> float:
        """Electrons per second without light."""
        own = self.sensor
        warmer = self.picture.temperature - own.reference_temperature
        return float(own.dark_current * 2.0 ** (warmer / own.doubling))

    def _rays(self, factor: int) -> Floats:
        optics = self.optics
        (fx, fy), (cx, cy) = optics.focal_lengths, optics.principal_point
        columns = (np.arange(optics.width * factor) + 0.5) / factor
        rows = (np.arange(optics.height * factor) + 0.5) / factor
        across, down = np.meshgrid((columns - cx) / fx, (rows - cy) / fy)
        return unit_rays(across, down, optics.distortion_model, optics.distortion)

    def _response(self, filters: tuple[FilterParameters, ...]) -> Floats:
        """The response of each band to radiance, (bands, wavelengths)."""
        optics, places = self.optics, self.wavelengths
        thermal = self.thermal.on
        bands = responses(self.picture.bands, filters, places, thermal)
        lens = math.pi * optics.lens_transmission / (4.0 * optics.stops**2)
        weights = lens * (simpson(places) if thermal else trapezoid(places)) * bands
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
    ) -> shots.Shot:
        optics, duration = self.optics, self.duration(time)
        inside = np.full((len(poses), len(rays.scene.volumes)), -1, np.int32)
        if inside.size:
            times = np.linspace(0.0, 1.0, len(poses))
            inside = rays.volumes_at(poses[:, 9:], bodies=moving, times=times)
        blurred = self.picture.motion_samples > 1
        return shots.Shot(
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
            cell=1.0 / (min(optics.focal_lengths) * optics.sample_factor),
            scene_media=media,
        )

    def _chip(self, frame: int, time: float) -> chip.Chip:
        own, picture, is_raw = self.sensor, self.picture, self.processing.is_raw
        cell = CELLS.get(picture.bayer, ())
        return chip.Chip(
            model=chip.EMVA if self._emva else chip.RELATIVE,
            frame=int(frame),
            columns=self.optics.width,
            exposure=time,
            full_scale=picture.full_scale,
            gains=self._gains if is_raw or not self._emva else np.ones_like(self._gains),
            gamma=picture.gamma if is_raw else 1.0,
            largest=float(self.largest),
            rounds=is_raw,
            dark=self._dark() * time,
            read_noise=own.read_noise,
            full_well=own.full_well,
            system_gain=own.system_gain,
            black=own.black_level,
            dsnu=own.dsnu,
            prnu=own.prnu,
            cell=np.array(cell, np.int64).reshape(-1, 2),
            keys=self._keys[2:5],
        )


def _in_eights(table: Floats, mode: Literal["edge", "constant"]) -> Floats:
    """A table over wavelengths, filled up to a multiple of 8 as ``numpy.pad`` does by its mode.

    Loops over wavelengths then have no rest that vectors do not hold: 32 take less time than 31.
    What is filled in has the response 0.
    """
    missing = -table.shape[-1] % 8
    return np.pad(table, [*[(0, 0)] * (table.ndim - 1), (0, missing)], mode=mode)


def _step_of(optics: OpticsParameters, most: int) -> int:
    """The step across and down between pixels, so that at most so many of them are left."""
    return max(1, math.ceil(math.sqrt(optics.width * optics.height / most)))


def _some(image: NDArray[Any], step: int) -> NDArray[Any]:
    """Every ``step``-th row and column of an image."""
    return image[step // 2 :: step, step // 2 :: step]


def _new_picture(pixels: int, bands: int) -> shots.Picture:
    ids: list[Any] = [np.empty(pixels, np.int32) for _ in range(4)]
    return shots.Picture(np.zeros((pixels, bands), np.float32), np.empty(pixels, np.float32), *ids)
