"""Every function of FMI 2.0 with arguments that fit, and when it may be called in co-simulation.

The phases are those of the standard's table of co-simulation functions (FMI 2.0, section 4.2.4),
without the states of asynchronous steps. Functions that only read may answer in more phases than
the standard demands, as long as they change nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import array
from tests.masters.sensors import Phase

ALWAYS = frozenset(Phase)
NEVER: frozenset[Phase] = frozenset()
INSTANTIATED = frozenset({Phase.INSTANTIATED})
INITIALIZING = frozenset({Phase.INITIALIZING})
STEPPING = frozenset({Phase.STEPPING})
TERMINATED = frozenset({Phase.TERMINATED})
NOT_STARTED = INSTANTIATED | INITIALIZING

Words = tuple[str | int, ...]


@dataclass(frozen=True)
class Call:
    """A function with the words of its arguments after the instance."""

    function: str
    words: Words
    allowed: frozenset[Phase]
    answered: frozenset[Phase] = NEVER
    """Phases in which it may answer too, because it only reads."""
    leads_to: Phase | None = None
    """The phase afterwards, where that is another one."""


def life_cycle() -> list[Call]:
    """Calls that bring an instance from phase to phase."""
    return [
        Call("fmi2SetupExperiment", (0, 0, 0, 0, 0), INSTANTIATED),
        Call("fmi2EnterInitializationMode", (), INSTANTIATED, leads_to=Phase.INITIALIZING),
        Call("fmi2ExitInitializationMode", (), INITIALIZING, leads_to=Phase.STEPPING),
        Call("fmi2Terminate", (), STEPPING, leads_to=Phase.TERMINATED),
        Call("fmi2Reset", (), ALWAYS, leads_to=Phase.INSTANTIATED),
    ]


def value_calls(files: FmuFiles) -> list[Call]:
    """Getting and setting one variable of each type, and inputs beside parameters."""
    parameters: dict[str, tuple[str, str | int]] = {
        "Real": ("sample_rate", 10),
        "Integer": ("seed", 7),
        "Boolean": ("inputs_at_step_end", 0),
        "String": ("output_directory", "somewhere"),
    }
    calls = []
    for kind, (name, value) in parameters.items():
        words = (files.variables[name].reference, value)
        get = Call(f"fmi2Get{kind}", words[:1], ALWAYS - INSTANTIATED, INSTANTIATED)
        calls += [get, Call(f"fmi2Set{kind}", words, NOT_STARTED)]
    real_input = files.variables[files.names("input", "Real")[0]].reference
    calls.append(Call("fmi2SetReal", (real_input, 1), ALWAYS - TERMINATED))
    for name in files.names("input", "Integer")[:1]:
        words = (files.variables[name].reference, 0)
        calls.append(Call("fmi2SetInteger", words, ALWAYS - TERMINATED))
    return calls


def state_calls() -> list[Call]:
    """Calls on a state that the caller has taken under the name ``taken``."""
    return [
        Call("fmi2GetFMUstate", ("new",), ALWAYS),
        Call("fmi2SetFMUstate", ("taken",), ALWAYS),
        Call("fmi2SerializedFMUstateSize", ("taken",), ALWAYS),
        Call("fmi2SerializeFMUstate", ("taken", 100_000), ALWAYS),
        Call("fmi2FreeFMUstate", ("new",), ALWAYS),
    ]


def status_calls() -> list[Call]:
    """Questions for the status of a step that is still going on; here none ever is."""
    running, early = STEPPING | TERMINATED, INITIALIZING
    return [
        Call("fmi2GetStatus", (0,), running, early),
        Call("fmi2GetRealStatus", (2,), running, early),
        Call("fmi2GetIntegerStatus", (0,), running, early),
        Call("fmi2GetBooleanStatus", (3,), running, early),
        Call("fmi2GetStringStatus", (1,), running, early),
    ]


def unsupported_calls(files: FmuFiles) -> list[Call]:
    """What the model description says the FMUs do not do, and all of model exchange."""
    reference = files.variables[files.names("output", "Real")[0]].reference
    words: Mapping[str, Words] = {
        "fmi2SetRealInputDerivatives": (0, 1, 0),
        "fmi2GetRealOutputDerivatives": (reference, 1),
        "fmi2GetDirectionalDerivative": (reference, 0, 1),
        "fmi2CancelStep": (),
        "fmi2EnterEventMode": (),
        "fmi2NewDiscreteStates": (),
        "fmi2EnterContinuousTimeMode": (),
        "fmi2CompletedIntegratorStep": (),
        "fmi2SetTime": (0,),
        "fmi2SetContinuousStates": (0,),
        "fmi2GetDerivatives": (1,),
        "fmi2GetEventIndicators": (1,),
        "fmi2GetContinuousStates": (1,),
        "fmi2GetNominalsOfContinuousStates": (1,),
    }
    return [Call(function, each, NEVER) for function, each in words.items()]


def all_calls(files: FmuFiles) -> list[Call]:
    """Every function that takes an instance, but for those that free it or read a state's bytes."""
    return [
        Call("fmi2SetDebugLogging", (0, array(())), ALWAYS),
        *life_cycle(),
        Call("fmi2DoStep", (1, 1), STEPPING),
        *value_calls(files),
        *state_calls(),
        Call("fmi2DeSerializeFMUstate", ("new", "00ff"), NEVER),
        *status_calls(),
        *unsupported_calls(files),
    ]


#: Functions of the whole library.
WITHOUT_INSTANCE = {"fmi2GetTypesPlatform", "fmi2GetVersion", "fmi2Instantiate"}
