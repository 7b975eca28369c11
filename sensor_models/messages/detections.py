"""Detections and reflections of OSI, all of a frame at once.

    LidarDetection                              RadarDetection
    existence_probability  P_d, else 1          existence_probability  1
    object_id    2^64 - 1 for none              object_id
    position     range, azimuth, elevation      position     range, azimuth, elevation
    intensity    100 min(1, reflectivity), %    radial_velocity   m/s, positive toward the sensor
    reflectivity     pi I / A                   rcs, snr     10 log10 of ours, where there are any
    echo_pulse_width     width c / 2, m
    radial_velocity  m/s, positive toward the sensor
    beam_id      ring
    classification   clutter for echoes of a medium, else unset

I is the intensity in 1/sr and A the share of the beam that meets the detector, 1 if the beam is
switched off. A reflection has the power 10 log10(I pi R^2 / S^2) dB for a detector of radius R, the
time of flight 2 S / c and the Doppler shift 2 v / lambda.

The object is the one that the scene's body follows (``osi.bodies``), by its id in the ground truth;
for all else it is the entity of the scene.

Angles are those of our sensors: positive elevation is up. By the wording of ``Spherical3d``, a
right-handed rotation about the new y, it would be down; the lidar and radar models of openMSL also
take it as up.

Source: ASAM OSI 3.8.0, osi_featuredata.proto and osi_sensorview.proto.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.light.beam import BeamParameters, beam_factor
from sensor_models.messages.wire import Bytes, Part, Record, block, double_part, varint, whole_part
from sensor_models.output.points import Points

SPEED_OF_LIGHT = 299_792_458.0

#: The id of no object.
NO_OBJECT = 2**64 - 1
CLUTTER = 3

_POSITION = double_part(1, "distance") + double_part(2, "azimuth") + double_part(3, "elevation")
_OBJECT = whole_part(1, "object_id", 5).within(2)
_LARGE_OBJECT = whole_part(1, "large_id", 10).within(2)
_NO_OBJECT = Part(block(2, b"\x08" + varint(NO_OBJECT)))

LIDAR_DETECTION = Record(
    2,
    {
        "existence_probability": double_part(1, "existence_probability"),
        "object": _OBJECT,
        "large object": _LARGE_OBJECT,
        "no object": _NO_OBJECT,
        "position": _POSITION.within(3),
        "intensity": double_part(7, "intensity"),
        "clutter": Part(bytes([9 << 3, CLUTTER])),
        "reflectivity": double_part(10, "reflectivity"),
        "echo_pulse_width": double_part(11, "echo_pulse_width"),
        "radial_velocity": double_part(12, "radial_velocity"),
        "beam": whole_part(1, "beam_id", 3).within(13),
    },
)
RADAR_DETECTION = Record(
    2,
    {
        "existence_probability": double_part(1, "existence_probability"),
        "object": _OBJECT,
        "large object": _LARGE_OBJECT,
        "no object": _NO_OBJECT,
        "position": _POSITION.within(3),
        "radial_velocity": double_part(5, "radial_velocity"),
        "rcs": double_part(7, "rcs"),
        "snr": double_part(8, "snr"),
    },
)
_NORMAL = double_part(1, "normal_x") + double_part(2, "normal_y") + double_part(3, "normal_z")
LIDAR_REFLECTION = Record(
    2,
    {
        "signal_strength": double_part(1, "signal_strength"),
        "time_of_flight": double_part(2, "time_of_flight"),
        "doppler_shift": double_part(3, "doppler_shift"),
        "normal": _NORMAL.within(5),
        "object": whole_part(1, "object_id", 5).within(6),
        "large object": whole_part(1, "large_id", 10).within(6),
        "no object": Part(block(6, b"\x08" + varint(NO_OBJECT))),
    },
)
RADAR_REFLECTION = Record(
    2,
    {
        "signal_strength": double_part(1, "signal_strength"),
        "time_of_flight": double_part(2, "time_of_flight"),
        "doppler_shift": double_part(3, "doppler_shift"),
        "horizontal": double_part(4, "source_horizontal_angle"),
        "vertical": double_part(5, "source_vertical_angle"),
    },
)
DIRECTION = Record(11, {"all": double_part(1, "x") + double_part(2, "y") + double_part(3, "z")})


@dataclass(frozen=True)
class Optics:
    """The parameters of a lidar that its intensities depend on."""

    wavelength: float  # m
    beam: BeamParameters | None = None  # None: A is 1
    detector_radius: float = 0.01  # m
    #: The reflectivity of one unit of intensity if intensities are calibrated; None if raw.
    calibrated: float | None = None
    #: The raw intensity of one unit if intensities are counts.
    unit: float = 1.0
    one_way_time: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Optics":
        """From a sensor's parameters by their names; a sensor without light gets defaults."""
        bits, full_scale = int(values.get("intensity.bits", 0)), values.get("intensity.full_scale")
        is_raw = int(values.get("intensity.kind", 0)) == 0
        unit = 1.0
        if bits:
            unit = (full_scale or (1.0 / math.pi if is_raw else 2.55)) / (2**bits - 1)
        beam = None
        if values.get("beam.on"):
            prefix = "beam."
            names = ("divergence_half_angle", "detector_radius", "detector_offset")
            own = {n: values[prefix + n] for n in (*names, "emitter_radius", "mode", "clamp")}
            beam = BeamParameters(**own)
        return cls(
            values.get("wavelength", 905e-9),
            beam,
            values.get("beam.detector_radius", values.get("aperture_radius", 0.01)),
            None if is_raw else unit,
            unit,
            bool(values.get("osi.one_way_time", False)),
        )

    def reflectivity(self, points: Points) -> NDArray[np.float64]:
        """The reflectance of a plate across the beam that would return as much."""
        intensity = points["intensity"].astype(np.float64)
        if self.calibrated is not None:
            return intensity * self.calibrated
        intensity *= math.pi * self.unit
        if self.beam is not None:
            intensity /= np.maximum(beam_factor(self.beam, points["range"]), 1e-300)
        return intensity

    def raw(self, points: Points) -> NDArray[np.float64]:
        """Intensities in 1/sr."""
        if self.calibrated is None:
            return points["intensity"] * self.unit
        share = 1.0 if self.beam is None else beam_factor(self.beam, points["range"])
        raw: NDArray[np.float64] = self.reflectivity(points) * share / math.pi
        return raw


#: What an id of 5 bytes cannot hold.
_LARGE = 2**35


def _objects(
    entities: NDArray[np.integer[Any]], objects: Mapping[int, int]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns with the ids of objects, and which messages lack which form of them.

    ``objects`` are the ids that entities of the scene have outside of it, where they have others.
    """
    ids = np.maximum(entities, 0).astype(np.uint64)
    for entity, number in objects.items():
        ids[entities == entity] = number
    is_none, is_large = entities < 0, ids >= _LARGE
    lacking = {"object": is_none | is_large, "large object": is_none | ~is_large}
    return {"object_id": ids, "large_id": ids}, {**lacking, "no object": ~is_none}


def lidar_detections(
    points: Points,
    radial_velocity: NDArray[np.floating[Any]],
    optics: Optics | None,
    objects: Mapping[int, int] = MappingProxyType({}),
) -> Bytes:
    """The detections of a cloud, in its order; without ``optics`` they have no intensities."""
    ids, lacking = _objects(points["entity_id"], objects)
    columns: dict[str, Any] = {
        "existence_probability": 1.0,
        **ids,
        "distance": points["range"],
        "azimuth": points["azimuth"],
        "elevation": points["elevation"],
        "radial_velocity": radial_velocity,
        "beam_id": points["ring"],
    }
    if optics is not None:
        reflectivity = optics.reflectivity(points)
        columns["reflectivity"] = reflectivity
        columns["intensity"] = 100.0 * np.minimum(reflectivity, 1.0)
    names = points.dtype.names or ()
    if "echo_width" in names:
        columns["echo_pulse_width"] = points["echo_width"] * (0.5 * SPEED_OF_LIGHT)
        columns["existence_probability"] = points["detection_probability"]
    lacking["clutter"] = points["atmospheric"] == 0
    return LIDAR_DETECTION.encode(len(points), columns, lacking)


def ray_reflections(
    returns: Points,
    rays: NDArray[np.int64],
    count: int,
    velocity: Any,
    optics: Optics,
    objects: Mapping[int, int] = MappingProxyType({}),
) -> Bytes:
    """One reflection for each ray; ``rays`` are the numbers of the rays that have returns."""
    path = returns["range"].astype(np.float64)
    power = optics.raw(returns) * math.pi * optics.detector_radius**2 / path**2
    way = 1.0 if optics.one_way_time else 2.0
    known = {
        "signal_strength": 10.0 * np.log10(np.maximum(power, 1e-300)),
        "time_of_flight": way * path / SPEED_OF_LIGHT,
        "doppler_shift": 2.0 * velocity / optics.wavelength,
    }
    if "normal_x" in (returns.dtype.names or ()):
        known |= {name: returns[name] for name in ("normal_x", "normal_y", "normal_z")}
    columns = {name: np.zeros(count, np.asarray(values).dtype) for name, values in known.items()}
    for name, values in known.items():
        columns[name][rays] = values
    empty = np.ones(count, bool)
    empty[rays] = False
    entities = np.full(count, -1, np.int64)
    entities[rays] = returns["entity_id"]
    ids, no_ids = _objects(entities, objects)
    lacking = dict.fromkeys(("signal_strength", "time_of_flight", "doppler_shift", "normal"), empty)
    return LIDAR_REFLECTION.encode(count, {**columns, **ids}, {**lacking, **no_ids})


def directions(vectors: NDArray[np.float64]) -> Bytes:
    """The directions of the rays of a lidar, (n, 3)."""
    return DIRECTION.encode(len(vectors), dict(zip("xyz", vectors.T, strict=True)))


def radar_detections(
    targets: Mapping[str, NDArray[Any]], objects: Mapping[int, int] = MappingProxyType({})
) -> Bytes:
    """The detections of a radar, from columns by the names of its detections."""
    ids, lacking = _objects(targets["entity_id"], objects)
    columns: dict[str, Any] = {
        "existence_probability": 1.0,
        **ids,
        "distance": targets["range"],
        "azimuth": targets["azimuth"],
        "elevation": targets["elevation"],
        "radial_velocity": targets["radial_velocity"],
    }
    for name in ("rcs", "snr"):
        if name in targets:
            positive = targets[name] > 0.0
            columns[name] = 10.0 * np.log10(np.where(positive, targets[name], 1.0))
            lacking[name] = ~positive
    lacking["radial_velocity"] = np.isnan(targets["radial_velocity"])
    return RADAR_DETECTION.encode(len(targets["entity_id"]), columns, lacking)
