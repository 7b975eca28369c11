"""The frames of lidar and camera, small enough for a page: sweeps, depth pictures, labels.

Points are sent as centimetres from the middle of their box in 16 bits, with one byte each for
intensity and label and two for the entity; the page unpacks them.
"""

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from report.recording import Recording
from sensor_models.output.images import png_of_colors
from sensor_models.scene.manifest import load_scene
from sensor_models.tools.pictures.camera_command import NEAR_TO_FAR, NO_ID, colors_of_distances
from sensor_models.tools.pictures.drawing import HEAT, PALETTE, RAINBOW

MOST_POINTS = 60_000  # of one cloud
CENTIMETRE = 0.01
VIEWS = 5  # instants that the page can show
DEPTH_LIMIT = 20.0  # m, max_range of the camera
SEEN_FROM = 40.0  # m around the vehicle, that a cloud of all sweeps shows
INTENSITY_PERCENTILES = (2.0, 98.0)


def views_of(recording: Recording) -> dict[str, Any]:
    """Everything that the viewer of the page shows."""
    labels = load_scene("yard").labels
    sweeps = recording.frames("lidar", "points")
    times = np.array([sweep["time"] for sweep in sweeps])
    wanted = recording.seconds * (np.arange(VIEWS) + 0.5) / VIEWS
    chosen = np.unique(np.abs(times[:, None] - wanted).argmin(axis=0))
    return {
        "instants": [_instant(recording, sweeps[place]) for place in chosen],
        "all": _cloud(_all_points(recording, sweeps)) | {"sweeps": len(sweeps)},
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


def _css(color: Any) -> str:
    red, green, blue = (int(value) for value in color)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _instant(recording: Recording, sweep: dict[str, Any]) -> dict[str, Any]:
    """A sweep and the picture nearest to it in time."""
    # The sensor's pose that the index has is the one at the start of the sweep.
    at = float(sweep["time"])
    step = int(np.argmin(np.abs(recording.time - at)))
    body = recording.vector("body.position")[step]
    return {
        "time": at,
        "vehicle": body.round(3).tolist(),
        "cloud": _cloud(np.asarray(recording.load(sweep))),
        **_pictures(recording, at),
    }


def _pictures(recording: Recording, at: float) -> dict[str, Any]:
    frames = recording.frames("camera", "depth")
    nearest = min(range(len(frames)), key=lambda n: abs(float(frames[n]["time"]) - at))
    depth = recording.load(frames[nearest]).astype(float)
    label = recording.load(recording.frames("camera", "label")[nearest])
    shown = np.where(np.isfinite(depth) & (depth <= DEPTH_LIMIT), depth, np.nan)
    palette = np.array([*PALETTE, NO_ID], np.uint8)
    return {
        "picture_time": float(frames[nearest]["time"]),
        "depth": _png(colors_of_distances(shown, 0.0, DEPTH_LIMIT)),
        "label": _png(palette[np.where(label < 0, len(PALETTE), label)]),
        "seen": sorted(int(n) for n in np.unique(label) if n >= 0),
    }


def _png(picture: NDArray[np.uint8]) -> str:
    return f"data:image/png;base64,{b64encode(png_of_colors(picture)).decode()}"


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


def _cloud(points: NDArray[np.void]) -> dict[str, Any]:
    if len(points) > MOST_POINTS:
        points = points[:: -(-len(points) // MOST_POINTS)]
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
