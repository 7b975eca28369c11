"""The C master as a process: what surrounds it, and how it ends. For Linux."""

import os
import signal
from pathlib import Path

import pytest

from tests.masters.c_instance import State
from tests.masters.c_master import CMaster, Library, Valgrind
from tests.masters.compiling import compile_c
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import (
    WILD,
    CommandRefusedError,
    MasterDiedError,
    MasterHungError,
    Message,
    Status,
)


def library_of(master: CMaster, directory: Path, code: str) -> Library:
    """A library that is made of a few lines of C."""
    source = directory / "library.c"
    source.write_text(code)
    folder = directory / "fmu"
    files = FmuFiles(folder, "Small", "", {})
    files.library.parent.mkdir(parents=True)
    compile_c(files.library, [source], "-shared", "-fPIC", "-Wno-unused-parameter")
    return master.load(files)


def test_a_crash_is_told_with_the_call_that_caused_it(
    master_executable: Path, reference_files: FmuFiles
) -> None:
    with CMaster(master_executable) as master:
        instance = master.load(reference_files).instantiate()
        with pytest.raises(MasterDiedError, match="SIGSEGV at: fmi2SetFMUstate") as caught:
            instance.set_state(State(WILD))
        assert caught.value.exit_code == -signal.SIGSEGV


def test_a_master_that_does_not_end_well_is_told_at_the_end(master_executable: Path) -> None:
    with pytest.raises(MasterDiedError, match="SIGKILL"), CMaster(master_executable) as master:
        os.kill(master.pid, signal.SIGKILL)


def test_a_master_that_hangs_is_killed(master_executable: Path, tmp_path: Path) -> None:
    code = "#include <unistd.h>\nchar *fmi2GetVersion(void) { sleep(60); return 0; }"
    with CMaster(master_executable, timeout=0.5) as master:
        library = library_of(master, tmp_path, code)
        with pytest.raises(MasterHungError, match="SIGKILL at: fmi2GetVersion"):
            library.version()


def test_what_a_library_prints_does_not_meet_the_protocol(
    master_executable: Path, tmp_path: Path
) -> None:
    code = """#include <stdio.h>
        const char *fmi2GetVersion(void) { puts("done 0"); fflush(stdout); return "mine"; }
        const char *fmi2GetTypesPlatform(void) { return getchar() == EOF ? "end" : "input"; }"""
    master = CMaster(master_executable)
    library = library_of(master, tmp_path, code)
    assert (library.version(), library.types_platform()) == ("mine", "end")
    assert master.close() == (0, "done 0\n")


@pytest.mark.parametrize(("given", "seen"), [({}, None), ({"A": "b c"}, "A=b c")])
def test_the_environment_is_what_is_given_and_else_empty(
    master_executable: Path, tmp_path: Path, given: dict[str, str], seen: str | None
) -> None:
    code = "extern char **environ; char *fmi2GetVersion(void) { return environ[0]; }"
    with CMaster(master_executable, given) as master:
        assert library_of(master, tmp_path, code).version() == seen


def test_handlers_that_a_library_installs_are_seen(master: CMaster, tmp_path: Path) -> None:
    assert master.handled_signals() == []
    code = """#include <signal.h>
        const char *fmi2GetVersion(void) { signal(SIGTERM, SIG_IGN); return ""; }"""
    library_of(master, tmp_path, code).version()
    assert master.handled_signals() == [signal.SIGTERM]


def test_nothing_but_the_c_library_is_in_the_process(master: CMaster) -> None:
    master.memory()
    maps = Path(f"/proc/{master.pid}/maps").read_text()
    mapped = {Path(line.split()[-1]).name for line in maps.splitlines() if ".so" in line}
    assert {name.split(".")[0].split("-")[0] for name in mapped} <= {"libc", "libm", "ld"}


def test_master_and_reference_fmu_use_memory_as_they_should(
    master_executable: Path, reference_files: FmuFiles
) -> None:
    with CMaster(master_executable, within=Valgrind()) as master:
        library = master.load(reference_files)
        instance = library.instantiate("a", logging=True)
        instance.initialize()
        instance.set("string_parameter", "text").expect()
        instance.step(0.0, 0.1).expect()
        state = instance.deserialize(instance.serialize(instance.get_state(State("first"))))
        for taken in (state, State("first")):
            instance.free_state(taken).expect()
        instance.step_alternately(0.1, 0.1, 10).expect()
        instance.free()
        with pytest.raises(CommandRefusedError):
            master.command("fmi2SetReal", instance.name, "0,1", "1")


def test_lost_memory_of_a_library_is_an_error_under_valgrind(
    master_executable: Path, tmp_path: Path
) -> None:
    code = """#include <stdlib.h>
        char *fmi2GetVersion(void) { return malloc(100) == NULL ? "none" : "some"; }"""
    with (
        pytest.raises(MasterDiedError, match="exit code 99") as caught,
        CMaster(master_executable, within=Valgrind()) as master,
    ):
        assert library_of(master, tmp_path, code).version() == "some"
    assert "100 bytes in 1 blocks are definitely lost" in caught.value.stderr
    assert "fmi2GetVersion" in caught.value.stderr


def test_messages_beyond_the_room_for_them_are_counted(master: CMaster, tmp_path: Path) -> None:
    code = """#include "fmi2TypesPlatform.h"
        #include "fmi2FunctionTypes.h"
        void *fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String place,
                              const fmi2CallbackFunctions *functions, int visible, int logging) {
            for (int i = 0; i < 100000; i++)
                functions->logger(NULL, NULL, fmi2Warning, NULL, "%s %d", "message", i);
            return NULL;
        }"""
    library = library_of(master, tmp_path, code)
    reply = library.try_instantiate()[1]
    assert reply.messages[:1] == (Message("@unknown", None, Status.WARNING, None, "message 0"),)
    assert reply.dropped > 0
    assert len(reply.messages) + reply.dropped == 100_000
    assert master.command("memory").messages == ()
