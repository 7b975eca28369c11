"""A sensor that sees, between initialisation and termination: states in, frames and files out.

Unlike other sensors, it takes frame 0 when the first step begins and not at initialisation, as
many masters connect its inputs only then. Each state of the body goes to the sensor as it becomes
known (``FrameRun.know``), the one at the start maybe twice; from the first step on, the sensor is
then asked for the frames that are complete (``FrameRun.take_frames``). The movable bodies of the
scene are seen where they were at the instants of a frame (``scene.history``).

Files are written by a thread of their own while the master goes on. A step takes its frames, then
waits for the files of the steps before, which are there by then as a rule, and ``frame.file``
names the newest of them: so it depends on the frames alone and not on the speed of the disk. When
the run is published it names the newest of all.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmus.fmu_state import StateError
from fmus.scene_sensor import FrameSensorFmu, NearestOutputs, SceneName, SceneUse
from fmus.variables import Groups
from sensor_models.core.clock import SamplingParameters
from sensor_models.output.files import named_values
from sensor_models.output.frame_files import FrameWriter
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.scene.registry import SceneHandle

Vector = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


#: Rounding of ranges that goes without saying, m.
MOST_ROUNDING = 1e-3


class FrameRun(ABC):
    """One run, from the parameters that are set when it begins."""

    #: The path of the main file of the newest frame; who hands it to the writer sets it.
    newest_file = ""

    def __init__(self, fmu: FrameSensorFmu, parameters: Groups, writer: FrameWriter | None) -> None:
        """A writer if files are wanted; it is made last, when nothing else can fail."""
        self.fmu = fmu
        self.writer = writer
        self.inputs_at_step_end = parameters.of(SamplingParameters).inputs_at_step_end
        first = fmu.table().first["Real"]
        place = fmu.table().by_name["body.position.x"].reference - first
        self._inputs = fmu.values.of_type("Real")[place : place + BODY_SIZE]
        self._scene = SceneUse(parameters.of(SceneName).scene)
        self._begun, self._told_far = False, False

    # ---- what a sensor adds ------------------------------------------------------------------

    @abstractmethod
    def know(self, time: float, body: Vector) -> None:
        """Take in the state of the body at an instant, or refuse it and stay as it was.

        ``body`` is position, orientation at unit length, velocity and angular velocity, and is
        never written to. The start may come twice: what was known before is then forgotten.
        """

    @abstractmethod
    def take_frames(self) -> None:
        """Take all frames that are complete with what is known now, in order."""

    @abstractmethod
    def frame_state(self) -> Arrays:
        """All that later frames depend on, as arrays."""

    @abstractmethod
    def restore_frames(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``frame_state()`` of this or an equal run, or refuse it unchanged."""

    # ---- stepping ----------------------------------------------------------------------------

    def observe(self, time: float) -> None:
        """Take in the inputs as the state at ``time`` and take the frames that are complete."""
        body = self._body()
        number = int(self.fmu.get("scene_handle"))
        if not self._begun:
            self._scene.expect(number)  # a named one is loaded when it is needed
            self.know(time, body)
            self._begun = True
            return
        self._scene.see(number)
        self.know(time, body)
        self._warn_if_far(body)
        before, file = 0 if self.writer is None else self.writer.taken, self.newest_file
        self.take_frames()
        self._name_file(before, file)

    @property
    def scene(self) -> SceneHandle:
        """What there is to see, from the first step on."""
        assert self._scene.scene is not None  # where there is no handle, it is that of the name
        return self._scene.scene

    def _warn_if_far(self, body: Vector) -> None:
        """Say once where rounding moves what stands still by more than is allowed."""
        off = self.scene.rays(placed=False).rounding_at(body[:3])
        if off > MOST_ROUNDING and not self._told_far:
            self._told_far = True
            self.fmu.warn(
                f"body.position = {body[:3].tolist()} lies so far from what stands still in the"
                f" scene that ranges to it are rounded by up to {1e3 * off:.1f} mm; movable bodies"
                " are not concerned"
            )

    def _body(self) -> Vector:
        body = self._inputs.copy()
        self.fmu.normalise_orientation(body)
        return body

    # ---- frames ------------------------------------------------------------------------------

    def show(
        self, index: int, stamp: float, nearest: NearestOutputs, more: Mapping[str, Any]
    ) -> None:
        """Put a frame on the outputs, but for its file; ``more`` are outputs of the sensor."""
        outputs = {
            "sample.count": index + 1,
            "sample.time": stamp,
            "frame.count": index + 1,
            "frame.time": stamp,
            **{f"nearest.{name}": value for name, value in named_values(nearest).items()},
            **more,
        }
        for name, value in outputs.items():
            self.fmu.put(name, value)

    # ---- life cycle --------------------------------------------------------------------------

    def publish(self) -> None:
        """Wait until all files are there, and name the newest."""
        self._name_file(None, self.newest_file)

    def _name_file(self, frames: int | None, file: str) -> None:
        """Wait for the files of the first so many frames, or of all, and name the newest."""
        if self.writer is not None:
            self.writer.flush(frames)
            if not self.writer.failed:
                self.fmu.put("frame.file", file)

    def close(self) -> None:
        """Finish the files and leave the scene."""
        try:
            if self.writer is not None:
                self.writer.close()
        finally:
            self._scene.close()

    def state(self) -> Arrays:
        """All that later frames depend on, as arrays."""
        return {
            "begun": np.array([self._begun], np.uint8),
            "file": np.frombuffer(self.newest_file.encode(), np.uint8).copy(),
            **self.frame_state(),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal run."""
        if arrays.keys() != self.state().keys() or arrays["begun"].shape != (1,):
            raise StateError("the state's arrays are not those of this FMU")
        file = arrays["file"].tobytes().decode()
        self.restore_frames(arrays)
        self._begun, self.newest_file = bool(arrays["begun"][0]), file
