"""How large a scene may be. What is larger is refused, where possible before it is read.

A scene is often a file from elsewhere. A few hundred bytes of it can demand more memory than a
machine has, and the operating system then kills the process, with the master in it. The limits are
well above what a sensor can use: the ray engine needs about 130 bytes for each triangle.
"""

from pathlib import Path

from sensor_models.core.toml_files import MAX_BYTES
from sensor_models.scene.errors import MeshFileError, SceneError

#: Triangles of all meshes together; instances of a mesh share them and count once.
MAX_TRIANGLES = 2**25
#: Vertices of all meshes together, whether triangles use them or not.
MAX_VERTICES = 3 * MAX_TRIANGLES
#: Groups, primitives and the like of one mesh file; each takes some kilobytes.
MAX_PARTS = 2**16
MAX_INSTANCES = 2**20
#: Shapes of a mesh that changes it: as many sets of vertices as Embree takes.
MAX_POSTURES = 129

#: Operations of a formula for heights, each on every corner of the cells: some ten seconds.
MAX_OPERATIONS = 2**29
#: How deep parentheses of a formula may be nested, and how many signs may stand before a number.
#: Python's parser takes more than a kilobyte of stack for each, and a thread of a host may have no
#: more than 256 kB. Of other parts a formula has at most a thousand, which fit.
MAX_DEPTH = 40

MAX_MANIFEST_BYTES = MAX_BYTES
#: Of a mesh or picture. A binary STL with ``MAX_TRIANGLES`` has 1.7e9 bytes.
MAX_FILE_BYTES = 2**31


def check_triangles(count: int, file: Path, key: str) -> None:
    """Refuse more triangles than a scene may have."""
    if count > MAX_TRIANGLES:
        raise SceneError(
            file, key, f"has {count} triangles, a scene may have {MAX_TRIANGLES} in all"
        )


def check_vertices(count: int, file: Path, key: str) -> None:
    """Refuse more vertices than a scene may have."""
    if count > MAX_VERTICES:
        reason = f"has {count} vertices, a scene may have {MAX_VERTICES} in all"
        raise SceneError(file, key, reason)


def check_formula(formula: str, cells: tuple[int, int], file: Path, key: str) -> None:
    """Refuse a formula that would take too long, or more stack than a thread may have."""
    if (depth := _depth(formula)) > MAX_DEPTH:
        reason = f"nests parentheses or signs {depth} deep, allowed are {MAX_DEPTH}"
        raise SceneError(file, f"{key}.formula", reason)
    operations = max(1, sum(formula.count(sign) for sign in "+-*/("))
    corners = (cells[0] + 1) * (cells[1] + 1)
    if operations * corners > MAX_OPERATIONS:
        reason = f"asks for {operations} operations at each of {corners} corners, which are"
        raise SceneError(file, f"{key}.formula", f"{reason} more than {MAX_OPERATIONS} together")


def _depth(formula: str) -> int:
    """How many parentheses are open at most, or how many signs follow each other."""
    level = deepest = signs = 0
    for character in formula:
        if character.isspace():
            continue
        signs = signs + 1 if character in "+-~" else 0
        level += {"(": 1, ")": -1}.get(character, 0)
        deepest = max(deepest, level, signs)
    return deepest


def refuse_above_limit(triangles: int) -> None:
    """Refuse a mesh file with more triangles than a scene may have."""
    if triangles > MAX_TRIANGLES:
        raise MeshFileError(f"has {triangles} triangles, a scene may have {MAX_TRIANGLES} in all")


def refuse_vertices_above_limit(vertices: int) -> None:
    """Refuse a mesh file with more vertices than a scene may have."""
    if vertices > MAX_VERTICES:
        raise MeshFileError(f"has {vertices} vertices, a scene may have {MAX_VERTICES} in all")


def refuse_parts_above_limit(parts: int) -> None:
    """Refuse a mesh file that consists of too many parts."""
    if parts > MAX_PARTS:
        raise MeshFileError(f"has {parts} parts, a mesh file may have {MAX_PARTS}")


def read_limited(file: Path, key: str, manifest: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """The content of a file that the manifest names, unless it is too large or unreadable."""
    try:
        size = file.stat().st_size
        if size > limit:
            raise SceneError(manifest, key, f"{file} has {size} bytes, at most {limit} are read")
        with file.open("rb") as stream:
            return stream.read(size)  # not more, even if it is growing; takes room for as much
    except OSError as error:
        named = "" if file == manifest else f"{file} "
        reason = f"{named}cannot be read: {error.strerror or error}"
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
