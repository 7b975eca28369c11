"""The data of a scene, whatever file it was read from.

World frame: right-handed, z up, metres. A mesh is a list of triangles in its own frame. An
instance places a mesh in the world, or in the frame of a movable body. Everything
that a ray can hit is an instance and has an entity id; a semantic label may further be given to
an instance, or to the faces of its mesh.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError

#: The label for none, and the id of a ray that hit nothing.
NO_LABEL = -1


class Wrap(IntEnum):
    """How a texture goes on beyond its edges."""

    repeat = 0
    clamp = 1
    mirror = 2


class Use(IntEnum):
    """What the three numbers of each texel of a picture on a surface say.

    color       of the material, in its place: sRGB
    roughness   nothing, then the roughness (the root of α) and the share of metal, as linear bytes;
                the first factor is 1 if only roughness is told, 2 if only metal is, 3 for both
    normals     normals by the face, from -1 to 1, as linear bytes: along u, against v, up
    emission    colour of the light that it sends by itself: sRGB
    """

    color = 0
    roughness = 1
    normals = 2
    emission = 3


@dataclass(frozen=True)
class Texture:
    """A picture on a surface, which says what that is like from place to place.

    ``factor`` multiplies its numbers as linear ones: of ``emission`` it is the luminance of white
    in cd/m2, of ``normals`` it scales how far they lean.
    """

    name: str
    pixels: NDArray[np.uint8]  # (rows, columns, 3); the first row is at v = 0
    factor: tuple[float, float, float] = (1.0, 1.0, 1.0)
    wrap: tuple[Wrap, Wrap] = (Wrap.repeat, Wrap.repeat)  # along columns, along rows
    use: Use = Use.color


@dataclass(frozen=True)
class Mesh:
    """Triangles with their materials, labels and normals.

    If the coordinates of a file are too large for single precision, the vertices are relative to
    ``origin``, a point in the frame of the file. The transforms of the mesh's instances are for the
    vertices as they are here.
    """

    vertices: NDArray[np.float32]  # (n, 3), m
    faces: NDArray[np.uint32]  # (m, 3), counter-clockwise seen from outside
    face_material: NDArray[np.int32]  # (m,), index into Scene.materials
    face_label: NDArray[np.int32] | None = None  # (m,), NO_LABEL for the label of the instance
    vertex_normals: NDArray[np.float32] | None = None  # (n, 3), for interpolated normals
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m
    face_texture: NDArray[np.int32] | None = None  # (m,), index into Scene.textures; -1 for none
    #: Likewise of roughness, normals and emission, (m, 3), with the same places in them.
    face_maps: NDArray[np.int32] | None = None
    #: Of the corners of each face, (m, 3, 2): u, v; from 0 to 1 over the columns, and the rows.
    texture_places: NDArray[np.float32] | None = None
    #: Of a mesh that changes its shape, (k, n, 3): vertices at k evenly spaced times of its clip,
    #: from the first to the last; between two of them they are blended linearly.
    postures: NDArray[np.float32] | None = None
    clip_length: float = 0.0  # s, of that clip


@dataclass(frozen=True)
class Instance:
    """A mesh in the world, or on a body."""

    mesh: int
    transform: NDArray[np.float64]  # (4, 4), mesh to world, or mesh to body
    entity_id: int
    name: str = ""
    label: int = NO_LABEL
    body: int = -1  # index into Scene.bodies; -1 for none


@dataclass(frozen=True)
class Joint:
    """How a body moves on what carries it; axis and anchor are in the frame of the body.

    hinge   turns about the axis through the anchor, by a position in rad
    slide   shifts along the axis, by a position in m
    ball    turns about the anchor, by a unit quaternion
    """

    name: str
    kind: str = "hinge"
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)  # of unit length
    anchor: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m
    start: float = 0.0  # the position of the joint at which the body has the pose of the scene


#: The end of a clip: a whole one would be its beginning. Embree has it in single precision.
LAST_PHASE = 1.0 - 2.0**-24


@dataclass(frozen=True)
class Clip:
    """When the meshes of a body that change their shape have which one.

    At the time t, the clip is at ``start`` + ``rate`` t. It begins anew when it is over, or stays
    at its end without ``loop``.
    """

    start: float = 0.0  # s
    rate: float = 1.0
    loop: bool = True

    def phase_at(self, time: NDArray[np.float64], length: float) -> NDArray[np.float64]:
        """How far a clip of a length in s is, in such lengths; the whole part does not matter."""
        phase = (self.start + self.rate * time) / length
        return phase if self.loop else np.clip(phase, 0.0, LAST_PHASE)


@dataclass(frozen=True)
class Body:
    """A movable body: its pose, or the position of its joints, comes from outside.

    A body without a parent and without joints is free. One without a parent, but with joints, is
    carried by the world; one with a parent and without joints is fixed to it. The pose is that in
    the world at the start, of all bodies.
    """

    name: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)  # w, x, y, z
    parent: int = -1  # index into Scene.bodies, of one before this; -1 for none
    joints: tuple[Joint, ...] = ()  # from the parent outwards
    clip: Clip = field(default_factory=Clip)

    @property
    def is_free(self) -> bool:
        """Whether nothing carries it."""
        return self.parent < 0 and not self.joints


class SurfaceKind(IntEnum):
    """How a surface treats light."""

    lambert = 0
    two_layer = 1
    dielectric = 2
    tabulated = 3


#: Up to here a wavelength is light, with the laws of ``light``; longer waves are for radars.
LONGEST_LIGHT = 1e-4  # m

#: The band of a set of numbers with a wavelength but no band: this share of it to either side.
BAND_SHARE = 0.1

#: The usual names of bands, each up to a wavelength in m.
BAND_NAMES = (
    (380e-9, "ultraviolet"),
    (780e-9, "visible"),
    (1400e-9, "near infrared"),
    (3000e-9, "short-wave infrared"),
    (LONGEST_LIGHT, "infrared"),
    (1e-3, "submillimetre"),
    (float("inf"), "radar"),
)


def band_name(wavelength: float) -> str:
    """The usual name of the band of a wavelength."""
    return next(name for end, name in BAND_NAMES if wavelength <= end)


def wavelength_text(wavelength: float) -> str:
    """A wavelength in the unit that suits it."""
    if wavelength >= 1e-4:
        return f"{1e3 * wavelength:.4g} mm"
    return f"{1e6 * wavelength:.4g} um" if wavelength >= 1e-5 else f"{1e9 * wavelength:.4g} nm"


@dataclass(frozen=True, eq=False)
class Brdf:
    """A bidirectional reflectance as a table: isotropic, at one wavelength, without gaps.

    The azimuth is that between light and viewer: 0 where the viewer is at the light.
    """

    theta: NDArray[np.float64]  # (n,), rad from the normal, of light and of viewer, rising
    phi: NDArray[np.float64]  # (m,), rad of azimuth, 0 to π, rising
    values: NDArray[
        np.float64
    ]  # (n, n, m), 1/sr: by the angle of the light, of the viewer, azimuth


@dataclass(frozen=True)
class SurfaceParameters:
    """The optical numbers of a surface in a band of wavelengths."""

    diffuse_reflectance: float = 0.8
    ior: float = 1.5
    extinction: float = 0.0
    roughness_beckmann: float = 0.1
    roughness_oren_nayar: float = 0.3
    retro_reflectance: float = 0.0  # 1/sr toward the source, of retro-reflective sheeting
    brdf: Brdf | None = None  # of a tabulated surface; its diffuse reflectance is under an even sky
    band: tuple[float, float] | None = None  # m; None: BAND_SHARE to either side


@dataclass(frozen=True)
class RadarParameters:
    """The numbers of a surface in a band of a radar."""

    ior: float | None = None  # None: only the diffuse reflectance is known
    extinction: float = 0.0
    roughness_rms: float = 0.0  # m, height
    diffuse_reflectance: float | None = None  # None: from the roughness
    band: tuple[float, float] | None = None  # m; None: BAND_SHARE to either side


_Set = TypeVar("_Set", SurfaceParameters, RadarParameters)


def band_of(wavelength: float) -> tuple[float, float]:
    """The band of a set of numbers that gives only its wavelength."""
    return wavelength * (1.0 - BAND_SHARE), wavelength * (1.0 + BAND_SHARE)


def _holds(band: tuple[float, float], wavelength: float) -> bool:
    """Whether a band contains a wavelength; 850e-9 and 850 * 1e-9 count as equal."""
    return band[0] * (1.0 - 1e-9) <= wavelength <= band[1] * (1.0 + 1e-9)


@dataclass(frozen=True)
class Material:
    """A surface material: sets of numbers, each for a band of wavelengths.

    Nothing is known between the bands. A sensor that asks for such a wavelength is refused.
    """

    name: str
    kind: SurfaceKind
    at_wavelength: dict[float, SurfaceParameters]  # by the wavelength in m that they were made for
    two_way: bool = False  # how a two-layer surface transmits into its base
    color: tuple[float, float, float] | None = None  # sRGB, 0 to 1; None: not given
    source: str = ""  # where the numbers come from, or "estimate"
    at_radar: dict[float, RadarParameters] = field(default_factory=dict)  # likewise, longer waves
    emission: tuple[tuple[float, float], ...] = ()  # of a lamp: (wavelength in m, W/m2/sr/m)
    temperature: float | None = None  # K; None: that of the air
    emissivity: float | None = None  # at thermal wavelengths; None: that of its kind

    def at(self, wavelength: float) -> SurfaceParameters:
        """The numbers for light; ``ParameterError`` if no band holds the wavelength."""
        return self._found(self.at_wavelength, wavelength)

    def radar_at(self, wavelength: float) -> RadarParameters | None:
        """The numbers for a radar; None if there are none for radars at all.

        Without any, a radar infers the kind of material from the numbers for light. If there are
        numbers only for other bands, ``ParameterError`` is raised.
        """
        return self._found(self.at_radar, wavelength) if self.at_radar else None

    def bands(self) -> list[tuple[float, float]]:
        """The limits in m of all bands with numbers, those for light first."""
        sets: list[tuple[float, SurfaceParameters | RadarParameters]]
        sets = [*self.at_wavelength.items(), *self.at_radar.items()]
        return [numbers.band or band_of(wavelength) for wavelength, numbers in sets]

    def between(self, low: float, high: float) -> dict[float, SurfaceParameters]:
        """The sets of numbers for wavelengths in an interval, in rising order.

        A set whose band contains the whole interval counts at the end that is nearest to its own
        wavelength.
        """
        found = {}
        for wavelength in sorted(self.at_wavelength):
            numbers = self.at_wavelength[wavelength]
            band = numbers.band or band_of(wavelength)
            if low <= wavelength <= high or (_holds(band, low) and _holds(band, high)):
                found[min(max(wavelength, low), high)] = numbers
        return found

    def _found(self, sets: "dict[float, _Set]", wavelength: float) -> "_Set":
        """The set with the nearest wavelength among those whose bands contain this one."""
        holding = [
            w for w, numbers in sets.items() if _holds(numbers.band or band_of(w), wavelength)
        ]
        if not holding:
            bands = sorted(numbers.band or band_of(w) for w, numbers in sets.items())
            known = " and ".join(f"{wavelength_text(a)} to {wavelength_text(b)}" for a, b in bands)
            raise ParameterError(
                f"material {self.name}: has no numbers for {wavelength_text(wavelength)} "
                f"({band_name(wavelength)}), its bands are {known or 'none'}"
            )
        return sets[min(holding, key=lambda w: abs(w - wavelength))]


@dataclass(frozen=True)
class Medium:
    """A medium that light passes through: air, fog, rain, water."""

    name: str = "vacuum"
    absorption: float = 0.0  # extinction, 1/m
    return_shape: float = 1.0
    return_scale: float = 1.0  # m
    return_probability: float = 0.0
    ior: float = 1.0
    backscatter: float | None = None  # 1/sr; None: from absorption, pulse length and lidar ratio
    lidar_ratio: float = 18.8  # sr, extinction over backscatter; 18.8 for water droplets
    band: tuple[float, float] = (0.0, LONGEST_LIGHT)  # m, where the numbers hold

    def expect(self, wavelength: float) -> None:
        """Refuse a wavelength outside of the band; a medium without effect has every band."""
        clear = self.absorption == 0.0 and self.return_probability == 0.0 and self.ior == 1.0
        if clear or _holds(self.band, wavelength):
            return
        low, high = map(wavelength_text, self.band)
        raise ParameterError(
            f"medium {self.name}: has no numbers for {wavelength_text(wavelength)} "
            f"({band_name(wavelength)}), its band is {low} to {high}"
        )


@dataclass(frozen=True)
class MediumVolume:
    """A medium inside the closed surface of an instance, which rays pass through."""

    medium: int  # index into Scene.media
    instance: Instance


@dataclass(frozen=True)
class Sky:
    """Light for cameras: spectra as (wavelength in m, W/m2/m) or (wavelength, W/m2/sr/m) pairs."""

    sun_direction: tuple[float, float, float] = (0.3, 0.2, 0.93)  # toward the sun
    sun_spectrum: tuple[tuple[float, float], ...] = ()
    sky_spectrum: tuple[tuple[float, float], ...] = ()
    air_temperature: float = 288.15  # K
    zenith_emissivity: float = 1.0  # of the air straight up, at thermal wavelengths


@dataclass(frozen=True)
class Scene:
    """A whole scene."""

    name: str
    meshes: tuple[Mesh, ...]
    instances: tuple[Instance, ...]
    materials: tuple[Material, ...]
    bodies: tuple[Body, ...] = ()
    media: tuple[Medium, ...] = (Medium(),)  # media[0] fills the world
    volumes: tuple[MediumVolume, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.80665)
    magnetic_field: tuple[float, float, float] = (0.0, 0.0, 0.0)  # T
    origin: Georeference | None = None  # where the origin of the world is on the Earth
    sky: Sky = field(default_factory=Sky)
    textures: tuple[Texture, ...] = ()
    labels: dict[int, str] = field(default_factory=dict)  # names of semantic labels
    notes: tuple[str, ...] = ()  # what is not used of its files
    files: tuple[Path, ...] = ()  # everything it was read from, for its digest

    @property
    def clip_lengths(self) -> NDArray[np.float64]:
        """Of each body, how long the clip of its meshes lasts in s; 0 if they keep their shape."""
        lengths = np.zeros(len(self.bodies))
        for instance in self.instances:
            if instance.body >= 0 and (length := self.meshes[instance.mesh].clip_length) > 0.0:
                lengths[instance.body] = length
        return lengths

    @property
    def plays_clips(self) -> bool:
        """Whether anything changes its shape as time goes on."""
        lengths = self.clip_lengths.tolist()
        return any(
            length > 0.0 and body.clip.rate != 0.0
            for body, length in zip(self.bodies, lengths, strict=True)
        )
