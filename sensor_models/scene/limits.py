"""How large a scene may be. What is larger is refused, where possible before it is read.

A scene is often a file from elsewhere. A few hundred bytes of it can demand more memory than a
machine has, and the operating system then kills the process, with the master in it. The limits are
well above what a sensor can use: the ray engine needs about 130 bytes for each triangle.
"""

import re
from pathlib import Path

from sensor_models.scene.errors import MeshFileError, SceneError

#: Triangles of all meshes together; instances of a mesh share them and count once.
MAX_TRIANGLES = 2**25
MAX_INSTANCES = 2**20

#: Operations of a formula for heights, each on every corner of the cells: some ten seconds.
MAX_OPERATIONS = 2**29

MAX_MANIFEST_BYTES = 2**23
#: The most dots in one key, more than the deepest keys of a manifest have. The memory of TOML's
#: readers grows with the square of this number: 6 GB for 80 kB.
MAX_DOTS = 8
#: Keys with several dots; each makes tables of some kilobytes out of a few bytes.
MAX_DOTTED_KEYS = 2**16

#: A part of TOML without a key, or the end of a key, or a dot. A string that is not closed counts
#: up to where it could end, so that the search goes only once over any text.
_TOML_PART = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*"
    r"|[=,\[\]{}\n]"
    r"|\.",
    re.DOTALL,
)
#: Of a mesh or picture. A binary STL with ``MAX_TRIANGLES`` has 1.7e9 bytes.
MAX_FILE_BYTES = 2**31


def check_triangles(count: int, file: Path, key: str) -> None:
    """Refuse more triangles than a scene may have."""
    if count > MAX_TRIANGLES:
        raise SceneError(
            file, key, f"has {count} triangles, a scene may have {MAX_TRIANGLES} in all"
        )


def check_keys(text: str, file: Path) -> None:
    """Refuse a TOML text whose keys have more parts than its reader has memory for."""
    dots, dotted_keys = 0, 0
    for part in _TOML_PART.finditer(text):
        sign = part.group()
        if sign == ".":
            dots += 1
            dotted_keys += dots == 2
            if dots > MAX_DOTS or dotted_keys > MAX_DOTTED_KEYS:
                line = text.count("\n", 0, part.start()) + 1
                many = f"{MAX_DOTS} dots" if dots > MAX_DOTS else f"one dot after {MAX_DOTTED_KEYS}"
                reason = f"has a key of more than {many}{'' if dots > MAX_DOTS else ' such keys'}"
                raise SceneError(file, f"line {line}", reason)
        elif sign in "=,[]{}\n":
            dots = 0


def check_formula(formula: str, cells: tuple[int, int], file: Path, key: str) -> None:
    """Refuse a formula whose evaluation would take too long."""
    operations = max(1, sum(formula.count(sign) for sign in "+-*/("))
    corners = (cells[0] + 1) * (cells[1] + 1)
    if operations * corners > MAX_OPERATIONS:
        reason = f"asks for {operations} operations at each of {corners} corners, which are"
        raise SceneError(file, f"{key}.formula", f"{reason} more than {MAX_OPERATIONS} together")


def refuse_above_limit(triangles: int) -> None:
    """Refuse a mesh file with more triangles than a scene may have."""
    if triangles > MAX_TRIANGLES:
        raise MeshFileError(f"has {triangles} triangles, a scene may have {MAX_TRIANGLES} in all")


def read_limited(file: Path, key: str, manifest: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """The content of a file that the manifest names, unless it is too large or unreadable."""
    try:
        size = file.stat().st_size
        if size > limit:
            raise SceneError(manifest, key, f"{file} has {size} bytes, at most {limit} are read")
        with file.open("rb") as stream:
            return stream.read(limit)  # not more, even if it is growing
    except OSError as error:
        reason = f"{file} cannot be read: {error.strerror or error}"
        raise SceneError(manifest, key, reason) from error


def file_inside(name: str, key: str, manifest: Path, allow_outside: bool) -> Path:
    """The file that a manifest names, relative to its folder, with links followed."""
    folder = manifest.parent.resolve()
    try:
        file = (folder / name).resolve()
        found = file.is_file()
    except (OSError, ValueError, RuntimeError) as error:  # zero bytes, loops of links
        raise SceneError(manifest, key, f"{name!r} is no file name: {error}") from error
    if not allow_outside and not file.is_relative_to(folder):
        reason = f"{name!r} lies outside of the scene's folder, which is allowed only on request"
        raise SceneError(manifest, key, reason)
    if not found:  # a device or a pipe would block or never end
        reason = "is no regular file" if file.exists() else "does not exist"
        raise SceneError(manifest, key, f"{name!r} {reason}")
    return file
