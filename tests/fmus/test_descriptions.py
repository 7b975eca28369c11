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
from tests.conftest import MODELS, SENSORS
from tests.fmus import (
    camera_tables,
    ccd_tables,
    gnss_tables,
    inertial_tables,
    lidar_tables,
    radar_tables,
    vehicle_tables,
    waveform_tables,
)
from tests.fmus.host import Instance, open_fmu
from tests.fmus.inertial_tables import BODY_INPUTS, FAULT

#: Names, types and units that masters rely on, by causality: of every sensor, ...
COMMON: dict[str, dict[str, tuple[str, str | None]]] = {
    "input": {},
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
#: ... and of each one.
FIXED: dict[str, dict[str, dict[str, tuple[str, str | None]]]] = {
    "Encoder": {
        "input": {
            "joint.position": ("Real", "rad"),
            "joint.velocity": ("Real", "rad/s"),
            **FAULT,
        },
        "parameter": {
            "mode": ("Enumeration", None),
            "lower": ("Real", "rad"),
            "upper": ("Real", "rad"),
            "resolution": ("Real", "rad"),
            "noise.rms": ("Real", "rad"),
            "speed_timeout": ("Real", "s"),
        },
        "output": {
            "position": ("Real", "rad"),
            "speed": ("Real", "rad/s"),
            "speed_valid": ("Boolean", None),
            "edge_count": ("Integer", None),
            "channel_a": ("Boolean", None),
            "channel_b": ("Boolean", None),
        },
    },
    "Odometer": {
        "input": {"joint.position": ("Real", "rad"), **FAULT},
        "parameter": {
            "wheel_radius": ("Real", "m"),
            "resolution": ("Real", "rad"),
            "noise.rms": ("Real", "m"),
            "order": ("Enumeration", None),
            "accumulate": ("Enumeration", None),
        },
        "output": {"distance": ("Real", "m")},
    },
    "Null": {"input": BODY_INPUTS, "parameter": {}, "output": {}},
    "Environment": {
        "input": {
            name.replace("body", f"vehicle_{n}"): typed
            for n in (1, 2, 3)
            for name, typed in BODY_INPUTS.items()
        },
        "parameter": {"scene": ("String", None), "inputs_at_step_end": ("Boolean", None)},
        "output": {"scene_handle": ("Integer", None)},
    },
    **inertial_tables.FIXED,
    **camera_tables.FIXED,
    **ccd_tables.FIXED,
    **gnss_tables.FIXED,
    **lidar_tables.FIXED,
    **radar_tables.FIXED,
    **vehicle_tables.FIXED,
    **waveform_tables.FIXED,
}

#: Items of the choices that masters rely on, in the order of their numbers.
ITEMS = {
    "fault.mode": ["none", "off", "on", "present", "set", "max", "min"],
    "fault.wave": ["none", "square", "triangle", "ramp"],
    "mode": ["incremental", "absolute"],
    "accumulate": ["signed", "absolute"],
    "output_format": ["parquet", "csv"],
    "record_format": ["parquet", "csv"],
    **inertial_tables.ITEMS,
}
#: The same of FMUs whose choices go by the same names and have other items.
OWN_ITEMS = {
    **camera_tables.ITEMS,
    **ccd_tables.ITEMS,
    **gnss_tables.ITEMS,
    **lidar_tables.ITEMS,
    **radar_tables.ITEMS,
    **waveform_tables.ITEMS,
}

#: Display units: degrees wherever people think of an angle.
IN_DEGREES = {"rad": "deg", "rad/s": "deg/s", "rad/s2": "deg/s2"}

#: Inputs that start at something else than 0, by the end of their names.
STARTS = {"body.orientation.w": 1.0, "period": 1.0, "temperature": 298.15}

#: An input that has no second value here, as there is no scene.
ONE_VALUE = "scene_handle"

#: Ranges, as far as they are narrower than their type: lowest and highest value.
RANGES: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "Encoder": {
        "fault.period": (0.0, None),
        "fault.speed.period": (0.0, None),
        "resolution": (0.0, None),
        "noise.rms": (0.0, None),
        "speed_timeout": (1e-9, None),
        "sample_rate": (0.0, 1e6),
    },
    "Odometer": {
        "fault.period": (0.0, None),
        "wheel_radius": (1e-6, None),
        "resolution": (0.0, None),
        "noise.rms": (0.0, None),
        "sample_rate": (0.0, 1e6),
    },
    "Null": {"sample_rate": (0.0, 1e6)},
    "Environment": {},
    **inertial_tables.RANGES,
    **camera_tables.RANGES,
    **ccd_tables.RANGES,
    **gnss_tables.RANGES,
    **lidar_tables.RANGES,
    **radar_tables.RANGES,
    **vehicle_tables.RANGES,
    **waveform_tables.RANGES,
}


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
        name = re.sub(r"^(accelerometer|gyroscope|magnetometer)\.", "", variable.name)
        items_here = {**ITEMS, **OWN_ITEMS.get(description.modelName, {})}
        assert names == items_here.get(name, names), variable.name
        assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in names)


def test_ranges_are_published(fmu: Path, description: ModelDescription) -> None:
    published = {
        v.name: (
            None if v.min is None else float(v.min),
            None if v.max is None else float(v.max),
        )
        for v in description.modelVariables
        if (v.min, v.max) != (None, None)
    }
    messages = {"osi.sensor_id": (0.0, None)} if "OSMP" in str(description.modelVariables) else {}
    assert published == {**RANGES[fmu.stem], **messages}


def test_the_names_and_units_that_masters_rely_on_are_there(
    fmu: Path, description: ModelDescription
) -> None:
    variables = {v.name: v for v in description.modelVariables}
    for causality in ("input", "parameter", "output"):
        common = COMMON[causality] if fmu.stem in SENSORS else {}
        for name, expected in {**common, **FIXED[fmu.stem][causality]}.items():
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
    for unknown in description.outputs:
        assert {v.causality for v in unknown.dependencies} <= {"input"}
    for unknown in description.initialUnknowns:
        assert {v.causality for v in unknown.dependencies} <= {"input", "parameter"}


def outputs_with(instance: Instance, changed: str) -> dict[str, Any]:
    """The outputs at the end of a short run in which one input differs, none for no name."""
    instance.reset()
    parameters = instance.names("parameter")
    fields = dict.fromkeys([n for n in parameters if n.endswith("field.z")], 0.5)
    small = {name: value for name, value in SMALL.items() if name in parameters}
    instance.initialize({**small, **fields})
    for k in range(4):
        values = {n: 0.1 * (k + 1) for n in instance.names("input") if n.startswith("joint.")}
        if changed in values:
            values[changed] += 0.7
        elif changed:
            variable = instance.variables[changed]
            values[changed] = 1 if variable.type == "Enumeration" else 0.25
        instance.set(values)
        instance.step(0.01 * k, 0.01)
    return instance.outputs()


@pytest.mark.parametrize("fmu", SENSORS, indirect=True)
def test_no_output_depends_on_an_input_that_it_does_not_name(
    fmu: Path, description: ModelDescription
) -> None:
    known = {
        unknown.variable.name: {v.name for v in unknown.dependencies}
        for unknown in description.outputs
    }
    changing: set[str] = set()
    with open_fmu(fmu) as instance:
        plain = outputs_with(instance, "")
        inputs = {n for n in instance.names("input") if not n.startswith("OSMP")}  # addresses
        for name in sorted(inputs - {ONE_VALUE}):
            changed = outputs_with(instance, name)
            differing = {output for output in plain if changed[output] != plain[output]}
            assert all(name in known[output] for output in differing), name
            changing |= differing
    assert changing, "inputs must change something"


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
