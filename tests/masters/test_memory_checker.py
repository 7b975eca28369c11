"""A life of an FMU under valgrind: the binding reads, writes and frees nothing wrongly. For Linux.

Kernels are compiled before, for a processor that has nothing special, as compiling them under
valgrind takes minutes, and its processor is not the machine's. Only what has the binding among its
innermost callers counts: what goes on within Python or the C library is not ours.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sensor_models.kernels.carried import FOLDER
from tests.masters.c_instance import Instance, State
from tests.masters.c_master import CMaster, Library, Valgrind
from tests.masters.compiling import compile_c
from tests.masters.fmi_calls import all_calls
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import FOREIGN, NULL, WILD, Status, null_array
from tests.masters.sensors import (
    STEP,
    Phase,
    bring_to,
    check_it_measures,
    copied_to,
    error_of,
    unchanged,
)


def checker(report: Path) -> Valgrind:
    """Valgrind that writes what it finds into a file, lost memory included."""
    arguments = ("--xml=yes", f"--xml-file={report}", "--leak-check=full")
    kinds = ("--show-leak-kinds=definite", "--errors-for-leak-kinds=definite")
    return Valgrind(arguments=(*arguments, *kinds))


def findings(report: Path, library: Path) -> list[str]:
    """What valgrind has found with this library among the callers, one line for each finding."""
    lines = []
    for error in ElementTree.parse(report).getroot().iter("error"):
        frames = error.findall("stack[1]/frame")
        if any(frame.findtext("obj") == str(library) for frame in frames):
            what = error.findtext("what") or error.findtext("xwhat/text")
            stack = " < ".join(frame.findtext("fn") or "?" for frame in frames)
            lines.append(f"{error.findtext('kind')}: {what}: {stack}")
    return lines


def refuse_everything(library: Library, instance: Instance) -> None:
    """Bad calls of all kinds."""
    for pointer in (NULL, WILD, FOREIGN):
        for call in all_calls(library.files):
            nobody = library.bad_instance(pointer)
            assert nobody.call(call.function, *call.words).status is Status.ERROR
        error_of(instance.set_state(State(pointer)))
    with unchanged(instance):
        for kind, text in (("Real", "nan"), ("Integer", "99"), ("Boolean", "1"), ("String", "x")):
            error_of(instance.call(f"fmi2Set{kind}", "0,4000000000", f"{text},{text}"))
            error_of(instance.call(f"fmi2Get{kind}", null_array(3)))
        for name in ("joint.position", "wheel_radius", "distance"):
            error_of(instance.set(name, float("nan")))
        error_of(instance.set("preset", "é%n" * 5000))
        error_of(instance.step(0.0, float("nan")))
        error_of(instance.exit())
        error_of(instance.set_debug_logging(True, ["nonsense"]))


def use_states(instance: Instance) -> None:
    state = instance.get_state()
    content = instance.serialize(state)
    other_name = instance.second_handle(state)
    read = instance.deserialize(content)
    error_of(instance.try_deserialize(content[:-1])[1])
    error_of(instance.call("fmi2SerializeFMUstate", state.name, 3))
    instance.set_state(read).expect()
    instance.get_state(read)
    instance.free_state(state).expect()
    error_of(instance.free_state(other_name))
    error_of(instance.set_state(other_name))  # and one state is left to fmi2FreeInstance


#: The processor to compile for.
PLAIN_PROCESSOR = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


def live_through_everything(master: CMaster, files: FmuFiles) -> None:
    """Lives of several instances with all that may happen to them."""
    library = master.load(files)
    for refused in ({"guid": "wrong"}, {"guid": None}, {"resources": "/nowhere"}):
        assert library.try_instantiate("refused", **refused)[1].words == ("0",)
    instance, other = (library.instantiate(name, logging=True) for name in ("a", "b"))
    instance.set("output_directory", "somewhere").expect()
    twice = instance.get_string(["output_directory", "output_directory"])
    assert twice.expect().strings() == ["somewhere", "somewhere"]
    bring_to(instance, Phase.STEPPING)
    refuse_everything(library, instance)
    use_states(instance)
    check_it_measures(instance, STEP, 0.75)
    instance.step_in_new_threads(2 * STEP, STEP, 5)
    bring_to(other, Phase.TERMINATED)
    other.reset().expect()
    other.initialize()
    master.step_in_threads([other], 0.0, STEP, 5).expect()
    for each in (instance, instance, other):
        each.free()
    library.unload()


def test_the_binding_uses_memory_as_it_should(
    master_executable: Path, sensor_files: Mapping[str, FmuFiles], tmp_path: Path
) -> None:
    files, report = copied_to(sensor_files["Odometer"], tmp_path / "fmu"), tmp_path / "report.xml"
    # those that it carries may be for better processors than valgrind's, which would compile then
    shutil.rmtree(files.directory / "resources" / FOLDER)
    with CMaster(master_executable, PLAIN_PROCESSOR) as master:
        live_through_everything(master, files)
    with CMaster(master_executable, PLAIN_PROCESSOR, checker(report)) as master:
        live_through_everything(master, files)
    assert findings(report, files.library.resolve()) == []


#: Statements in C, by the kind of finding that valgrind makes of them.
MISUSES = {
    "InvalidRead": 'version = malloc(8)[9] ? "a" : "b";',
    "InvalidWrite": "malloc(8)[8] = 1;",
    "InvalidFree": "free(foreign);",
    "Leak_DefinitelyLost": "memset(malloc(100), 0, 100);",
}


@pytest.mark.parametrize("kind", MISUSES)
def test_misuse_of_memory_in_a_library_is_found(
    master_executable: Path, tmp_path: Path, kind: str
) -> None:
    source, report = tmp_path / "misuse.c", tmp_path / "report.xml"
    source.write_text(
        "extern void free(void *); extern volatile char *malloc(unsigned long);\n"
        "extern void *memset(volatile void *, int, unsigned long);\n"
        "char foreign[100]; const char *fmi2GetVersion(void) {\n"
        f'    const char *version = "c"; {MISUSES[kind]} return version; }}\n'
    )
    files = FmuFiles(tmp_path, "Misuse", "", {})
    files.library.parent.mkdir(parents=True)
    flags = ("-shared", "-fPIC", "-fno-builtin", "-Wno-builtin-declaration-mismatch")
    compile_c(files.library, [source], *flags)
    with CMaster(master_executable, within=checker(report)) as master:
        master.load(files).version()
    assert kind in [line.split(":")[0] for line in findings(report, files.library.resolve())]
