"""What a camera makes of the numbers of its chip: white balance, colour matrix and tone.

A picture is *raw* where none of them does anything: its numbers are those of the chip. Else the
black level is taken off and the range above it spread over all numbers. With the model relative,
light is rounded once, at the end; with emva the whole numbers of the chip go through.

Source: PHYSICS-2, 36.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.auto_exposure import Metering, level_of
from sensor_models.camera.ccd.colors import Colors, balance, fitted_matrix
from sensor_models.camera.ccd.parameters import (
    Bayer,
    ChipParameters,
    ColorMatrix,
    ColorParameters,
    PictureParameters,
    SensorModel,
    Tone,
    WhiteBalance,
)
from sensor_models.kernels.camera.ccd import tone as kernel
from sensor_models.threads.pool import Pool

Floats = NDArray[np.float64]

#: Bits of the numbers that screens show as they are.
SCREEN_BITS = 8


class Processing:
    """The processing of a camera's pictures."""

    def __init__(
        self,
        own: ColorParameters,
        picture: PictureParameters,
        sensor: ChipParameters,
        largest: int,
        gains: Floats,
    ) -> None:
        """``gains`` are those of the bands that the chip has."""
        self._own, self._gamma, self._largest = own, picture.gamma, largest
        whole = picture.bayer == Bayer.none or picture.demosaic
        self.has_colors = picture.bands == 3 and whole
        self.curve = kernel.SRGB if self._takes_srgb(picture) else kernel.POWER
        changes = own.white_balance != WhiteBalance.none or own.color_matrix != ColorMatrix.none
        self.is_raw = self.curve == kernel.POWER and not (changes and self.has_colors)
        counts = sensor.model == SensorModel.emva
        #: The number of no light, and what bands of the chip are multiplied with after it.
        self.black = sensor.black_level if counts and not self.is_raw else 0.0
        self._gains = gains if counts else np.ones_like(gains)
        self._fits: dict[bytes, Colors] = {}

    @property
    def counts_light(self) -> bool:
        """Whether colours follow the light of each picture."""
        balances = self._own.white_balance == WhiteBalance.gray_world
        return balances and self.has_colors and not self.is_raw

    def _takes_srgb(self, picture: PictureParameters) -> bool:
        if self._own.tone != Tone.by_depth:
            return self._own.tone == Tone.srgb
        for_people = self.has_colors or (picture.bands == 1 and picture.bayer == Bayer.none)
        return for_people and self._largest == 2**SCREEN_BITS - 1 and picture.gamma == 1.0

    def colors(
        self, light: NDArray[Any], response: Floats, day: Floats, wavelengths: Floats
    ) -> Colors:
        """What makes colours of a picture's light, (rows, columns, bands), on a day."""
        if self.is_raw or not self.has_colors:
            return Colors(np.ones(3), np.eye(3))
        usual = self._of_the_day(response, day, wavelengths)
        if not self.counts_light:
            return usual
        levels = [level_of(band, Metering.mean) for band in np.moveaxis(light, 2, 0)]
        return usual._replace(gains=balance(levels))

    def _of_the_day(self, response: Floats, day: Floats, wavelengths: Floats) -> Colors:
        """Colours of all pictures of a day."""
        key = day.tobytes()
        if key not in self._fits:
            self._fits = {key: self._made(response, day, wavelengths)}  # those of one scene
        return self._fits[key]

    def _made(self, response: Floats, day: Floats, wavelengths: Floats) -> Colors:
        own, gains = self._own, np.ones(3)
        if own.white_balance == WhiteBalance.daylight:
            gains = balance(response @ day)
        elif own.white_balance == WhiteBalance.gains:
            gains = np.array(own.gains)
        if own.color_matrix == ColorMatrix.fit:
            return Colors(gains, *fitted_matrix(response, day, wavelengths))
        if own.color_matrix == ColorMatrix.values:
            return Colors(gains, np.reshape(own.values, (3, 3)))
        return Colors(gains, np.eye(3))

    def weights(self, colors: Colors, shares: Floats) -> Floats:
        """What each band of the chip adds to the mean of a picture over its full scale.

        ``shares`` are the parts of the pixels that a raw picture has of each band.
        """
        if self.is_raw or not self.has_colors:
            return shares
        return np.asarray(colors.transform.mean(axis=0))

    def graded(
        self, pool: Pool, counted: NDArray[np.float32], colors: Colors
    ) -> NDArray[np.uint16]:
        """A picture, (rows, columns, channels), of what its chip has counted."""
        channels = counted.shape[2]
        gains = np.resize(self._gains, channels) / (self._largest - self.black)
        balance, matrix = (
            (colors.gains, colors.matrix) if self.has_colors else (1.0, np.eye(channels))
        )
        tone = kernel.Tone(
            gains * balance,
            np.ascontiguousarray(matrix),
            self.black,
            self.curve,
            self._gamma,
            float(self._largest),
        )
        numbers = np.zeros(counted.shape, np.uint16)
        flat = np.ascontiguousarray(counted, np.float32).reshape(-1, channels)
        pool.run(kernel.grade, tone, flat, numbers.reshape(-1, channels))
        return numbers

    def number_of(self, share: float) -> int:
        """The digital number that a share of the range becomes."""
        q = min(max(share, 0.0), 1.0)
        if self.curve == kernel.SRGB:
            q = 12.92 * q if q <= 0.0031308 else 1.055 * q ** (1.0 / 2.4) - 0.055
        else:
            q **= self._gamma
        return math.floor(self._largest * q + 0.5)
