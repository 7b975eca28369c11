"""What each FMU says of itself in its model description."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from fmpy import read_model_description
from fmpy.model_description import ModelDescription
from fmpy.validation import validate_fmu

from fmus.building.exercise import SMALL
from tests.conftest import MODELS, SAMPLING, SENSORS
from tests.fmus.host import Instance, open_fmu
from tests.interfaces import file_of, interface

#: Names, types and units that masters rely on, of every sensor, by causality.
COMMON: dict[str, dict[str, tuple[str, str | None]]] = {
    "parameter": {
        "seed": ("Integer", None),
        "sample_rate": ("Real", "Hz"),
        "inputs_at_step_end": ("Boolean", None),
        "preset": ("String", None),
        "preset_except": ("String", None),
        "record": ("Boolean", None),
        "output_directory": ("String", None),
        "output_format": ("Enumeration", None),
    },
    "output": {"sample.count": ("Integer", None), "sample.time": ("Real", "s")},
}

#: Display units: degrees wherever people think of an angle.
IN_DEGREES = {"rad": "deg", "rad/s": "deg/s", "rad/s2": "deg/s2"}

#: Inputs that start at something else than 0, by the end of their names.
STARTS = {"body.orientation.w": 1.0, "period": 1.0, "temperature": 298.15}

#: An input that has no second value here, as there is no scene.
ONE_VALUE = "scene_handle"


@pytest.fixture(params=MODELS)
def fmu(request: pytest.FixtureRequest, fmu_directory: Path) -> Path:
    """Each FMU in turn."""
    return fmu_directory / f"{request.param}.fmu"


@pytest.fixture
def description(fmu: Path) -> ModelDescription:
    return read_model_description(str(fmu))


def test_every_fmu_is_valid(fmu: Path) -> None:
    assert validate_fmu(str(fmu)) == []


def test_the_validator_on_the_command_line_has_nothing_to_say(fmu: Path) -> None:
    command = [sys.executable, "-m", "fmpy", "validate", str(fmu)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() in ("", "No problems found.")


def test_every_variable_is_described_and_named_without_brackets(
    description: ModelDescription,
) -> None:
    for variable in description.modelVariables:
        assert variable.description, variable.name
        assert re.fullmatch(r"([a-z]|OSMP)\w*(\.[a-z]\w*)*", variable.name, re.ASCII), variable.name
    assert description.variableNamingConvention == "structured"


def test_every_real_has_a_defined_unit_in_si_and_angles_show_degrees(
    description: ModelDescription,
) -> None:
    units = {unit.name: unit for unit in description.unitDefinitions}
    reals = [v for v in description.modelVariables if v.type == "Real"]
    assert {v.unit for v in reals} == units.keys()
    for unit in units.values():
        if "sqrt" in unit.name:  # FMI has no powers that are no whole numbers
            assert unit.baseUnit is None
        else:
            assert (unit.baseUnit.factor, unit.baseUnit.offset) == (1.0, 0.0), "an SI unit"
        if unit.name in IN_DEGREES:
            (degrees,) = unit.displayUnits
            assert degrees.name == IN_DEGREES[unit.name]
            # a right angle is shown as 90, to the digits that the factor has
            assert float(degrees.factor) * 1.5707963267948966 == pytest.approx(90.0, rel=1e-15)


@pytest.mark.parametrize(
    ("unit", "exponents"),
    [
        ("1", {}),
        ("m", {"m": 1}),
        ("s", {"s": 1}),
        ("Hz", {"s": -1}),
        ("rad", {"rad": 1}),
        ("rad/s", {"rad": 1, "s": -1}),
        ("m/s", {"m": 1, "s": -1}),
        ("m/s2", {"m": 1, "s": -2}),
        ("rad/s2", {"rad": 1, "s": -2}),
        ("N/m", {"kg": 1, "s": -2}),
        ("N.s/m", {"kg": 1, "s": -1}),
        ("N.m", {"kg": 1, "m": 2, "s": -2}),
        ("kg", {"kg": 1}),
        ("K", {"K": 1}),
        ("1/K", {"K": -1}),
        ("1/m", {"m": -1}),
        ("1/sr", {"rad": -2}),
        ("T", {"kg": 1, "s": -2, "A": -1}),
        ("T/K", {"kg": 1, "s": -2, "A": -1, "K": -1}),
        ("m/s2/K", {"m": 1, "s": -2, "K": -1}),
        ("rad/s/K", {"rad": 1, "s": -1, "K": -1}),
        ("rad.s/m", {"rad": 1, "s": 1, "m": -1}),
    ],
)
def test_units_are_made_of_their_base_units(
    fmu_directory: Path, unit: str, exponents: dict[str, int]
) -> None:
    found = []
    for model in MODELS:
        described = read_model_description(str(fmu_directory / f"{model}.fmu"))
        found += [u.baseUnit for u in described.unitDefinitions if u.name == unit]
    assert found
    for base in found:
        names = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
        assert {n: int(getattr(base, n)) for n in names if int(getattr(base, n))} == exponents


def test_choices_are_enumerations_counted_from_0(description: ModelDescription) -> None:
    choices = [v for v in description.modelVariables if v.type == "Enumeration"]
    assert choices or description.modelName in ("Environment", "VehicleDynamics")
    for variable in choices:
        items = variable.declaredType.items
        assert [int(item.value) for item in items] == list(range(len(items)))
        names = [item.name for item in items]
        assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in names)


def test_names_types_units_ranges_and_items_are_those_that_masters_rely_on(fmu: Path) -> None:
    """A difference is a change for masters; ``make interfaces`` writes it down if it is meant."""
    with zipfile.ZipFile(fmu) as archive:
        found = interface(archive.read("modelDescription.xml"))
    assert found.splitlines() == file_of(fmu.stem).read_text(encoding="utf-8").splitlines()


def test_an_interface_tells_of_units_ranges_and_items() -> None:
    description = b"""<fmiModelDescription>
      <TypeDefinitions>
        <SimpleType name="Mode"><Enumeration><Item name="off"/><Item name="on"/></Enumeration>
        </SimpleType>
        <SimpleType name="Rate"><Real unit="Hz" min="0.0" max="8.0"/></SimpleType>
      </TypeDefinitions>
      <ModelVariables>
        <ScalarVariable name="a" causality="parameter"><Real declaredType="Rate"/></ScalarVariable>
        <ScalarVariable name="b" causality="input"><Real unit="m" min="0.5"/></ScalarVariable>
        <ScalarVariable name="c" causality="input"><Enumeration declaredType="Mode"/>
        </ScalarVariable>
        <ScalarVariable name="d" causality="output"><Integer max="3"/></ScalarVariable>
        <ScalarVariable name="e" causality="output"><String/></ScalarVariable>
      </ModelVariables>
    </fmiModelDescription>"""
    assert interface(description).splitlines() == [
        "parameter a: Real Hz, 0.0 to 8.0",
        "input b: Real m, at least 0.5",
        "input c: Enumeration, off on",
        "output d: Integer, at most 3",
        "output e: String",
    ]


@pytest.mark.parametrize("fmu", SENSORS, indirect=True)
def test_every_sensor_has_the_variables_of_all(description: ModelDescription) -> None:
    variables = {v.name: v for v in description.modelVariables}
    for causality, names in COMMON.items():
        for name, expected in names.items():
            variable = variables[name]
            assert (variable.causality, variable.type, variable.unit) == (causality, *expected)


@pytest.mark.parametrize("fmu", SENSORS, indirect=True)
def test_inputs_start_at_0_but_for_orientation_periods_and_temperature(
    description: ModelDescription,
) -> None:
    for variable in description.modelVariables:
        if variable.causality == "input":
            starts = [start for end, start in STARTS.items() if variable.name.endswith(end)]
            assert [float(variable.start)] == (starts or [0.0]), variable.name


def test_parameters_are_fixed_and_real_inputs_continuous(description: ModelDescription) -> None:
    variabilities = {
        (v.causality, v.type == "Real", v.variability) for v in description.modelVariables
    }
    allowed = {
        ("parameter", True, "fixed"),
        ("parameter", False, "fixed"),
        ("input", True, "continuous"),
        ("input", False, "discrete"),
        ("output", True, "discrete"),
        ("output", False, "discrete"),
    }
    assert variabilities <= allowed


def test_outputs_and_initial_unknowns_are_listed_with_dependencies(
    description: ModelDescription,
) -> None:
    outputs = [v.name for v in description.modelVariables if v.causality == "output"]
    # What tells of messages has its start value until a step.
    computed = [name for name in outputs if not name.startswith("OSMP")]
    known = (description.outputs, outputs), (description.initialUnknowns, computed)
    for unknowns, names in known:
        assert [unknown.variable.name for unknown in unknowns] == names
        for unknown in unknowns:
            assert unknown.dependencies is not None
            kinds = unknown.dependenciesKind
            assert kinds == ["dependent"] * len(unknown.dependencies)
    for unknown in description.initialUnknowns:
        assert {v.causality for v in unknown.dependencies} <= {"input", "parameter"}


def test_no_output_depends_on_an_input_while_the_fmu_is_stepped(
    description: ModelDescription,
) -> None:
    assert [unknown.dependencies for unknown in description.outputs] == [[]] * len(
        description.outputs
    )


def prepared(instance: Instance) -> None:
    """Initialization Mode, with fields and sizes in which inputs make a difference."""
    instance.reset()
    instance.set_up()
    parameters = instance.names("parameter")
    fields = dict.fromkeys([n for n in parameters if n.endswith("field.z")], 0.5)
    instance.set({**{n: v for n, v in SMALL.items() if n in parameters}, **fields})
    instance.enter()


def other_value(instance: Instance, name: str) -> Any:
    """Another value of an input, which is allowed."""
    return 1 if instance.variables[name].type == "Enumeration" else 0.25


def settable(instance: Instance) -> list[str]:
    """The inputs that have another value here: no addresses, no handle of a scene."""
    names = instance.names("input")
    return sorted(n for n in names if not n.startswith("OSMP") and n != ONE_VALUE)


def test_what_is_set_between_two_steps_changes_no_output(fmu: Path) -> None:
    with open_fmu(fmu) as instance:
        prepared(instance)
        instance.exit()
        starts = {name: instance.get(name) for name in settable(instance)}
        for k in range(2):
            instance.step(0.1 * k, 0.1)
            before = instance.outputs()
            for name in settable(instance):
                instance.set({name: other_value(instance, name)})
                assert instance.outputs() == before, name
            instance.set(starts)


@pytest.mark.parametrize("fmu", SAMPLING, indirect=True)
def test_sample_0_depends_on_no_input_that_it_does_not_name(
    fmu: Path, description: ModelDescription
) -> None:
    known = {
        unknown.variable.name: {v.name for v in unknown.dependencies}
        for unknown in description.initialUnknowns
    }
    changing: set[str] = set()
    with open_fmu(fmu) as instance:
        prepared(instance)
        plain = instance.outputs()
        for name in settable(instance):
            before = instance.get(name)
            instance.set({name: other_value(instance, name)})
            changed = instance.outputs()
            instance.set({name: before})
            differing = {output for output in plain if changed[output] != plain[output]}
            assert all(name in known[output] for output in differing), name
            changing |= differing
        assert instance.outputs() == plain
    assert changing, "inputs must change something"


def test_no_name_is_also_the_head_of_a_group(description: ModelDescription) -> None:
    names = {v.name for v in description.modelVariables}
    heads = {name[: m.start()] for name in names for m in re.finditer(r"\.", name)}
    assert names & heads == set()


def test_the_capabilities_are_those_that_the_fmus_have(fmu: Path) -> None:
    with zipfile.ZipFile(fmu) as archive:
        root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    (kind,) = root.findall("CoSimulation")
    assert root.find("ModelExchange") is None
    assert kind.attrib == {
        "modelIdentifier": fmu.stem,
        "needsExecutionTool": "false",
        "canHandleVariableCommunicationStepSize": "true",
        "canInterpolateInputs": "false",
        "canRunAsynchronuously": "false",
        "canBeInstantiatedOnlyOncePerProcess": "false",
        "canNotUseMemoryManagementFunctions": "true",
        "canGetAndSetFMUstate": "true",
        "canSerializeFMUstate": "true",
        "providesDirectionalDerivative": "false",
    }
