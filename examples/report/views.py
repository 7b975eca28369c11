"""The frames of the sensors that see, small enough for a page: clouds, pictures, maps, a pulse.

Points are sent as centimetres from the middle of their box in 16 bits, with one byte each for
intensity and label and two for the entity; the page unpacks them.
"""

import io
from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from report import radar
from report.pulses import pulse_of
from report.recording import Recording
from report.satellites import Fixes
from sensor_models.output.images import png_of_colors
from sensor_models.presets import load_preset
from sensor_models.radar.waveform import Radio
from sensor_models.scene.manifest import load_scene
from sensor_models.tools.pictures.camera_command import NEAR_TO_FAR, NO_ID, colors_of_distances
from sensor_models.tools.pictures.drawing import HEAT, PALETTE, RAINBOW

MOST_POINTS = 60_000  # of the cloud of all sweeps
MOST_IN_SWEEP = 25_000
CENTIMETRE = 0.01
MOST_VIEWS = 21  # instants that the page can show
DEPTH_LIMIT = 20.0  # m, max_range of the camera
SEEN_FROM = 40.0  # m around the vehicle, that a cloud of all sweeps shows
INTENSITY_PERCENTILES = (2.0, 98.0)


def views_of(recording: Recording, fixes: Fixes) -> dict[str, Any]:
    """Everything that the viewer of the page shows."""
    labels = load_scene("yard").labels
    sweeps = recording.frames("lidar", "points")
    radio = radar.radio_of(recording)
    preset = load_preset("WaveformLidar", recording.parameters["waveform lidar"]["preset"])
    return {
        "instants": [
            {
                **_instant(recording, time),
                "radar": _radar(recording, radio, time),
                "pulse": pulse_of(recording, time, float(preset["t_res"])),
                "used": fixes.used(time),
            }
            for time in _instants(recording)
        ],
        "all": _cloud(_all_points(recording, sweeps), MOST_POINTS) | {"sweeps": len(sweeps)},
        "path": recording.vector("body.position")[::10].round(3).tolist(),
        "labels": {str(n): name for n, name in labels.items()},
        "colors": {
            "labels": {str(n): _css(PALETTE[n]) for n in labels},
            "none": _css(NO_ID),
            "heat": [_css(color) for color in HEAT],
            "rainbow": [_css(color) for color in RAINBOW],
            "depth": [_css(color) for color in NEAR_TO_FAR.tolist()],
        },
        "depth_limit": DEPTH_LIMIT,
    }


def _instants(recording: Recording) -> list[float]:
    """Instants of colour pictures, which are the rarest frames, evenly over the drive."""
    times = [float(entry["time"]) for entry in recording.frames("colour camera", "picture")]
    chosen = np.linspace(0, len(times) - 1, min(MOST_VIEWS, len(times)))
    return [times[round(place)] for place in chosen]


def _css(color: Any) -> str:
    red, green, blue = (int(value) for value in color)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _instant(recording: Recording, at: float) -> dict[str, Any]:
    """The sweep and the pictures nearest to an instant."""
    sweep = recording.nearest("lidar", "points", at)
    step = int(np.argmin(np.abs(recording.time - at)))
    body = recording.vector("body.position")[step]
    return {
        "time": at,
        "vehicle": body.round(3).tolist(),
        "sweep_time": float(sweep["time"]),
        "cloud": _cloud(np.asarray(recording.load(sweep)), MOST_IN_SWEEP),
        **_pictures(recording, at),
    }


def _pictures(recording: Recording, at: float) -> dict[str, Any]:
    entry = recording.nearest("camera", "depth", at)
    depth = recording.load(entry).astype(float)
    label = recording.load(recording.nearest("camera", "label", at))
    shown = np.where(np.isfinite(depth) & (depth <= DEPTH_LIMIT), depth, np.nan)
    palette = np.array([*PALETTE, NO_ID], np.uint8)
    with Image.open(
        recording.data / recording.nearest("colour camera", "picture", at)["file"]
    ) as own:
        picture = _jpeg(own.convert("RGB"))
    return {
        "picture_time": float(entry["time"]),
        "picture": picture,
        "depth": _jpeg(Image.fromarray(colors_of_distances(shown, 0.0, DEPTH_LIMIT))),
        "label": _png(palette[np.where(label < 0, len(PALETTE), label)]),
        "seen": sorted(int(n) for n in np.unique(label) if n >= 0),
    }


def _radar(recording: Recording, radio: Radio, at: float) -> dict[str, Any]:
    seen = radar.view_of(recording, radio, at)
    return {**seen, "map": _jpeg(Image.fromarray(seen["map"]))}


def _png(picture: NDArray[np.uint8]) -> str:
    return f"data:image/png;base64,{b64encode(png_of_colors(picture)).decode()}"


def _jpeg(picture: Image.Image) -> str:
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=88)
    return f"data:image/jpeg;base64,{b64encode(content.getvalue()).decode()}"


def _all_points(recording: Recording, sweeps: list[dict[str, Any]]) -> NDArray[np.void]:
    """Points of all sweeps, evenly thinned out."""
    total = sum(int(sweep["points"]) for sweep in sweeps)
    every = max(1, total // MOST_POINTS)
    first, kept = 0, []
    for sweep in sweeps:
        points = recording.load(sweep)
        kept.append(points[first::every])
        first = (first - len(points)) % every
    points = np.concatenate(kept)
    return points[points["range"] < SEEN_FROM]


def _cloud(points: NDArray[np.void], most: int) -> dict[str, Any]:
    if len(points) > most:
        points = points[:: -(-len(points) // most)]
    places = np.column_stack([points[axis] for axis in "xyz"]).astype(float)
    middle = np.round(places.mean(axis=0), 2) if len(points) else np.zeros(3)
    centimetres = np.clip(np.rint((places - middle) / CENTIMETRE), -32767, 32767)
    strength = np.log(np.maximum(points["intensity"].astype(float), 1e-9))
    low, high = np.percentile(strength, INTENSITY_PERCENTILES) if len(points) else (0.0, 1.0)
    share = np.clip((strength - low) / max(high - low, 1e-9), 0.0, 1.0)
    return {
        "count": len(points),
        "middle": middle.tolist(),
        "xyz": _packed(centimetres, "<i2"),
        "intensity": _packed(np.rint(255.0 * share), "u1"),
        "intensity_range": [float(np.exp(low)), float(np.exp(high))],
        "label": _packed(points["label"], "i1"),
        "entity": _packed(points["entity_id"], "<i2"),
    }


def _packed(values: NDArray[Any], kind: str) -> str:
    return b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()
