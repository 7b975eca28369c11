"""What a depth camera is: its optics, what it gives, and its noise.

Names and defaults are those of GYM, which calls the camera's and the lidar's grid by the same
ones; angles are in rad here. Departures: images are in m unless ``normalize_range`` is set; noise
and every optional output are switched by themselves, so an image and a point cloud can be had of
one pass, while GYM gives the cloud instead of the image (``return_image`` false does that here).
"""

import math
from dataclasses import dataclass
from enum import IntEnum

from sensor_models.core.quantities import (
    NO_LIMIT,
    ParameterError,
    boolean,
    check,
    choice,
    integer,
    real,
)

LARGEST_SIDE = 16384  # pixels
MOST_RAYS = 2**26  # of one camera; their directions take 24 bytes each


class Projection(IntEnum):
    """How pixels become rays."""

    pinhole = 0
    spherical = 1


class NormalizeMode(IntEnum):
    """What a normalised image is divided by."""

    max = 0
    minmax = 1


class ZoneTarget(IntEnum):
    """Which target a pixel with several rays reads."""

    nearest = 0
    strongest = 1
    mean = 2


class ZoneStatus(IntEnum):
    """The state of a zone's reading."""

    none = 0
    one = 1
    several = 2
    too_near = 3


@dataclass(frozen=True)
class DepthCameraParameters:
    """Optics, limits and outputs."""

    projection: Projection = choice(
        Projection.pinhole, "Rays through square pixels, or a grid of azimuth and elevation"
    )
    width: int = integer(480, "Columns of the image", minimum=1, maximum=LARGEST_SIDE)
    height: int = integer(270, "Rows of the image", minimum=1, maximum=LARGEST_SIDE)
    horizontal_fov: float = real(
        math.radians(87.0),
        "rad",
        "Horizontal field of view of a pinhole; the vertical one follows, as pixels are square",
        minimum=0.0,
        maximum=math.pi,
    )
    intrinsics: tuple[float, float, float, float] = real(
        (0.0, 0.0, 0.0, 0.0),
        "1",
        "Focal lengths and principal point in pixels, whose middles are at halves, used where fx "
        "is not 0; fy = 0 stands for fx, cx = 0 and cy = 0 for the middle of the image",
        components=("fx", "fy", "cx", "cy"),
        minimum=0.0,
    )
    distortion: tuple[float, float, float, float, float] = real(
        (0.0, 0.0, 0.0, 0.0, 0.0),
        "1",
        "Distortion of the lens by Brown and Conrady",
        components=("k1", "k2", "p1", "p2", "k3"),
    )
    azimuth: tuple[float, float] = real(
        (-math.pi, math.pi),
        "rad",
        "Limits of a spherical grid, positive to the left; the first column is at the maximum",
        components=("min", "max"),
        name="pattern.azimuth",
        minimum=-math.tau,
        maximum=math.tau,
    )
    elevation: tuple[float, float] = real(
        (-math.pi / 4.0, math.pi / 4.0),
        "rad",
        "Limits of a spherical grid, positive upward; the first row is at the maximum",
        components=("min", "max"),
        name="pattern.elevation",
        minimum=-math.pi / 2.0,
        maximum=math.pi / 2.0,
    )
    endpoint: bool = boolean(
        True,
        "The last column of a spherical grid is at the minimum; false leaves it out, so that the "
        "columns of a full turn are all different",
        name="pattern.endpoint",
    )
    rays_per_side: int = integer(
        1,
        "Rays along each side of a pixel, as a zone of a time-of-flight sensor, which reads one "
        "distance of them all",
        minimum=1,
        maximum=64,
    )
    zone_target: ZoneTarget = choice(
        ZoneTarget.nearest,
        "What a pixel of several rays reads: its nearest target, its strongest, or the mean over "
        "all rays that hit something up to max_range",
        name="zone.target",
    )
    zone_separation: float = real(
        0.6,
        "m",
        "Rays of a pixel that find something within this distance behind its first are one target, "
        "which reads their mean",
        name="zone.separation",
        minimum=0.0,
    )
    min_range: float = real(0.2, "m", "Least distance", minimum=0.0)
    max_range: float = real(10.0, "m", "Greatest distance", minimum=0.0)
    near_value: float = real(0.0, "m", "Value of a pixel below min_range")
    far_value: float = real(
        NO_LIMIT, "m", "Value of a pixel beyond max_range or without a hit; 1e300 for max_range"
    )
    calculate_depth: bool = boolean(
        True, "Distances along the optical axis; false: along the ray, as spherical ones always are"
    )
    return_image: bool = boolean(True, "Make the image of distances")
    return_pointcloud: bool = boolean(False, "Make a point for each pixel")
    pointcloud_in_world_frame: bool = boolean(
        False, "Points and normals in the world frame instead of the sensor frame"
    )
    segmentation: bool = boolean(True, "Make images of entity ids and of semantic labels")
    return_faces: bool = boolean(False, "Make an image of the indices of faces in their meshes")
    return_normals: bool = boolean(False, "Make an image of surface normals, toward the sensor")
    normalize_range: bool = boolean(
        False, "Divide the image by its limits; messages and logs are in m all the same"
    )
    normalize_mode: NormalizeMode = choice(
        NormalizeMode.max, "Divide by max_range, or map min_range to max_range to 0 to 1"
    )

    def __post_init__(self) -> None:
        check(self)
        self._check_optics()
        _check_order("min_range", self.min_range, "max_range", self.max_range, "m")
        if self.width * self.height * self.rays_per_side**2 > MOST_RAYS:
            raise ParameterError(
                f"width x height x rays_per_side^2 = {self.width} x {self.height} x "
                f"{self.rays_per_side}^2 is out of range, allowed is at most {MOST_RAYS} rays"
            )

    def _check_optics(self) -> None:
        if self.projection == Projection.spherical:
            _check_order("pattern.azimuth.min", self.azimuth[0], "max", self.azimuth[1], "rad")
            low, high = self.elevation
            _check_order("pattern.elevation.min", low, "max", high, "rad")
            if self.azimuth[1] - self.azimuth[0] > math.tau * (1.0 + 1e-12):
                raise ParameterError(
                    f"pattern.azimuth spans {self.azimuth[1] - self.azimuth[0]} rad, allowed is "
                    "at most a turn, 2 pi rad"
                )
        elif self.intrinsics[0] == 0.0 and not 1e-6 <= self.horizontal_fov <= math.pi - 1e-6:
            raise ParameterError(
                f"horizontal_fov = {self.horizontal_fov} rad is impossible for a pinhole, whose "
                "image plane sees less than half a turn: allowed is 1e-6 to pi - 1e-6 rad"
            )

    @property
    def takes_depth(self) -> bool:
        """Whether distances are depths."""
        return self.calculate_depth and self.projection == Projection.pinhole

    @property
    def focal_lengths(self) -> tuple[float, float]:
        """Focal lengths of a pinhole in pixels, across and down."""
        fx, fy, _, _ = self.intrinsics
        if fx == 0.0:
            fx = fy = self.width / (2.0 * math.tan(self.horizontal_fov / 2.0))
        return fx, fy or fx

    @property
    def principal_point(self) -> tuple[float, float]:
        """Where the optical axis meets the image of a pinhole, in pixels."""
        fx, _, cx, cy = self.intrinsics
        given = fx != 0.0
        return (cx if given and cx else self.width / 2.0, cy if given and cy else self.height / 2.0)

    @property
    def vertical_fov(self) -> float:
        """Vertical field of view of a pinhole with its principal point in the middle, rad."""
        return 2.0 * math.atan(self.height / (2.0 * self.focal_lengths[1]))


def _check_order(low_name: str, low: float, high_name: str, high: float, unit: str) -> None:
    if not low < high:
        raise ParameterError(f"{low_name} = {low} {unit} must be less than {high_name} = {high}")


@dataclass(frozen=True)
class ImageNoiseParameters:
    """Errors of the distances; none is there unless it is switched on."""

    on: bool = boolean(False, "Switch all noise on", name="noise.on")
    dropout: float = real(
        0.01,
        "1",
        "Probability that a pixel fails and reads 0",
        minimum=0.0,
        maximum=1.0,
        name="noise.dropout",
    )
    multiplier: float = real(
        0.01,
        "1",
        "Standard deviation of the relative error of a distance",
        minimum=0.0,
        name="noise.multiplier",
    )
    far_multiplier: float = real(
        0.0,
        "1",
        "The same beyond noise.far.distance, 0 for no difference",
        minimum=0.0,
        name="noise.far.multiplier",
    )
    far_from: float = real(
        0.0,
        "m",
        "Distance from which on noise.far.multiplier counts",
        minimum=0.0,
        name="noise.far.distance",
    )
    rms: float = real(
        0.0,
        "m",
        "Standard deviation of an error that is the same at any distance",
        minimum=0.0,
        name="noise.rms",
    )
    bias: float = real(0.0, "m", "Error that all distances have", name="noise.bias")
    scale_error: float = real(
        0.0,
        "1",
        "Relative error that all distances have",
        minimum=-0.5,
        maximum=0.5,
        name="noise.scale_error",
    )
    reflectance: float = real(
        0.0,
        "1",
        "Diffuse reflectance of the targets that noise.rms and the multipliers are given for: on "
        "others they change by the root of its ratio to theirs; 0 for the same on all",
        minimum=0.0,
        maximum=1.0,
        name="noise.reflectance",
    )
    baseline: float = real(
        0.0, "m", "Distance of the two eyes of a stereo camera", minimum=0.0, name="noise.baseline"
    )
    disparity_sigma: float = real(
        0.0,
        "1",
        "Standard deviation of the disparity in pixels: an error of depth that grows with its "
        "square",
        minimum=0.0,
        name="noise.disparity.rms",
    )
    disparity_step: float = real(
        0.0,
        "1",
        "Step of the disparity in pixels; 0 for none",
        minimum=0.0,
        name="noise.disparity.step",
    )
    edge_dropout: float = real(
        0.0,
        "1",
        "Probability that a pixel beside a jump of depth fails and reads 0",
        minimum=0.0,
        maximum=1.0,
        name="noise.edge.dropout",
    )
    edge_jump: float = real(
        0.1,
        "1",
        "Share of the depth by which neighbours differ at a jump",
        minimum=1e-6,
        name="noise.edge.jump",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.is_stereo and self.baseline == 0.0:
            raise ParameterError(
                "noise.baseline = 0.0 m is out of range, allowed is more than 0 m where "
                "noise.disparity.rms or noise.disparity.step is not 0"
            )

    @property
    def is_stereo(self) -> bool:
        """Whether distances come from disparities."""
        return self.disparity_sigma > 0.0 or self.disparity_step > 0.0
