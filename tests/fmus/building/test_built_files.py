"""What each FMU's file is: the same for equal sources, and nothing of the machine that built it."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fmpy import read_model_description

import build_fmus
from fmus.binding.compile import host_platform
from fmus.building.versions import description
from sensor_models._digest import NOT_PACKED
from sensor_models.kernels.carried import FOLDER
from sensor_models.presets import list_presets
from tests.conftest import MODELS, NULL_FMU


@pytest.fixture(params=MODELS)
def fmu(request: pytest.FixtureRequest, fmu_directory: Path) -> Path:
    """Each FMU in turn."""
    return fmu_directory / f"{request.param}.fmu"


@pytest.fixture(scope="module")
def sources() -> list[build_fmus.Source]:
    return [*build_fmus.fmu_sources().values(), build_fmus.own_source(NULL_FMU)]


#: Builds everything in a process of its own: arguments are the output directory and ``Null``.
BUILD = """
import sys
from pathlib import Path
import build_fmus
sources = [*build_fmus.fmu_sources().values(), build_fmus.own_source(Path(sys.argv[2]))]
host = build_fmus.binding.host_platform()
build_fmus.build(sources, Path(sys.argv[1]), platforms=[host])
"""


def test_two_builds_of_one_instant_are_equal_byte_by_byte(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": "1700000000",
        "PYTHONPATH": str(build_fmus.ROOT),
    }
    folders = [tmp_path / "one", tmp_path / "other"]
    for seed, folder in enumerate(folders, 1):  # the order of sets must not matter
        command = [sys.executable, "-c", BUILD, str(folder), str(NULL_FMU)]
        subprocess.run(command, check=True, env={**environment, "PYTHONHASHSEED": str(seed)})
    for model in MODELS:
        one, other = (folder / f"{model}.fmu" for folder in folders)
        assert one.read_bytes() == other.read_bytes()
    assert [len(list(folder.iterdir())) for folder in folders] == [len(MODELS)] * 2


def test_the_guid_stays_when_nothing_but_the_time_changes(
    fmu: Path, sources: list[build_fmus.Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_model_description(str(fmu))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    (source,) = [s for s in sources if s.model.model_name == fmu.stem]
    (later,) = build_fmus.build([source], tmp_path, platforms=[host_platform()])
    again = read_model_description(str(later))
    assert again.generationDateAndTime == "2001-09-09T01:46:40Z"
    assert again.generationDateAndTime != first.generationDateAndTime
    assert again.guid == first.guid
    assert re.fullmatch(r"\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}", again.guid)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("OUTPUTS = 19", "OUTPUTS = 18"),
        ('"1",', '"m",'),
        ('f"copy_{n}"', 'f"copied_{n}"'),
        ('"Copy of an input",', '"Copy of an input", minimum=-5.0,'),
    ],
    ids=["number", "unit", "name", "range"],
)
def test_the_guid_changes_when_a_variable_changes(
    fmu_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    source = NULL_FMU.read_text()
    assert source.count(old) == 1
    changed = tmp_path / "changed_null_fmu.py"
    changed.write_text(source.replace(old, new))
    model = build_fmus.own_source(changed).model
    monkeypatch.delitem(sys.modules, changed.stem)
    root = ElementTree.fromstring(description(model))
    guid = read_model_description(str(fmu_directory / "Null.fmu")).guid
    assert root.attrib["guid"] != guid


def members(fmu: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(fmu) as archive:
        for name in archive.namelist():
            yield name, archive.read(name)


def test_the_file_holds_nothing_of_this_machine_but_the_place_of_its_python(fmu: Path) -> None:
    telling = {
        str(build_fmus.ROOT),
        str(Path.home()),
        os.path.realpath(tempfile.gettempdir()),
        sys.prefix,
        sys.base_prefix,
        socket.gethostname(),
    }
    # whole words: a short name of a host may be a part of any word
    words = {w: re.compile(rb"(?<!\w)" + re.escape(os.fsencode(w)) + rb"(?!\w)") for w in telling}
    contents = dict(members(fmu))
    place = contents.pop("resources/python.txt").decode()
    assert f"executable={sys.executable}" in place.splitlines()
    found = {
        (name, word)
        for name, content in contents.items()
        for word, pattern in words.items()
        # tables of numbers hold the few letters of a host's name by chance
        if ("/" in word or len(word) > 4 or b"\0" not in content) and pattern.search(content)
    }
    assert found == set()


def test_the_file_holds_what_it_needs_and_nothing_else(fmu: Path) -> None:
    names = [name for name, _ in members(fmu)]
    assert len(names) == len(set(names))
    folders = {name.rpartition("/")[0] for name in names}
    host = host_platform()
    library = "resources/sensor_models"
    variables = read_model_description(str(fmu)).modelVariables
    loads_a_scene = any(variable.name == "scene" for variable in variables)
    scenes = {f"resources/scenes/{scene}" for scene in build_fmus.built_in_scenes()}
    assert {folder for folder in folders if not folder.startswith(f"{library}/")} == {
        "",
        f"binaries/{host}",
        "documentation",
        "documentation/licenses",
        "extra/org.fmi-standard.fmi-ls-ref",
        "resources",
        f"resources/{FOLDER}/{host}",
        "resources/fmus",
        "resources/fmus/fmi",
        "resources/fmus/vehicle",
        "resources/pythonfmu",
        library,
        *(scenes if loads_a_scene else ()),
        *(["extra/org.fmi-standard.fmi-ls-ref/presets"] if list_presets(fmu.stem) else ()),
    }
    packed = {name.removeprefix("resources/") for name in names if name.startswith(library)}
    sources = (build_fmus.ROOT / "sensor_models").rglob("*")
    assert packed == {
        path.relative_to(build_fmus.ROOT).as_posix()
        for path in sources
        if path.suffix in (".py", ".toml") and not set(NOT_PACKED).intersection(path.parts)
    }
    assert not [name for name in names if name.endswith((".pyc", ".o", ".part"))]
