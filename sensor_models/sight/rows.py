"""Frames whose rows are taken one after the other, as by a rolling shutter.

Row i of H of a frame with the stamp t_k, from the top, sees

    t_k + i R / (H - 1)

with the read-out R from the first row to the last one: all rows at t_k if R is 0, or if there is
one row. With a sampling rate, the read-out of a frame has to end before the next one begins, as in
a real sensor, which has one converter for each column.
"""

from dataclasses import dataclass

import numpy as np

from sensor_models.core.clock import SampleClock
from sensor_models.core.quantities import ParameterError, check, real
from sensor_models.sight.schedule import Floats, Frame, FrameSchedule


@dataclass(frozen=True)
class ShutterParameters:
    """When the rows of an image are taken."""

    rolling_shutter: float = real(
        0.0,
        "s",
        "Time from the first row to the last, which are taken one after the other, each from where "
        "the camera is then; 0 takes all rows at one instant",
        minimum=0.0,
        maximum=10.0,  # the states of the body are kept as long
    )

    def __post_init__(self) -> None:
        check(self)


class Rows(FrameSchedule):
    """The schedule of a sensor whose rows are taken one after the other, each at an instant."""

    def __init__(
        self,
        clock: SampleClock,
        readout: float,
        rows: int,
        *,
        ahead: float = 0.0,
        back: float = 0.0,
    ) -> None:
        if readout * clock.rate > 1.0:
            raise ParameterError(
                f"rolling_shutter = {readout} s is longer than a frame, allowed with sample_rate = "
                f"{clock.rate} Hz is at most {1.0 / clock.rate} s"
            )
        #: Time from the first row to the last, s; 0 for one row.
        self.readout = readout if rows > 1 else 0.0
        #: Time from the stamp to the rows that are taken apart, s.
        self.delays = np.linspace(0.0, self.readout, rows) if self.readout > 0.0 else np.zeros(1)
        super().__init__(clock, ahead=ahead, back=back, lasting=lambda _: self.readout)

    def states_of(self, frame: Frame, later: float = 0.0) -> Floats:
        """The state of the body for each row, or one for all, some time after a frame."""
        return frame.states_at(frame.time + later + self.delays)
