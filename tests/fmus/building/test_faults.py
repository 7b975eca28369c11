"""Descriptions without the inputs for faults."""

from pathlib import Path
from xml.etree import ElementTree

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu

import build_fmus
from fmus.binding.compile import host_platform
from fmus.building import versions
from fmus.building.sources import fmu_sources
from fmus.fmi.arrays import Interface

#: What a variable is about that the structure may refer to.
Unknowns = dict[tuple[str, str], list[tuple[str, str]]]


def names_and_unknowns(root: ElementTree.Element) -> tuple[list[str], Unknowns]:
    """Names of variables, and what the structure says of each, by names."""
    (variables,) = root.iter("ModelVariables")
    (structure,) = root.iter("ModelStructure")
    names = [variable.get("name", "") for variable in variables]
    by_place = {str(n): name for n, name in enumerate(names, 1)}
    if root.get("fmiVersion") != "2.0":
        by_place = {v.get("valueReference", ""): v.get("name", "") for v in variables}
    parents = {child: parent for parent in structure.iter() for child in parent}
    unknowns = {}
    for unknown in parents:
        place = unknown.get("index") or unknown.get("valueReference")
        if place is not None:
            known = [by_place[k] for k in unknown.get("dependencies", "").split()]
            kinds = unknown.get("dependenciesKind", "").split()
            what = f"{parents[unknown].tag} {unknown.tag}"
            unknowns[what, by_place[place]] = list(zip(known, kinds, strict=True))
    return names, unknowns


@pytest.mark.parametrize("interface", list(Interface))
@pytest.mark.parametrize("name", fmu_sources())
def test_all_is_as_before_but_for_faults(name: str, interface: Interface) -> None:
    model = fmu_sources()[name].model
    both = (versions.description(model, interface, faults=faults) for faults in (True, False))
    (before, known), (after, left) = map(names_and_unknowns, map(ElementTree.fromstring, both))
    assert after == [own for own in before if "fault" not in own.split(".")]
    assert left.keys() == known.keys()
    for key, dependencies in left.items():
        assert dependencies == [d for d in known[key] if "fault" not in d[0].split(".")]


def test_an_fmu_without_faults_runs_and_gives_the_same_bits(
    fmu_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--platforms", host_platform(), "--only", "Encoder", "--output", str(tmp_path)]
    assert build_fmus.main(["--no-faults", *options]) == 0
    time = np.arange(0.0, 1.0, 0.01)
    turning = np.rec.fromarrays([time, 3.0 * time], names=["time", "joint.position"])
    found = []
    for folder in (fmu_directory, tmp_path):
        capsys.readouterr()
        file = str(folder / "Encoder.fmu")
        found.append(
            fmpy.simulate_fmu(
                file, stop_time=0.9, step_size=0.01, input=turning,
                start_values={"noise.rms": 1e-3, "seed": 4}, output=["position", "speed"],
            )
        )  # fmt: skip
        assert ("fault" in capsys.readouterr().out) is (folder == fmu_directory)
    assert validate_fmu(file) == []
    np.testing.assert_array_equal(*found)
