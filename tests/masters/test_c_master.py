"""The C master against the reference FMU, whose answers are known. For Linux."""

import math
from pathlib import Path
from typing import Any

import pytest
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu

from tests.bench.reference_fmu import INPUTS, OUTPUTS
from tests.masters.c_instance import Instance, State
from tests.masters.c_master import CMaster, Library, fmi_functions
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import (
    FOREIGN,
    NOWHERE,
    NULL,
    WILD,
    CallFailedError,
    CommandRefusedError,
    Status,
    null_array,
)

#: Arguments, after the instance, with which each function can be called.
ARGUMENTS: dict[str, tuple[str | int, ...]] = {
    "fmi2SetDebugLogging": (1, "@empty"),
    "fmi2FreeInstance": (),
    "fmi2SetupExperiment": (0, 0, 0, 0, 0),
    "fmi2EnterInitializationMode": (),
    "fmi2ExitInitializationMode": (),
    "fmi2Terminate": (),
    "fmi2Reset": (),
    "fmi2GetReal": (0,),
    "fmi2GetInteger": (33,),
    "fmi2GetBoolean": (34,),
    "fmi2GetString": (35,),
    "fmi2SetReal": (0, 1),
    "fmi2SetInteger": (33, 1),
    "fmi2SetBoolean": (34, 1),
    "fmi2SetString": (35, "text"),
    "fmi2GetFMUstate": ("state",),
    "fmi2SetFMUstate": (NULL,),
    "fmi2FreeFMUstate": (NULL,),
    "fmi2SerializedFMUstateSize": (NULL,),
    "fmi2SerializeFMUstate": (NULL, 8),
    "fmi2DeSerializeFMUstate": ("state", "00ff"),
    "fmi2GetDirectionalDerivative": (13, 0, 1),
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
    "fmi2SetRealInputDerivatives": (0, 1, 0),
    "fmi2GetRealOutputDerivatives": (13, 1),
    "fmi2DoStep": (0, 1),
    "fmi2CancelStep": (),
    "fmi2GetStatus": (0,),
    "fmi2GetRealStatus": (2,),
    "fmi2GetIntegerStatus": (0,),
    "fmi2GetBooleanStatus": (3,),
    "fmi2GetStringStatus": (1,),
}

#: Functions of the whole library.
WITHOUT_INSTANCE = {"fmi2GetTypesPlatform", "fmi2GetVersion", "fmi2Instantiate"}


def test_reference_fmu_is_valid(reference_fmu: Path) -> None:
    assert validate_fmu(str(reference_fmu)) == []


def test_reference_fmu_gives_the_same_in_another_master(
    reference_fmu: Path, instance: Instance
) -> None:
    start = {"body.position.x": 0.1, "body.position.y": 0.2}
    there = simulate_fmu(
        str(reference_fmu),
        stop_time=1.0,
        output_interval=0.25,
        start_values=start,
        output=["out_14", "out_19"],
    )
    instance.set_real(start).expect()
    for k in range(4):
        instance.step(0.25 * k, 0.25).expect()
    assert instance.get("out_14") == there["out_14"][-1] == 0.1 + 0.2
    assert instance.get("out_19") == there["out_19"][-1]


def test_all_functions_of_the_header_are_found_and_others_are_not(library: Library) -> None:
    assert len(fmi_functions()) == 44
    assert library.missing_functions([*fmi_functions(), "fmi2Foo"]) == ["fmi2Foo"]


def test_version_and_platform_are_passed_on(library: Library) -> None:
    assert (library.version(), library.types_platform()) == ("2.0", "default")


@pytest.mark.parametrize("value", [0.1, -1 / 3, 5e-324, 1.7976931348623157e308, -0.0])
def test_reals_come_back_to_the_bit(instance: Instance, value: float) -> None:
    instance.set_real({"body.velocity.z": value}).expect()
    instance.step(0.0, 0.1).expect()
    assert instance.get_real(["out_10"]).reals()[0].hex() == value.hex()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_reach_the_fmu(instance: Instance, value: float) -> None:
    reply = instance.set_real({"body.position.y": value})
    assert reply.status is Status.ERROR
    assert reply.texts() == [f"sensor 1: input 1 is {value}, must be finite"]


@pytest.mark.parametrize("value", [0, 1, -(2**31), 2**31 - 1])
def test_integers_come_back(instance: Instance, value: int) -> None:
    instance.set_integer({"integer_parameter": value}).expect()
    assert instance.get_integer(["integer_parameter"]).integers() == [value]


def test_booleans_come_back(instance: Instance) -> None:
    for value in (True, False):
        instance.set("boolean_parameter", value).expect()
        assert instance.get("boolean_parameter") is value


@pytest.mark.parametrize(
    "text", ["", " a  b ", "100 % %s %n", "ä€😀", "two\nlines\r", "a,b", "@null", "@empty", "\x01"]
)
def test_strings_come_back(instance: Instance, text: str) -> None:
    instance.set("string_parameter", text).expect()
    assert instance.get("string_parameter") == text


def test_strings_that_are_not_utf_8_come_back_byte_by_byte(instance: Instance) -> None:
    instance.set_string({"string_parameter": b"\xff\xfe"}).expect()
    assert instance.get("string_parameter") == "\udcff\udcfe"


def test_null_strings_reach_the_fmu(instance: Instance) -> None:
    reply = instance.set_string({"string_parameter": None})
    assert reply.status is Status.ERROR
    assert reply.texts() == ["sensor 1: a string is missing or too long"]


def test_many_values_in_one_call_keep_their_order(instance: Instance) -> None:
    values = {name: float(index + 1) for index, name in enumerate(INPUTS)}
    instance.set_real(values).expect()
    instance.step(0.0, 0.1).expect()
    sums = [1 + 2 + 3, 4 + 5 + 6 + 7, 8 + 9 + 10, 11 + 12 + 13, 91, 1, 91]
    assert instance.get_real(OUTPUTS).reals() == [*values.values(), *sums]
    assert instance.get_real(OUTPUTS[::-1]).reals() == [*values.values(), *sums][::-1]


def test_messages_come_with_the_call_that_caused_them(instance: Instance) -> None:
    reply = instance.step(0.0, -0.5)
    assert reply.status is Status.ERROR
    (message,) = reply.messages
    assert (message.receiver, message.instance) == (instance.name, "sensor 1")
    assert (message.status, message.category) == (Status.ERROR, "logStatusError")
    assert message.text == "sensor 1: no step of -0.5 is possible"
    assert instance.step(0.0, 0.5).messages == ()


def test_logging_can_be_asked_for_at_instantiation(library: Library) -> None:
    quiet = library.try_instantiate("a")[1]
    chatty = library.try_instantiate("a", logging=True)[1]
    assert (quiet.texts(), chatty.texts()) == ([], ["a: instantiated"])


def test_debug_logging_takes_categories(instance: Instance) -> None:
    assert instance.set_debug_logging(True, ["logEvents", "logStatusError"]).status is Status.OK
    missing = instance.call("fmi2SetDebugLogging", 1, null_array(2))
    assert missing.status is Status.ERROR


@pytest.mark.parametrize(
    ("name", "changes", "created"),
    [
        ("a", {}, "1"),
        ("a", {"resources": None}, "1"),
        ("a", {"visible": 1}, "1"),
        ("a", {"callbacks": "no-logger"}, "1"),
        ("a", {"callbacks": "no-memory"}, "1"),
        ("a", {"callbacks": "none"}, "0"),
        ("a", {"guid": None}, "0"),
        ("a", {"guid": "another"}, "0"),
        ("a", {"guid": None, "callbacks": "no-logger"}, "0"),
        ("a", {"kind": 0}, "0"),
        (None, {}, "0"),
    ],
)
def test_instances_are_created_with_what_is_asked_for(
    library: Library, name: str | None, changes: dict[str, Any], created: str
) -> None:
    assert library.try_instantiate(name, **changes)[1].words == (created,)


def test_a_good_instantiation_that_fails_says_why(
    library: Library, reference_files: FmuFiles
) -> None:
    wrong = FmuFiles(reference_files.directory, "Reference", "wrong", {})
    with pytest.raises(CallFailedError, match="guid wrong"):
        Library(library.master, library.name, wrong).instantiate()


def test_the_arguments_cover_all_functions() -> None:
    assert ARGUMENTS.keys() | WITHOUT_INSTANCE == set(fmi_functions())


@pytest.mark.parametrize("function", ARGUMENTS)
def test_each_function_can_be_called_on_bad_and_freed_instances(
    library: Library, instance: Instance, function: str
) -> None:
    instance.free()
    for bad in (*map(library.bad_instance, (NULL, WILD, FOREIGN)), instance):
        reply = bad.call(function, *ARGUMENTS[function])
        assert reply.status in (None, Status.ERROR, Status.DISCARD)


@pytest.mark.parametrize("kind", ["Real", "Integer", "Boolean", "String"])
def test_null_arrays_and_unknown_references_reach_the_fmu(instance: Instance, kind: str) -> None:
    get, put = f"fmi2Get{kind}", f"fmi2Set{kind}"
    missing = "sensor 1: an array is missing"
    assert instance.call(get, null_array(3)).texts() == [missing]
    assert instance.call(put, null_array(3), null_array(3)).texts() == [missing]
    assert instance.call(get, "0,0", NULL).texts() == [missing]
    assert instance.call(put, "0,0", null_array(2)).texts() == [missing]
    assert "reference 4000000000" in instance.call(get, 4000000000).texts()[0]
    assert instance.call(get, null_array(0)).status is Status.OK
    assert instance.call(put, "@empty", "@empty").status is Status.OK


def test_status_calls_pass_on_kind_and_value(instance: Instance) -> None:
    instance.step(1.0, 0.25).expect()
    assert instance.call("fmi2GetRealStatus", 2).reals() == [1.25]
    assert instance.call("fmi2GetRealStatus", 0).status is Status.DISCARD


def test_states_bring_back_what_was(instance: Instance) -> None:
    instance.set_real({"body.position.x": 2.0}).expect()
    instance.step(0.0, 0.1).expect()
    state = instance.get_state()
    content = instance.serialize(state)
    instance.step(0.1, 0.1).expect()
    assert instance.get("out_19") == 4.0
    instance.set_state(state).expect()
    assert instance.get("out_19") == 2.0
    instance.step(0.1, 0.1).expect()
    instance.set_state(instance.deserialize(content)).expect()
    assert instance.get("out_19") == 2.0
    instance.free_state(state).expect()
    instance.free_state(state).expect()


def test_a_state_is_taken_again_into_the_same_handle(instance: Instance) -> None:
    state = instance.get_state()
    other_name = instance.second_handle(state)
    instance.set_real({"body.position.x": 3.0}).expect()
    instance.step(0.0, 0.1).expect()
    instance.get_state(state)
    assert instance.serialize(other_name) == instance.serialize(state)
    assert instance.set_state(other_name).status is Status.OK


def test_damaged_states_and_bad_handles_reach_the_fmu(instance: Instance) -> None:
    content = instance.serialize(instance.get_state())
    for damaged in (b"", content[:-1], b"\x00" + content[1:], content + b"\x00"):
        assert "damaged" in instance.try_deserialize(damaged)[1].texts()[0]
    assert instance.set_state(State(NULL)).status is Status.ERROR
    assert instance.free_state(State(NOWHERE)).status is Status.ERROR
    with pytest.raises(CallFailedError):
        instance.get_state(State(NOWHERE))
    too_small = instance.call("fmi2SerializeFMUstate", instance.get_state().name, 3)
    assert too_small.status is Status.ERROR


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("fmi2Foo instance", "unknown command fmi2Foo"),
        ("fmi2DoStep", "missing word: instance"),
        ("fmi2DoStep nobody 0 1", "unknown instance nobody"),
        ("fmi2DoStep @odd/{library} 0 1", "unknown pointer @odd"),
        ("fmi2DoStep @null/other 0 1", "library other is not loaded"),
        ("fmi2DoStep {instance} soon 1", "time is no real number: soon"),
        ("fmi2SetReal {instance} 0,1 1", "1 values for 2 value references"),
        ("fmi2GetReal {instance} 1,b", "value references is no integer: b"),
        ("fmi2SetString {instance} 35 %4", "no hexadecimal digit"),
        ("load {library} x", "already loaded"),
    ],
)
def test_what_the_master_does_not_understand_is_refused_and_it_goes_on(
    instance: Instance, library: Library, command: str, reason: str
) -> None:
    line = command.format(instance=instance.name, library=library.name)
    with pytest.raises(CommandRefusedError, match=reason):
        library.master.command(line)
    assert instance.step(0.0, 0.1).status is Status.OK


def test_what_is_no_library_is_not_loaded(master: CMaster, tmp_path: Path) -> None:
    with pytest.raises(CommandRefusedError, match="cannot open shared object"):
        master.load(FmuFiles(tmp_path, "Missing", "", {}))


def test_an_unloaded_library_is_not_called(library: Library, instance: Instance) -> None:
    instance.free()
    library.unload()
    with pytest.raises(CommandRefusedError, match="is not loaded"):
        instance.step(0.0, 0.1)
