"""What a ray-traced radar is: its chirps, antennas, rays and detector."""

import math
from dataclasses import dataclass, field
from enum import IntEnum

from sensor_models.core.quantities import (
    ParameterError,
    boolean,
    check,
    choice,
    integer,
    real,
    string,
)

LIGHT = 299792458.0  # m/s


class Mimo(IntEnum):
    """How transmitters are told apart."""

    tdm = 0
    ideal = 1


class Polarization(IntEnum):
    """What is sent, then what is received."""

    vv = 0
    hh = 1
    vh = 2
    hv = 3
    plus45 = 4


class Synthesis(IntEnum):
    """How paths become a cube."""

    kernel = 0
    beat = 1


class SpeedExtended(IntEnum):
    """What tells speeds beyond the unambiguous one."""

    none = 0
    hypotheses = 1


class Window(IntEnum):
    """What samples are weighed with before a transform."""

    rectangular = 0
    hann = 1
    hamming = 2
    blackman = 3


class CfarType(IntEnum):
    """What a threshold is made of."""

    ca = 0
    os = 1


def _positive(instance: object, prefix: str, names: tuple[str, ...]) -> None:
    """Refuse a 0 where nothing but more than that makes sense."""
    for name in names:
        if getattr(instance, name) == 0:
            raise ParameterError(f"{prefix}{name} = 0 is out of range, allowed is more than 0")


@dataclass(frozen=True)
class ChirpParameters:
    """The chirps of a frame."""

    slope: float = real(30e12, "Hz/s", "Slope of a chirp, more than 0", minimum=0.0)
    sample_rate: float = real(
        10e6, "Hz", "Rate of the complex samples of a chirp, more than 0", minimum=0.0
    )
    samples: int = integer(256, "Samples of a chirp", minimum=2, maximum=65536)
    count: int = integer(128, "Chirps of one transmitter in a frame", minimum=2, maximum=65536)
    interval: float = real(
        30e-6, "s", "From one chirp to the next, at least samples / sample_rate", minimum=0.0
    )

    def __post_init__(self) -> None:
        check(self)
        _positive(self, "", ("slope", "sample_rate"))
        least = self.samples / self.sample_rate
        if self.interval < least * (1.0 - 1e-9):
            raise ParameterError(
                f"interval = {self.interval} s is out of range, allowed is at least "
                f"samples / sample_rate, which is {least:g} s"
            )


@dataclass(frozen=True)
class AntennaParameters:
    """Carrier, antennas and receiver."""

    frequency: float = real(
        77e9, "Hz", "Carrier at the middle of a chirp", minimum=1e9, maximum=1e12
    )
    transmitters: str = string(
        "",
        "Places of the transmitters, y and z in m each, separated by semicolons: "
        "0 0; 0.0078 0; empty for 3 of them, 2 wavelengths apart along y",
    )
    receivers: str = string(
        "",
        "Places of the receivers, as of transmitters; empty for 4 of them, half a wavelength apart",
    )
    mimo: Mimo = choice(
        Mimo.tdm,
        "Transmitters fire in turns, or at once and are told apart without loss (ideal)",
    )
    transmit_power: float = real(0.0158, "W", "Power of a transmitter, more than 0", minimum=0.0)
    gain: float = real(10.0, "1", "Gain ahead of antennas, each way, more than 0", minimum=0.0)
    pattern: str = string(
        "cos2",
        "Gain over the angle: cos2, isotropic (ahead), or the path of a CSV file with the columns "
        "angle_deg, azimuth_db, elevation_db",
    )
    noise_figure: float = real(25.1, "1", "Noise figure, as a factor", minimum=1.0)
    loss: float = real(1.0, "1", "Losses, as a factor", minimum=1.0)
    polarization: Polarization = choice(
        Polarization.vv, "What is sent, then what is received; plus45 is slanted both ways"
    )

    def __post_init__(self) -> None:
        check(self)
        _positive(self, "", ("transmit_power", "gain"))


@dataclass(frozen=True)
class WindowParameters:
    """The windows of the transforms."""

    range: Window = choice(Window.hann, "Window over the samples of a chirp")
    doppler: Window = choice(Window.hann, "Window over the chirps of a frame")
    angle: Window = choice(Window.rectangular, "Window over the antennas")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class FieldParameters:
    """Where rays are sent to."""

    azimuth: float = real(
        math.radians(60.0), "rad", "Half angle to both sides, more than 0",
        minimum=0.0, maximum=math.radians(85.0),
    )  # fmt: skip
    elevation: float = real(
        math.radians(10.0), "rad", "Half angle up and down, more than 0",
        minimum=0.0, maximum=math.radians(85.0),
    )  # fmt: skip

    def __post_init__(self) -> None:
        check(self)
        _positive(self, "", ("azimuth", "elevation"))


@dataclass(frozen=True)
class TubeParameters:
    """How densely rays are sent."""

    angle: float = real(2e-3, "rad", "Spacing of the first pass", minimum=1e-5, maximum=0.1)
    spacing: float = real(
        0.02,
        "m",
        "Spacing of the second pass where rays hit; of small objects a thirtieth of their size",
        minimum=1e-5,
    )
    maximum: int = integer(
        4_000_000, "Most rays of a frame: beyond, the spacing is wider", minimum=1000
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class CfarParameters:
    """What stands out of noise and clutter."""

    type: CfarType = choice(
        CfarType.os, "Threshold from the mean of the cells around, or from an ordered one"
    )
    window: int = integer(
        16,
        "Cells that the threshold is made of: with a window, every other one",
        minimum=2,
        maximum=1024,
    )
    guard: int = integer(2, "Cells on either side that are left out", minimum=0, maximum=1024)
    rank: int = integer(12, "Place of the ordered cell, from the weakest", minimum=1, maximum=1024)
    false_alarms_per_frame: float = real(
        0.001,
        "1",
        "Targets that noise alone makes in a frame, in the mean; 0: by cfar.false_alarm",
        minimum=0.0,
    )
    false_alarm: float = real(
        1e-4,
        "1",
        "Share of cells of noise alone that stand out, where cfar.false_alarms_per_frame is 0",
        minimum=1e-12,
        maximum=0.5,
    )
    side_lobes: bool = boolean(
        False, "Report peaks that windows and array make of a stronger target as well"
    )

    def __post_init__(self) -> None:
        check(self)
        if self.rank > self.window:
            raise ParameterError(
                f"rank = {self.rank} is out of range, allowed is at most window = {self.window}"
            )


@dataclass(frozen=True)
class TracingParameters:
    """Paths, and what is made of them."""

    max_bounces: int = integer(3, "Surfaces that a path may meet", minimum=1, maximum=8)
    synthesis: Synthesis = choice(
        Synthesis.kernel,
        "How paths become a cube: by the kernels of the transforms, or sample by sample (beat), "
        "which is slow and right for what crosses cells of range in a frame",
    )
    speed_extended: SpeedExtended = choice(
        SpeedExtended.none,
        "What tells speeds beyond the unambiguous one, where transmitters fire in turns: nothing, "
        "or the folding whose phases between transmitters fit best (hypotheses)",
    )
    max_targets: int = integer(
        16, "Targets in a list, the strongest; 16 are on outputs", minimum=1, maximum=100_000
    )
    noise: bool = boolean(True, "Whether the receiver has noise", name="noise.on")
    cube: bool = boolean(
        True, "Write the cube of each frame, where files are written", name="cube.on"
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class RayTracedParameters:
    """All that a ray-traced radar is."""

    antenna: AntennaParameters = field(default_factory=AntennaParameters)
    chirp: ChirpParameters = field(default_factory=ChirpParameters)
    window: WindowParameters = field(default_factory=WindowParameters)
    fov: FieldParameters = field(default_factory=FieldParameters)
    rays: TubeParameters = field(default_factory=TubeParameters)
    cfar: CfarParameters = field(default_factory=CfarParameters)
    tracing: TracingParameters = field(default_factory=TracingParameters)
