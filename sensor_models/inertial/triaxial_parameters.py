"""The parameters of a triaxial sensor: its errors, in the order of the signal."""

from dataclasses import dataclass
from typing import ClassVar

from sensor_models.core.codes import (
    NO_GRID,
    Grid,
    RoundingMode,
    bits_of_codes,
    bits_without_limits,
    grid_of_bits,
    legal_limits,
    rounding_mode,
)
from sensor_models.core.quantities import (
    NO_LIMIT,
    ParameterError,
    boolean,
    check,
    choice,
    integer,
    real,
    string,
)
from sensor_models.inertial.corruption import BoundMode, DriftType

XYZ = ("x", "y", "z")
MATRIX = tuple(row + column for row in XYZ for column in XYZ)
OFF_DIAGONAL = ("xy", "xz", "yx", "yz", "zx", "zy")

ZERO = (0.0, 0.0, 0.0)
ONE = (1.0, 1.0, 1.0)
LOWEST = (-NO_LIMIT, -NO_LIMIT, -NO_LIMIT)
HIGHEST = (NO_LIMIT, NO_LIMIT, NO_LIMIT)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class TriaxialParameters:
    """The errors of a triaxial sensor in the order of the signal; the defaults are none."""

    #: Unit of the signal; sensors of a kind set their own.
    UNIT: ClassVar[str] = "1"

    axes: str = string("xyz", "Axes that the sensor has, any of x y z; the others read 0")
    misalignment: tuple[float, ...] = real(
        (0.0,) * 6,
        "rad",
        "Angle by which the sensing axis of the first letter is turned toward the second axis",
        minimum=-0.5,
        maximum=0.5,
        components=OFF_DIAGONAL,
    )
    filter_cutoff: float = real(
        0.0,
        "Hz",
        "Frequency at which the sensing element's low-pass has lost 3 dB, 0 for no low-pass",
        minimum=0.0,
        name="filter.cutoff",
    )
    filter_order: int = integer(
        1, "Order of the low-pass (2: Butterworth)", minimum=1, maximum=2, name="filter.order"
    )
    filter_noise: bool = boolean(
        False,
        "Whether noise.density is noise in front of the low-pass, as in a chip that filters what "
        "its sensing element gives, instead of behind it",
        name="filter.noise",
    )
    delay: float = real(0.0, "s", "Time by which the reported signal is old", minimum=0.0)
    jitter: float = real(
        0.0, "s", "Root mean square of the random part that is added to the delay", minimum=0.0
    )
    range_lower: tuple[float, float, float] = real(
        LOWEST, "{u}", "Lowest input of the sensing element", components=XYZ, name="range.lower"
    )
    range_upper: tuple[float, float, float] = real(
        HIGHEST, "{u}", "Highest input of the sensing element", components=XYZ, name="range.upper"
    )
    bias: tuple[float, float, float] = real(
        ZERO, "{u}", "Zero offset at the reference temperature", components=XYZ
    )
    bias_temperature: tuple[float, float, float] = real(
        ZERO, "{u}/K", "Change of the zero offset with temperature", components=XYZ
    )
    reference_temperature: float = real(
        298.15, "K", "Temperature at which offset and scale are as given", minimum=0.0
    )
    cross_axis: tuple[float, ...] = real(
        IDENTITY,
        "1",
        "Share of the input along the second axis that leaks to the output of the first",
        components=MATRIX,
    )
    noise_rms: tuple[float, float, float] = real(
        ZERO,
        "{u}",
        "Standard deviation of the noise of a sample, whatever the rate",
        minimum=0.0,
        components=XYZ,
        name="noise.rms",
    )
    noise_density: tuple[float, float, float] = real(
        ZERO,
        "{u}/sqrt(Hz)",
        "Density of white noise: its Allan deviation at 1 s (two-sided), or that times root 2 "
        "(noise.one_sided), at any sampling rate; see noise.bandwidth",
        minimum=0.0,
        components=XYZ,
        name="noise.density",
    )
    noise_one_sided: bool = boolean(
        False,
        "Whether noise.density is one-sided, as the spectra of data sheets are: all noise lies at "
        "positive frequencies, and a sample's standard deviation is density sqrt(rate / 2)",
        name="noise.one_sided",
    )
    noise_bandwidth: float = real(
        0.0,
        "Hz",
        "Fixed bandwidth over which noise.density is one-sided (a sample's standard deviation is "
        "density sqrt(bandwidth) at any rate), 0 for that of the rate",
        minimum=0.0,
        name="noise.bandwidth",
    )
    drift_type: DriftType = choice(
        DriftType.none,
        "Drift: none, random walk (drift.walk), Gauss-Markov process (drift.std, "
        "drift.time_constant), or flicker noise alone (instability)",
        name="drift.type",
    )
    drift_walk: tuple[float, float, float] = real(
        ZERO,
        "{u}/sqrt(s)",
        "Growth of the random walk: its standard deviation after 1 s",
        minimum=0.0,
        components=XYZ,
        name="drift.walk",
    )
    drift_std: tuple[float, float, float] = real(
        ZERO,
        "{u}",
        "Standard deviation of the Gauss-Markov process in the long run",
        minimum=0.0,
        components=XYZ,
        name="drift.std",
    )
    drift_time_constant: float = real(
        100.0,
        "s",
        "Correlation time of the Gauss-Markov process",
        minimum=1e-9,
        name="drift.time_constant",
    )
    drift_bound: tuple[float, float, float] = real(
        ZERO,
        "{u}",
        "Magnitude that random walk and Gauss-Markov process do not exceed, 0 for none",
        minimum=0.0,
        components=XYZ,
        name="drift.bound",
    )
    drift_bound_mode: BoundMode = choice(
        BoundMode.truncated,
        "How the drift is kept within its bound: steps drawn from the part of their law that "
        "stays inside, steps folded back, outward steps that shrink, or cut off",
        name="drift.bound_mode",
    )
    drift_stationary: bool = boolean(
        False,
        "Whether the Gauss-Markov process starts anywhere in its long-run law instead of at 0",
        name="drift.stationary_start",
    )
    instability: tuple[float, float, float] = real(
        ZERO,
        "{u}",
        "Coefficient B of flicker noise, whose Allan deviation is level at 0.664 B; data sheets "
        "mostly give that level (in-run bias stability), so divide it by 0.664",
        minimum=0.0,
        components=XYZ,
    )
    scale: tuple[float, float, float] = real(ONE, "1", "Factor on the signal", components=XYZ)
    scale_error: tuple[float, float, float] = real(
        ZERO, "1", "Relative error of the scale at the reference temperature", components=XYZ
    )
    scale_temperature: tuple[float, float, float] = real(
        ZERO, "1/K", "Change of the relative error of the scale with temperature", components=XYZ
    )
    discretization_on: bool = boolean(
        False, "Whether the signal is rounded to codes", name="discretization.on"
    )
    discretization_mode: RoundingMode = rounding_mode()
    discretization_lsb: tuple[float, float, float] = real(
        ZERO,
        "{u}",
        "Step between codes, codes lie at its multiples; 0 for none",
        minimum=0.0,
        components=XYZ,
        name="discretization.lsb",
    )
    discretization_bits: int = bits_of_codes()
    saturation_on: bool = boolean(
        False, "Whether the output is limited by the saturation limits", name="saturation.on"
    )
    saturation_average: bool = boolean(
        False,
        "Whether the mean over the step is compared with the limits instead of the value",
        name="saturation.average",
    )
    saturation_min: tuple[float, float, float] = real(
        LOWEST, "{u}", "Lowest output", components=XYZ, name="saturation.min"
    )
    saturation_max: tuple[float, float, float] = real(
        HIGHEST, "{u}", "Highest output", components=XYZ, name="saturation.max"
    )

    @property
    def _unit(self) -> str:
        """The unit behind a number, for messages."""
        return "" if self.UNIT == "1" else f" {self.UNIT}"

    def __post_init__(self) -> None:
        check(self)
        self._check_axes()
        self._check_order("range.lower", self.range_lower, "range.upper", self.range_upper)
        self._check_order(
            "saturation.min", self.saturation_min, "saturation.max", self.saturation_max
        )
        self._check_noise()
        self._check_drift()
        self._check_codes()

    def grid(self, axis: int) -> Grid:
        """The codes of an axis; none for an axis that has no limits to spread bits between."""
        if not self.discretization_on:
            return NO_GRID
        if self.discretization_bits == 0:
            return Grid(self.discretization_lsb[axis])
        if not self._has_range(axis):
            return NO_GRID
        return grid_of_bits(
            self.saturation_min[axis], self.saturation_max[axis], self.discretization_bits
        )

    def limits(self, axis: int) -> tuple[float, float]:
        """The lowest and the highest output of an axis; codes, where there are codes."""
        if not self.saturation_on:
            return -NO_LIMIT, NO_LIMIT
        return legal_limits(
            self.saturation_min[axis],
            self.saturation_max[axis],
            self.grid(axis),
            (f"saturation.min.{XYZ[axis]}", f"saturation.max.{XYZ[axis]}"),
        )

    def has_limits(self, axis: int) -> bool:
        """Whether an axis has limits, which faults of the modes on, max and min need."""
        return self.saturation_on and self._has_range(axis)

    def _has_range(self, axis: int) -> bool:
        lower, upper = self.saturation_min[axis], self.saturation_max[axis]
        return lower > -NO_LIMIT and upper < NO_LIMIT

    def _check_axes(self) -> None:
        if not self.axes or len(set(self.axes)) < len(self.axes) or set(self.axes) - set(XYZ):
            raise ParameterError(
                f"axes = {self.axes!r} is not a choice of axes, "
                "allowed are x, y and z in any order, each at most once, at least one"
            )

    def _check_order(
        self, low_name: str, lower: tuple[float, ...], high_name: str, upper: tuple[float, ...]
    ) -> None:
        for axis, low, high in zip(XYZ, lower, upper, strict=True):
            if not low <= high:
                raise ParameterError(
                    f"{low_name}.{axis} = {low}{self._unit} is above {high_name}.{axis} = "
                    f"{high}{self._unit}, allowed is at most that"
                )

    def _check_noise(self) -> None:
        switches = {"noise.one_sided": self.noise_one_sided, "filter.noise": self.filter_noise}
        for name, is_on in switches.items():
            if is_on and self.noise_bandwidth > 0.0:
                raise ParameterError(
                    f"noise.bandwidth = {self.noise_bandwidth} Hz while {name} is True, "
                    "allowed is 0 Hz: the bandwidth is then that of the sampling rate"
                )

    def _check_drift(self) -> None:
        if self.drift_type == DriftType.flicker and not any(self.instability):
            raise ParameterError(
                f"instability = {self.instability}{self._unit} while drift.type is flicker, "
                "allowed is more than 0 on one axis at least"
            )
        if self.drift_stationary and self.drift_type == DriftType.random_walk:
            raise ParameterError(
                "drift.stationary_start = True while drift.type is random_walk, which has no "
                "long-run law; allowed is False, or another type"
            )

    def _check_codes(self) -> None:
        if self.discretization_bits > 0 and any(self.discretization_lsb):
            raise ParameterError(
                f"discretization.lsb = {self.discretization_lsb}{self._unit} and "
                f"discretization.bits = {self.discretization_bits} exclude each other, "
                "allowed is one of them, with the other at 0"
            )
        for axis in map(XYZ.index, self.axes):
            if (
                self.discretization_on
                and self.discretization_bits > 0
                and not self._has_range(axis)
            ):
                raise bits_without_limits(self.discretization_bits, XYZ[axis])
        for axis in range(3):
            self.limits(axis)
