"""Messages whose addresses are on variables, by the rules of OSMP.

A message ``P`` is given by three Integers, ``P.base.lo``, ``P.base.hi`` and ``P.size``, with
annotations in the model description. In FMI 3.0 it is one Binary ``P``, which the binding makes of
these Integers. The spec of a sensor says which messages it has
(``sensor_models.messages``); the code here writes them to variables and reads them from there.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, register_namespace

from numpy.typing import NDArray

from fmus.fmi.variables import Variable
from sensor_models.core.sensor import Result, Setup, Vector
from sensor_models.core.spec import Groups

if TYPE_CHECKING:
    from fmus.fmi.sensor_fmu import SensorFmu

NAMESPACE = "http://xsd.pmsf.net/OSISensorModelPackaging"
TOOL = "net.pmsf.osmp"
VERSION, OSI_VERSION = "1.6.0", "3.8.0"
#: What the types of its messages begin with.
OSI = "application/x-open-simulation-interface"
ROLES = ("base.lo", "base.hi", "size")

#: Prefix of the names of the arrays of messages in a saved state.
MESSAGES = "messages."

register_namespace("osmp", NAMESPACE)


class MessageRole(NamedTuple):
    """Which part of a message's address a variable holds."""

    message: str
    role: str
    mime_type: str


def role_of(messages: Mapping[str, str], variable: Variable) -> MessageRole | None:
    """The role of a variable in one of these messages; None if it has none."""
    name, _, role = variable.name.partition(".")
    if name not in messages or role not in ROLES:
        return None
    return MessageRole(name, role, messages[name])


def add_vendor_annotation(root: Element) -> None:
    """Declare that an FMU follows the rules of OSMP."""
    tool = SubElement(SubElement(root, "VendorAnnotations"), "Tool", {"name": TOOL})
    known = {"version": VERSION, "osi-version": OSI_VERSION}
    SubElement(tool, f"{{{NAMESPACE}}}osmp", known)


def add_annotation(scalar: Element, message: MessageRole) -> None:
    """Declare the role of a variable in a message."""
    tool = SubElement(SubElement(scalar, "Annotations"), "Tool", {"name": TOOL})
    known = {"name": message.message, "role": message.role, "mime-type": message.mime_type}
    SubElement(tool, f"{{{NAMESPACE}}}osmp-binary-variable", known)


def add_annotation3(root: Element) -> None:
    """Declare that an FMU of FMI 3.0 follows the rules of OSMP."""
    annotation = SubElement(SubElement(root, "Annotations"), "Annotation", {"type": TOOL})
    known = {"version": VERSION, "osi-version": OSI_VERSION}
    SubElement(annotation, f"{{{NAMESPACE}}}osmp", known)


def add_message_annotation3(binary: Element, name: str, mime_type: str) -> None:
    """Declare that a Binary of FMI 3.0 is a message."""
    annotation = SubElement(SubElement(binary, "Annotations"), "Annotation", {"type": TOOL})
    known = {"name": name, "role": "full", "mime-type": mime_type}
    SubElement(annotation, f"{{{NAMESPACE}}}osmp-binary-variable", known)


def wants_messages(fmu: "SensorFmu", parameters: Groups) -> bool:
    """Whether a sensor is to make messages."""
    ports = fmu.spec.messages
    return ports is not None and ports.wanted(parameters)


def open_messages(fmu: "SensorFmu", setup: Setup) -> "MessageVariables | None":
    """The messages of an instance, if they are wanted."""
    ports = fmu.spec.messages
    return MessageVariables(fmu, setup) if ports and ports.wanted(setup.parameters) else None


class MessageVariables:
    """The messages of one instance, and the variables that hold their addresses."""

    def __init__(self, fmu: "SensorFmu", setup: Setup) -> None:
        ports = fmu.spec.messages
        assert ports is not None  # only called for sensors with messages
        self._fmu = fmu
        self._messages = ports.open(setup)
        self._inputs = [group.prefix for group in ports.inputs]
        self._outputs = [group.prefix for group in ports.outputs]

    def take_inputs(self, time: float, state: Vector, scene: Any) -> Vector:
        """Read the messages at the inputs; returns the state of the body that they leave."""
        found = {name: self._messages.read(name, *self._place(name)) for name in self._inputs}
        state = self._messages.take_view(next(iter(found.values()), None), time, state, scene)
        self._messages.motion.know(time, state)
        return state

    def take(self, result: Result, scene: Any, end: float) -> None:
        """Make the messages of a frame, known at the end of the step, and set their addresses."""
        self._messages.take(result, scene, end)
        self._show()

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later messages depend on, as arrays."""
        return {f"{MESSAGES}{name}": array for name, array in self._messages.state().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``; the messages get new addresses."""
        own = {n.removeprefix(MESSAGES): a for n, a in arrays.items() if n.startswith(MESSAGES)}
        self._messages.restore(own)
        self._show()

    def _variables(self, name: str) -> list[Variable]:
        return [self._fmu.table().by_name[f"{name}.{role}"] for role in ROLES]

    def _place(self, name: str) -> list[int]:
        return [self._fmu.values.get(variable) for variable in self._variables(name)]

    def _show(self) -> None:
        for name in self._outputs:
            place = self._messages.buffers[name].place
            for variable, value in zip(self._variables(name), place, strict=True):
                self._fmu.values.set(variable, value)
