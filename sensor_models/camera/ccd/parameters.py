"""What a CCD camera is: its optics, its chip, and how its light is worked out.

Names are those of the physics specification (15 and 32). ``exposure`` is an input, so that a
master can control it; ``exposure_time`` stands where it is 0, and where that is 0, too, what
``auto_exposure`` finds. ``camera`` has the equations.
"""

from dataclasses import dataclass
from enum import IntEnum

from sensor_models.camera.lens import TERMS, Distortion
from sensor_models.core.quantities import (
    ParameterError,
    boolean,
    check,
    choice,
    integer,
    real,
    string,
)
from sensor_models.kernels.camera.ccd.shots import MOST_SAMPLES

MOST_BANDS = 6
#: Rays of one frame, before the trees of each.
MOST_RAYS = 2**26
LARGEST_SIDE = 8192


class SensorModel(IntEnum):
    """How light becomes digital numbers."""

    relative = 0
    emva = 1


class Bayer(IntEnum):
    """Colours of the four pixels of a cell, row by row."""

    none = 0
    rggb = 1
    bggr = 2
    grbg = 3
    gbrg = 4


class WhiteBalance(IntEnum):
    """What makes grey look grey."""

    none = 0
    daylight = 1
    gray_world = 2
    gains = 3


class ColorMatrix(IntEnum):
    """What makes colours of sRGB of the three bands."""

    none = 0
    fit = 1
    values = 2


class Tone(IntEnum):
    """The curve between light and digital numbers."""

    by_depth = 0
    power = 1
    srgb = 2


class Sharing(IntEnum):
    """Who shares light from around."""

    none = 0
    neighbours = 1


#: When rows are exposed. A word of Python's stands among the names.
Shutter = IntEnum("Shutter", {"global": 0, "rolling": 1})


@dataclass(frozen=True)
class OpticsParameters:
    """The lens, and what it throws its image on."""

    image_distance: float = real(
        6.0072e-3, "m", "Exit pupil to chip; the picture is projected with it", minimum=1e-6
    )
    focal_length: float = real(6e-3, "m", "Focal length", minimum=1e-6)
    pupil_radius: float = real(1.5e-3, "m", "Radius of the exit pupil", minimum=0.0)
    f_number: float = real(
        0.0, "1", "f-number; 0 takes focal_length / (2 pupil_radius)", minimum=0.0
    )
    lens_transmission: float = real(
        0.9, "1", "Share of the light that the lens lets through", minimum=1e-6, maximum=1.0
    )
    ccd_size: tuple[float, float] = real(
        (4.76e-3, 3.57e-3), "m", "Sides of the chip", components=("width", "height"), minimum=1e-6
    )
    width: int = integer(
        1024, "Columns of the picture", minimum=1, maximum=LARGEST_SIDE, name="pixels.width"
    )
    height: int = integer(
        768, "Rows of the picture", minimum=1, maximum=LARGEST_SIDE, name="pixels.height"
    )
    intrinsics: tuple[float, float, float, float] = real(
        (0.0, 0.0, 0.0, 0.0),
        "1",
        "Focal lengths and principal point in pixels, whose middles are at halves, used where they "
        "are not 0; fx = 0 stands for image_distance over a pixel's side, fy = 0 likewise, cx = 0 "
        "and cy = 0 for the middle",
        components=("fx", "fy", "cx", "cy"),
        minimum=0.0,
    )
    distortion_model: Distortion = choice(
        Distortion.pinhole,
        "OpenCV's model that the coefficients of distortion are of; fisheye has k1 to k4",
        name="distortion.model",
    )
    distortion: tuple[float, ...] = real(
        (0.0,) * len(TERMS), "1", "Distortion of the lens, as OpenCV counts it", components=TERMS
    )
    seidel: tuple[float, float, float, float, float] = real(
        (0.0, 0.0, 0.0, 0.0, 0.0),
        "1/m3",
        "Spherical aberration, astigmatism, field curvature, distortion and coma",
        components=("b", "c", "d", "e", "f"),
    )
    pupil_samples: int = integer(
        1, "Points of the pupil; 1 is the chief ray, blur needs 32", minimum=1, maximum=1024
    )
    sample_factor: int = integer(
        1, "Cells along each side of a pixel, with a ray each", minimum=1, maximum=8
    )
    vignetting: float = real(
        0.0, "1/m", "Loss of light per distance from the middle of the chip", minimum=0.0
    )

    def __post_init__(self) -> None:
        check(self)
        if self.width * self.height * self.sample_factor**2 > MOST_RAYS:
            raise ParameterError(
                f"pixels.width x pixels.height x sample_factor^2 = {self.width} x {self.height} x "
                f"{self.sample_factor}^2 is out of range, allowed is at most {MOST_RAYS} rays"
            )
        if self.f_number == 0.0 and self.pupil_radius == 0.0:
            raise ParameterError(
                "f_number = 0 and pupil_radius = 0 m let no light in, allowed is one of them"
            )

    @property
    def focal_lengths(self) -> tuple[float, float]:
        """Focal lengths in pixels, across and down."""
        fx, fy, _, _ = self.intrinsics
        across = fx or self.image_distance * self.width / self.ccd_size[0]
        return across, fy or (fx or self.image_distance * self.height / self.ccd_size[1])

    @property
    def principal_point(self) -> tuple[float, float]:
        """Where the optical axis meets the picture, in pixels, whose middles are at halves."""
        return self.intrinsics[2] or self.width / 2.0, self.intrinsics[3] or self.height / 2.0

    @property
    def stops(self) -> float:
        """The f-number."""
        return self.f_number or self.focal_length / (2.0 * self.pupil_radius)

    @property
    def pixel_area(self) -> float:
        """The area of one pixel, m2."""
        return self.ccd_size[0] * self.ccd_size[1] / (self.width * self.height)


@dataclass(frozen=True)
class PictureParameters:
    """How the picture is made of the light on the chip."""

    bands: int = integer(3, "Bands of wavelengths: 1 is grey, 3 are red, green and blue",
                         minimum=1, maximum=MOST_BANDS)  # fmt: skip
    infrared_filter: bool = boolean(
        True, "Light from 400 to 700 nm reaches the chip; false: to 1000 nm"
    )
    exposure_time: float = real(
        0.0,
        "s",
        "Exposure where the input exposure is 0; 0: the exposure follows the light (auto_exposure)",
        minimum=0.0,
        maximum=3600.0,
    )
    gain: float = real(1.0, "1", "Gain before gamma", minimum=1e-9)
    gamma: float = real(
        1.0, "1", "Exponent of the normalised value, where tone is power", minimum=1e-3
    )
    full_scale: float = real(
        1.0, "J/m2", "Exposure of the chip that gives the largest number; model relative",
        minimum=1e-300,
    )  # fmt: skip
    bit_depth: int = integer(
        0, "Bits of a number; 0: 8 with the model relative, 12 with emva", minimum=0, maximum=16
    )
    bayer: Bayer = choice(Bayer.none, "Mosaic of colours before the pixels; needs three bands")
    demosaic: bool = boolean(False, "Give three colours for each pixel of a mosaic, by averages")
    temperature: float = real(298.15, "K", "Temperature of the chip", minimum=1.0, maximum=1000.0)
    shutter: Shutter = choice(Shutter["global"], "When rows are exposed: at once, or one by one")
    line_time: float = real(
        20e-6, "s", "From the beginning of a row to that of the next, of a rolling shutter",
        minimum=0.0, maximum=1.0,
    )  # fmt: skip
    motion_samples: int = integer(
        1,
        "Rays of each pixel over its exposure, which blur what moves; 1 takes its beginning",
        minimum=1,
        maximum=MOST_SAMPLES,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.bayer != Bayer.none and self.bands != 3:
            raise ParameterError(f"bayer needs bands = 3, not {self.bands}")


@dataclass(frozen=True)
class ColorParameters:
    """How pictures for people are made of the bands of a chip.

    Balance and matrix are for pictures of three bands with three colours for each pixel; a mosaic
    without ``demosaic`` stays as it is.
    """

    white_balance: WhiteBalance = choice(
        WhiteBalance.daylight,
        "Gains of the bands before color_matrix: by a grey under the sun and sky of the scene, by "
        "the mean of each picture, or those given; for pictures of three colours",
    )
    gains: tuple[float, float, float] = real(
        (1.0, 1.0, 1.0),
        "1",
        "Gains that white_balance = gains takes",
        components=("red", "green", "blue"),
        minimum=1e-9,
        name="white_balance_gains",
    )
    color_matrix: ColorMatrix = choice(
        ColorMatrix.fit,
        "From balanced bands to linear sRGB: as a colour chart under the sun and sky of the scene "
        "asks for, or as given; for pictures of three colours",
    )
    values: tuple[float, ...] = real(
        (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        "1",
        "Matrix that color_matrix = values takes, row by row",
        components=tuple(f"{row}{column}" for row in "rgb" for column in "rgb"),
        name="color_matrix_values",
    )
    tone: Tone = choice(
        Tone.by_depth,
        "Curve of digital numbers: the power gamma, or that of sRGB; by_depth: srgb for colours "
        "and grey of 8 bits with gamma = 1, else power",
    )

    def __post_init__(self) -> None:
        check(self)


#: Of pictures whose numbers are those of the chip.
RAW = ColorParameters(
    white_balance=WhiteBalance.none, color_matrix=ColorMatrix.none, tone=Tone.power
)


@dataclass(frozen=True)
class ChipParameters:
    """The chip, with the quantities of EMVA 1288."""

    model: SensorModel = choice(
        SensorModel.relative, "Exposure over full_scale, or photons and electrons with their noise"
    )
    qe: float = real(
        0.6, "1", "Quantum efficiency where qe_curve is empty", minimum=0.0, maximum=1.0
    )
    qe_curve: str = string(
        "", "Quantum efficiency by wavelength: pairs nm:value separated by blanks, linear between"
    )
    dark_current: float = real(10.0, "1/s", "Electrons without light", minimum=0.0)
    reference_temperature: float = real(
        298.15, "K", "Temperature that dark_current is for", minimum=1.0, maximum=1000.0
    )
    doubling: float = real(8.0, "K", "Warming that doubles the dark current", minimum=0.1)
    read_noise: float = real(4.0, "1", "Standard deviation in electrons", minimum=0.0)
    full_well: float = real(15000.0, "1", "Most electrons of a pixel", minimum=1.0)
    system_gain: float = real(0.25, "1", "Digital numbers per electron", minimum=1e-9)
    black_level: float = real(100.0, "1", "Digital number without electrons", minimum=0.0)
    dsnu: float = real(0.0, "1", "Fixed pattern without light, electrons", minimum=0.0)
    prnu: float = real(0.0, "1", "Fixed pattern of the response, as a share", minimum=0.0)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class FilterParameters:
    """The filter of one band."""

    center: float = real(
        0.0, "m", "Middle of a Gaussian filter, where width is not 0", minimum=0.0, maximum=2e-6
    )
    width: float = real(
        0.0,
        "m",
        "Standard deviation of a Gaussian filter; 0: of three bands 600, 540 and 460 nm with 40 nm,"
        " of others none",
        minimum=0.0,
        maximum=1e-6,
    )
    curve: str = string(
        "",
        "Share that the filter lets through by wavelength, in place of the Gaussian: pairs nm:value"
        " separated by blanks, linear between, 0 outside",
    )
    gain: float = real(1.0, "1", "Gain of the band besides that of all", minimum=1e-9)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class LightParameters:
    """How the light of the scene is worked out."""

    rays: int = integer(
        16,
        "Rays to sky and surroundings from each point that is seen; where light is shared, from "
        "8 x 8 pixels together, fewer than 8 counting as 8, and up to half as many from each point "
        "that agrees with no neighbour; points in the sun send fewer",
        minimum=1,
        maximum=4096,
    )
    sharing: Sharing = choice(
        Sharing.neighbours,
        "Who shares the light of sky and surroundings: points near by on one surface, or nobody",
    )
    depth: int = integer(
        6, "Panes and mirrors one after the other that a ray is followed through",
        minimum=0, maximum=9,
    )  # fmt: skip
    sky_at_bounce: bool = boolean(
        True,
        "A ray looks for the sky at each bounce, too; else a bounce has the whole sky above it, "
        "also in closed rooms",
    )

    def __post_init__(self) -> None:
        check(self)
