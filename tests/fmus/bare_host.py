"""A host in Python that needs nothing but Python itself: loads unpacked FMUs through ctypes.

Run as ``python bare_host.py COMMANDS``, with a JSON list of commands, each a list of words:

    open DIRECTORY        instantiate the FMU that is unpacked there
    start DIRECTORY SET   set values (JSON object by name) and go through initialization mode
    step DIRECTORY T H    do a step
    set DIRECTORY NAME V  set a variable
    get DIRECTORY NAME    the value of a variable
    free DIRECTORY        free the instance
    remove DIRECTORY      remove the directory
    path DIRECTORY        search modules there first
    import MODULE         import a module; the file that it was found in
    block NAME ...        let nobody import these packages from now on
    kernels               all compiled functions and where their machine code came from

It prints a JSON list with one answer for each: the value (the status of calls that have one) and
the messages that came with it.
"""

import ctypes
import importlib
import json
import pathlib
import re
import shutil
import sys
from typing import Any
from xml.etree import ElementTree

LOGGER = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p
)
SUFFIXES = {"win32": ".dll", "darwin": ".dylib"}
TYPES = {
    "Real": ("Real", ctypes.c_double),
    "Integer": ("Integer", ctypes.c_int),
    "Enumeration": ("Integer", ctypes.c_int),
    "Boolean": ("Boolean", ctypes.c_int),
    "String": ("String", ctypes.c_char_p),
}

messages: list[str] = []


class Callbacks(ctypes.Structure):
    """fmi2CallbackFunctions."""

    _fields_ = (
        ("logger", LOGGER),
        ("allocate", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
        ("finished", ctypes.c_void_p),
        ("environment", ctypes.c_void_p),
    )


def take_message(environment: int, name: bytes, status: int, category: bytes, text: bytes) -> None:
    messages.append(text.decode().replace("%%", "%"))


class Fmu:
    """An instance of an unpacked FMU."""

    def __init__(self, directory: str) -> None:
        root = ElementTree.parse(f"{directory}/modelDescription.xml").getroot()
        self.variables = {v.attrib["name"]: v for v in root.iter("ScalarVariable")}
        suffix = SUFFIXES.get(sys.platform, ".so")
        (binary,) = pathlib.Path(directory, "binaries").glob(f"*/*{suffix}")
        self.library = ctypes.CDLL(str(binary))
        self.callbacks = Callbacks(logger=LOGGER(take_message))
        instantiate = self.library.fmi2Instantiate
        instantiate.restype = ctypes.c_void_p
        self.handle = instantiate(
            b"sensor",
            1,
            root.attrib["guid"].encode(),
            pathlib.Path(directory, "resources").as_uri().encode(),
            ctypes.byref(self.callbacks),
            0,
            0,
        )

    def call(self, function: str, *arguments: object) -> int:
        """The status of a call on the instance."""
        called = getattr(self.library, f"fmi2{function}")
        return int(called(ctypes.c_void_p(self.handle), *arguments))

    def start(self, values: dict[str, float | str]) -> int:
        """The worst status of setting values and initialising."""
        statuses = [self.set(name, value) for name, value in values.items()]
        zero = ctypes.c_double(0.0)
        statuses.append(self.call("SetupExperiment", 0, zero, zero, 0, zero))
        statuses.append(self.call("EnterInitializationMode"))
        statuses.append(self.call("ExitInitializationMode"))
        return max(statuses)

    def set(self, name: str, value: float | str) -> int:
        """Set one variable."""
        function, kind, reference = self.access(name)
        plain = value.encode() if isinstance(value, str) else value
        return self.call(f"Set{function}", reference, ctypes.c_size_t(1), (kind * 1)(plain))

    def get(self, name: str) -> float:
        """The value of one number."""
        function, kind, reference = self.access(name)
        value = (kind * 1)()
        assert self.call(f"Get{function}", reference, ctypes.c_size_t(1), value) == 0
        return float(value[0])

    def free(self) -> None:
        """End the instance."""
        self.library.fmi2FreeInstance.restype = None
        self.library.fmi2FreeInstance(ctypes.c_void_p(self.handle))

    def access(self, name: str) -> tuple[str, Any, ctypes.Array[ctypes.c_uint]]:
        """Name of the functions, C type and reference of a variable."""
        variable = self.variables[name]
        function, kind = TYPES[variable[0].tag]
        reference = (ctypes.c_uint * 1)(int(variable.attrib["valueReference"]))
        return function, kind, reference


class Blocker:
    """Finds none of some packages."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse to look for one of them."""
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def kernels() -> dict[str, Any]:
    """The compiled functions of the FMUs' packages by name."""
    return {
        f"{name}.{function}": value
        for name, module in list(sys.modules.items())
        if re.search(r"\bsensor_models\.kernels\b", name)
        for function, value in vars(module).items()
        if hasattr(value, "py_func")
    }


def ready() -> list[str]:
    """The compiled functions: how often each was carried, came from the cache, was compiled."""
    return sorted(
        f"{name}: {value.stats.carried, value.stats.from_cache, value.stats.compiled}"
        for name, value in kernels().items()
    )


def answer(fmus: dict[str, Fmu], command: str, words: list[Any]) -> Any:
    """Carry out one command."""
    if command == "kernels":
        return ready()
    if command == "block":
        return sys.meta_path.insert(0, Blocker(words))
    key, *rest = words
    if command == "open":
        fmus[key] = Fmu(key)
        return fmus[key].handle is not None
    if command == "start":
        return fmus[key].start(*rest)
    if command == "step":
        return fmus[key].call("DoStep", *map(ctypes.c_double, rest), 1)
    if command == "set":
        return fmus[key].set(*rest)
    if command == "get":
        return fmus[key].get(*rest)
    if command == "free":
        fmus.pop(key).free()
    elif command == "remove":
        shutil.rmtree(key)
    elif command == "path":
        sys.path.insert(0, key)
    elif command == "import":
        return importlib.import_module(key).__file__
    else:
        raise ValueError(command)
    return None


def main() -> None:
    """Carry out all commands."""
    fmus: dict[str, Fmu] = {}
    answers = []
    for command, *words in json.loads(sys.argv[1]):
        messages.clear()
        value = answer(fmus, command, words)
        answers.append({"value": value, "messages": list(messages)})
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
