"""The contents of a scene manifest: the tables, their keys, types and ranges.

The JSON Schema in ``docs/scene.schema.json`` is made from these classes. They check each table
by itself; conditions that need several tables or files are checked when the scene is assembled
(``assembly``); ``tables`` has what they are made of.
"""

import datetime
import json
import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from sensor_models.scene.tables import (
    Array,
    Color,
    Integer32,
    LightWavelength,
    Name,
    Pair,
    Positive,
    Scale,
    Share,
    Size2,
    Size3,
    Spectrum,
    Table,
    Vector,
    Wavelength,
    doc,
    one_of,
)


class Origin(Table):
    """The place on the Earth that the origin of the world is at (WGS 84)."""

    latitude_deg: float = doc("geodetic, north positive", ..., ge=-90.0, le=90.0)
    longitude_deg: float = doc("east positive", ..., ge=-180.0, le=180.0)
    height: float = doc("over the ellipsoid, m", 0.0, ge=-1e5, le=1e5)
    heading_deg: float = doc(
        "azimuth of +y, clockwise from north; at 0, x points east", 0.0, ge=-360.0, le=360.0
    )


class World(Table):
    """What fills the world, and where on the Earth it is."""

    gravity: Vector = doc("m/s2, world frame", (0.0, 0.0, -9.80665))
    magnetic_field: Vector = doc("T, world frame", (0.0, 0.0, 0.0))
    earth_field_date: datetime.date | None = doc(
        "takes the magnetic field of the Earth at the origin on this date, such as 2026-07-01"
    )
    medium: Name | None = doc("the medium outside of all volumes; without it, vacuum")
    origin: Origin | None = doc("where the origin of the world is on the Earth")

    @model_validator(mode="after")
    def _check_field(self) -> "World":
        if self.earth_field_date is not None:
            if self.origin is None:
                raise ValueError("earth_field_date needs an origin")
            if "magnetic_field" in self.model_fields_set:
                raise ValueError("gives magnetic_field and earth_field_date, allowed is one")
        return self


class SkyTable(Table):
    """Light for cameras."""

    preset: Literal["clear", "overcast", "night"] | None = doc("spectra by formula")
    sun_direction: Vector = doc("toward the sun", (0.3, 0.2, 0.93))
    sun_spectrum: Spectrum = doc("pairs of wavelength in m and irradiance in W/m2/m", ())
    sky_spectrum: Spectrum = doc("pairs of wavelength in m and radiance in W/m2/sr/m", ())
    air_temperature: float = doc("K, for thermal cameras", 288.15, ge=150.0, le=400.0)
    relative_humidity: Share = doc("of the air, for thermal cameras", 0.5)
    zenith_temperature: float | None = doc(
        "K, that a clear sky straight up seems to have at 8 to 14 um; without it by humidity",
        ge=0.0, le=400.0,
    )  # fmt: skip

    @model_validator(mode="after")
    def _check_values(self) -> "SkyTable":
        if math.hypot(*self.sun_direction) < 1e-6:
            raise ValueError("sun_direction has no direction")
        for key in ("sun_spectrum", "sky_spectrum"):
            _check_spectrum(key, getattr(self, key))
        return self


def _check_spectrum(key: str, pairs: tuple[tuple[float, float], ...]) -> None:
    """Refuse what is no spectrum."""
    wavelengths = [wavelength for wavelength, _ in pairs]
    if wavelengths != sorted(set(wavelengths)) or min(wavelengths, default=1.0) <= 0.0:
        raise ValueError(f"{key} needs wavelengths above 0 that rise")
    if any(light < 0.0 for _, light in pairs):
        raise ValueError(f"{key} has light below 0")


class View(Table):
    """From where a picture of the scene is taken."""

    position: Vector
    target: Vector
    field_of_view_deg: float = doc("horizontal", 60.0, ge=1.0, le=150.0)


class Surface(Table):
    """The numbers of a surface in one band of wavelengths; beyond 1e-4 m they are a radar's."""

    wavelength: Wavelength | None = doc("m, that they were made for; without it, all light")
    band: Annotated[tuple[Wavelength, Wavelength], Array] | None = doc(
        "m, limits between which they hold; without it, a tenth to either side of the wavelength"
    )
    diffuse_reflectance: Share | None = doc("share of the light that scatters back")
    ior: float | None = doc("real part of the refractive index", gt=0.0, le=1e5)
    extinction: float | None = doc("imaginary part of the refractive index", ge=0.0, le=1e5)
    roughness_beckmann: float | None = doc("rms slope of the top layer", ge=1e-4, le=1.0)
    roughness_oren_nayar: float | None = doc("facets of the base, rad", ge=0.0, le=1.5708)
    retro_reflectance: float | None = doc("1/sr toward the source", ge=0.0, le=1e6)
    roughness_rms: float | None = doc("of the height, m; for radars", ge=0.0, le=1.0)


class MaterialTable(Table):
    """A surface material, either of the library with another look or one of its own."""

    base: Name | None = doc("name of a material of the library")
    kind: Literal["lambert", "two_layer", "dielectric", "tabulated"] | None = None
    two_way: bool = doc("a two-layer surface transmits at the macro-angle, in and out", False)
    color: Color | None = doc("sRGB red, green, blue from 0 to 1, for cameras and pictures")
    emission: Spectrum = doc(
        "pairs of wavelength in m and radiance in W/m2/sr/m, of a lamp; for cameras", ()
    )
    temperature: float | None = doc(
        "K, for thermal cameras; without it that of the air", gt=0.0, le=5000.0
    )
    emissivity: Share | None = doc("at thermal wavelengths; without it that of its kind")
    source: Name | None = doc('where the numbers come from, or "estimate"')
    surface: Annotated[tuple[Surface, ...], Array] = doc("one set for each known band", ())
    brdf: Annotated[tuple[Name, ...], Array] = doc(
        "files of OpenMATERIAL with the tables of a tabulated surface, relative to the manifest", ()
    )

    @model_validator(mode="after")
    def _check_emission(self) -> "MaterialTable":
        _check_spectrum("emission", self.emission)
        return self


class TextureTable(Table):
    """A picture for cameras, laid along the axis that a face faces most, its middle at 0."""

    image: Name | None = doc("colours: png or jpeg, relative to the manifest")
    size: Size2 = doc("of the picture on the surface, m; it is repeated", ...)
    roughness: Name | None = doc("grey picture of the roughness of coats and metals, black: 0")
    metal: Name | None = doc("grey picture of the share of bare metal")
    normals: Name | None = doc("picture of normals: red along the columns, green up, blue out")
    lean: float = doc("factor of how far these lean", 1.0, ge=-100.0, le=100.0)
    emission: Name | None = doc("picture of the colours of light that the surface sends")
    luminance: float = doc("of white in that, cd/m2", 1.0, ge=0.0, le=1e9)

    @model_validator(mode="after")
    def _check_pictures(self) -> "TextureTable":
        kinds = ("image", "roughness", "metal", "normals", "emission")
        if all(getattr(self, kind) is None for kind in kinds):
            raise ValueError(f"names no picture, allowed are {', '.join(kinds)}")
        return self


class Part(Table):
    """Material, label and texture of a part of a mesh."""

    material: Name | None = None
    label: Name | None = None
    texture: TextureTable | None = None


class FaceRange(Table):
    """Material and label of consecutive faces of a mesh of one part."""

    material: Name | None = None
    label: Name | None = None
    first: Integer32
    count: Integer32 = Field(gt=0)


class Plane(Table):
    """A rectangle in z = 0 around the origin that faces up."""

    size: Size2


class Box(Table):
    """A box around the origin; parts: left, right, front, back, top, bottom (x, y and z)."""

    size: Size3


class Sphere(Table):
    """A sphere around the origin."""

    radius: Positive
    segments: int = doc("around the axis; half as many along it", 32, ge=3, le=4096)


class Cylinder(Table):
    """A cylinder around z, its middle at the origin; parts: side, top, bottom."""

    radius: Positive
    height: Positive
    segments: int = doc("around the axis", 32, ge=3, le=65536)
    capped: bool = True


class Capsule(Table):
    """A cylinder around z with half a sphere at each end, its middle at the origin."""

    radius: Positive
    height: Positive = doc("of the cylinder, m", ...)
    segments: int = doc("around the axis", 32, ge=4, le=4096)


class Heightmap(Table):
    """A terrain around the origin; rows of a picture or list run along x, the first at +y."""

    size: Size2 | None = doc("m; without it that of the map, which only a GeoTIFF has")
    image: Name | None = doc("grey PNG of 8 or 16 bits, or GeoTIFF with heights")
    low: float | None = doc("height of black in a PNG, m; 0 without it")
    high: float | None = doc("height of white in a PNG, m; 1 without it")
    origin: Pair | None = doc(
        "of a GeoTIFF: easting and northing of the scene's origin on the map, m; without it the"
        " terrain lies around the origin"
    )
    fill: float | None = doc("height where a GeoTIFF knows none, m; without it there is a hole")
    heights: Annotated[tuple[Annotated[tuple[float, ...], Array], ...], Array] | None = doc("m")
    formula: Annotated[str, Field(max_length=2000)] | None = doc("height in m of x and y in m")
    cells: Annotated[tuple[int, int], Array] = doc("of a formula, along x and y", (64, 64))

    @property
    def is_map(self) -> bool:
        """Whether its heights come from a GeoTIFF."""
        return self.image is not None and self.image.lower().endswith((".tif", ".tiff"))

    @model_validator(mode="after")
    def _check_source(self) -> "Heightmap":
        one_of(self, ("image", "heights", "formula"))
        if not all(1 <= cells <= 65536 for cells in self.cells):
            raise ValueError("cells must be from 1 to 65536")
        for key in ("low", "high") if self.is_map else ("origin", "fill"):
            if getattr(self, key) is not None:
                raise ValueError(f"{key} is for {'PNG' if self.is_map else 'GeoTIFF'} images")
        if self.size is None and not self.is_map:
            raise ValueError("size is required, unless the image is a GeoTIFF")
        if self.size is not None and self.origin is not None:
            raise ValueError("origin is for the size of the map, size is given")
        return self


_SHAPES = ("file", "plane", "box", "sphere", "cylinder", "capsule", "heightmap")


class MeshTable(Table):
    """Triangles: exactly one of file, plane, box, sphere, cylinder, capsule and heightmap."""

    file: Name | None = doc("glb, gltf, obj, stl or ply, relative to the manifest")
    plane: Plane | None = None
    box: Box | None = None
    sphere: Sphere | None = None
    cylinder: Cylinder | None = None
    capsule: Capsule | None = None
    heightmap: Heightmap | None = None
    up: Literal["y", "z"] | None = doc("the file's own axis; glTF has y, all others z")
    scale: Positive = doc("of the file's lengths", 1.0)
    clip: Name | None = doc("an animation of a glb or gltf, which changes the shape of the mesh")
    postures: int | None = doc(
        "shapes over the clip, with blends between them; 60 a second without it", ge=2, le=129
    )
    smooth: bool = doc("interpolate normals between vertices", False)
    material: Name | None = doc("where no part or face says otherwise")
    texture: TextureTable | None = doc("where no part or file says otherwise")
    luminance: float = doc(
        "factor of the light that the file's materials send by themselves: cd/m2 of its white",
        1.0, ge=0.0, le=1e9,
    )  # fmt: skip
    parts: dict[Name, Part] = doc("by the file's names of groups or materials", {})
    faces: Annotated[tuple[FaceRange, ...], Array] = ()
    vertex_labels: Name | None = doc("vertex property with label numbers; a face has its first's")
    face_labels: Name | None = doc("face property with label numbers (PLY)")

    @model_validator(mode="after")
    def _check_shape(self) -> "MeshTable":
        one_of(self, _SHAPES)
        if self.file is None:
            for key in ("up", "vertex_labels", "face_labels"):
                if getattr(self, key) is not None:
                    raise ValueError(f"{key} is for meshes from a file")
            if self.scale != 1.0:
                raise ValueError("scale is for meshes from a file")
        self._check_clip()
        return self

    def _check_clip(self) -> None:
        if self.clip is None:
            if self.postures is not None:
                raise ValueError("postures is for meshes with a clip")
            return
        if self.file is None or not self.file.lower().endswith((".glb", ".gltf")):
            raise ValueError("clip is for meshes from a glb or gltf")
        for key in ("smooth", "vertex_labels", "face_labels"):
            if getattr(self, key):
                raise ValueError(f"{key} is not for meshes with a clip")


class Place(Table):
    """A position with a turn around the vertical."""

    position: Vector = (0.0, 0.0, 0.0)
    yaw_deg: float = 0.0
    scale: Positive = 1.0


class Pose(Table):
    """Where something is; the orientation as quaternion or as angles, not both."""

    position: Vector = doc("m", (0.0, 0.0, 0.0))
    orientation: Annotated[tuple[float, float, float, float], Array] | None = doc("w, x, y, z")
    roll_pitch_yaw_deg: Vector | None = doc("turns about x, then y, then z of the outer frame")

    @model_validator(mode="after")
    def _check_orientation(self) -> "Pose":
        if self.orientation is not None and self.roll_pitch_yaw_deg is not None:
            raise ValueError("gives orientation and roll_pitch_yaw_deg, allowed is one of them")
        return self


class InstanceTable(Pose):
    """A mesh somewhere: in the world or in the frame of a body."""

    mesh: Name
    name: str = ""
    entity_id: Integer32 | None = doc("without it, the next number that is free, from 1 on")
    label: Name | None = None
    temperature: float | None = doc(
        "K, of all of it, for thermal cameras; without it that of its materials",
        gt=0.0, le=5000.0,
    )  # fmt: skip
    body: Name | None = doc("the body that carries it")
    scale: Scale = doc("one factor, or one for each axis of the mesh", (1.0, 1.0, 1.0))
    places: Annotated[tuple[Place, ...], Array] = doc("many copies, each with its entity id", ())


_Word = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]


class JointTable(Table):
    """How a body moves on its parent, or on the world; in the frame of the body."""

    name: _Word
    kind: Literal["hinge", "slide", "ball"] = doc("turns, shifts, or turns in any way", "hinge")
    axis: Vector = doc("of a hinge or slide", (0.0, 0.0, 1.0))
    anchor: Vector = doc("a point that a hinge or ball turns about, m", (0.0, 0.0, 0.0))
    start: float = doc("position at which the body has the pose given here, rad or m", 0.0)

    @model_validator(mode="after")
    def _check_axis(self) -> "JointTable":
        if math.hypot(*self.axis) < 1e-6:
            raise ValueError("axis has no direction")
        return self


class ClipTable(Table):
    """When the meshes of a body with a clip have which shape."""

    start: float = doc("where in the clip the simulation begins, s", 0.0, ge=-1e6, le=1e6)
    rate: float = doc("seconds of the clip in a second", 1.0, ge=-1e3, le=1e3)
    loop: bool = doc("begins anew when it is over; else it stays at its end", True)


class BodyTable(Pose):
    """Something that moves; its pose in the world here holds until one comes from outside."""

    name: _Word
    parent: Name | None = doc("the body that carries it, given before it")
    joints: Annotated[tuple[JointTable, ...], Array] = doc(
        "how it moves on its parent or on the world, from there outwards", ()
    )
    clip: ClipTable = doc("when its meshes with a clip have which shape", ClipTable())


class MediumTable(Table):
    """What light passes through: a preset with its one measure, or numbers of its own."""

    preset: Literal["air", "fog", "rain", "snow", "dust"] | None = None
    visibility: Positive | None = doc("meteorological visibility of air or fog, m")
    rate_mm_h: float | None = doc("water that rain or snow brings, mm/h", ge=0.0, le=500.0)
    concentration: float | None = doc("of dust, kg/m3", ge=0.0, le=1.0)
    wavelength: LightWavelength | None = doc("that a preset is for, m; 905e-9 without it")
    band: Annotated[tuple[LightWavelength, LightWavelength], Array] | None = doc(
        "limits of the wavelengths that it is known for, m; those of its preset, or all light"
    )
    absorption: float | None = doc("extinction, 1/m", ge=0.0, le=1e6)
    return_shape: float | None = doc("of the gamma law of first returns", gt=0.0, le=1e3)
    return_scale: float | None = doc("of the gamma law of first returns, m", gt=0.0, le=1e6)
    return_probability: Share | None = doc("share of the pulses with a return from the medium")
    ior: float | None = doc("refractive index", ge=1.0, le=10.0)
    backscatter: float | None = doc("1/sr; without it, from the extinction", ge=0.0, le=1e6)
    lidar_ratio: float | None = doc("extinction over backscatter, sr", gt=0.0, le=1e4)


class VolumeTable(Pose):
    """A medium inside a closed mesh."""

    medium: Name
    mesh: Name
    name: str = ""
    body: Name | None = None
    scale: Scale = (1.0, 1.0, 1.0)


class Manifest(Table):
    """A scene."""

    format: Literal[1] = doc("version of this format", ...)
    name: Name
    description: str = ""
    world: World = World()
    sky: SkyTable = SkyTable()
    view: View | None = None
    labels: dict[Name, Integer32] = doc("numbers of semantic labels", {})
    materials: dict[Name, MaterialTable] = doc("in addition to those of the library", {})
    media: dict[Name, MediumTable] = doc("by their names", {})
    meshes: dict[Name, MeshTable] = doc("by their names", {})
    bodies: Annotated[tuple[BodyTable, ...], Array] = ()
    instances: Annotated[tuple[InstanceTable, ...], Array] = ()
    volumes: Annotated[tuple[VolumeTable, ...], Array] = ()


class MaterialLibrary(Table):
    """The file of the library of materials."""

    materials: dict[Name, MaterialTable]


def json_schema() -> str:
    """The schema of manifests, as text of the published file: one line for each table."""
    schema = _compact(Manifest.model_json_schema())
    tables = schema.pop("$defs")
    lines = [f"  {json.dumps(name)}: {json.dumps(tables[name])}" for name in sorted(tables)]
    rest = json.dumps(schema, indent=1).removesuffix("\n}")
    return f'{rest},\n "$defs": {{\n' + ",\n".join(lines) + "\n }\n}\n"


def _compact(schema: Any) -> Any:
    """A schema without the titles that pydantic makes of the names, which say nothing new."""
    if isinstance(schema, list):
        return [_compact(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _compact(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
