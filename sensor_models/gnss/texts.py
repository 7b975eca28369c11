"""What a receiver says in words: NMEA sentences and the epochs of a RINEX file."""

import datetime
from collections.abc import Sequence

from sensor_models.core.quantities import ParameterError
from sensor_models.gnss import rinex
from sensor_models.gnss.constellation import Constellation
from sensor_models.gnss.nmea import NmeaFix, sentences
from sensor_models.gnss.parameters import ConstellationChoice, GnssParameters, GnssReading


def parse_utc(text: str) -> datetime.datetime:
    """An instant in ISO 8601; without a zone it is UTC."""
    try:
        # "Z" is understood by Python from 3.11 on.
        instant = datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=datetime.timezone.utc)
        instant = instant.astimezone(datetime.timezone.utc)
        rinex.gps_time(instant)  # in the last seconds of the year 9999 there is none
    except (ValueError, OverflowError):
        raise ParameterError(
            f"utc_start = {text!r} is no date and time, allowed is ISO 8601 such as "
            "2026-01-01T00:00:00Z"
        ) from None
    return instant


def week_time(parameters: GnssParameters) -> float:
    """The GPS time of week in s at the start: as it is given, or else that of ``utc_start``.

    Regular patterns of satellites belong to no date, so they begin at 0 if no date is given either.
    """
    dated = parameters.constellation == ConstellationChoice.file or _is_dated(parameters)
    if parameters.time_of_week != 0.0 or not dated:
        return parameters.time_of_week
    return rinex.time_of_week(parse_utc(parameters.utc_start))


def _is_dated(parameters: GnssParameters) -> bool:
    return parameters.utc_start != GnssParameters.utc_start


def warnings_of(parameters: GnssParameters) -> list[str]:
    """Warnings about parameters that are allowed, but seldom meant, one sentence each."""
    told = parameters.nmea_on or parameters.rinex_on or _is_dated(parameters)
    if parameters.time_of_week == 0.0 or not told:
        return []
    meant = rinex.time_of_week(parse_utc(parameters.utc_start))
    apart = (parameters.time_of_week - meant + 0.5 * rinex.WEEK) % rinex.WEEK - 0.5 * rinex.WEEK
    if abs(apart) <= 1.0:
        return []
    return [
        f"time_of_week = {parameters.time_of_week:g} s is not that of utc_start ="
        f" {parameters.utc_start}, which is {meant:g} s: satellites stand where they do at the one,"
        " and texts tell the other; leave time_of_week at 0 and set utc_start, and it follows"
    ]


class Texts:
    """Makes the texts of samples that the parameters ask for."""

    def __init__(self, parameters: GnssParameters, constellation: Constellation) -> None:
        self._parameters, self._satellites = parameters, constellation.satellites
        self._begin = rinex.gps_time(parse_utc(parameters.utc_start))
        systems = {satellite.system for satellite in self._satellites}
        self._talker = "GP" if len(systems) == 1 else "GN"

    @property
    def wanted(self) -> bool:
        """Whether there are any."""
        return self._parameters.nmea_on or self._parameters.rinex_on

    def utc_at(self, time: float) -> datetime.datetime:
        """UTC at a time since the start."""
        return rinex.utc_time(self.gps_at(time))

    def gps_at(self, time: float) -> datetime.datetime:
        """GPS time at a time since the start."""
        try:
            return self._begin + datetime.timedelta(seconds=time)
        except OverflowError:
            raise ParameterError(
                f"{time} s after the start is no date after utc_start = "
                f"{self._parameters.utc_start}, allowed are the years 1 to 9999"
            ) from None

    def observations(self, ranges: Sequence[float]) -> list[rinex.Observation]:
        """The satellites in use, with their pseudoranges in m, from those of all, 0 for none."""
        return [(s, r) for s, r in zip(self._satellites, ranges, strict=True) if r != 0.0]

    def nmea(self, reading: GnssReading, time: float, ranges: Sequence[float]) -> str:
        """The sentences of a sample."""
        if not self._parameters.nmea_on:
            return ""
        fix = NmeaFix(
            reading,
            self.utc_at(time),
            [satellite for satellite, _ in self.observations(ranges)],
            talker=self._talker,
            solution=self._parameters.solution,
            geoid_undulation=self._parameters.geoid_undulation,
        )
        return sentences(fix)

    def rinex(
        self, time: float, ranges: Sequence[float], place: Sequence[float], *, is_first: bool
    ) -> str:
        """The ranges of a sample, as in a file: the first comes behind the header."""
        if not self._parameters.rinex_on:
            return ""
        gps = self.gps_at(time)
        text = rinex.epoch(gps, self.observations(ranges))
        return rinex.header(self._satellites, gps, place) + text if is_first else text
