"""Print where this interpreter's parts are, as lines ``key=value``.

Run by ``build_fmus.py`` to record the interpreter of the FMU, and by the binding to ask the
interpreter that FMU_PYTHON names. It must work in any Python 3 without further modules.
"""

import os
import sys
import sysconfig


def shared_library() -> str:
    """Path of the library that holds this interpreter, or '' if it has none to load."""
    setting = sysconfig.get_config_var
    if sys.platform == "win32":
        name = f"python{sys.version_info[0]}{sys.version_info[1]}.dll"
        folders = [sys.base_prefix, os.path.dirname(sys.executable)]
    else:
        name = setting("INSTSONAME") or ""
        if name.endswith(".a"):
            return ""
        folders = [
            setting("PYTHONFRAMEWORKPREFIX") or "",
            setting("LIBDIR") or "",
            os.path.join(sys.base_prefix, "lib"),
        ]
    candidates = [os.path.join(folder, name) for folder in folders if folder and name]
    return next((path for path in candidates if os.path.isfile(path)), "")


def place() -> "dict[str, str]":
    """Where the parts of this interpreter are."""
    return {
        "executable": os.path.abspath(sys.executable),
        "library": shared_library(),
        "standard_library": sysconfig.get_path("stdlib"),
        "version": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "abi": str(sysconfig.get_config_var("SOABI")),
        "packages": sysconfig.get_path("purelib"),
    }


if __name__ == "__main__":
    for key, value in place().items():
        sys.stdout.buffer.write(os.fsencode(f"{key}={value}\n"))
