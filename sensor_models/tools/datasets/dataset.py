"""Making a data set: shards by the workers of a pool, a manifest, and annotations for COCO.

``dataset.json``     the description's digest, seeds, shards, the sensors with their cameras
``annotations.json`` COCO: the images of all cameras, categories, and what is labelled
``kitti``            the same as text files, if they are asked for

A worker opens the scene and the sensors once, and they write each sample over the one before it.
A shard that is complete is not made again, so a data set that was stopped goes on.
``make_samples`` makes any sample alone, with the same bits, and hands out arrays that last.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sensor_models
from sensor_models.camera.intrinsics import intrinsics_of_lens
from sensor_models.core.quantities import ParameterError
from sensor_models.output.flushing import flush_file, flush_names
from sensor_models.output.holding import Hold
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.datasets.boxes import Boxes, Eye
from sensor_models.tools.datasets.description import Description, read_description
from sensor_models.tools.datasets.draws import Drawer
from sensor_models.tools.datasets.kitti import write_labels
from sensor_models.tools.datasets.sensing import taker_of
from sensor_models.tools.datasets.shards import (
    Room,
    Sample,
    is_complete,
    new_shard,
    read_lines,
    shard_name,
)
from sensor_models.tools.workers import Failure, Task, WorkerPool

MANIFEST, ANNOTATIONS = "dataset.json", "annotations.json"

Progress = Callable[[int, int], None]


class DatasetError(RuntimeError):
    """A data set could not be made."""


class Studio:
    """A scene and sensors, ready to make samples."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self._rays = RayScene(load_scene(description.scene), threads=1)
        scene = self._rays.scene
        unknown = set(description.labels) - set(scene.labels.values())
        if unknown:
            known = ", ".join(scene.labels.values()) or "none"
            raise ParameterError(f"boxes.labels: {sorted(unknown)}, the scene has {known}")
        self._drawer = Drawer(description, self._rays)
        self.takers = {rule.name: taker_of(rule, description.seed) for rule in description.sensors}
        self._boxes = Boxes(scene, description.labels, description.smallest)
        self.room: Room = {}
        #: Held while samples are made: they share bodies and memory.
        self.in_use = threading.Lock()

    def make(self, number: int) -> Sample:
        """A sample, whichever were made before it. Its arrays last until the next one is made."""
        drawn = self._drawer.draw(number)
        rays = self._rays.with_looks(drawn.looks)
        arrays, annotations = {}, {}
        for name, taker in self.takers.items():
            taken = taker.take(rays, drawn.pose, drawn.bodies, number)
            arrays[name] = taken.arrays
            if taken.entities is not None and taker.camera is not None and self._boxes.entities:
                annotations[name] = self._boxes.annotate(
                    taker.camera, drawn.pose, drawn.bodies, taken.entities
                )
        largest = {name: taker.largest for name, taker in self.takers.items() if taker.largest}
        return Sample(number, drawn.pose.tolist(), arrays, drawn.about, annotations, largest)

    def types(self) -> dict[int, str]:
        """The words for semantic labels in text files."""
        words = self.description.kitti or {}
        return {n: words[name] for n, name in self._rays.scene.labels.items() if name in words}

    def size(self, camera: str) -> tuple[int, int]:
        """Width and height of the images of a camera."""
        own = self.takers[camera].camera
        assert own is not None
        rows, columns = own.axes.shape[:2]
        return columns, rows


@cache
def _studio(path: str, _digest: str) -> Studio:
    return Studio(read_description(Path(path)))


def digest_of(path: Path) -> str:
    """What tells a description, and the models, from others."""
    content = path.read_bytes() + sensor_models.SOURCE_DIGEST.encode()
    return hashlib.sha256(content).hexdigest()


def make_samples(path: Path | str, numbers: Sequence[int]) -> Iterator[Sample]:
    """Samples of a data set by their numbers, made here."""
    studio = _studio(str(Path(path).absolute()), digest_of(Path(path)))
    for number in numbers:
        if not 0 <= number < studio.description.samples:
            raise ParameterError(f"sample {number} is none of {studio.description.samples}")
        with studio.in_use:
            sample = studio.make(number).kept()
        yield sample


def make_shard(path: str, digest: str, directory: str, index: int) -> int:
    """Make a shard; returns how many samples it has."""
    studio = _studio(path, digest)
    about = studio.description
    numbers = range(index * about.shard, min((index + 1) * about.shard, about.samples))
    target = Path(directory)
    with (
        studio.in_use,
        new_shard(target, index, len(numbers), about.format, studio.room) as shard,
    ):
        for sample in map(studio.make, numbers):
            shard.add(sample)
            if about.kitti is not None:
                sizes = {name: studio.size(name) for name in sample.annotations}
                for file in write_labels(target, sample, studio.types(), sizes):
                    shard.add_file(file)
    return len(numbers)


def make_dataset(
    path: Path | str, directory: Path | str, pool: WorkerPool, progress: Progress | None = None
) -> Path:
    """Make what is missing of a data set; returns its manifest.

    Raises:
        HeldError: if another process is making files in this directory.
    """
    path, directory = Path(path).absolute(), Path(directory).absolute()
    description = read_description(path)
    with Hold(directory):
        return _make_missing(path, description, directory, pool, progress)


def _make_missing(
    path: Path,
    description: Description,
    directory: Path,
    pool: WorkerPool,
    progress: Progress | None,
) -> Path:
    digest = digest_of(path)
    _check_same(directory, digest)
    studio = _studio(str(path), digest)  # what is wrong is said before anything is made
    shards = -(-description.samples // description.shard)
    _write(directory / MANIFEST, _manifest(studio, digest, shards))
    left = [index for index in range(shards) if not is_complete(directory, index)]
    done = (shards - len(left)) * description.shard
    tasks = (Task(make_shard, (str(path), digest, str(directory), index)) for index in left)
    for outcome in pool.run(tasks):
        if isinstance(outcome.result, Failure):
            raise DatasetError(f"{shard_name(left[outcome.index])}: {outcome.result.message}")
        done += outcome.result
        if progress is not None:
            progress(min(done, description.samples), description.samples)
    if description.labels:
        _write(directory / ANNOTATIONS, _coco(studio, directory, shards))
    flush_names(directory)
    return directory / MANIFEST


def _check_same(directory: Path, digest: str) -> None:
    manifest = directory / MANIFEST
    if manifest.exists() and json.loads(manifest.read_text())["digest"] != digest:
        raise DatasetError(
            f"{directory} holds another data set, or one of other models; choose another "
            "directory with --output, or delete this one"
        )


def _write(path: Path, tree: dict[str, Any]) -> None:
    aside = path.with_suffix(".part")
    aside.write_text(json.dumps(tree), encoding="utf-8")
    flush_file(aside)
    aside.replace(path)


def _manifest(studio: Studio, digest: str, shards: int) -> dict[str, Any]:
    about = studio.description
    return {
        "name": about.name,
        "digest": digest,
        "version": sensor_models.__version__,
        "scene": about.scene,
        "seed": about.seed,
        "samples": about.samples,
        "samples_in_shard": about.shard,
        "format": about.format,
        "shards": [shard_name(index) for index in range(shards)],
        "sensors": {
            rule.name: {"sensor": rule.sensor, "preset": rule.preset, **rule.parameters}
            for rule in about.sensors
        },
        "cameras": {
            name: _intrinsics(taker.camera) | ({"largest": taker.largest} if taker.largest else {})
            for name, taker in studio.takers.items()
            if taker.camera is not None
        },
    }


def _intrinsics(camera: Eye) -> dict[str, Any]:
    """A lens as OpenCV has it, and where it sits on the body."""
    rows, columns = camera.axes.shape[:2]
    known = intrinsics_of_lens(camera.lens, columns, rows)["opencv"]
    return {
        "width": columns,
        "height": rows,
        **{name: known[name] for name in ("camera_matrix", "distortion", "fisheye")},
        "mount": [*camera.mount.position, *camera.mount.orientation],
    }


def _coco(studio: Studio, directory: Path, shards: int) -> dict[str, Any]:
    """What is labelled in all images, in the format of COCO."""
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    cameras = [n for n, taker in studio.takers.items() if taker.camera is not None]
    for index in range(shards):
        for line in read_lines(directory, index):
            for camera in cameras:
                image = {"id": len(images), "file_name": _file_of(studio, index, camera, line)}
                width, height = studio.size(camera)
                size = {"width": width, "height": height}
                images.append(image | size | {"sample": line["sample"]})
                for found in line["annotations"].get(camera, ()):
                    annotations.append(
                        {"id": len(annotations) + 1, "image_id": image["id"], **found}
                    )
    labels = studio.description.labels
    names = load_scene(studio.description.scene).labels
    categories = [{"id": n, "name": name} for n, name in names.items() if name in labels]
    return {"images": images, "annotations": annotations, "categories": categories}


def _file_of(studio: Studio, index: int, camera: str, line: dict[str, Any]) -> str:
    """Where an image is: a file, or a row of an array in an npz file."""
    number = line["sample"]
    if studio.description.format == "images":
        return f"{shard_name(index)}/{camera}/{number:06d}.image.png"
    return f"{shard_name(index)}.npz#{camera}.image[{number - index * studio.description.shard}]"
