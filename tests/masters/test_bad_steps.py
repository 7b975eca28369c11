"""Steps that cannot be made: refused with a reason, and made once the input is good. For Linux."""

import math
from collections.abc import Iterator, Mapping

import pytest

from tests.masters.c_instance import Instance
from tests.masters.c_master import Library
from tests.masters.protocol import Message, Status
from tests.masters.sensors import (
    MODELS,
    STEP,
    Phase,
    bring_to,
    check_it_measures,
    error_of,
    names_all,
    unchanged,
)

NOT_FINITE = (math.nan, math.inf, -math.inf)


@pytest.fixture(params=MODELS)
def library(request: pytest.FixtureRequest, sensors: Mapping[str, Library]) -> Library:
    return sensors[request.param]


@pytest.fixture
def instance(library: Library) -> Iterator[Instance]:
    """A new instance; whatever was done to it, it must measure at the end."""
    created = library.instantiate("sensor")
    yield created
    created.free()


@pytest.fixture
def stepping(instance: Instance) -> Iterator[Instance]:
    """An instance after its first step, which must be able to make the second one at the end."""
    bring_to(instance, Phase.STEPPING)
    yield instance
    check_it_measures(instance, STEP, 0.75)


# ---- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.0, -0.0, -STEP, -5e-324, *NOT_FINITE])
def test_a_step_that_leads_nowhere_is_refused(stepping: Instance, step: float) -> None:
    with unchanged(stepping):
        text = error_of(stepping.step(STEP, step))
    assert names_all(text, f"communication step = {step} s", f"time = {STEP} s", "longer than 0 s")


@pytest.mark.parametrize("time", NOT_FINITE)
def test_a_step_from_no_instant_is_refused(stepping: Instance, time: float) -> None:
    with unchanged(stepping):
        text = error_of(stepping.step(time, STEP))
    assert names_all(text, f"time = {time} s")


def test_a_step_beyond_all_numbers_is_refused(stepping: Instance) -> None:
    with unchanged(stepping):
        error_of(stepping.step(1.7e308, 1.7e308))


@pytest.mark.parametrize("time", [0.0, STEP / 2, STEP - 1e-9, -1.0, -1e300])
def test_a_step_back_in_time_is_refused(stepping: Instance, time: float) -> None:
    with unchanged(stepping):
        text = error_of(stepping.step(time, STEP))
    assert names_all(text, f"time = {time} s", f"{STEP} s")


def test_a_first_step_before_the_start_is_refused(instance: Instance) -> None:
    instance.initialize(start=10.0)
    with unchanged(instance):
        text = error_of(instance.step(9.0, STEP))
    assert names_all(text, "time = 9.0 s", "10.0 s")
    check_it_measures(instance, 10.0, 1.0)


@pytest.mark.parametrize("start", NOT_FINITE)
def test_a_start_that_is_no_instant_is_refused(instance: Instance, start: float) -> None:
    with unchanged(instance):
        text = error_of(instance.setup(start))
    assert f"start time = {start} s" in text
    bring_to(instance, Phase.STEPPING)


def test_many_bad_calls_between_good_ones_leave_no_trace_in_the_results(
    library: Library,
) -> None:
    disturbed, undisturbed = (library.instantiate("same name") for _ in range(2))
    for each in (disturbed, undisturbed):
        if "noise.rms" in each.files.variables:
            each.set("noise.rms", 0.01).expect()
        each.initialize()
    for k in range(20):
        input_name = disturbed.files.names("input", "Real")[0]
        for bad in (
            disturbed.set_real({input_name: math.nan}),
            disturbed.step(k * STEP, -STEP),
            disturbed.step(k * STEP - 1.0, STEP),
            disturbed.set("seed", 3),
            disturbed.enter(),
        ):
            assert bad.status is Status.ERROR
        for each in (disturbed, undisturbed):
            each.set_real({input_name: 0.1 * k}).expect()
            each.step(k * STEP, STEP).expect()
        for name in disturbed.files.names("output"):
            assert disturbed.get(name) == undisturbed.get(name)
    for each in (disturbed, undisturbed):
        each.free()


# ---- faults ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "fault", "mended", "fragments"),
    [
        ("Odometer", {"fault.mode": 5}, {"fault.mode": 0}, ("distance", "5 (max)", "limits")),
        ("Encoder", {"fault.speed.mode": 2}, {"fault.speed.mode": 0}, ("speed", "2 (on)")),
        (
            "Encoder",
            {"fault.wave": 1, "fault.period": 0},
            {"fault.period": 1},
            ("fault.period of position", "0 s", "square", "more than 0 s"),
        ),
    ],
)
def test_a_fault_that_cannot_be_applied_fails_the_step_and_is_mended(
    sensors: Mapping[str, Library],
    model: str,
    fault: dict[str, int],
    mended: dict[str, int],
    fragments: tuple[str, ...],
) -> None:
    instance = sensors[model].instantiate()
    bring_to(instance, Phase.STEPPING)
    for name, value in fault.items():
        instance.set(name, value).expect()
    with unchanged(instance):
        assert names_all(error_of(instance.step(STEP, STEP)), *fragments)
    for name, value in mended.items():
        instance.set(name, value).expect()
    check_it_measures(instance, STEP, 0.75)
    instance.free()


# ---- orientations ------------------------------------------------------------------------------

W, X, Y, Z = (f"body.orientation.{part}" for part in "wxyz")
#: The outputs of ``Null`` that copy the orientation.
COPIES = tuple(f"value.copy_{number}" for number in range(4, 8))


@pytest.fixture
def body(sensors: Mapping[str, Library]) -> Iterator[Instance]:
    """An FMU that takes the state of a body, after its first step."""
    created = sensors["Null"].instantiate("body")
    bring_to(created, Phase.STEPPING)
    yield created
    created.free()


@pytest.mark.parametrize("quaternion", [(1e-7, 0, 0, 0), (0, 5e-324, 0, 0), (0, 6e-7, 0, -7e-7)])
def test_an_orientation_of_no_length_fails_the_step_and_is_mended(
    body: Instance, quaternion: tuple[float, ...]
) -> None:
    body.set_real(dict(zip((W, X, Y, Z), quaternion, strict=True))).expect()
    with unchanged(body):
        text = error_of(body.step(STEP, STEP))
    assert names_all(text, "body.orientation", *(str(float(q)) for q in quaternion), "1e-06")
    body.set_real({W: 1.0, X: 0.0, Y: 0.0, Z: 0.0}).expect()
    check_it_measures(body, STEP, 0.75)


def test_an_orientation_is_normalised(body: Instance) -> None:
    body.set_real({W: 0.0, X: 3e-6, Y: 0.0, Z: -4e-6}).expect()
    body.step(STEP, STEP).expect()
    # two roundings, of the length and of the quotient
    assert body.get_real(COPIES).reals() == pytest.approx([0.0, 0.6, 0.0, -0.8], rel=4e-16)


def test_an_orientation_that_is_not_connected_counts_as_none_with_one_warning(
    body: Instance,
) -> None:
    body.set_real({W: 0.0, X: 0.0, Y: -0.0, Z: 0.0}).expect()
    warnings: list[Message] = []
    for k in range(1, 6):
        reply = body.step(k * STEP, STEP).expect()
        warnings += reply.messages
        assert body.get_real(COPIES).reals() == [1.0, 0.0, 0.0, 0.0]
    assert [message.status for message in warnings] == [Status.WARNING]
    assert "body.orientation" in (warnings[0].text or "")
