"""The inputs of an instance, in the form in which a sensor takes them."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fmus.fmi.fmu_state import StateError
from fmus.fmi.variables import Variable
from sensor_models.core.body import (
    IDLE_ANGLES,
    IDLE_QUATERNION,
    NO_ORIENTATION,
    BodyParameters,
    EulerAngles,
    OrientationInput,
    orientation_of_angles,
)
from sensor_models.core.frames import normalised_orientation
from sensor_models.core.quantities import ParameterError
from sensor_models.core.sensor import Held, Vector
from sensor_models.core.spec import SCENE, SCENE_HANDLE, Group, Groups, scalars_of
from sensor_models.kernels.math.motion import ORIENTATION
from sensor_models.sight.scene import SceneUse

if TYPE_CHECKING:
    from fmus.fmi.sensor_fmu import SensorFmu

_ORIENTATION = slice(ORIENTATION, ORIENTATION + 4)
_VECTOR_PART = slice(ORIENTATION + 1, ORIENTATION + 4)

#: Three zeros: angles, or the vector part of a quaternion, that nobody sets.
NO_ANGLES = bytes(24)

#: The largest number in a body's state. What lies between two states is a matter of squares of
#: squares: of larger numbers these overflow, and a sensor that has taken one in would refuse all
#: later states as well.
LARGEST = 1e30


@dataclass(eq=False)
class KnownInputs:
    """The held inputs at one instant: their bytes, the objects made of them, the scene's handle."""

    content: bytes
    held: Held
    scene_handle: int
    is_saved: bool = False  # of a saved state, whose scene is opened when it is needed

    def close(self) -> None:
        """Leave the scene."""
        if self.held.scene is not None:
            self.held.scene.close()

    def close_unless_shared(self, other: "KnownInputs | None") -> None:
        """Leave the scene, unless these other inputs go on using it."""
        if other is None or self.held.scene is not other.held.scene:
            self.close()


class InputReader:
    """Reads the inputs of an instance; cheap, because most steps change no held input.

    A sensor that takes frames gets its scene in its first step, because masters may pass on the
    handle only then. A sensor that samples gets it at once, because it measures at the start.
    """

    def __init__(self, fmu: "SensorFmu", parameters: Groups) -> None:
        self._fmu = fmu
        spec, table = fmu.spec, fmu.table()
        state = [table.by_name[name] for name, _, _ in scalars_of(spec.state)]
        self._state_names = [variable.name for variable in state]
        self._variables = [table.by_name[name] for name, _, _ in scalars_of(spec.held)]
        self._state = _view(fmu, state, "Real")
        self._held = [_view(fmu, self._variables, t) for t in ("Real", "Integer", "Boolean")]
        self._filled = [array for array in self._held if array.size]
        self._is_body = spec.has_body
        self._angles: NDArray[np.float64] | None = None
        if spec.has_body:
            chosen = parameters.of(BodyParameters).orientation_input
            angles = [table.by_name[name] for name, _, _ in Group(EulerAngles).scalars()]
            self._idle = _view(fmu, angles, "Real")
            if chosen == OrientationInput.euler:
                self._angles, self._idle = self._idle, self._state[_VECTOR_PART]
        self._told_of_orientation = self._told_of_idle = False
        self._scene_at_once = spec.frames is None
        self._scenes: SceneUse | None = None
        if spec.sees:
            name = parameters.by_name().get(SCENE)
            # An empty name is an error if a scene is needed; otherwise it stands for no scene.
            ports = spec.messages
            moves = ports is not None and bool(ports.inputs) and ports.wanted(parameters)
            self._scenes = SceneUse(name if spec.needs_scene else name or None, moves=moves)

    def read(self, before: KnownInputs | None) -> tuple[Vector, KnownInputs]:
        """The state of body or joint, in a copy, and the held inputs as they are set now.

        Inputs that cannot be applied are refused. If no held input has changed, the same object
        is returned as before.
        """
        state = self._state.copy()
        if self._is_body:
            numbers = state.tolist()
            if not math.hypot(*numbers) <= LARGEST:  # else none is larger, or no number
                self._check_size(state)
            if not self._told_of_idle and self._idle.tobytes() != NO_ANGLES:
                self._tell_of_idle()
            if self._angles is None:
                self._normalise(state, numbers[_ORIENTATION])
            else:
                state[_ORIENTATION] = orientation_of_angles(self._angles)
        content = b"".join([a.tobytes() for a in self._filled]) if self._filled else b""
        if before is not None and content == before.content:
            return state, before
        return state, self._parsed(content, before)

    def _check_size(self, body: Vector) -> None:
        """Refuse a state of a body that no motion can be computed with."""
        place = int(np.argmax(np.abs(body)))
        if not abs(body[place]) <= LARGEST:
            raise ParameterError(
                f"{self._state_names[place]} = {body[place]} is not allowed: numbers of a body's "
                f"motion are from {-LARGEST:g} to {LARGEST:g}"
            )

    def _tell_of_idle(self) -> None:
        """Say once that somebody sets the orientation that does not count."""
        if any(self._idle.tolist()):  # -0 is also nothing
            self._told_of_idle = True
            self._fmu.warn(IDLE_ANGLES if self._angles is None else IDLE_QUATERNION)

    def _normalise(self, body: Vector, given: list[float]) -> None:
        """Bring the orientation in a body's state to unit length.

        All zeros mean that it is not connected: the body then has the axes of the world.
        """
        w, x, y, z = given
        if math.hypot(w, x, y, z) == 1.0:  # as many masters give it
            return
        unit, connected = normalised_orientation(w, x, y, z)
        if unit != (w, x, y, z):
            body[_ORIENTATION] = unit
        if not connected and not self._told_of_orientation:
            self._told_of_orientation = True
            self._fmu.warn(NO_ORIENTATION)

    def restored(self, content: bytes, before: KnownInputs | None) -> KnownInputs:
        """Held inputs made from their bytes in a saved state."""
        if len(content) != sum(array.nbytes for array in self._held):
            raise StateError("the state's held inputs do not fit this FMU")
        known = self._parsed(content, before)
        self._keep_scene(known, before)
        known.is_saved = True
        return known

    def _parsed(self, content: bytes, before: KnownInputs | None) -> KnownInputs:
        values: dict[str, Any] = {}
        offset = 0
        for array, type_name in zip(self._held, ("Real", "Integer", "Boolean"), strict=True):
            numbers = np.frombuffer(content, array.dtype, len(array), offset).tolist()
            offset += array.nbytes
            of_type = (v for v in self._variables if v.type_name == type_name)
            for variable, number in zip(of_type, numbers, strict=True):
                values[variable.name] = _as_declared(variable, number)
        groups = Groups({g: g.build(values.__getitem__) for g in self._fmu.spec.held})
        known = KnownInputs(content, Held(groups), values.get(SCENE_HANDLE, 0))
        if self._scene_at_once:
            self.open_scene(known, before)
        return known

    def expect_scene(self, known: KnownInputs, before: KnownInputs | None) -> None:
        """Refuse a scene that cannot be opened, or that the sensor cannot use.

        The default scene is loaded in the first step only, because a handle may still replace it.
        """
        if self._scenes is None:
            return
        if known.scene_handle or self._scenes.chosen:
            self.open_scene(known, before)
        elif known is not before:
            self._scenes.expect()

    def open_scene(self, known: KnownInputs, before: KnownInputs | None) -> None:
        """Give held inputs the scene of their handle; the previous one stays if it is the same."""
        if self._scenes is None or known.held.scene is not None:
            return
        self._keep_scene(known, before)
        if known.held.scene is None:
            known.held.scene = self._scenes.open(known.scene_handle)

    def open_again(self, known: KnownInputs) -> None:
        """Give inputs of a saved state their scene if it is still open: rays may be due in it."""
        if known.is_saved:
            with contextlib.suppress(ValueError):  # its scene is not open in this process
                self.open_scene(known, None)

    def _keep_scene(self, known: KnownInputs, before: KnownInputs | None) -> None:
        """Give held inputs the previous scene, if that has the same handle."""
        if known.held.scene is None and before is not None:
            same = before.scene_handle == known.scene_handle
            known.held.scene = before.held.scene if same else None


def _as_declared(variable: Variable, number: float) -> Any:
    """A number as the model knows it: a choice as its item, a Boolean as such."""
    choices = variable.quantity.choices
    if choices is not None:
        return choices(int(number))
    return bool(number) if variable.quantity.kind == "boolean" else number


def _view(fmu: "SensorFmu", variables: Sequence[Variable], type_name: str) -> NDArray[Any]:
    """The values of variables of one type, which are adjacent in memory."""
    values, first = fmu.values.of_type(type_name), fmu.table().first[type_name]
    places = [v.reference - first for v in variables if v.type_name == type_name]
    if not places:
        return values[:0]
    return values[places[0] : places[-1] + 1]
