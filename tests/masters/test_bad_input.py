"""Bad values: each is refused with a reason, and the instance goes on. For Linux."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from fmpy import read_model_description
from fmpy.model_description import ScalarVariable

from tests.masters.c_instance import Instance
from tests.masters.c_master import Library
from tests.masters.protocol import NULL, null_array
from tests.masters.sensors import (
    MODELS,
    STEP,
    TYPES,
    Phase,
    bring_to,
    check_it_measures,
    error_of,
    names_all,
    unchanged,
)

NOT_FINITE = (math.nan, math.inf, -math.inf)
GOOD = {"Real": "0x1p+0", "Integer": "0", "Boolean": "1", "String": "text"}


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


def described(instance: Instance) -> list[ScalarVariable]:
    """The variables with their ranges and items, as the model description has them."""
    return list(read_model_description(str(instance.files.directory)).modelVariables)


# ---- values ------------------------------------------------------------------------------------


def test_reals_that_are_not_finite_are_refused_by_every_input(stepping: Instance) -> None:
    for name in stepping.files.names("input", "Real"):
        for value in NOT_FINITE:
            with unchanged(stepping):
                text = error_of(stepping.set_real({name: value}))
            assert names_all(text, f"{name} = {value}", "finite number", "allowed is"), text


def test_reals_that_are_not_finite_are_refused_by_every_parameter(instance: Instance) -> None:
    for name in instance.files.names("parameter", "Real"):
        for value in NOT_FINITE:
            with unchanged(instance):
                text = error_of(instance.set_real({name: value}))
            assert names_all(text, f"{name} = {value}", "finite number", "allowed is"), text


def test_reals_outside_their_range_are_refused_and_its_ends_are_not(instance: Instance) -> None:
    ranged = [v for v in described(instance) if v.type == "Real" and (v.min or v.max)]
    assert "sample_rate" in [v.name for v in ranged]
    for variable in ranged:
        for end, beyond in ((variable.min, -math.inf), (variable.max, math.inf)):
            if end is None:
                continue
            value = math.nextafter(float(end), beyond)
            with unchanged(instance):
                text = error_of(instance.set(variable.name, value))
            assert names_all(text, f"{variable.name} = {value}", "out of range", f"{float(end):g}")
            instance.set(variable.name, float(end)).expect()


def test_items_that_an_enumeration_has_not_are_refused_with_those_it_has(
    instance: Instance,
) -> None:
    choices = [v for v in described(instance) if v.type == "Enumeration"]
    assert "output_format" in [v.name for v in choices]
    for variable in choices:
        items = {int(item.value): item.name for item in variable.declaredType.items}
        for value in (min(items) - 1, max(items) + 1, 2**31 - 1, -(2**31)):
            with unchanged(instance):
                text = error_of(instance.set(variable.name, value))
            assert names_all(text, f"{variable.name} = {value}", *items.values()), text
        for value in items:
            instance.set(variable.name, value).expect()


def test_any_whole_number_is_a_seed(instance: Instance) -> None:
    for value in (0, 1, -1, 2**31 - 1, -(2**31)):
        instance.set("seed", value).expect()
        assert instance.get("seed") == value


def test_any_number_but_0_is_true(instance: Instance) -> None:
    for value in (2, -1, -(2**31)):
        reference = instance.references(["inputs_at_step_end"])
        instance.call("fmi2SetBoolean", reference, value).expect()
        assert instance.get("inputs_at_step_end") is True


@pytest.mark.parametrize("good_first", [True, False])
def test_of_several_values_none_is_set_when_one_is_bad(
    stepping: Instance, good_first: bool
) -> None:
    names = stepping.files.names("input", "Real")[:2]
    values = (3.0, math.nan) if good_first else (math.nan, 3.0)
    with unchanged(stepping):
        error_of(stepping.set_real(dict(zip(names, values, strict=True))))


@pytest.mark.parametrize("good_first", [True, False])
def test_of_several_values_of_any_type_none_is_set_when_one_is_an_output(
    instance: Instance, good_first: bool
) -> None:
    for kind, good, bad in (
        ("Real", "sample_rate", "sample.time"),
        ("Integer", "seed", "sample.count"),
        ("Boolean", "record", "speed_valid"),
    ):
        if bad not in instance.files.variables:
            continue
        order = (good, bad) if good_first else (bad, good)
        with unchanged(instance):
            text = error_of(instance.call(f"fmi2Set{kind}", instance.references(order), f"{1},{1}"))
        assert bad in text


def test_of_several_texts_none_is_set_when_one_is_bad(instance: Instance) -> None:
    good: tuple[str, str | bytes] = ("output_directory", "somewhere")
    for value in ("no such product", b"\xff\xfe"):
        bad: tuple[str, str | bytes] = ("preset", value)
        for pairs in ((good, bad), (bad, good)):
            with unchanged(instance):
                error_of(instance.set_string(dict(pairs)))


def test_an_unknown_preset_is_refused_with_the_known_ones(sensors: Mapping[str, Library]) -> None:
    instance = sensors["Encoder"].instantiate()
    with unchanged(instance):
        text = error_of(instance.set("preset", "no such 100 % product"))
    assert names_all(text, "no such 100 % product", "AMT102-V", "AS5048A")
    instance.free()


# ---- variables ---------------------------------------------------------------------------------


def test_outputs_cannot_be_set_in_any_phase(library: Library) -> None:
    for phase in (Phase.INSTANTIATED, Phase.INITIALIZING, Phase.STEPPING):
        instance = library.instantiate()
        bring_to(instance, phase)
        for name in instance.files.names("output"):
            with unchanged(instance):
                text = error_of(instance.set(name, 1))
            assert f"{name} is an output and cannot be set" in text
        instance.free()


def test_parameters_cannot_be_set_once_the_simulation_runs(stepping: Instance) -> None:
    for name in stepping.files.names("parameter"):
        value = stepping.get(name)
        assert value is not None
        with unchanged(stepping):
            text = error_of(stepping.set(name, value))
        assert f"{name} is a parameter and cannot be set once the simulation runs" in text


@pytest.mark.parametrize("verb", ["Get", "Set"])
@pytest.mark.parametrize("called", TYPES)
def test_a_variable_of_another_type_is_refused(instance: Instance, called: str, verb: str) -> None:
    for variable in instance.files.variables.values():
        if variable.type != called:
            values = (GOOD[called],) if verb == "Set" else ()
            with unchanged(instance):
                reply = instance.call(f"fmi2{verb}{called}", variable.reference, *values)
            assert f"value reference {variable.reference} " in error_of(reply)


@pytest.mark.parametrize("verb", ["Get", "Set"])
@pytest.mark.parametrize("called", TYPES)
def test_an_unknown_variable_is_refused(instance: Instance, called: str, verb: str) -> None:
    known = [v.reference for v in instance.files.variables.values() if v.type == called][:1]
    for unknown in (len(instance.files.variables), 2**31, 2**32 - 1):
        references = [*known, unknown]
        values = (",".join([GOOD[called]] * len(references)),) if verb == "Set" else ()
        with unchanged(instance):
            reply = instance.call(f"fmi2{verb}{called}", ",".join(map(str, references)), *values)
        assert f"value reference {unknown} " in error_of(reply)


@pytest.mark.parametrize("kind", TYPES)
def test_arrays_that_are_missing_are_refused_unless_they_are_empty(
    instance: Instance, kind: str
) -> None:
    reference = next(v.reference for v in instance.files.variables.values() if v.type == kind)
    for function, *words in (
        (f"fmi2Get{kind}", null_array(2)),
        (f"fmi2Get{kind}", reference, NULL),
        (f"fmi2Set{kind}", null_array(2), null_array(2)),
        (f"fmi2Set{kind}", reference, null_array(1)),
        (f"fmi2Set{kind}", null_array(1), GOOD[kind]),
    ):
        with unchanged(instance):
            assert "NULL" in error_of(instance.call(str(function), *words))
    instance.call(f"fmi2Get{kind}", null_array(0)).expect()
    instance.call(f"fmi2Set{kind}", null_array(0), null_array(0)).expect()
    instance.call(f"fmi2Set{kind}", "@empty", "@empty").expect()


def test_a_text_that_is_missing_is_an_empty_one(instance: Instance) -> None:
    instance.set_string({"output_directory": "somewhere"}).expect()
    instance.set_string({"output_directory": None}).expect()
    assert instance.get("output_directory") == ""


# ---- parameters that do not fit together or the machine ----------------------------------------


def test_parameters_that_contradict_each_other_keep_initialization_open(
    sensors: Mapping[str, Library],
) -> None:
    instance = sensors["Encoder"].instantiate()
    bring_to(instance, Phase.INITIALIZING)
    instance.set("upper", -1.0).expect()
    for _ in range(2):
        with unchanged(instance):
            text = error_of(instance.exit())
        assert names_all(text, "lower = 0.0 rad", "upper = -1.0 rad", "lower < upper")
    instance.set("upper", 4.0).expect()
    instance.exit().expect()
    check_it_measures(instance, 0.0, 3.5)
    instance.free()


def test_an_output_directory_that_cannot_be_is_refused_at_initialization(
    library: Library, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    instance = library.instantiate()
    instance.set("record", True).expect()
    instance.set("output_directory", str(tmp_path / "file" / "out")).expect()
    bring_to(instance, Phase.INITIALIZING)
    with unchanged(instance):
        text = error_of(instance.exit())
    assert names_all(text, "output_directory", str(tmp_path / "file"))
    instance.set("output_directory", str(tmp_path / "out")).expect()
    instance.exit().expect()
    check_it_measures(instance, 0.0, 1.0)
    instance.terminate().expect()
    instance.free()
    assert list((tmp_path / "out").iterdir()) != []
