"""What the sensors' FMUs log, to whom, and when. For Linux."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from tests.masters.c_instance import Instance
from tests.masters.c_master import Library
from tests.masters.protocol import Message, Reply, Status, null_array
from tests.masters.sensors import MODELS, STEP, Phase, bring_to, error_of, unchanged


@pytest.fixture(params=MODELS)
def library(request: pytest.FixtureRequest, sensors: Mapping[str, Library]) -> Library:
    return sensors[request.param]


@pytest.fixture
def instance(library: Library) -> Iterator[Instance]:
    """An instance that is not to log."""
    created = library.instantiate("sensor", logging=False)
    bring_to(created, Phase.STEPPING)
    yield created
    created.free()


def fail(instance: Instance) -> Reply:
    """A call whose failure shows in Python, where there is a traceback."""
    return instance.step(STEP, -1.0)


def tracebacks(reply: Reply) -> list[Message]:
    return [m for m in reply.messages if "Traceback (most recent call last)" in (m.text or "")]


def test_errors_are_told_although_logging_is_off(instance: Instance) -> None:
    (message,) = fail(instance).messages
    assert (message.receiver, message.instance) == (instance.name, "sensor")
    assert (message.status, message.category) == (Status.ERROR, "logStatusError")
    assert (message.text or "").startswith("fmi2DoStep: communication step = -1.0 s")


def test_warnings_are_told_although_logging_is_off(sensors: Mapping[str, Library]) -> None:
    instance = sensors["Encoder"].instantiate(logging=False)
    instance.set_real({"resolution": 1.0}).expect()  # does not divide a turn
    instance.setup().expect()
    instance.enter().expect()
    (message,) = instance.exit().expect().messages
    assert (message.status, message.category) == (Status.WARNING, "logStatusWarning")
    assert "no whole number" in (message.text or "")
    instance.free()


@pytest.mark.parametrize(
    ("on", "categories", "wanted"),
    [
        (False, (), False),
        (False, ("logDebug",), False),
        (True, (), True),
        (True, ("logDebug",), True),
        (True, ("logAll",), True),
        (True, ("logStatusWarning", "logDebug"), True),
        (True, ("logStatusError",), False),
        (True, ("logStatusError", "logStatusWarning", "logStatusFatal"), False),
    ],
)
def test_tracebacks_are_for_those_who_want_to_debug(
    instance: Instance, on: bool, categories: Sequence[str], wanted: bool
) -> None:
    instance.set_debug_logging(on, categories).expect()
    reply = fail(instance)
    error_of(reply)
    assert [(m.status, m.category) for m in tracebacks(reply)] == (
        [(Status.OK, "logDebug")] if wanted else []
    )


@pytest.mark.parametrize("logging", [False, True])
def test_logging_is_what_instantiation_said_until_it_is_changed(
    library: Library, logging: bool
) -> None:
    instance = library.instantiate(logging=logging)
    assert len(tracebacks(instance.set("sample.time", 1.0))) == logging
    instance.set_debug_logging(not logging).expect()
    assert len(tracebacks(instance.set("sample.time", 1.0))) == (not logging)
    instance.free()


@pytest.mark.parametrize("categories", [("logDebug", "logNonsense"), ("", "logDebug")])
def test_an_unknown_category_is_refused_and_the_choice_stays(
    instance: Instance, categories: Sequence[str]
) -> None:
    bad = next(name for name in categories if name != "logDebug")
    instance.set_debug_logging(True, ["logStatusError"]).expect()
    with unchanged(instance):
        text = error_of(instance.set_debug_logging(False, categories))
    assert f"'{bad}' is no log category" in text
    assert tracebacks(fail(instance)) == []
    instance.set_debug_logging(True, ["logDebug"]).expect()
    error_of(instance.set_debug_logging(False, categories))
    assert len(tracebacks(fail(instance))) == 1


def test_categories_that_are_missing_are_refused(instance: Instance) -> None:
    with unchanged(instance):
        error_of(instance.call("fmi2SetDebugLogging", 1, null_array(2)))
        error_of(instance.call("fmi2SetDebugLogging", 1, "@null"))
    instance.call("fmi2SetDebugLogging", 1, null_array(0)).expect()


@pytest.mark.parametrize("text", ["100 % %s %n %99999d", "日本 é 😀", "{0} $(x)"])
def test_what_the_host_gave_comes_back_in_messages_letter_by_letter(
    sensors: Mapping[str, Library], text: str
) -> None:
    instance = sensors["Encoder"].instantiate()
    assert text in error_of(instance.set("preset", text))
    instance.free()


def test_an_endless_text_is_cut_in_messages(sensors: Mapping[str, Library]) -> None:
    for letter in ("x", "é", "😀", "%"):
        instance = sensors["Encoder"].instantiate()
        message = error_of(instance.set("preset", letter * 100_000))
        assert letter * 1000 in message
        instance.free()


def test_messages_go_to_the_instance_that_they_are_about(library: Library) -> None:
    instances = [library.instantiate(f"sensor {n}") for n in range(3)]
    for each in instances:
        bring_to(each, Phase.STEPPING)
    for each in instances[::-1]:
        assert [m.receiver for m in fail(each).messages] == [each.name]
    for each in instances:
        each.free()


def test_a_life_without_mistakes_is_silent(library: Library) -> None:
    instance, reply = library.try_instantiate("sensor", logging=True)
    replies = [reply, instance.setup(), instance.enter(), instance.exit()]
    replies += [instance.step(k * STEP, STEP) for k in range(3)]
    replies += [instance.terminate(), instance.reset(), instance.free()]
    assert [text for each in replies for text in each.texts()] == []


# ---- the status of a step ----------------------------------------------------------------------


def test_the_last_successful_time_is_where_the_last_good_step_ended(instance: Instance) -> None:
    assert instance.call("fmi2GetRealStatus", 2).expect().reals() == [STEP]
    fail(instance)
    assert instance.call("fmi2GetRealStatus", 2).expect().reals() == [STEP]
    instance.step(STEP, 2 * STEP).expect()
    assert instance.call("fmi2GetRealStatus", 2).expect().reals() == [3 * STEP]


def test_a_sensor_never_ends_the_simulation(instance: Instance) -> None:
    assert instance.call("fmi2GetBooleanStatus", 3).expect().booleans() == [False]


@pytest.mark.parametrize("kind", range(-1, 6))
@pytest.mark.parametrize("type_name", ["", "Real", "Integer", "Boolean", "String"])
def test_other_questions_for_a_status_are_discarded(
    instance: Instance, type_name: str, kind: int
) -> None:
    if (type_name, kind) not in (("Real", 2), ("Boolean", 3)):
        with unchanged(instance):
            reply = instance.call(f"fmi2Get{type_name}Status", kind)
        assert reply.status is Status.DISCARD


@pytest.mark.parametrize("kind", ["Status", "RealStatus", "IntegerStatus", "BooleanStatus"])
def test_a_status_without_a_place_for_it_is_told(instance: Instance, kind: str) -> None:
    function = f"fmi2Get{kind}"
    text = error_of(instance.call(function, 2, "@null"))
    assert text == f"{function}: the place for the value is NULL."


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instance_name": "my\udcff sensor"}, r"the instance name 'my\xff sensor' is not text"),
        ({"guid": "{\udce9}"}, r"the GUID '{\xe9}' is not text in UTF-8"),
        ({"resources": "file:///a\udcc3("}, r"location 'file:///a\xc3(' is not text in"),
    ],
)
def test_an_identity_that_is_no_text_is_refused_with_what_it_is(
    library: Library, changes: dict[str, str], words: str
) -> None:
    _, reply = library.try_instantiate(**{"instance_name": "sensor", **changes})
    assert reply.words == ("0",)
    (text,) = reply.texts()
    assert (text or "").startswith("fmi2Instantiate: the ")
    assert words in (text or "")


def test_a_string_that_is_no_text_is_refused_with_the_name_of_its_variable(
    library: Library,
) -> None:
    instance = library.instantiate("sensor")
    with unchanged(instance):
        text = error_of(instance.set_string({"output_directory": b"ab\xff\xfe"}))
    assert text.startswith("fmi2SetString: output_directory = b'ab\\xff\\xfe' is not allowed")
    assert "UTF-8" in text
    instance.free()
