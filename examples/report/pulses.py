"""A pulse of the lidar that keeps its waveforms: the signal, and the echoes found in it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from report.recording import Recording

SPEED_OF_LIGHT = 299_792_458.0
MICRO = 1e6
CLIPPED = 0.98  # of the highest signal of a frame, from which a pulse may be clipped


def pulse_of(recording: Recording, at: float, step: float) -> dict[str, Any]:
    """Of the frame nearest in time, the pulse with the strongest second echo that is not clipped.

    Args:
        recording: of the drive.
        at: s.
        step: s between two samples.
    """
    entry = recording.nearest("waveform lidar", "waveform", at)
    rows = recording.load(entry)
    samples = recording.load(recording.nearest("waveform lidar", "samples", at))
    points = recording.load(recording.nearest("waveform lidar", "points", at))
    after = np.cumsum(rows["returns"])
    highest = np.maximum.reduceat(samples, rows["offset"])
    chosen = _chosen(rows, points, after, highest < CLIPPED * highest.max())
    row = rows[chosen]
    first = int(row["offset"])
    signal = np.asarray(samples[first : first + int(row["count"])], float)
    echoes = points[after[chosen] - int(row["returns"]) : after[chosen]]
    metres = 0.5 * SPEED_OF_LIGHT
    return {
        "time": float(entry["time"]),
        "first": round(metres * float(row["first"]), 4),
        "step": metres * step,
        "signal": [float(f"{MICRO * value:.4g}") for value in signal],
        "azimuth": round(float(np.degrees(row["azimuth"])), 1),
        "elevation": round(float(np.degrees(row["elevation"])), 1),
        "ranges": echoes["range"].astype(float).round(3).tolist(),
        "powers": [float(f"{MICRO * value:.4g}") for value in echoes["amplitude"].astype(float)],
        "labels": echoes["label"].astype(int).tolist(),
        "entities": echoes["entity_id"].astype(int).tolist(),
    }


def _chosen(
    rows: NDArray[np.void],
    points: NDArray[np.void],
    after: NDArray[np.int64],
    fits: NDArray[np.bool_],
) -> int:
    """The pulse with the strongest second echo of those that fit; any, where none has two."""
    chosen = np.flatnonzero(rows["returns"] > 0)
    for wanted in (fits, rows["returns"] > 1):
        if wanted[chosen].any():
            chosen = chosen[wanted[chosen]]
    echoes = (points["amplitude"][after[n] - rows["returns"][n] : after[n]] for n in chosen)
    return int(chosen[int(np.argmax([np.sort(own)[-2:][0] for own in echoes]))])
