"""The presets that FMUs of both versions carry as parameter sets."""

import posixpath
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyssp_standard
import pytest
import xmlschema

import build_fmus
from fmus.building.smoke_test import related_files
from fmus.fmi.arrays import Interface
from tests.fmus.histories import go
from tests.fmus.host import Instance, open_fmu
from tests.fmus.twins import Twin, open_twin

FOLDER = "extra/org.fmi-standard.fmi-ls-ref"
MANIFEST = f"{FOLDER}/fmi-ls-manifest.xml"
SCHEMAS = Path(pyssp_standard.__file__).parent / "resources"
SSV = "{http://ssp-standard.org/SSP1/SystemStructureParameterValues}"
SSC = "{http://ssp-standard.org/SSP1/SystemStructureCommon}"
FMUS = {name: source.model for name, source in build_fmus.fmu_sources().items()}

#: The roles of FMI-LS-REF 1.0.0-beta.1.
ROLES = re.compile(
    "document|requirement|specification|model|parameter|system|testcase|result|method|rationale"
    "|experiment(/smoke-test|/validation|/uncertainty-analysis)?|report|request|delivery"
    "|configuration|signature|serialized-state(/.+)?|meta-data|other"
)


@pytest.fixture(scope="module")
def schemas() -> dict[Interface, Any]:
    """The published schemas of SSV 1.0 and 2.0."""
    name = "SystemStructureParameterValues.xsd"
    return {
        Interface.fmi2: xmlschema.XMLSchema(SCHEMAS / name),
        Interface.arrays: xmlschema.XMLSchema(SCHEMAS / "ssp2" / name),
    }


@pytest.mark.parametrize("interface", [Interface.fmi2, Interface.arrays])
@pytest.mark.parametrize("model", FMUS)
def test_the_manifest_keeps_the_standard_and_the_sets_their_schema(
    schemas: dict[Interface, Any], model: str, interface: Interface
) -> None:
    files = related_files(FMUS[model], interface)
    root = ElementTree.fromstring(files[MANIFEST])
    name = "{http://fmi-standard.org/fmi-ls-manifest}fmi-ls-"
    assert root.get(f"{name}name") == "org.fmi-standard.fmi-ls-ref"
    assert root.get(f"{name}version") == "1.0.0-beta.1"
    assert root.get(f"{name}description") == (
        "Layered Standard providing information on related files included in an FMU."
    )
    listed = set()
    for related in root:
        assert related.tag == "Related"
        assert set(related.attrib) == {"source", "role", "type", "description"}
        assert ROLES.fullmatch(related.get("role", ""))
        listed.add(f"{FOLDER}/{related.get('source')}")
    assert set(files) - {MANIFEST} == {f for f in listed if ".." not in f}
    for file, content in files.items():
        if file.endswith(".ssv"):
            schemas[interface].validate(content.decode().partition("?>")[2])


@pytest.mark.parametrize("model", FMUS)
def test_what_a_manifest_lists_is_in_the_fmu(fmu_directory: Path, model: str) -> None:
    with zipfile.ZipFile(fmu_directory / f"{model}.fmu") as archive:
        related = list(ElementTree.fromstring(archive.read(MANIFEST)))
        files = set(archive.namelist())
    listed = {posixpath.normpath(f"{FOLDER}/{r.get('source')}"): r.get("role") for r in related}
    assert set(listed) <= files
    assert listed["documentation/index.html"] == "document"
    assert listed["documentation/validation.html"] == "report"


def values_of(content: bytes) -> dict[str, list[str]]:
    """The values of a set by name, choices as numbers."""
    root = ElementTree.fromstring(content)
    items = {
        (kind.get("name"), item.get("name")): str(item.get("value"))
        for kind in root.iter(f"{SSC}Enumeration")
        for item in kind
    }
    found = {}
    for parameter in root.iter(f"{SSV}Parameter"):
        value = parameter[0]
        texts = [str(v.get("value")) for v in value.iter(f"{SSV}Value")]
        if value.tag == f"{SSV}Enumeration":
            names = texts or [str(value.get("value"))]
            texts = [items[value.get("name"), name] for name in names]
        elif value.tag == f"{SSV}String":
            texts = texts or [str(value.get("value", ""))]
        else:
            texts = str(value.get("value")).split()
        found[str(parameter.get("name"))] = texts
    return found


CONVERSIONS: dict[str, Any] = {
    "Float64": float, "Real": float, "Int32": int, "Integer": int, "Enumeration": int,
    "Boolean": lambda text: text == "true", "String": str,
}  # fmt: skip


def apply(instance: Instance, values: dict[str, list[str]]) -> None:
    """Set what a parameter set has, each name as it is."""
    for name, texts in values.items():
        if isinstance(instance, Twin):
            convert = CONVERSIONS[instance.arrays[name].type]
            instance.set_array(name, [convert(text) for text in texts])
        else:
            (text,) = texts
            instance.set({name: CONVERSIONS[instance.variables[name].type](text)})


@pytest.mark.parametrize(
    ("model", "preset"), [("Imu", "BMI088"), ("Encoder", "AMT102-V"), ("Gyroscope", "ADIS16470")]
)
@pytest.mark.parametrize("version", [2, 3])
def test_a_set_gives_the_sensor_that_its_preset_gives(
    fmu_directory: Path, fmu3_directory: Path, model: str, preset: str, version: int
) -> None:
    fmu = (fmu_directory if version == 2 else fmu3_directory) / f"{model}.fmu"
    opened = open_fmu if version == 2 else open_twin
    with zipfile.ZipFile(fmu) as archive:
        root = ElementTree.fromstring(archive.read(MANIFEST))
        (source,) = (
            str(r.get("source"))
            for r in root
            if r.get("role") == "parameter" and preset in str(r.get("description"))
        )
        values = values_of(archive.read(f"{FOLDER}/{source}"))
    assert len(values) > 3
    runs = []
    with opened(fmu) as chosen:
        chosen.initialize({"preset": preset})
        runs.append(go(chosen, 0, 20))
    with opened(fmu) as given:
        apply(given, values)
        given.initialize()
        runs.append(go(given, 0, 20))
    with opened(fmu) as plain:
        plain.initialize()
        assert go(plain, 0, 20) != runs[0]
    assert runs[0] == runs[1]
