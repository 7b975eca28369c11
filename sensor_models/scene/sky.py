"""Sun and sky spectra by formula, for scenes that have no measured ones.

Sun above the air   E0(lambda) = B(lambda, 5772 K) * Omega, a black body of the sun's effective
                    temperature (IAU 2015) seen under Omega = 6.794e-5 sr.
Through the air     E = E0 exp(-m (tau_R + tau_A)), with the optical depths of Rayleigh scattering
                    tau_R = 0.008735 (lambda/um)**-4.08 (Leckner 1978) and of haze
                    tau_A = 0.1 (lambda/um)**-1.3 (Ångström), and the air mass m after Kasten and
                    Young (1989) from the height of the sun.
Sky                 L = E0 sin(h) (1 - exp(-m (tau_R + tau_A))) / (2 pi): half of what the air
                    scatters out of the beam comes down, from all directions alike.
Overcast            no sun; L = E0 sin(h) / 4 / pi: clouds let a quarter through, in no colour.

Thermal             A clear sky straight up has at 8 to 14 um the emissivity
                    e = 0.24 + 2.98e-8 p² exp(3000 K / T), at most 1 (Idso 1981), with the
                    temperature T of the air and the pressure p of its water vapour in hPa,
                    p = r 6.112 exp(17.62 t / (243.12 + t)), t in °C (Magnus; WMO 2008); or what a
                    given temperature at the zenith makes of it, e = ∫B(T_z) dλ / ∫B(T) dλ. Under
                    clouds e is 1. ``light.thermal`` has the rest.

Deviations: no gas absorbs (in reality water vapour absorbs 900-980 nm and 1350-1450 nm), and the
sky has the same brightness everywhere. This is an estimate, not a radiative transfer.
"""

import math

from sensor_models.scene.model import Sky
from sensor_models.scene.planck import BOLTZMANN, LIGHT_SPEED, PLANCK, band_radiance
from sensor_models.scene.schema import SkyTable

Spectrum = tuple[tuple[float, float], ...]

SUN_TEMPERATURE = 5772.0  # K
SUN_SOLID_ANGLE = 6.794e-5  # sr

#: 380 nm to 1700 nm: what silicon and InGaAs sensors see.
WAVELENGTHS = tuple(nanometres * 1e-9 for nanometres in range(380, 1701, 20))

_HAZE = 0.1

#: The band that the emissivity of a clear sky is known for, m.
WINDOW = 8e-6, 14e-6


def sky_of(table: SkyTable) -> Sky:
    """The light that a table describes; given spectra win over those of a preset."""
    length = math.hypot(*table.sun_direction)
    x, y, z = (part / length for part in table.sun_direction)
    sun, light = _preset_spectra(table.preset, z)
    return Sky(
        sun_direction=(x, y, z),
        sun_spectrum=table.sun_spectrum or sun,
        sky_spectrum=table.sky_spectrum or light,
        air_temperature=table.air_temperature,
        zenith_emissivity=zenith_emissivity_of(table),
    )


def zenith_emissivity_of(table: SkyTable) -> float:
    """The emissivity of the sky straight up at 8 to 14 um."""
    air = table.air_temperature
    if table.zenith_temperature is not None:
        share = band_radiance(*WINDOW, table.zenith_temperature) / band_radiance(*WINDOW, air)
        return min(share, 1.0)
    if table.preset == "overcast":
        return 1.0
    celsius = air - 273.15
    pressure = table.relative_humidity * 6.112 * math.exp(17.62 * celsius / (243.12 + celsius))
    return min(0.24 + 2.98e-8 * pressure**2 * math.exp(3000.0 / air), 1.0)


def sunlight_above_air(wavelength: float) -> float:
    """Irradiance of the sun outside of the atmosphere, W/m2/m."""
    exponent: float = PLANCK * LIGHT_SPEED / (wavelength * BOLTZMANN * SUN_TEMPERATURE)
    radiance: float = 2.0 * PLANCK * LIGHT_SPEED**2 / wavelength**5 / math.expm1(exponent)
    return radiance * SUN_SOLID_ANGLE


def air_mass(sine_of_height: float) -> float:
    """Length of the way through the air, relative to the vertical way."""
    degrees = math.degrees(math.asin(min(max(sine_of_height, 0.0), 1.0)))
    return 1.0 / (math.sin(math.radians(degrees)) + 0.50572 * math.pow(degrees + 6.07995, -1.6364))


def transmission(wavelength: float, sine_of_height: float) -> float:
    """Share of the sun's light that comes straight through a clear sky."""
    micrometres = wavelength * 1e6
    depth = 0.008735 * micrometres**-4.08 + _HAZE * micrometres**-1.3
    return math.exp(-air_mass(sine_of_height) * depth)


def _preset_spectra(preset: str | None, sine: float) -> tuple[Spectrum, Spectrum]:
    if preset is None or preset == "night" or sine <= 0.0:
        return (), ()
    if preset == "overcast":
        share = sine / (4.0 * math.pi)
        return (), tuple((w, share * sunlight_above_air(w)) for w in WAVELENGTHS)
    sun = tuple((w, sunlight_above_air(w) * transmission(w, sine)) for w in WAVELENGTHS)
    lost = ((w, sunlight_above_air(w) * (1.0 - transmission(w, sine))) for w in WAVELENGTHS)
    return sun, tuple((w, sine * light / (2.0 * math.pi)) for w, light in lost)
