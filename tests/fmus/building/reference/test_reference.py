"""The reference page of each FMU, against its model description and the files it is made from."""

import ast
import dataclasses
import re
import sys
import zipfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

import build_fmus
from fmus.building.reference import reference_page
from fmus.fmi.sensor_fmu import sensor_fmu
from sensor_models import catalog
from sensor_models.core.quantities import real
from sensor_models.core.spec import Group
from sensor_models.presets import load_preset
from tests.conftest import MODELS, SENSORS
from tests.fmus.pages import PAGE, page_of, parse, part, section, text_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: What a page may weigh: it is in every FMU, and a browser opens it at once.
LARGEST_PAGE = 300_000

#: Where the equations are that a page must show: those of each FMU's own model.
EQUATIONS = {
    "Accelerometer": "sensor_models.kernels.inertial.signals",
    "CcdCamera": "sensor_models.camera.ccd.camera",
    "DepthCamera": "sensor_models.kernels.camera.depth",
    "Encoder": "sensor_models.kernels.wheel.encoder",
    "Gnss": "sensor_models.kernels.gnss.receiver",
    "Gyroscope": "sensor_models.kernels.inertial.triaxial",
    "Imu": "sensor_models.kernels.inertial.unit",
    "Lidar": "sensor_models.kernels.light.tree",
    "Magnetometer": "sensor_models.kernels.inertial.magnetic_field",
    "Odometer": "sensor_models.kernels.wheel.odometer",
    "Radar": "sensor_models.kernels.radar.cone",
    "VehicleDynamics": "fmus.vehicle.model",
    "WaveformLidar": "sensor_models.kernels.waveform.histogram",
}


@pytest.fixture(params=MODELS)
def fmu(request: pytest.FixtureRequest, fmu_directory: Path) -> Path:
    """Each FMU in turn."""
    return fmu_directory / f"{request.param}.fmu"


@pytest.fixture
def page(fmu: Path) -> Element:
    return parse(page_of(fmu))


@pytest.fixture
def described(fmu: Path) -> Element:
    with zipfile.ZipFile(fmu) as archive:
        return ElementTree.fromstring(archive.read("modelDescription.xml"))


# ---- the file ----------------------------------------------------------------------------------


def test_the_page_is_where_fmi_wants_it_and_no_burden(fmu: Path) -> None:
    with zipfile.ZipFile(fmu) as archive:
        assert archive.namelist().count(PAGE) == 1
        assert 0 < archive.getinfo(PAGE).file_size < LARGEST_PAGE


def test_links_lead_to_anchors_of_the_page_and_anchors_differ(page: Element) -> None:
    anchors = Counter(e.attrib["id"] for e in page.iter() if "id" in e.attrib)
    links = [e.attrib["href"] for e in page.iter() if "href" in e.attrib]
    assert [anchor for anchor, count in anchors.items() if count > 1] == []
    assert [link for link in links if link[:1] != "#" or link[1:] not in anchors] == []
    assert links


def test_the_page_runs_nothing_and_loads_nothing(page: Element) -> None:
    allowed = "html head meta title style body header h1 h2 h3 p code pre a span div table thead"
    allowed += " tbody tr th td nav main section ul li dl dt dd details summary"
    assert {e.tag for e in page.iter()} <= set(allowed.split())
    attributes = {name for e in page.iter() for name in e.attrib}
    known = {"id", "href", "class", "charset", "name", "content", "lang", "scope", "colspan"}
    assert attributes <= known
    (style,) = page.iter("style")
    assert not re.search(r"url|@|:\s*//", style.text or "")


def test_texts_of_declarations_are_texts_and_never_markup() -> None:
    @dataclasses.dataclass(frozen=True)
    class Spiteful:
        gain: float = real(1.0, "1", '<script>"x" & </td> &amp; ``a<b``', name="gain")

    encoder = catalog.spec_of("Encoder")
    parameters = (*encoder.parameters, Group(Spiteful))
    spiteful = dataclasses.replace(encoder, text="<h1>&lt;", parameters=parameters)
    page = parse(reference_page(sensor_fmu(spiteful)))
    (row,) = (tr for tr in page.iter("tr") if any(e.get("id") == "gain" for e in tr.iter()))
    assert text_of(part(row, "meaning")) == '<script>"x" & </td> &amp; a<b'
    assert text_of(next(page.iter("p"))) == "<h1>&lt;."
    assert [e.tag for e in page.iter() if e.tag == "script"] == []


# ---- what it says of the FMU -------------------------------------------------------------------


def test_the_page_says_which_fmu_it_is_about(page: Element, described: Element) -> None:
    (header,) = page.iter("header")
    said = {text_of(row[0]): text_of(row[1]) for row in header.iter("tr")}
    assert said["GUID"] == described.attrib["guid"]
    assert said["version"] == described.attrib["version"]
    assert said["licence"].startswith(described.attrib["license"])
    step = described.find("DefaultExperiment")
    assert step is not None
    assert said["step suggested"].startswith(f"{step.attrib['stepSize']} s")
    assert text_of(header[0]) == described.attrib["modelName"]
    assert text_of(header[1]) == f"{described.attrib['description']}."


def as_written(typed: Element, attribute: str) -> str:
    """A value of a model description as people write it."""
    value = typed.attrib[attribute]
    return f'"{value}"' if typed.tag == "String" else re.sub(r"\.0$", "", value)


def range_of(typed: Element, items: dict[str, str]) -> str:
    if "declaredType" in typed.attrib:
        return items[typed.attrib["declaredType"]]
    least, most = (as_written(typed, n) if n in typed.attrib else None for n in ("min", "max"))
    if least is not None and most is not None:
        return f"{least} … {most}"
    return f"≥ {least}" if least is not None else f"≤ {most}" if most is not None else ""


def items_of(described: Element) -> dict[str, str]:
    """The items of each enumeration."""
    return {
        simple.attrib["name"]: ", ".join(
            f"{item.attrib['value']} {item.attrib['name']}" for item in simple.iter("Item")
        )
        for simple in described.iter("SimpleType")
    }


def unit_of(typed: Element, described: Element) -> str:
    """A unit and its display unit."""
    name = typed.attrib.get("unit", "")
    shown = described.findall(f"UnitDefinitions/Unit[@name='{name}']/DisplayUnit")
    return f"{name} ({shown[0].attrib['name']})" if shown else name


def expected_of(variable: Element, described: Element) -> dict[str, str]:
    typed = variable[0]  # annotations may follow
    shown = "start" in typed.attrib and variable.attrib["causality"] != "output"
    return {
        "causality": f"all-{variable.attrib['causality']}s",
        "type": typed.attrib.get("declaredType", typed.tag),
        "unit": unit_of(typed, described),
        "start": as_written(typed, "start") if shown else "",
        "range": range_of(typed, items_of(described)),
        "meaning": variable.attrib["description"].replace("``", ""),
    }


def said_by(page: Element) -> list[tuple[str, dict[str, str]]]:
    """Each variable that tables of the page have, with what they say of it."""
    found = []
    for causality in ("all-inputs", "all-parameters", "all-outputs"):
        part_of_page = section(page, causality)
        assert part_of_page is not None
        for row in part_of_page.iter("tr"):
            names = [e.attrib["id"] for e in row.iter() if "id" in e.attrib]
            start = part(row, "start")
            starts = [] if start is None else [text_of(code) for code in start.iter("code")]
            same = {name: text_of(part(row, name)) for name in ("type", "unit", "range", "meaning")}
            for place, name in enumerate(names):
                own = starts[place if len(starts) > 1 else 0] if starts else ""
                found.append((name, {"causality": causality, "start": own, **same}))
            assert len(starts) in (0, 1, len(names))
    return found


def test_every_variable_is_there_once_with_what_the_model_description_says(
    page: Element, described: Element
) -> None:
    said = said_by(page)
    expected = {
        v.attrib["name"]: expected_of(v, described) for v in described.iter("ScalarVariable")
    }
    assert sorted(name for name, _ in said) == sorted(expected)
    assert dict(said) == expected


def test_names_are_shown_in_full_or_by_the_first_and_the_last(page: Element) -> None:
    for cell in (e for e in page.iter("td") if e.get("class") == "names"):
        names = [e.attrib["id"] for e in cell]
        shown = names if len(names) <= 9 else [names[0], "…", names[-1]]
        assert text_of(cell).split() == shown


def test_numbered_groups_that_are_alike_share_a_row(fmu_directory: Path) -> None:
    page = parse(page_of(fmu_directory / "DepthCamera.fmu"))
    cells = [e for e in page.iter("td") if e.get("class") == "names"]
    (zones,) = (cell for cell in cells if cell[0].get("id") == "zone_1.range")
    assert [e.get("id") for e in zones] == [f"zone_{n}.range" for n in range(1, 65)]


def test_numbered_groups_that_start_differently_have_rows_of_their_own(
    fmu_directory: Path,
) -> None:
    page = parse(page_of(fmu_directory / "Environment.fmu"))
    cells = [e for e in page.iter("td") if e.get("class") == "names"]
    for cell in cells:
        assert len({e.attrib["id"].partition(".")[0] for e in cell}) == 1


def test_enumerations_are_there_with_their_items(page: Element, described: Element) -> None:
    listed = section(page, "all-enumerations")
    rows = [] if listed is None else [row for row in listed.iter("tr") if "id" in row[0].attrib]
    assert {text_of(row[0]): text_of(row[1]) for row in rows} == items_of(described)
    assert all(text_of(row[2]) for row in rows)


# ---- presets -----------------------------------------------------------------------------------


def presets_for(model: str) -> list[dict]:
    """The files of presets of a sensor, as TOML."""
    paths = (build_fmus.ROOT / "sensor_models" / "presets").glob("*.toml")
    contents = [tomllib.loads(path.read_text(encoding="utf-8")) for path in paths]
    found = []
    for content in contents:
        sensors = content["preset"]["sensor"]
        if model in ([sensors] if isinstance(sensors, str) else sensors):
            found.append(content["preset"])
    return found


def parts_by_heading(listed: Element | None) -> dict[str, list[Element]]:
    """What stands below each heading of a section."""
    found: dict[str, list[Element]] = {}
    for element in [] if listed is None else listed:
        if element.tag == "h3":
            found[text_of(element)] = []
        elif found:
            list(found.values())[-1].append(element)
    return found


def test_every_preset_is_there_with_its_datasheet_and_what_that_leaves_open(
    fmu: Path, page: Element
) -> None:
    shown = parts_by_heading(section(page, "all-presets"))
    known = presets_for(fmu.stem)
    assert sorted(shown) == sorted(preset["name"] for preset in known)
    for preset in known:
        texts = [text_of(element) for element in shown[preset["name"]]]
        everything = " ".join(texts)
        for said in (preset["description"], *preset["datasheet"].values()):
            assert " ".join(said.split()) in everything
        items = [text_of(e) for top in shown[preset["name"]] for e in top.iter("li")]
        assert items == [" ".join(said.split()) for said in preset["unknown"]]


def test_what_a_preset_sets_is_listed(fmu: Path, page: Element) -> None:
    for name, elements in parts_by_heading(section(page, "all-presets")).items():
        rows = [row for top in elements for row in top.iter("tr") if row[0].tag == "td"]
        listed = {text_of(row[0]): text_of(row[1]).split() for row in rows}
        given = load_preset(fmu.stem, name)
        assert listed.keys() == given.keys()
        for parameter, value in given.items():
            words = listed[parameter]
            if isinstance(value, bool):
                assert words == [str(value).lower()]
            elif isinstance(value, str):
                assert words[-1] == value
            else:
                assert float(words[0]) == value


# ---- the model ---------------------------------------------------------------------------------


def source_of(module: str) -> Path:
    path = build_fmus.ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def plain(text: str) -> str:
    """A text without its blanks and backticks."""
    return re.sub(r"``|\s", "", text).replace("::", ":")


def test_docstrings_of_models_are_shown_word_by_word(fmu: Path, page: Element) -> None:
    shown = parts_by_heading(section(page, "the-model"))
    headings = [e.attrib["id"] for e in page.iter("h3") if e.get("id", "").startswith("module-")]
    assert len(headings) == len(shown)
    for heading, (title, elements) in zip(headings, shown.items(), strict=True):
        module = heading.removeprefix("module-")
        docstring = ast.get_docstring(ast.parse(source_of(module).read_text(encoding="utf-8")))
        said = "".join("".join(element.itertext()) for element in elements)
        assert plain(f"{title}{said}") == plain(f"{docstring.replace(chr(10), f' {module} ', 1)}")


@pytest.mark.parametrize(("model", "module"), EQUATIONS.items())
def test_the_equations_of_the_model_are_shown_as_they_are_set(
    fmu_directory: Path, model: str, module: str
) -> None:
    page = parse(page_of(fmu_directory / f"{model}.fmu"))
    docstring = ast.get_docstring(ast.parse(source_of(module).read_text(encoding="utf-8"))) or ""
    indented = [line for line in docstring.split("\n") if line.startswith("    ")]
    assert indented
    shown = ["".join(pre.itertext()) for pre in page.iter("pre")]
    for line in indented:
        bare = line.strip().replace("``", "")
        assert any(bare in text for text in shown), line


def test_columns_stay_in_line_when_code_in_them_is_marked(fmu_directory: Path) -> None:
    page = parse(page_of(fmu_directory / "VehicleDynamics.fmu"))
    texts = ["".join(pre.itertext()) for pre in page.iter("pre")]
    (table,) = (text for text in texts if text.startswith("solids "))
    starts = {re.match(r"\w+ +", line).end() for line in table.rstrip().split("\n")}
    assert starts == {len("``parameters``  ")}


def test_formulas_with_an_empty_line_between_them_stay_together(fmu_directory: Path) -> None:
    page = parse(page_of(fmu_directory / "Lidar.fmu"))
    texts = ["".join(pre.itertext()) for pre in page.iter("pre")]
    (reflectance,) = (text for text in texts if text.startswith("f   = f_s"))
    assert "\n\nf_d = " in reflectance


@pytest.mark.parametrize("model", SENSORS)
def test_sensors_show_how_they_sample(fmu_directory: Path, model: str) -> None:
    page = parse(page_of(fmu_directory / f"{model}.fmu"))
    assert [e for e in page.iter("h3") if e.get("id") == "module-sensor_models.core.clock"]


def test_every_fmu_that_has_a_model_shows_one() -> None:
    assert EQUATIONS.keys() == build_fmus.fmu_sources().keys() - {"Environment"}


# ---- how to use it -----------------------------------------------------------------------------

#: Notes that belong to a variable, and no other way.
NOTES = {
    "Motion": "mount.position.x",
    "Time": "sample_rate",
    "Inputs at the beginning or the end of a step": "inputs_at_step_end",
    "Frames": "frame.file",
    "Scene": "scene_handle",
    "Magnetic field": "scene_handle",
    "Files": "write_files",
    "Records": "record",
    "Noise": "seed",
    "Presets": "preset",
}


def test_notes_are_there_if_and_only_if_the_fmu_has_what_they_are_about(
    page: Element, described: Element
) -> None:
    variables = {v.attrib["name"] for v in described.iter("ScalarVariable")}
    notes = section(page, "how-to-use")
    assert notes is not None
    titles = [text_of(title) for title in notes.iter("dt")]
    for title, variable in NOTES.items():
        if title in ("Scene", "Magnetic field"):
            has_field = any(name.endswith("field.x") for name in variables)
            wanted = variable in variables and has_field == (title == "Magnetic field")
        else:
            wanted = variable in variables
        assert (title in titles) == wanted, title
    has_faults = any(re.search(r"(^|\.)fault\.(.*\.)?mode$", name) for name in variables)
    assert ("Faults" in titles) == has_faults
    assert titles[-2:] == ["Bad values", "Python"]
