r"""Extinction of weather by one familiar measure of it.

    visibility V     α = -ln(0.05)/V (λ/550 nm)^-q
                                          a contrast of 5 % is left at the meteorological visibility
    rain at R mm/h   1.076 R^0.67 dB/km   independent of the wavelength: drops are large
    snow at R mm/h   a R^b dB/km          a, b linear in the wavelength or constant; water content

Sources: visibility, Koschmieder 1924 with the contrast that WMO-No. 8 takes for the meteorological
optical range, and q of Kim, McArthur, Korevaar, Proc. SPIE 4214 (2001): 0 in fog, where droplets
are larger than waves, rising in haze. Rain and snow, Recommendation ITU-R P.1814, which takes rain
from Carbonneau and Wisely, Proc. SPIE 3232 (1998).

All of this is for light, from the visible to the near infrared. Not validated: both power laws come
from measurements over terrestrial links, with forward scattered light in the receiver. For a single
rain or snowfall they may be wrong by a factor of 2.
"""

import math

#: Contrast that is left at the meteorological visibility.
CONTRAST = 0.05

#: The wavelength at which visibility is defined.
GREEN = 550e-9

#: Extinction in 1/m of an attenuation of 1 dB/km.
PER_DECIBEL = math.log(10.0) / 10_000.0


def absorption_by_visibility(visibility: float, wavelength: float = GREEN) -> float:
    """Extinction in 1/m of fog, haze or dust by its visibility in m."""
    exponent = _haze_exponent(visibility / 1000.0)
    return float(-math.log(CONTRAST) / visibility * (wavelength / GREEN) ** -exponent)


def _haze_exponent(visibility_km: float) -> float:
    """The exponent q of the wavelength."""
    if visibility_km > 50.0:
        return 1.6
    if visibility_km > 6.0:
        return 1.3
    if visibility_km > 1.0:
        return 0.16 * visibility_km + 0.34
    return max(visibility_km - 0.5, 0.0)


def absorption_by_rain(rate_mm_per_h: float) -> float:
    """Extinction in 1/m of rain by its rate."""
    return float(1.076 * rate_mm_per_h**0.67 * PER_DECIBEL)


def absorption_by_snow(rate_mm_per_h: float, wavelength: float, wet: bool = False) -> float:
    """Extinction in 1/m of snow by its rate, counted as water."""
    nanometres = wavelength * 1e9
    if wet:
        decibels = (1.023e-4 * nanometres + 3.7855466) * rate_mm_per_h**0.72
    else:
        decibels = (5.42e-5 * nanometres + 5.4958776) * rate_mm_per_h**1.38
    return float(decibels * PER_DECIBEL)
