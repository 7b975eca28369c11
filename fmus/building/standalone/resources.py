"""What a standalone FMU carries besides an ordinary one: an interpreter and packages.

    resources/python.txt            where these are, for the binding and ``fmu_loader.py``
    resources/python/               the interpreter's home: its library
    resources/python/versions.txt   what is carried, with versions
    resources/python/digests.txt    what each file there is like, which is checked at each start
    resources/python/libs/          other libraries that are needed, except the C library
    resources/python/lib/python3.x/ the used part of the standard library
    resources/python/packages/      the used part of numpy and others
    resources/kept-scenes/          the scenes of the FMU, in parsed form

An FMU is run in many ways (``exercise.py --standalone``) to find the modules that it imports; what
these may import later is found in their code (``imports.py``). All modules, also those of the FMU's
own packages, are carried as bytecode without docstrings (``interpreter.py``). The finished FMU is
run in the same ways with nothing but the interpreter that it carries; if a module is missing, the
build fails.
"""

import _imp
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import fmus
import sensor_models
from fmus.building.exercise import NOT_CARRIED, SEEING
from fmus.building.kernel_libraries import Say, digest_of, run_script, write_files
from fmus.building.sources import BuildError, Source
from fmus.building.standalone import interpreter, linear_algebra, startup
from fmus.building.standalone.imports import (
    all_in,
    find_all,
    is_standard,
    search_path,
    with_parents,
)
from fmus.fmi.base import FmuBase
from sensor_models._digest import RECORDED, digest_of_package
from sensor_models.core.spec import SCENE_PACKAGES
from sensor_models.kernels.cache import DIRECTORY_VARIABLE
from sensor_models.scene import kept
from sensor_models.scene.manifest import MANIFEST_NAME, load_scene

HERE = Path(__file__).parent

#: The files that decide what is carried.
DECIDING = ("../exercise.py", "interpreter.py", "startup.py", "linear_algebra.py", "blas.c")

#: The variable that says where scenes are kept is the process's, and several are made at once.
_keeping = threading.Lock()

#: Python without the files by which packages get imported at its start.
ALONE = ("-S", "-s")

_NOT_WANTED = """
_pydatetime _pydecimal _pyio asyncio curses distutils doctest ensurepip ftplib http idlelib
importlib.metadata lib2to3 mailbox multiprocessing pdb pydoc pydoc_data readline rlcompleter smtplib
socketserver sqlite3 ssl statistics tarfile test tkinter turtle unittest urllib.request venv
webbrowser xmlrpc
sensor_models.tools fmus.building fmus.tools
numpy.distutils numpy.f2py numpy.random numpy.testing numpy.tests
PIL.ImageShow PIL.ImageTk PIL._avif PIL._imagingcms PIL._imagingft PIL._imagingtk PIL._webp
pydantic.mypy pydantic.v1 trimesh.viewer
"""
#: Modules that no FMU needs: tools for developers, other interpreters, networks, windows, and
#: optional packages that others import if they are installed.
NOT_WANTED = (*NOT_CARRIED, *_NOT_WANTED.split())

#: Distributions that FMUs import only if a parameter asks for it.
ASKED_FOR = ("laspy", "lazrs", "pygeomag")

#: Packages that are carried whole: which parts they import depends on the files they read.
WHOLE = ("PIL", "laspy", "pygeomag")

#: Frozen modules, which are part of the interpreter's library, but also exist as files.
NOT_ONLY_FROZEN = ("os",)

#: In place of the package's own text, which also imports modules that pack FMUs.
PYTHONFMU = b"from .fmi2slave import Fmi2Slave\n"

_ALWAYS = """
_blake2 _md5 _sha1 _sha2 _sha256 _sha3 _sha512 _strptime traceback
encodings.ascii encodings.latin_1 encodings.utf_8_sig
numpy._core._methods numpy._core._dtype numpy._core._dtype_ctypes numpy._core._exceptions
numpy._core._internal numpy._core._ufunc_config numpy._core.arrayprint numpy._core.multiarray
numpy.ctypeslib
"""
#: Modules that compiled code imports, modules imported to report an error, and those that compute
#: hashes without OpenSSL.
ALWAYS = _ALWAYS.split()

#: The module that finds Embree by the path of the package embreex.
EMBREE = "sensor_models.kernels.tracing.embree"


_OF_SEEING = """
camera kernels.camera kernels.caster kernels.lidar kernels.light kernels.radar
kernels.tracing kernels.waveform lidar light radar sight waveform
"""
#: Parts of the FMUs' own packages that are used only by FMUs that open scenes.
OF_SEEING = tuple(f"sensor_models.{name}" for name in _OF_SEEING.split())


def check_possible(python: str, platforms: Sequence[str], host: str) -> None:
    """Refuse what cannot be carried here."""
    if sys.platform == "darwin":
        raise BuildError(
            "--standalone cannot be made on macOS: its loader knows libraries by their places, so"
            " an interpreter cannot be moved as it is"
        )
    if Path(python).resolve() != Path(sys.executable).resolve():
        raise BuildError("--standalone carries the interpreter that builds, and no other --python")
    if others := [platform for platform in platforms if platform != host]:
        raise BuildError(
            f"--standalone carries the interpreter of this machine: it makes FMUs for {host}, and"
            f" those for {', '.join(others)} are made there by the same command"
        )


@dataclass(frozen=True)
class Standalone:
    """Makes the ordinary FMUs of one build standalone."""

    #: What was found and tried is kept here.
    folder: Path
    say: Say

    def resources(self, source: Source, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """The resources of a standalone FMU, from the ``files`` of the ordinary one."""
        model = source.model
        options = ["--standalone"] if sees(model) else ["--standalone", "--blind"]
        with tempfile.TemporaryDirectory() as folder:
            unpacked = Path(folder)
            write_files(unpacked, {**files, "resources/pythonfmu/__init__.py": PYTHONFMU})
            imported, methods = self._imported(model, files, unpacked / "resources", options)
            modules = found_modules(model, imported, unpacked / "resources")
            settings = [name for name in imported if name.startswith("_sysconfigdata")]
            changes = changes_of(source, modules, methods, self.folder)
            scenes = sorted(unpacked.glob(f"resources/scenes/*/{MANIFEST_NAME}"))
            carried = {
                **{name: content for name, content in files.items() if is_carried(name)},
                **dict(interpreter.files(modules, EMBREE in modules, changes)),
                **dict(digest_files()),
                **dict(interpreter.settings_file(name) for name in settings),
                **dict(kept_scenes(scenes)),
            }
        carried |= [interpreter.digest_list(carried)]
        self._try_out(model, carried, options)
        return carried

    def _imported(
        self,
        model: type[FmuBase],
        files: Mapping[str, bytes],
        resources: Path,
        options: Sequence[str],
    ) -> tuple[list[str], list[str]]:
        """The modules that an FMU imports when it is run, and the methods of its data classes.

        The methods are texts, see ``startup.py``.
        """
        answer = self.folder / f"{_digest(files)}.modules"
        if not answer.is_file():
            self.say(f"looking for the modules of {model.model_name}")
            packages = resources.parent / "packages"
            packages.mkdir()
            scenes = SCENE_PACKAGES if sees(model) else ()
            interpreter.link_packages((*model.PACKAGES, *ASKED_FOR, *scenes), packages)
            environment = {**os.environ, "PYTHONPATH": str(packages)}
            run_script("exercise.py", environment, resources, answer, *options, flags=ALONE)
        # Names of characters are in sources only, which are no more; others were there before they
        # could be kept away.
        gone = {*NOT_CARRIED, *(() if sees(model) else ("unicodedata",))}
        found = json.loads(answer.read_text(encoding="utf-8"))
        return [name for name in found["modules"] if name not in gone], found["methods"]

    def _try_out(
        self, model: type[FmuBase], files: Mapping[str, bytes], options: Sequence[str]
    ) -> None:
        """Run an FMU with the interpreter that it carries."""
        proof = self.folder / f"{_digest(files)}.standalone"
        if proof.is_file():
            return
        self.say(f"running {model.model_name} with nothing but what it carries")
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), files)
            resources, answer = Path(folder, "resources"), Path(folder, "answer")
            environment = interpreter.surroundings(resources)
            run_script("exercise.py", environment, resources, answer, *options, flags=ALONE)
            found = json.loads(answer.read_text(encoding="utf-8"))
        if found["made"]:
            raise BuildError(f"{model.model_name} does not carry {found['made']}")
        if found["products"]:
            raise BuildError(f"{model.model_name} multiplies matrices, and carries no OpenBLAS")
        proof.touch()


def found_modules(
    model: type[FmuBase], imported: Sequence[str], resources: Path
) -> dict[str, Path]:
    """The files of the modules that an FMU imports or may import, by name."""
    start = [m for m in imported if not m.startswith("_") or is_standard(m)] + ALWAYS
    packages = {module.partition(".")[0] for module in start}
    packages -= set() if sees(model) else set(SEEING)
    start += [m for package in WHOLE if package in packages for m in all_in(package)]
    certain = {part for module in imported for part in with_parents(module)}
    left_out = NOT_WANTED if sees(model) else (*NOT_WANTED, *OF_SEEING)
    if "scene_handle" not in model.table().by_name:
        left_out += ("sensor_models.scene",)

    def is_wanted(module: str) -> bool:
        if _imp.is_frozen(module) and module not in NOT_ONLY_FROZEN:
            return False
        known = is_standard(module) or module.partition(".")[0] in packages
        is_left_out = any(f"{module}.".startswith(f"{name}.") for name in left_out)
        return known and not startup.is_left_out(module) and (module in certain or not is_left_out)

    return find_all(start, search_path(resources), is_wanted, (*interpreter.OWN, *WHOLE))


def changes_of(
    source: Source, modules: Mapping[str, Path], methods: Sequence[str], kept: Path
) -> interpreter.Changes:
    """What an FMU carries in another form; FMUs from files of users may call all of NumPy."""
    sources = startup.replacements(methods)
    original = linear_algebra.library_of(modules)
    if original is None:
        return interpreter.Changes(sources, {}, {})
    is_own = source.content is not None
    other = None if is_own or sees(source.model) else linear_algebra.stand_in(modules, kept)
    place = interpreter.library_place(original).removeprefix(f"resources/{interpreter.HOME}/")
    if other is None:
        return interpreter.Changes(sources, {}, {"linear_algebra": place})
    sources[linear_algebra.SYSTEMS] = linear_algebra.IN_ITS_PLACE.read_bytes()
    return interpreter.Changes(sources, {original: other}, {"stand_in": place})


def sees(model: type[FmuBase]) -> bool:
    """Whether an FMU opens scenes itself."""
    return "scene" in model.table().by_name or bool({*SCENE_PACKAGES} & {*model.PACKAGES})


def is_carried(name: str) -> bool:
    """Whether a file of an ordinary FMU is kept: all but the sources of its packages."""
    return not name.endswith(".py") or name.count("/") == 1


def digest_files() -> Iterator[tuple[str, bytes]]:
    """The digests of sources that are not carried."""

    def digests(package: ModuleType, *patterns: str) -> dict[str, str]:
        return {pattern: digest_of_package(str(package.__file__), pattern) for pattern in patterns}

    for place, recorded in (
        ("sensor_models", digests(sensor_models, "**/*")),
        ("sensor_models/scene", {kept.READERS: kept.code_digest()}),
        ("fmus", digests(fmus, *fmus.PACKED)),
    ):
        yield f"resources/{place}/{RECORDED}", json.dumps(recorded).encode()


def kept_scenes(manifests: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """Scenes in the form in which they are kept after they were read."""
    with _keeping, tempfile.TemporaryDirectory() as folder:
        before = os.environ.get(DIRECTORY_VARIABLE)
        os.environ[DIRECTORY_VARIABLE] = folder
        try:
            for manifest in manifests:
                load_scene(manifest)
        finally:
            del os.environ[DIRECTORY_VARIABLE]
            if before is not None:
                os.environ[DIRECTORY_VARIABLE] = before
        for file in sorted(Path(folder).glob(f"{kept.FOLDER}/scene-*")):
            yield f"resources/{kept.CARRIED}/{file.name}", file.read_bytes()


def _digest(files: Mapping[str, bytes]) -> str:
    """A digest of an FMU and of how it is run; the path of its interpreter does not count."""
    parts = [part for k, v in sorted(files.items()) if "python.txt" not in k for part in (k, v)]
    scripts = [(HERE / name).read_bytes() for name in DECIDING]
    return digest_of(sys.version, *parts, *scripts, Path(__file__).read_bytes())
