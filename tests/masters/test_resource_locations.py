"""Resource locations as hosts pass them: encoded or not, as URI or as path. For Linux."""

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.masters.c_master import CMaster, Library
from tests.masters.fmu_files import FmuFiles
from tests.masters.sensors import check_it_measures, copied_to

#: Names of directories that must be encoded in a URI, or look as if they were.
DIRECTORIES = [
    "with space",
    "100%",
    "a%20b %e9%",
    "é 日本",
    "a+b#c?d=e&f;g",
    'it\'s "quoted" $HOME `x`',
    "back\\slash [brackets]{braces}\nnew line",
]

#: Ways to write the location of a directory.
FORMS: dict[str, Callable[[Path], str]] = {
    "URI": lambda path: path.as_uri(),
    "URI with a slash at its end": lambda path: path.as_uri() + "/",
    "URI with lower-case digits": lambda path: path.as_uri().replace("%E", "%e"),
    "URI with everything encoded": lambda path: "file:///" + quote(str(path)[1:], safe=""),
    "URI of this machine": lambda path: path.as_uri().replace("file://", "file://localhost"),
    "URI without authority": lambda path: path.as_uri().replace("file://", "file:"),
    "URI of this machine in capitals": lambda path: f"file://LocalHost{path.as_uri()[7:]}",
    "URI that is not encoded": lambda path: f"file://{path}",
    "URI of this machine that is not encoded": lambda path: f"file://localhost{path}",
    "URI without authority that is not encoded": lambda path: f"file:{path}",
    "URI that is not encoded, with a slash": lambda path: f"file://{path}/",
    "plain path": str,
}


def instantiates(library: Library, location: str) -> bool:
    """Whether an instance with these resources comes to life, and measures."""
    instance, reply = library.try_instantiate(resources=location)
    if reply.words != ("1",):
        return False
    instance.initialize()
    check_it_measures(instance, 0.0, 1.25)
    instance.free()
    return True


@pytest.mark.parametrize("name", DIRECTORIES)
def test_resources_are_found_in_any_directory_and_by_any_form_of_its_location(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], tmp_path: Path, name: str
) -> None:
    library = master.load(copied_to(sensor_files["Odometer"], tmp_path / name))
    resources = tmp_path / name / "resources"
    failed = [form for form, write in FORMS.items() if not instantiates(library, write(resources))]
    assert failed == []


def test_a_path_relative_to_the_working_directory_is_found_and_remembered(
    master_executable: Path, sensor_files: Mapping[str, FmuFiles]
) -> None:
    files = sensor_files["Odometer"]
    with CMaster(master_executable, directory=files.directory) as master:
        library = master.load(files)
        assert instantiates(library, "resources")
        assert instantiates(library, "./resources/")


@pytest.mark.parametrize(
    "location",
    [
        "file://otherhost/tmp",
        "file://otherhost",
        "file://",
        "file:",
        "",
        "file:///" + "long" * 2000,
        "long" * 2000,
    ],
)
def test_what_can_be_no_local_directory_is_refused(
    sensors: Mapping[str, Library], location: str
) -> None:
    _, reply = sensors["Odometer"].try_instantiate(resources=location)
    assert reply.words == ("0",)
    assert reply.texts() == [
        f"fmi2Instantiate: resource location '{location}' is no local directory."
    ]


@pytest.mark.parametrize(
    "location", ["file:///nowhere/at/all", "/nowhere", "http://host/resources", "file:///dev/null"]
)
@pytest.mark.parametrize("warm", [False, True])
def test_a_place_without_the_fmu_is_refused_and_named(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], location: str, warm: bool
) -> None:
    library = master.load(sensor_files["Odometer"])
    if warm:
        assert instantiates(library, library.files.resource_uri)
    _, reply = library.try_instantiate(resources=location)
    assert reply.words == ("0",)
    (text,) = reply.texts()
    assert f"resource location '{location}'" in text
    assert instantiates(library, library.files.resource_uri)


def test_a_location_that_is_not_utf_8_is_answered_without_harm(
    sensors: Mapping[str, Library],
) -> None:
    location = b"/nowhere/\xff\xfe".decode(errors="surrogateescape")
    _, reply = sensors["Odometer"].try_instantiate(resources=location)
    assert reply.words == ("0",)
    assert len(reply.texts()) == 1
    assert instantiates(sensors["Odometer"], sensors["Odometer"].files.resource_uri)


def test_a_path_that_is_no_text_is_shown(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], tmp_path: Path
) -> None:
    files = copied_to(sensor_files["Odometer"], tmp_path / "Odometer")
    (tmp_path / "a\udcff").symlink_to(files.directory)
    location = (tmp_path / "Odometer" / "resources").as_uri().replace("/Odometer/", "/a%FF/")
    _, reply = master.load(files).try_instantiate(resources=location)
    assert reply.words == ("0",)
    (text,) = reply.texts()
    assert r"a\xff/resources' is not text in UTF-8" in (text or "")
