"""Which scalars of FMI 2.0 are which arrays of FMI 3.0."""

import dataclasses
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

import build_fmus
from fmus.fmi.arrays import Interface, Kind
from fmus.fmi.variables import Variable
from tests.conftest import NULL_FMU

FMUS = {
    **{name: source.model for name, source in build_fmus.fmu_sources().items()},
    "Null": build_fmus.own_source(NULL_FMU).model,
}

#: Arrays by FMU and name: their dimensions, the first and the last of their elements.
ARRAYS = {
    ("Imu", "body.position"): ((3,), "body.position.x", "body.position.z"),
    ("Imu", "body.orientation"): ((4,), "body.orientation.w", "body.orientation.z"),
    ("Imu", "accelerometer"): ((3,), "accelerometer.x", "accelerometer.z"),
    ("Imu", "accelerometer.cross_axis"): (
        (3, 3),
        "accelerometer.cross_axis.xx",
        "accelerometer.cross_axis.zz",
    ),
    ("Imu", "accelerometer.fault.mode"): (
        (3,),
        "accelerometer.fault.x.mode",
        "accelerometer.fault.z.mode",
    ),
    ("Accelerometer", "fault.period"): ((3,), "fault.x.period", "fault.z.period"),
    ("DepthCamera", "zone.range"): ((64,), "zone_1.range", "zone_64.range"),
    ("DepthCamera", "zone.status"): ((64,), "zone_1.status", "zone_64.status"),
    ("Radar", "target.entity_id"): ((16,), "target_1.entity_id", "target_16.entity_id"),
    ("CcdCamera", "histogram.share"): ((16,), "histogram_1.share", "histogram_16.share"),
    ("CcdCamera", "sensor.filter.curve"): ((6,), "sensor.filter_1.curve", "sensor.filter_6.curve"),
    ("Environment", "vehicle_2.position"): ((3,), "vehicle_2.position.x", "vehicle_2.position.z"),
    ("VehicleDynamics", "wheel_3.position"): ((), "wheel_3.position", "wheel_3.position"),
    ("Encoder", "joint.position"): ((), "joint.position", "joint.position"),
}


@pytest.mark.parametrize(("model", "name"), ARRAYS)
def test_an_array_has_its_elements_in_order(model: str, name: str) -> None:
    (found,) = (v for v in FMUS[model].layout(Interface.arrays).variables if v.name == name)
    parts = [part.name for part in found.parts]
    assert (found.dimensions, parts[0], parts[-1]) == ARRAYS[model, name]
    numbers = [int(n) for part in parts for n in re.findall(r"_(\d+)\.", part)]
    if len(numbers) == len(parts) > 3:
        assert numbers == list(range(1, len(parts) + 1))


@pytest.mark.parametrize("interface", [Interface.arrays, Interface.scalars])
@pytest.mark.parametrize("model", FMUS)
def test_each_scalar_belongs_to_one_variable(model: str, interface: Interface) -> None:
    variables = FMUS[model].layout(interface).variables
    shown = [p.name for v in variables if v.kind != Kind.clock for p in v.parts]
    assert sorted(shown) == sorted(FMUS[model].table().by_name)
    for variable in variables:
        if variable.dimensions:
            count = 1
            for side in variable.dimensions:
                count *= side
            assert count == len(variable.parts)


@pytest.mark.parametrize("model", FMUS)
def test_no_number_and_no_letter_is_left_in_a_name(model: str) -> None:
    kept = FMUS[model].proper_names()
    for variable in FMUS[model].layout(Interface.arrays).variables:
        tokens = [t for t in variable.name.split(".") if t not in kept]
        assert not any(re.fullmatch(r".*_\d+|[xyzw]", token) for token in tokens), variable.name


def test_scalars_have_the_names_of_fmi_2() -> None:
    layout = FMUS["Imu"].layout(Interface.scalars)
    names = {v.name for v in layout.variables} - {"time"}
    assert names == set(FMUS["Imu"].table().by_name)


class Odd(FMUS["Radar"]):  # type: ignore[misc]  # a class that is known when it runs
    """A radar one of whose targets has other limits."""

    @classmethod
    def declared(cls) -> list[Variable]:
        """The variables, with one that is not like its siblings."""
        found = super().declared()
        (place,) = (n for n, v in enumerate(found) if v.name == "target_4.range")
        other = dataclasses.replace(found[place].quantity, maximum=7.0)
        found[place] = dataclasses.replace(found[place], quantity=other)
        return found


def test_elements_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match=r"target_4\.range differs"):
        Odd.layout(Interface.arrays)


def test_descriptions_tell_dimensions_units_and_starts(fmu3_directory: Path) -> None:
    with zipfile.ZipFile(fmu3_directory / "Imu.fmu") as archive:
        root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    variables = {e.get("name"): e for e in root.iterfind("ModelVariables/*")}
    matrix = variables["accelerometer.cross_axis"]
    assert [d.get("start") for d in matrix.iterfind("Dimension")] == ["3", "3"]
    assert len(matrix.get("start", "").split()) == 9
    assert variables["body.angular_velocity"].get("unit") == "rad/s"
    assert variables["body.orientation"].get("start") == "1.0 0.0 0.0 0.0"
    assert variables["temperature"].find("Dimension") is None
    assert variables["time"].get("causality") == "independent"
    modes = variables["accelerometer.fault.mode"]
    assert (modes.tag, modes.get("start")) == ("Enumeration", "0 0 0")
    assert len({e.get("valueReference") for e in variables.values()}) == len(variables)
