"""Where the vehicle thinks it is: paths and headings from its sensors.

A step of odometry adds the mean distance of the two wheels along the heading in its middle. The
heading comes from the gyroscope's z axis, summed up, or from the difference of the two distances
over the effective track, which stands for the sideways slip of skid steering and is calibrated
here with the true heading. Tilt is neglected: the yard is level. The compass takes the heading
from the direction of the field that the magnetometer reads, magnetic north being along y.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from report.recording import Recording

Floats = NDArray[np.float64]
CALIBRATION_STEPS = 50  # of the drive in one difference of the calibration


@dataclass(frozen=True)
class Odometry:
    """Paths, (steps, 2), and headings, (steps,)."""

    by_gyroscope: Floats
    by_wheels: Floats
    gyroscope_heading: Floats
    wheel_heading: Floats
    compass_heading: Floats
    effective_track: float
    distance: float  # that the wheels rolled, m


def odometry_of(recording: Recording) -> Odometry:
    """Paths and headings of a drive from readings; only the start is taken from the truth."""
    left = recording.readings["left odometer.distance"]
    right = recording.readings["right odometer.distance"]
    rolled, difference = 0.5 * (left + right), right - left
    track = _effective_track(difference, recording.heading)
    by_wheels = recording.heading[0] + (difference - difference[0]) / track
    by_gyroscope = recording.heading[0] + _turned(recording)
    start = recording.vector("body.position", ("x", "y"))[0]
    return Odometry(
        _path(start, rolled, by_gyroscope),
        _path(start, rolled, by_wheels),
        by_gyroscope,
        by_wheels,
        _compass(recording),
        track,
        float(rolled[-1] - rolled[0]),
    )


def _path(start: Floats, rolled: Floats, heading: Floats) -> Floats:
    middle = 0.5 * (heading[1:] + heading[:-1])
    moves = np.diff(rolled)[:, None] * np.column_stack([np.cos(middle), np.sin(middle)])
    return np.asarray(start + np.vstack([[0.0, 0.0], np.cumsum(moves, axis=0)]))


def _effective_track(difference: Floats, heading: Floats) -> float:
    """Least squares of difference = track x turn; 1 m if there was no turn at all."""
    rolled = np.diff(difference[::CALIBRATION_STEPS])
    turned = np.diff(heading[::CALIBRATION_STEPS])
    most = float(turned @ turned)
    return float(rolled @ turned) / most if most > 0.0 else 1.0


def _turned(recording: Recording) -> Floats:
    """The rotation since the start by the gyroscope, at the steps of the recording."""
    imu = recording.record("IMU")
    rate, time = imu["gyroscope.z"], imu["time"]
    turned = np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(time))
    return np.interp(recording.time, time, np.concatenate([[0.0], turned]))


def _compass(recording: Recording) -> Floats:
    field = [recording.readings[f"magnetometer.flux_density.{axis}"] for axis in "xy"]
    return np.unwrap(np.arctan2(field[0], field[1]))
