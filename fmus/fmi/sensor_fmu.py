"""The FMU of a sensor, made from the declaration of the sensor.

``sensor_fmu(spec)`` makes the FMU class of any sensor. Values, life cycle and saved states are
those of all FMUs (``base``). A ``SensorRun`` drives the sensor, or a ``ScalarRun`` one with a
compiled step.
"""

import sys
from collections.abc import Sequence
from inspect import getdoc
from typing import ClassVar

from fmus.fmi.base import FmuBase, Run
from fmus.fmi.run import SensorRun
from fmus.fmi.scalar_run import ScalarRun
from fmus.fmi.variables import Variable, declare
from sensor_models.core.clock import same_instant
from sensor_models.core.spec import Group, SensorSpec
from sensor_models.output.frame_binaries import FrameBinary


class SensorFmu(FmuBase):
    """An FMU around one sensor, which is stepped in Python."""

    spec: ClassVar[SensorSpec]

    @classmethod
    def declared(cls) -> list[Variable]:
        """Inputs, parameters and outputs, from the declarations of the model."""
        return [
            *declare(cls.spec.inputs, "input"),
            *declare(cls.spec.all_parameters, "parameter"),
            *declare(cls.spec.outputs, "output"),
        ]

    @classmethod
    def known_at_start(cls, output: str) -> Sequence[str]:
        """What an output depends on in Initialization Mode."""
        return cls.spec.known_at_start(output)

    @classmethod
    def frame_binaries(cls) -> Sequence[FrameBinary]:
        """Parts of frames that FMI 3.0 has as Binary."""
        return cls.spec.binaries

    @classmethod
    def groups(cls) -> Sequence[Group]:
        """All groups of the sensor."""
        return cls.spec.groups()

    @classmethod
    def parameter_groups(cls) -> Sequence[Group]:
        """All parameters of the sensor."""
        return cls.spec.all_parameters

    @classmethod
    def about(cls) -> str:
        """The docstring of the module that makes the sensor."""
        return getdoc(sys.modules[cls.spec.create.__module__]) or ""

    def create_run(self, start: float) -> Run:
        """The sensor with its clock; it measures when it begins."""
        return SensorRun(self, start)

    def early_end(self, start: float, end: float) -> float:
        """The first instant within a step at which a frame can be complete.

        The importer then gives the inputs of that instant. If it gives those of the ends of steps,
        they are of the end that it has chosen, and a step does not end before.
        """
        run = self._run
        if not isinstance(run, SensorRun) or run.inputs_at_step_end:
            return end
        found = run.complete_after(start)
        return found if start < found < end and not same_instant(found, end) else end

    def get_string(self, vrs: Sequence[int]) -> list[str]:
        """The values of Strings; waits for a file that is to be named and is not written yet."""
        if isinstance(self._run, SensorRun):
            self._run.settle()
        return super().get_string(vrs)

    def compute_initial(self) -> None:
        """Compute the outputs at the start; outputs of frames keep their start values."""
        if self.spec.frames is None:
            super().compute_initial()


class ScalarFmu(SensorFmu):
    """An FMU around a sensor with a compiled step, which the binding calls without Python."""

    _run: ScalarRun | None

    def create_run(self, start: float) -> Run:
        """The sensor with its clock; it measures when it begins."""
        return ScalarRun(self, start)

    @property
    def time(self) -> float:
        """The end of the last step; the compiled step keeps this itself."""
        return self._time if self._run is None else self._run.step.time

    @time.setter
    def time(self, time: float) -> None:
        self._time = time

    def compiled_step(self) -> tuple[int, int]:
        """The addresses of the compiled step and its context, for the binding.

        It asks when a run has begun, after a state was set and after each step that it left to
        Python. An FMU whose steps all go through Python has no such method, and is not asked.
        """
        return (0, 0) if self._run is None else self._run.compiled_step()

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Make the step that the binding could not do without Python."""
        if self._run is None:
            return super().do_step(current_time, step_size)  # which refuses it
        self._run.advance(current_time, step_size)
        return True


def _messages_of(spec: SensorSpec) -> dict[str, str]:
    """The types of the messages of a sensor, by name."""
    ports = spec.messages
    if ports is None:
        return {}
    return {g.prefix: ports.mime_type(g.prefix) for g in (*ports.inputs, *ports.outputs)}


def sensor_fmu(spec: SensorSpec) -> type[SensorFmu]:
    """The FMU class of a sensor."""
    members = {
        "__doc__": f"{spec.text}, behind FMI variables.",
        "__module__": "fmus.fmi.sensors",
        "spec": spec,
        "model_name": spec.name,
        "description_text": spec.text,
        "default_step": spec.step,
        "PACKAGES": spec.packages,
        "messages": _messages_of(spec),
    }
    return type(f"{spec.name}Fmu", (ScalarFmu if spec.compiled else SensorFmu,), members)
