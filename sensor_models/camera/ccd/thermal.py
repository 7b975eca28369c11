"""Thermal pictures: what the camera has for them, and temperatures from light.

The apparent temperature of a pixel is that of a black body that would send it as much light: T with

    ∫ R(λ) B(λ, T) dλ = E,    R the response of the band, E its light

It is that of a surface only where that is black. 1/T is nearly linear in ln E, so it is looked up
in a table over ln E with a step of 1 K. NETD is noise in light: its deviation is that which 300 K
and 300 K + NETD differ by.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.parameters import (
    Bayer,
    ChipParameters,
    PictureParameters,
    SensorModel,
)
from sensor_models.core.quantities import ParameterError, boolean, check, choice, real
from sensor_models.kernels.camera.ccd import warmth
from sensor_models.scene.planck import black_body
from sensor_models.threads.pool import Pool

Floats = NDArray[np.float64]

#: Temperatures of the table, K.
KNOWN = np.arange(100.0, 3001.0)
#: Temperature that NETD is for, K.
USUAL = 300.0


class ThermalOutput(IntEnum):
    """What digital numbers are linear in."""

    radiance = 0
    temperature = 1


@dataclass(frozen=True)
class ThermalParameters:
    """A camera for the heat that bodies send by themselves."""

    on: bool = boolean(
        False,
        "See thermal radiation in place of sunlight, in all bands; pictures are then raw. The "
        "scene has temperatures and emissivities",
    )
    wavelength: tuple[float, float] = real(
        (8e-6, 14e-6),
        "m",
        "Limits of the wavelengths that reach the chip",
        components=("lower", "upper"),
        minimum=2e-6,
        maximum=30e-6,
    )
    output: ThermalOutput = choice(
        ThermalOutput.radiance,
        "What digital numbers are linear in: light, by exposure and gain as in all pictures, or "
        "apparent temperature, from temperature.lower (0) to temperature.upper (the largest)",
    )
    temperature: tuple[float, float] = real(
        (253.15, 333.15),
        "K",
        "Apparent temperatures of the least and the largest digital number, with output = "
        "temperature",
        components=("lower", "upper"),
        minimum=1.0,
        maximum=3000.0,
    )
    air_temperature: float = real(
        0.0,
        "K",
        "Temperature of air, ground and all that has none of its own; 0 takes that of the scene",
        minimum=0.0,
        maximum=400.0,
    )
    netd: float = real(
        0.0, "K", "Standard deviation of a pixel, as a temperature at 300 K", minimum=0.0
    )

    def __post_init__(self) -> None:
        check(self)
        for name in ("wavelength", "temperature"):
            lower, upper = getattr(self, name)
            if not lower < upper:
                raise ParameterError(
                    f"thermal.{name}.lower = {lower:g} is not below "
                    f"thermal.{name}.upper = {upper:g}"
                )

    @property
    def shows_temperature(self) -> bool:
        """Whether digital numbers are temperatures."""
        return self.on and self.output == ThermalOutput.temperature


def check_thermal(
    thermal: ThermalParameters, picture: PictureParameters, chip: ChipParameters
) -> None:
    """Refuse what a thermal camera has not."""
    if thermal.on and picture.bayer != Bayer.none:
        raise ParameterError(f"bayer = {picture.bayer.name} is not for thermal.on = true")
    if thermal.shows_temperature and chip.model == SensorModel.emva:
        raise ParameterError("thermal.output = temperature needs sensor.model = relative, not emva")


class Heat:
    """Light on a thermal chip, and temperatures."""

    def __init__(
        self, own: ThermalParameters, response: Floats, places: Floats, largest: int
    ) -> None:
        """``response`` is that of the bands to radiance at some wavelengths."""
        self._own, self._response, self._places, self._largest = own, response, places, largest

    def noisy(
        self,
        pool: Pool,
        light: NDArray[np.float32],
        key: NDArray[np.uint64],
        frame: int,
        columns: int,
    ) -> NDArray[np.float32]:
        """Light, (pixels, bands), with the noise of the chip."""
        warmer = black_body(self._places, USUAL + self._own.netd)
        deviation = self._response @ (warmer - black_body(self._places, USUAL))
        found = light.copy()
        pool.run(warmth.add_noise, found, deviation, key, int(frame), columns)
        return found

    def apparent(self, light: NDArray[np.float32]) -> Floats:
        """The apparent temperatures in K of light on the chip, (…, bands)."""
        found = np.empty(light.shape)
        for band, weights in enumerate(self._response):
            known = black_body(self._places, KNOWN[:, None]) @ weights
            with np.errstate(divide="ignore"):
                given = np.log(np.maximum(light[..., band], 0.0).astype(float))
            found[..., band] = 1.0 / np.interp(given, np.log(known), 1.0 / KNOWN)
        return found

    def numbers(self, light: NDArray[np.float32]) -> tuple[NDArray[np.uint16], int]:
        """Digital numbers that are linear in temperature, and how many pixels have no light."""
        lower, upper = self._own.temperature
        known = np.isfinite(light)
        share = (self.apparent(np.where(known, light, 0.0)) - lower) / (upper - lower)
        found = np.floor(self._largest * np.clip(share, 0.0, 1.0) + 0.5)
        return np.where(known, found, 0.0).astype(np.uint16), int((~known).sum())

    def facts(self) -> dict[str, float]:
        """What tells temperatures by digital numbers: K at 0, and for each number."""
        if not self._own.shows_temperature:
            return {}
        lower, upper = self._own.temperature
        scale = (upper - lower) / self._largest
        return {"temperature_offset": lower, "temperature_scale": scale}
