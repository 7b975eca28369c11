"""The sensors' FMUs in a host that is no Python and has an empty environment. For Linux."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

import build_fmus
from fmus.binding import compile as binding
from tests.conftest import NULL_FMU
from tests.masters.c_master import CMaster, Library, fmi_functions
from tests.masters.compiling import compile_c
from tests.masters.fmu_files import FmuFiles
from tests.masters.sensors import FOLLOWED, MODELS, check_it_measures, copied_to

#: A library whose "version" is what an FMU could spoil of its host, and whose "platform" makes
#: this differ from what a process starts with.
PROBE = r"""
#include <fenv.h>
#include <locale.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
extern char **environ;
const char *fmi2GetVersion(void) {
    static char text[8192];
    mode_t mask = umask(0);
    umask(mask);
    volatile double smallest_normal = 0x1p-1022;
    snprintf(text, sizeof text, "%s %d %a %o %s %s", setlocale(LC_ALL, NULL), fegetround(),
             smallest_normal / 2.0, mask, getcwd(NULL, 0), environ[0] ? environ[0] : "");
    return text;
}
const char *fmi2GetTypesPlatform(void) {
    umask(027);
    return setlocale(LC_CTYPE, "C.UTF-8");
}
"""


def live(library: Library, name: str = "sensor") -> None:
    """One whole life of an instance."""
    instance = library.instantiate(name)
    instance.initialize()
    for k, value in enumerate((2.0, 0.5, 3.25)):
        check_it_measures(instance, k * 0.125, value)
    instance.terminate().expect()
    instance.free()


@pytest.fixture
def probe(master: CMaster, tmp_path: Path) -> Library:
    source = tmp_path / "probe.c"
    source.write_text(PROBE)
    files = FmuFiles(tmp_path / "probe", "Probe", "", {})
    files.library.parent.mkdir(parents=True)
    compile_c(files.library, [source], "-shared", "-fPIC")
    return master.load(files)


@pytest.mark.parametrize("model", MODELS)
def test_an_fmu_lives_in_a_host_without_python_or_environment(
    master_executable: Path, sensor_files: Mapping[str, FmuFiles], model: str
) -> None:
    master = CMaster(master_executable)
    library = master.load(sensor_files[model])
    live(library)
    library.unload()
    assert master.close() == (0, "")


@pytest.mark.parametrize("model", MODELS)
def test_a_host_that_ends_with_a_living_instance_ends_well(
    master_executable: Path, sensor_files: Mapping[str, FmuFiles], model: str, tmp_path: Path
) -> None:
    master = CMaster(master_executable)
    instance = master.load(sensor_files[model]).instantiate()
    if "record" in instance.files.variables:
        instance.set("record", True).expect()
        instance.set("output_directory", str(tmp_path)).expect()
    instance.initialize()
    check_it_measures(instance, 0.0, 1.0)
    assert master.close() == (0, "")


@pytest.mark.parametrize("model", MODELS)
def test_an_fmu_can_be_loaded_again_in_the_same_process(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], model: str
) -> None:
    for _ in range(2):
        library = master.load(sensor_files[model])
        live(library)
        library.unload()


def test_all_fmus_live_side_by_side_in_one_process(
    master: CMaster, sensor_files: Mapping[str, FmuFiles]
) -> None:
    libraries = [master.load(files) for files in sensor_files.values()]
    instances = [library.instantiate() for library in libraries for _ in range(2)]
    for instance in instances:
        instance.initialize()
    for number, instance in enumerate(instances):
        check_it_measures(instance, 0.0, 0.5 * number)
    for number, instance in enumerate(instances):
        followed = FOLLOWED[instance.files.model_identifier]
        assert instance.get(followed.output) == followed.factor * 0.5 * number


@pytest.mark.parametrize("order", [MODELS, MODELS[::-1]])
def test_fmus_follow_each_other_in_one_process(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], order: tuple[str, ...]
) -> None:
    for model in order:
        library = master.load(sensor_files[model])
        live(library)
        library.unload()


def test_an_fmu_runs_after_the_place_where_another_was_unpacked_has_gone(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], tmp_path: Path
) -> None:
    for number, model in enumerate((*MODELS, *MODELS)):
        files = copied_to(sensor_files[model], tmp_path / str(number))
        library = master.load(files)
        live(library)
        library.unload()
        shutil.rmtree(files.directory)


def test_an_instance_goes_on_after_its_files_have_gone(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], tmp_path: Path
) -> None:
    files = copied_to(sensor_files["Encoder"], tmp_path / "Encoder")
    instance = master.load(files).instantiate()
    instance.initialize()
    shutil.rmtree(files.directory)
    check_it_measures(instance, 0.0, 1.5)
    instance.terminate().expect()
    instance.free()


def test_an_fmu_built_from_other_sources_is_refused_beside_the_first(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], tmp_path: Path
) -> None:
    first = master.load(sensor_files["Odometer"]).instantiate()
    other = copied_to(sensor_files["Encoder"], tmp_path / "Encoder")
    manifest = other.directory / "resources" / "fmu.txt"
    lines = manifest.read_text().splitlines()
    changed = [
        "sensor_models=0123" if line.startswith("sensor_models=") else line for line in lines
    ]
    manifest.write_text("\n".join(changed))
    _, reply = master.load(other).try_instantiate()
    assert reply.words == ("0",)
    assert "built from other sources of 'sensor_models' (0123)" in reply.texts()[0]
    first.initialize()
    check_it_measures(first, 0.0, 1.0)


def test_fmus_whose_own_modules_have_one_name_run_each_its_own_code(
    master: CMaster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instances = []
    for model, factor in (("First", "2.0"), ("Second", "3.0")):
        source = tmp_path / model / "own_fmu.py"
        source.parent.mkdir()
        text = NULL_FMU.read_text().replace('name="Null"', f'name="{model}"')
        source.write_text(text.replace("body.tolist()", f"({factor} * body).tolist()"))
        monkeypatch.setitem(sys.modules, source.stem, ModuleType("none"))  # undone at the end
        platforms = [binding.host_platform()]
        (fmu,) = build_fmus.build([build_fmus.own_source(source)], tmp_path, platforms=platforms)
        files = FmuFiles.unpack(fmu, tmp_path / model / "unpacked")
        instances.append(master.load(files).instantiate())
    for instance in instances:
        instance.initialize()
        instance.set_real({"body.position.x": 1.0}).expect()
        instance.step(0.0, 0.1).expect()
    assert [instance.get("value.copy_1") for instance in instances] == [2.0, 3.0]


@pytest.mark.parametrize("model", MODELS)
def test_every_function_of_the_standard_is_exported(
    sensors: Mapping[str, Library], model: str
) -> None:
    assert sensors[model].missing_functions([*fmi_functions(), "fmi2Foo"]) == ["fmi2Foo"]


@pytest.mark.parametrize("model", MODELS)
def test_version_and_platform_are_known_before_there_is_an_instance(
    sensors: Mapping[str, Library], model: str
) -> None:
    assert (sensors[model].version(), sensors[model].types_platform()) == ("2.0", "default")


@pytest.mark.parametrize("model", MODELS)
def test_no_signal_handler_is_installed_in_the_host(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], model: str
) -> None:
    live(master.load(sensor_files[model]))
    assert master.handled_signals() == []


@pytest.mark.parametrize("changed", [False, True])
def test_locale_directory_floating_point_and_environment_of_the_host_stay(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], probe: Library, changed: bool
) -> None:
    untouched = probe.version()
    if changed:
        assert probe.types_platform() == "C.UTF-8"
        assert probe.version() != untouched
    before = probe.version()
    for files in sensor_files.values():
        live(master.load(files))
    assert probe.version() == before
