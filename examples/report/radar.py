"""What the radar saw: its cubes as maps from above, with the targets that it found in them.

A cube has a complex amplitude for each range, speed and pair of antennas. Adding up the pairs with
the phases that a direction gives them, x = exp(2 pi j y sin(azimuth) / wavelength), tells how much
comes from there; transmitters that send in turns meet a moving target one after the other, and the
phase that this adds is taken off. The map shows the strongest speed at each place.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from report.recording import Recording
from sensor_models import catalog
from sensor_models.core.named import named_parameters
from sensor_models.presets import load_preset
from sensor_models.radar.ray_traced_sensor import parameters_of
from sensor_models.radar.waveform import Radio
from sensor_models.tools.pictures.drawing import HEAT

Floats = NDArray[np.float64]

AHEAD, ASIDE = 30.0, 15.0  # m that the map shows
PIXEL = 0.15  # m
SINES = np.linspace(-0.87, 0.87, 117)  # of azimuths that are looked at
DEPTH = 50.0  # dB below the strongest that are shown
DARK = (16, 19, 26)  # where nothing comes from
MOVING = 0.7  # m/s against the ground, from which a target moves


def radio_of(recording: Recording) -> Radio:
    """Antennas and chirps of the radar that was driven."""
    spec = catalog.spec_of("Radar")
    preset = load_preset("Radar", str(recording.parameters["radar"]["preset"]))
    own = parameters_of(named_parameters(spec, preset))
    return Radio(own.antenna, own.chirp, own.window)


def view_of(recording: Recording, radio: Radio, at: float) -> dict[str, Any]:
    """The map of the frame that is nearest in time, and its targets."""
    entry = recording.nearest("radar", "cube", at)
    return {
        "time": float(entry["time"]),
        "map": shaded(_power(radio, recording.load(entry), entry)),
        "targets": _targets(recording, recording.nearest("radar", "detections", at)),
    }


def _power(radio: Radio, cube: NDArray[Any], entry: dict[str, Any]) -> Floats:
    """Power over what is ahead and aside, rows from far to near, columns from left to right."""
    used = cube[: math.ceil(1.2 * AHEAD / entry["range_cell"])]
    steering = np.exp(2j * math.pi / radio.wavelength * np.outer(radio.virtual[:, 0], SINES))
    cells = np.fft.fftfreq(cube.shape[1], 1.0 / cube.shape[1])  # of speed, with their signs
    late = np.repeat(radio.instants, len(radio.receivers))
    turns = np.exp(-2j * math.pi * np.outer(cells / (len(cells) * radio.repetition), late))
    found = np.zeros((len(used), len(SINES)))
    for cell, turn in enumerate(turns.astype(np.complex64)):
        seen = (used[:, cell] * turn) @ steering.astype(np.complex64)
        np.maximum(found, seen.real**2 + seen.imag**2, out=found)
    return _from_above(found, float(entry["range_cell"]))


def _from_above(power: Floats, range_cell: float) -> Floats:
    """The same over the ground; NaN where it does not look."""
    ahead = AHEAD - (np.arange(round(AHEAD / PIXEL)) + 0.5) * PIXEL
    left = ASIDE - (np.arange(round(2.0 * ASIDE / PIXEL)) + 0.5) * PIXEL
    x, y = np.meshgrid(ahead, left, indexing="ij")
    distance = np.hypot(x, y)
    row = np.rint(distance / range_cell).astype(int)
    column = np.rint((y / distance - SINES[0]) / (SINES[1] - SINES[0])).astype(int)
    inside = (row < len(power)) & (column >= 0) & (column < len(SINES))
    found = power[np.where(inside, row, 0), np.where(inside, column, 0)]
    return np.where(inside, found, np.nan)


def shaded(power: Floats) -> NDArray[np.uint8]:
    """Colours by decibels below the strongest; the page's dark where nothing is known."""
    level = 10.0 * np.log10(np.maximum(power, 1e-30))
    share = 1.0 - np.clip((np.nanmax(level) - level) / DEPTH, 0.0, 1.0)
    colors = np.array([DARK, *HEAT], float)
    places = np.nan_to_num(share) * (len(colors) - 1)
    low = np.minimum(places.astype(int), len(colors) - 2)
    part = (places - low)[..., np.newaxis]
    mixed = (1.0 - part) * colors[low] + part * colors[low + 1]
    return np.where(np.isnan(share)[..., np.newaxis], DARK, mixed).astype(np.uint8)


def _targets(recording: Recording, entry: dict[str, Any]) -> dict[str, Any]:
    """Places, speeds and sizes of targets, and which of them move over the ground."""
    table = recording.table(entry)
    ahead, left = (table["range"] * f(table["azimuth"]) for f in (np.cos, np.sin))
    w, x, y, z = entry["orientation"]
    axis = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
    aside = np.array([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)])
    velocity = np.array(entry["velocity"])
    own = (np.cos(table["azimuth"]) * (velocity @ axis)) + (
        np.sin(table["azimuth"]) * (velocity @ aside)
    )
    return {
        "ahead": ahead.round(2).tolist(),
        "left": left.round(2).tolist(),
        "range": table["range"].round(2).tolist(),
        "azimuth": np.degrees(table["azimuth"]).round(1).tolist(),
        "speed": table["speed"].round(2).tolist(),
        "rcs": [float(f"{value:.2g}") for value in table["rcs"]],
        "entity": table["entity_id"].astype(int).tolist(),
        "moves": (np.abs(table["speed"] - own) > MOVING).tolist(),
    }
