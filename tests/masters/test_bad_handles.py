"""Instances and states that are none, or no more, and bad arguments of instantiation. For Linux."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.masters.c_instance import Instance, State
from tests.masters.c_master import CMaster, Library
from tests.masters.fmi_calls import all_calls
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import FOREIGN, NOWHERE, NULL, WILD, CallFailedError, Status
from tests.masters.sensors import (
    MODELS,
    STEP,
    Phase,
    bring_to,
    check_it_measures,
    error_of,
    unchanged,
)

BAD_POINTERS = (NULL, WILD, FOREIGN)


@pytest.fixture(params=MODELS)
def library(request: pytest.FixtureRequest, sensors: Mapping[str, Library]) -> Library:
    return sensors[request.param]


@pytest.fixture
def instance(library: Library) -> Iterator[Instance]:
    """An instance after its first step, which must be able to make the second one at the end."""
    created = library.instantiate("sensor")
    bring_to(created, Phase.STEPPING)
    yield created
    check_it_measures(created, STEP, 0.75)
    created.free()


# ---- instances ---------------------------------------------------------------------------------


@pytest.mark.parametrize("pointer", BAD_POINTERS)
def test_every_function_refuses_what_is_no_instance(
    library: Library, instance: Instance, pointer: str
) -> None:
    nobody = library.bad_instance(pointer)
    with unchanged(instance):
        for call in all_calls(library.files):
            assert nobody.call(call.function, *call.words).status is Status.ERROR
        assert nobody.free().messages == ()


def test_every_function_refuses_an_instance_that_was_freed(
    library: Library, instance: Instance
) -> None:
    gone = library.instantiate("gone")
    gone.free()
    with unchanged(instance):
        for call in all_calls(library.files):
            assert gone.call(call.function, *call.words).status is Status.ERROR
        gone.free()
    again = library.instantiate("again")  # in the place of the one that is gone
    with unchanged(again):
        assert gone.setup().status is Status.ERROR
        gone.free()
    again.free()


def test_every_function_refuses_an_instance_of_another_fmu(
    master: CMaster, sensor_files: Mapping[str, FmuFiles]
) -> None:
    libraries = [master.load(files) for files in sensor_files.values()]
    instances = [library.instantiate("sensor") for library in libraries]
    for library, own in zip(libraries, instances, strict=True):
        for other in instances:
            if other is not own:
                mistaken = library.mistaken_for(other)
                with unchanged(own), unchanged(other):
                    for call in all_calls(library.files):
                        reply = mistaken.call(call.function, *call.words)
                        assert reply.status is Status.ERROR, call.function
                    mistaken.free()


def test_hundreds_of_instances_live_at_once(library: Library) -> None:
    instances = [library.instantiate(f"sensor {n}") for n in range(200)]
    for n, each in enumerate(instances):
        bring_to(each, Phase.STEPPING)
        check_it_measures(each, STEP, n / 64)
    for each in instances:
        each.free()


# ---- states ------------------------------------------------------------------------------------

#: Functions that read a state, with the words that follow the state.
READERS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("fmi2SetFMUstate", ()),
    ("fmi2SerializedFMUstateSize", ()),
    ("fmi2SerializeFMUstate", (100,)),
)


def check_is_no_state(instance: Instance, state: State) -> None:
    """Every function that reads a state must refuse this one and change nothing."""
    with unchanged(instance):
        for function, words in READERS:
            text = error_of(instance.call(function, state.name, *words))
            assert "no state of this instance" in text


@pytest.mark.parametrize("pointer", BAD_POINTERS)
def test_what_is_no_state_is_refused(instance: Instance, pointer: str) -> None:
    check_is_no_state(instance, State(pointer))


@pytest.mark.parametrize("pointer", [WILD, FOREIGN])
def test_what_is_no_state_is_neither_freed_nor_overwritten(
    instance: Instance, pointer: str
) -> None:
    content = instance.serialize(instance.get_state()).hex()
    with unchanged(instance):
        error_of(instance.free_state(State(pointer)))
        error_of(instance.call("fmi2GetFMUstate", pointer))
        error_of(instance.call("fmi2DeSerializeFMUstate", pointer, content))


def test_freeing_no_state_is_no_error(instance: Instance) -> None:
    instance.free_state(State(NULL)).expect()
    instance.free_state(State(NOWHERE)).expect()


def test_a_place_for_a_state_that_is_missing_is_refused(instance: Instance) -> None:
    content = instance.serialize(instance.get_state())
    with unchanged(instance):
        with pytest.raises(CallFailedError, match="NULL"):
            instance.get_state(State(NOWHERE))
        error_of(instance.call("fmi2DeSerializeFMUstate", NOWHERE, content.hex()))
        error_of(instance.call("fmi2DeSerializeFMUstate", "new", f"{NULL}:8"))


def test_a_state_that_was_freed_is_refused_by_whatever_name(instance: Instance) -> None:
    state = instance.get_state()
    other_name = instance.second_handle(state)
    instance.free_state(state).expect()
    instance.free_state(state).expect()  # the first call set the handle to NULL
    check_is_no_state(instance, other_name)
    error_of(instance.free_state(other_name))
    newer = instance.get_state()  # in the place of the one that is gone
    check_is_no_state(instance, other_name)
    error_of(instance.free_state(other_name))
    instance.set_state(newer).expect()


def test_a_state_of_another_instance_is_refused_by_every_function(
    library: Library, instance: Instance
) -> None:
    other = library.instantiate("other")
    state = other.get_state()
    check_is_no_state(instance, state)
    error_of(instance.free_state(state))
    other.set_state(state).expect()
    other.free()
    check_is_no_state(instance, state)
    error_of(instance.free_state(state))


def test_a_buffer_for_a_state_must_be_there_and_large_enough(instance: Instance) -> None:
    state = instance.get_state()
    size = instance.call("fmi2SerializedFMUstateSize", state.name).expect().integers()[0]
    with unchanged(instance):
        error_of(instance.call("fmi2SerializedFMUstateSize", state.name, NULL))
        error_of(instance.call("fmi2SerializeFMUstate", state.name, size, NULL))
        for too_small in (0, 1, size - 1):
            text = error_of(instance.call("fmi2SerializeFMUstate", state.name, too_small))
            assert f"has {too_small} bytes, the state needs {size}" in text
    exact = instance.call("fmi2SerializeFMUstate", state.name, size).expect().words[0]
    roomy = instance.call("fmi2SerializeFMUstate", state.name, size + 9).expect().words[0]
    assert roomy == exact + "00" * 9


# ---- instantiation -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        (None, {}, "instance name"),
        ("", {}, "instance name"),
        ("sensor", {"guid": None}, "GUID is missing"),
        ("sensor", {"guid": ""}, "the GUID ''"),
        ("sensor", {"guid": "{100 % wrong}"}, "the GUID '{100 % wrong}'"),
        ("sensor", {"kind": 0}, "co-simulation only"),
        ("sensor", {"kind": 2}, "co-simulation only"),
        ("sensor", {"resources": None}, "resource location is missing"),
    ],
)
def test_an_instance_is_refused_with_the_reason(
    library: Library, name: str | None, changes: Mapping[str, str | int | None], reason: str
) -> None:
    _, reply = library.try_instantiate(name, logging=False, callbacks="full", **changes)
    assert reply.words == ("0",)
    (message,) = reply.messages
    assert (message.status, message.category) == (Status.ERROR, "logStatusError")
    assert reason in (message.text or "")
    library.instantiate("sensor").free()


def test_a_wrong_guid_is_told_with_the_right_one(library: Library) -> None:
    _, reply = library.try_instantiate(guid="{wrong}")
    assert library.files.guid in reply.texts()[0]


def test_no_callbacks_give_no_instance(library: Library) -> None:
    assert library.try_instantiate(callbacks="none")[1].words == ("0",)


def test_memory_functions_are_not_needed(library: Library) -> None:
    instance, reply = library.try_instantiate(callbacks="no-memory")
    assert reply.words == ("1",)
    bring_to(instance, Phase.STEPPING)
    instance.free()


@pytest.mark.parametrize("model", MODELS)
def test_without_a_logger_errors_go_to_the_standard_stream(
    master_executable: Path, sensor_files: Mapping[str, FmuFiles], model: str
) -> None:
    master = CMaster(master_executable)
    library = master.load(sensor_files[model])
    assert library.try_instantiate(callbacks="no-logger", guid="wrong")[1].words == ("0",)
    instance, reply = library.try_instantiate("quiet one", callbacks="no-logger")
    assert reply.words == ("1",)
    bring_to(instance, Phase.STEPPING)
    assert instance.step(0.0, -1.0).status is Status.ERROR
    check_it_measures(instance, STEP, 0.5)
    exit_code, stderr = master.close()
    assert exit_code == 0
    # a body whose position alone moves is told of, too
    first, second = (line for line in stderr.splitlines() if "was not connected" not in line)
    assert "the GUID 'wrong'" in first
    assert second.startswith("quiet one: fmi2DoStep: communication step = -1.0 s")


@pytest.mark.parametrize(
    "name", [" ", "a/b\\c:d", "../../up", "100 %s%n", "日本", "new\nline", "x" * 5000]
)
def test_any_name_will_do_and_comes_back_with_messages(library: Library, name: str) -> None:
    instance = library.instantiate(name)
    bring_to(instance, Phase.STEPPING)
    reply = instance.step(0.0, -1.0)
    assert [message.instance for message in reply.messages] == [name]
    instance.free()


def test_a_name_that_is_not_utf_8_is_refused_or_taken_without_harm(library: Library) -> None:
    _, reply = library.try_instantiate(b"\xff\xfe".decode(errors="surrogateescape"))
    assert reply.words == ("0",)
    assert len(reply.messages) == 1
    library.instantiate("sensor").free()
