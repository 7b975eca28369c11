"""A scene on disk, divided by facets, for casting with many workers.

A directory holds one folder for each part and ``parts.json``, which is written last:

    parts.json                 format, origin, number of facets, bands, parts with their boxes
    part-00000/vertices.npy    float32 (n, 3), relative to the origin of the whole
               faces.npy       uint32 (m, 3)
               facets.npy      int64 (m,), numbers in the whole, rising
               values.npy      (m, bands) of facets, or (m, 3, bands) of their corners

All parts have one origin, and vertices are rounded to float32 relative to it before the scene is
divided: where a ray hits a facet is then the same number whatever else is in its part.

Parts are compact: facets are divided at the median of their middles, along the longest side of
the box around these, and the halves again in the same way. Most rays then miss most parts, which
the top of a part's hierarchy shows at once, so twice the workers take about half the time. The
result does not depend on the division.

A scene that fits in memory is divided by ``split``. A larger one is written piece by piece with
``PartsWriter``, which needs memory for one piece.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.caster.keys import MOST_FACETS
from sensor_models.tools.caster.facets import check_bands

Floats = NDArray[np.float64]

FORMAT = 1
INDEX = "parts.json"


@dataclass(frozen=True)
class PartInfo:
    """Facts about a part that are known without opening it."""

    facets: int
    nodes: int
    low: tuple[float, ...]  # corner of the box around it, relative to the origin
    high: tuple[float, ...]


@dataclass(frozen=True)
class Parts:
    """A scene that was divided, without its facets."""

    directory: Path
    origin: tuple[float, float, float]
    bands: tuple[float, ...]  # wavelengths in m, or other numbers that identify them
    parts: tuple[PartInfo, ...]

    @property
    def facets(self) -> int:
        """The number of all facets."""
        return sum(part.facets for part in self.parts)

    def folder(self, number: int) -> Path:
        """The folder of a part."""
        return self.directory / folder_name(number)


def folder_name(number: int) -> str:
    """The name of a part's folder."""
    return f"part-{number:05d}"


def read_parts(directory: Path | str) -> Parts:
    """The parts in a directory."""
    path = Path(directory).absolute() / INDEX
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        if tree["format"] != FORMAT:
            raise ParameterError(f"{path}: format {tree['format']} is not {FORMAT}")
        parts = tuple(
            PartInfo(part["facets"], part["nodes"], tuple(part["low"]), tuple(part["high"]))
            for part in tree["parts"]
        )
        x, y, z = tree["origin"]
        return Parts(path.parent, (x, y, z), tuple(tree["bands"]), parts)
    except FileNotFoundError:
        raise ParameterError(
            f"{path.parent} holds no {INDEX}: it is no scene in parts, or was not finished"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ParameterError(f"{path}: is no list of parts: {error}") from error


class PartsWriter:
    """Writes a scene piece by piece; each piece becomes one part or several.

    A part has at most ``most_facets``. Facets are numbered in the order in which they are added.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        bands: Sequence[float] = (),
        most_facets: int = 2_000_000,
    ) -> None:
        if most_facets < 1:
            raise ParameterError(f"most_facets = {most_facets} is out of range, at least 1")
        if bands:
            check_bands(len(bands))
        self.directory = Path(directory).absolute()
        self._origin, self._bands = np.array(origin, float), tuple(map(float, bands))
        self._most = most_facets
        self._written: list[PartInfo] = []
        self.facets = 0
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / INDEX).unlink(missing_ok=True)  # the parts that it lists are overwritten

    def add(self, vertices: ArrayLike, faces: ArrayLike, values: ArrayLike | None = None) -> None:
        """Add a mesh in the world.

        ``values`` are (faces, bands), constant on each facet, or (vertices, bands), interpolated.
        If there are as many vertices as faces, give (faces, 3, bands), a value for each corner.
        """
        near = (np.asarray(vertices, float) - self._origin).astype(np.float32)
        triples = np.ascontiguousarray(faces, np.uint32)
        if len(triples) and triples.max() >= len(near):
            raise ParameterError(f"face with vertex {triples.max()} of {len(near)} vertices")
        of_facets = self._values_of(values, triples, len(near))
        if self.facets + len(triples) > MOST_FACETS:
            raise ParameterError(f"a scene may have {MOST_FACETS} facets")
        count = max(1, -(-len(triples) // self._most))
        for chosen in divided(near, triples, count):
            self.write(near, triples, chosen, of_facets)
        self.facets += len(triples)

    def finish(self) -> Parts:
        """Write the list of the parts, and return it."""
        tree = {
            "format": FORMAT,
            "facets": self.facets,
            "origin": self._origin.tolist(),
            "bands": self._bands,
            "parts": [asdict(part) for part in self._written],
        }
        aside = self.directory / f"{INDEX}.part"
        aside.write_text(json.dumps(tree), encoding="utf-8")
        aside.replace(self.directory / INDEX)
        return read_parts(self.directory)

    def _values_of(
        self, values: ArrayLike | None, faces: NDArray[np.uint32], nodes: int
    ) -> NDArray[Any] | None:
        """Values by facet (m, bands), or by corner (m, 3, bands)."""
        bands = len(self._bands)
        if values is None:
            if bands:
                raise ParameterError(f"values are missing, the scene has {bands} bands")
            return None
        given = np.asarray(values)
        if given.shape[-1:] != (bands,):
            raise ParameterError(f"values of shape {given.shape} do not fit {bands} bands")
        if given.shape in ((len(faces), bands), (len(faces), 3, bands)):
            return given
        if given.shape == (nodes, bands):
            return np.asarray(given[faces])
        raise ParameterError(
            f"values of shape {given.shape} fit neither {len(faces)} facets nor {nodes} nodes"
        )

    def write(
        self,
        vertices: NDArray[np.float32],
        faces: NDArray[np.uint32],
        chosen: NDArray[np.int64],
        values: NDArray[Any] | None,
    ) -> None:
        """Write facets, with rising numbers, as a part."""
        if len(chosen) == 0:
            return
        folder = self.directory / folder_name(len(self._written))
        folder.mkdir(exist_ok=True)
        own, nodes = compact(faces[chosen], vertices)
        np.save(folder / "vertices.npy", nodes)
        np.save(folder / "faces.npy", own)
        np.save(folder / "facets.npy", chosen + self.facets)
        if values is not None:
            np.save(folder / "values.npy", values[chosen])
        low, high = nodes.min(axis=0).tolist(), nodes.max(axis=0).tolist()
        self._written.append(PartInfo(len(own), len(nodes), tuple(low), tuple(high)))


def compact(
    faces: NDArray[np.uint32], vertices: NDArray[np.float32]
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Faces with the vertices that they use, and no others."""
    used = np.zeros(len(vertices), bool)
    used[faces] = True
    numbers = np.cumsum(used, dtype=np.uint32) - np.uint32(1)
    return numbers[faces], vertices[used]


def divided(
    vertices: NDArray[np.float32], faces: NDArray[np.uint32], count: int
) -> Iterator[NDArray[np.int64]]:
    """The indices of faces, rising, in ``count`` compact groups of about the same size."""
    middles = vertices[faces].mean(axis=1, dtype=np.float32)
    yield from _halves(middles, np.arange(len(faces)), count)


def _halves(
    middles: NDArray[np.float32], chosen: NDArray[np.int64], count: int
) -> Iterator[NDArray[np.int64]]:
    """Divide a group in two across the longest side of its box, and the halves in the same way."""
    if count <= 1:
        yield np.sort(chosen)
        return
    if len(chosen) < 2:
        yield chosen
        return
    own = middles[chosen]
    axis = int(np.argmax(own.max(axis=0) - own.min(axis=0)))
    first = count // 2
    cut = len(chosen) * first // count
    order = np.argpartition(own[:, axis], max(cut, 1) - 1)
    yield from _halves(middles, chosen[order[:cut]], first)
    yield from _halves(middles, chosen[order[cut:]], count - first)
