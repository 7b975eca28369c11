"""Steps that the binding makes without Python, and outputs in initialization mode. For Linux."""

from collections.abc import Mapping

import pytest

from tests.bench.reference_fmu import INPUTS, OUTPUTS
from tests.masters.c_instance import Instance, State
from tests.masters.c_master import CMaster, Library
from tests.masters.fmu_files import FmuFiles
from tests.masters.plain_files import build_plain_fmu
from tests.masters.protocol import Status
from tests.masters.sensors import error_of

COPY, COMPILED, INTERPRETED, COMPUTED, END, WHILE_LOCKED = (
    OUTPUTS[n] for n in (0, 13, 14, 15, 16, 17)
)
PASSED, HAND_OVER, KEEP_LOCK, FAIL, NO_STEP, NO_ANSWER, WAIT = INPUTS[:7]


@pytest.fixture(scope="module")
def plain(
    sensor_files: Mapping[str, FmuFiles],
    reference_files: FmuFiles,
    tmp_path_factory: pytest.TempPathFactory,
) -> FmuFiles:
    directory = tmp_path_factory.mktemp("plain") / "Plain"
    return build_plain_fmu(sensor_files["Null"], reference_files, directory)


@pytest.fixture
def library(shared_master: CMaster, plain: FmuFiles) -> Library:
    return shared_master.load(plain)


@pytest.fixture
def instance(library: Library) -> Instance:
    created = library.instantiate("plain")
    created.initialize()
    return created


def counts(instance: Instance) -> tuple[object, object]:
    """How many steps went without Python, and how many through it."""
    return instance.get(COMPILED), instance.get(INTERPRETED)


# ---- steps ---------------------------------------------------------------------------------------


def test_steps_after_initialization_need_no_python(instance: Instance) -> None:
    for k in range(10):
        instance.set_real({PASSED: 0.5 + k}).expect()
        instance.step(0.1 * k, 0.1).expect()
        assert instance.get(COPY) == 0.5 + k
    assert counts(instance) == (10.0, 0.0)


def test_steps_go_on_while_another_thread_holds_pythons_lock(
    library: Library, instance: Instance
) -> None:
    keeper = library.instantiate("keeper")
    keeper.set_real({NO_STEP: 1.0}).expect()
    keeper.initialize()
    # One has Python's lock until the other has stepped, which waits until that has it.
    keeper.set_real({KEEP_LOCK: 60.0}).expect()
    instance.set_real({WAIT: 1.0}).expect()
    library.master.step_in_threads([keeper, instance], 0.0, 0.1, 1).expect()
    assert instance.get(WHILE_LOCKED) == 1.0
    assert counts(keeper) == (0.0, 1.0)


def test_what_the_compiled_step_hands_over_goes_through_python(instance: Instance) -> None:
    instance.step(0.0, 0.1).expect()
    instance.set_real({HAND_OVER: 1.0}).expect()
    instance.step(0.1, 0.1).expect()
    assert counts(instance) == (1.0, 1.0)
    instance.set_real({HAND_OVER: 0.0}).expect()
    instance.step(0.2, 0.1).expect()
    assert counts(instance) == (2.0, 1.0)


@pytest.mark.parametrize("time", ["nan", "inf", "0x1p+0"])
@pytest.mark.parametrize("step", ["nan", "inf", "0", "-0.1"])
def test_what_is_no_step_goes_to_python_which_has_the_words(
    instance: Instance, time: str, step: str
) -> None:
    reply = instance.call("fmi2DoStep", time, step)
    assert counts(instance)[0] == 0.0
    if step != "inf":
        assert error_of(reply) == "fmi2DoStep: no step"


def test_python_is_asked_again_after_each_step_that_it_made(instance: Instance) -> None:
    instance.set_real({HAND_OVER: 1.0, NO_STEP: 1.0}).expect()
    instance.step(0.0, 0.1).expect()
    instance.set_real({HAND_OVER: 0.0, NO_STEP: 0.0}).expect()
    instance.step(0.1, 0.1).expect()
    assert counts(instance) == (0.0, 2.0)  # there was none to call; asked again, there is
    instance.step(0.2, 0.1).expect()
    assert counts(instance) == (1.0, 2.0)


def test_a_refused_step_leaves_the_compiled_one_in_place(instance: Instance) -> None:
    error_of(instance.step(0.0, -1.0))
    instance.step(0.0, 0.1).expect()
    assert counts(instance) == (1.0, 0.0)


def test_a_state_brings_the_compiled_step_of_its_phase(instance: Instance) -> None:
    state = instance.get_state(State("kept"))
    instance.terminate().expect()
    error_of(instance.step(0.0, 0.1))
    instance.set_state(state).expect()
    instance.step(0.0, 0.1).expect()
    assert counts(instance) == (1.0, 0.0)
    instance.reset().expect()
    error_of(instance.step(0.0, 0.1))
    instance.initialize()
    instance.step(0.0, 0.1).expect()
    assert counts(instance) == (1.0, 0.0)


def test_a_compiled_step_that_cannot_be_had_is_told_and_python_steps(instance: Instance) -> None:
    instance.set_real({HAND_OVER: 1.0, NO_ANSWER: 1.0}).expect()
    reply = instance.step(0.0, 0.1).expect()
    assert [m.status for m in reply.messages] == [Status.WARNING]
    assert "steps go through Python" in reply.texts()[0]
    instance.step(0.1, 0.1).expect()
    assert counts(instance) == (0.0, 2.0)


# ---- initialization mode -------------------------------------------------------------------------


def test_outputs_follow_what_is_set_in_initialization_mode(library: Library) -> None:
    instance = library.instantiate("plain")
    instance.set_real({PASSED: 1.0}).expect()
    assert instance.get(COPY) == 0.0  # before it, start values hold
    instance.setup().expect()
    instance.enter().expect()
    assert instance.get(COPY) == 1.0
    instance.set_real({PASSED: 2.0}).expect()
    assert instance.get(COPY) == 2.0
    instance.set("boolean_parameter", True).expect()
    assert [instance.get(COMPUTED), instance.get(COMPUTED)] == [3.0, 3.0]  # once a change
    instance.set("string_parameter", "text").expect()
    assert instance.get("string_parameter") == "text"
    assert instance.get(COMPUTED) == 4.0
    instance.exit().expect()
    instance.set_real({PASSED: 5.0}).expect()
    assert instance.get(COPY) == 2.0  # inputs act in the next step


def test_what_keeps_outputs_from_being_computed_is_told_until_it_is_mended(
    library: Library,
) -> None:
    instance = library.instantiate("plain")
    instance.set_real({FAIL: 1.0}).expect()
    instance.setup().expect()
    instance.enter().expect()
    for _ in range(2):
        text = error_of(instance.get_real([COPY]))
        assert text == "fmi2GetReal: the outputs cannot be computed yet"
    instance.set_real({FAIL: 0.0, PASSED: 3.0}).expect()
    assert instance.get(COPY) == 3.0


def test_a_state_taken_in_initialization_mode_is_computed_anew(library: Library) -> None:
    instance = library.instantiate("plain")
    instance.setup().expect()
    instance.enter().expect()
    instance.set_real({PASSED: 1.0}).expect()
    state = instance.get_state()
    instance.set_real({PASSED: 2.0}).expect()
    assert instance.get(COPY) == 2.0
    instance.set_state(state).expect()
    assert instance.get(COPY) == 1.0


# ---- states and texts ----------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [99, 0, 3, 6, 16], ids=lambda n: f"phase {n}")
def test_a_state_of_no_phase_is_refused_and_the_instance_goes_on(
    instance: Instance, phase: int
) -> None:
    """99 comes to the binding as a text, the others as numbers."""
    content = instance.serialize(instance.get_state())
    crafted = instance.deserialize(bytes([phase]) + content[1:])
    error_of(instance.set_state(crafted))
    instance.step(0.0, 0.1).expect()
    assert instance.get("string_parameter") == ""  # no exception is left behind
    instance.free()


def test_a_string_got_twice_in_one_call_is_the_same_text(library: Library) -> None:
    instance = library.instantiate("plain")
    instance.set("string_parameter", "a text of some length, so that freed memory shows").expect()
    twice = instance.get_string(["string_parameter", "string_parameter", "string_parameter"])
    assert len(set(twice.expect().strings())) == 1
    assert twice.strings()[0] == "a text of some length, so that freed memory shows"
