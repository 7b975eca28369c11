"""Every function in every phase: what the standard allows works, all else is refused. For Linux."""

import random
from collections.abc import Iterator, Mapping

import pytest

from tests.masters.c_instance import Instance, State
from tests.masters.c_master import Library, fmi_functions
from tests.masters.fmi_calls import WITHOUT_INSTANCE, Call, all_calls, life_cycle
from tests.masters.protocol import Status
from tests.masters.sensors import (
    MODELS,
    STEP,
    Phase,
    bring_to,
    check_it_measures,
    error_of,
    snapshot,
    unchanged,
)

#: What there is nothing to report on, FMI answers with "discard".
WITHOUT_ANSWER = {"fmi2GetStatus", "fmi2GetIntegerStatus", "fmi2GetStringStatus"}


@pytest.fixture(params=MODELS)
def library(request: pytest.FixtureRequest, sensors: Mapping[str, Library]) -> Library:
    return sensors[request.param]


@pytest.fixture
def instance(library: Library) -> Iterator[Instance]:
    created = library.instantiate("sensor")
    yield created
    created.free()


def expected_status(call: Call) -> Status:
    return Status.DISCARD if call.function in WITHOUT_ANSWER else Status.OK


def prepare(instance: Instance, phase: Phase) -> None:
    """Brings an instance to a phase, with a state of it under the name that calls use."""
    bring_to(instance, phase)
    instance.get_state(State("taken"))


def release(instance: Instance) -> None:
    instance.free_state(State("taken"))
    instance.free_state(State("new"))


def test_the_calls_cover_all_functions(sensors: Mapping[str, Library]) -> None:
    called = {call.function for call in all_calls(sensors["Odometer"].files)}
    assert called | WITHOUT_INSTANCE | {"fmi2FreeInstance"} == set(fmi_functions())


@pytest.mark.parametrize("phase", Phase)
def test_calls_that_the_standard_allows_in_a_phase_succeed(library: Library, phase: Phase) -> None:
    calls = [call for call in all_calls(library.files) if phase in call.allowed]
    assert calls != []
    for call in calls:
        instance = library.instantiate("sensor")
        prepare(instance, phase)
        words = (STEP, STEP) if call.function == "fmi2DoStep" else call.words
        if call.function == "fmi2SerializeFMUstate":
            words = ("taken", len(instance.serialize(State("taken"))))
        reply = instance.call(call.function, *words)
        assert reply.status is expected_status(call), reply
        release(instance)
        instance.free()


@pytest.mark.parametrize("phase", Phase)
def test_calls_that_only_read_change_nothing_where_the_standard_does_not_want_them(
    instance: Instance, phase: Phase
) -> None:
    prepare(instance, phase)
    for call in all_calls(instance.files):
        if phase in call.answered:
            with unchanged(instance):
                reply = instance.call(call.function, *call.words)
            assert reply.status is expected_status(call), reply
    release(instance)


@pytest.mark.parametrize("phase", Phase)
def test_calls_in_a_wrong_phase_are_refused_and_change_nothing(
    instance: Instance, phase: Phase
) -> None:
    prepare(instance, phase)
    refused = [c for c in all_calls(instance.files) if phase not in c.allowed | c.answered]
    assert refused != []
    for call in refused:
        with unchanged(instance):
            error_of(instance.call(call.function, *call.words))
    release(instance)


@pytest.mark.parametrize("phase", Phase)
def test_a_refusal_names_function_and_phase(instance: Instance, phase: Phase) -> None:
    bring_to(instance, phase)
    for call in life_cycle():
        if phase not in call.allowed:
            text = error_of(instance.call(call.function, *call.words))
            assert text == f"{call.function} cannot be called {phase.value}."


@pytest.mark.parametrize("phase", Phase)
def test_unsupported_functions_are_named_as_such_in_any_phase(
    instance: Instance, phase: Phase
) -> None:
    bring_to(instance, phase)
    for call in all_calls(instance.files):
        if not call.allowed and call.function != "fmi2DeSerializeFMUstate":
            text = error_of(instance.call(call.function, *call.words))
            assert text == f"{call.function} is not supported by this FMU."


@pytest.mark.parametrize("phase", Phase)
def test_an_instance_can_be_freed_in_any_phase(library: Library, phase: Phase) -> None:
    for with_state in (False, True):
        instance = library.instantiate("sensor")
        bring_to(instance, phase)
        if with_state:
            instance.get_state()
        assert instance.free().messages == ()


@pytest.mark.parametrize("phase", Phase)
def test_reset_leads_from_any_phase_to_what_a_new_instance_is(
    library: Library, instance: Instance, phase: Phase
) -> None:
    new = snapshot(library.instantiate("sensor"))
    instance.set("seed", 12).expect()
    bring_to(instance, phase)
    instance.reset().expect()
    assert snapshot(instance) == new
    bring_to(instance, Phase.STEPPING)
    check_it_measures(instance, STEP, 0.25)


@pytest.mark.parametrize("there", Phase)
@pytest.mark.parametrize("back", Phase)
def test_a_state_leads_back_to_the_phase_it_was_taken_in(
    library: Library, back: Phase, there: Phase
) -> None:
    instance = library.instantiate("sensor")
    states = {}
    for phase in Phase:
        instance.reset().expect()
        bring_to(instance, phase)
        states[phase] = instance.get_state()
    instance.set_state(states[back]).expect()
    before = snapshot(instance)
    instance.set_state(states[there]).expect()
    instance.set_state(states[back]).expect()
    assert snapshot(instance) == before
    for call in life_cycle():
        if back not in call.allowed:
            error_of(instance.call(call.function, *call.words))
    instance.free()


def test_calls_in_any_order_follow_the_phases(library: Library, instance: Instance) -> None:
    chosen = random.Random(20)
    calls = [call for call in all_calls(library.files) if "FMUstate" not in call.function]
    phase, time, steps = Phase.INSTANTIATED, 0.0, 0
    refused_in = set()
    for _ in range(1500):
        call = chosen.choice(calls)
        ends = call.leads_to in (Phase.INSTANTIATED, Phase.TERMINATED)
        if ends and chosen.random() < 0.8:
            continue  # few walks would come far
        words: tuple[str | int | float, ...] = call.words
        if call.function == "fmi2DoStep":
            words = (time, STEP)
        reply = instance.call(call.function, *words)
        allowed = phase in call.allowed | call.answered
        assert reply.status is (expected_status(call) if allowed else Status.ERROR), reply
        if allowed and call.leads_to is not None:
            phase, time = call.leads_to, 0.0
        elif allowed and call.function == "fmi2DoStep":
            time, steps = time + STEP, steps + 1
        elif not allowed:
            refused_in.add(phase)
    assert steps > 10
    assert refused_in == set(Phase)
