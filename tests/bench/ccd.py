"""What a CCD camera's picture costs, beside a path tracer of Mitsuba's with as many rays.

The yard at 1024 x 768 in three bands, from the view of its manifest, with sun and sky, 16 rays to
the surroundings of each point and one bounce. Mitsuba gets the same triangles as matt surfaces of
the materials' reflectance at 550 nm, 16 samples a pixel and depth 3, as it ends a path where ours
does; its sky is as bright all around. It has neither glass nor mirrors nor haze to follow, and
three colours where ours has 31 wavelengths. Both have all processors, and are measured in turns by
the clock; Mitsuba's kernels are compiled before. The ratio of processor times is told beside it:
ours keeps 2.0 of two processors busy, Mitsuba 1.95.

Mitsuba's pixels share nothing, so ours share nothing in this comparison. What a picture with light
that neighbours share takes is told as pictures a second, beside its grain: the rms difference in
8-bit sRGB from a picture whose points each send 1,024 rays, in half the size.

At equal error Mitsuba's variant llvm takes its time for 16 samples times the square of its rms
error over ours, as its error falls with the root of its samples. Each error is that of a picture
of half the size from one of its own program with ``TRUTH`` times as many samples and nothing
shared, over the mean of that, of pixels that are ``INSIDE`` pixels from what is not of their
material: Mitsuba's samples are spread over a pixel, so its edges have noise that ours have not.
That its error falls so was seen: 3.9, 2.0 and 1.25 % with 16, 64 and 144 samples; ours is 1.2.

The variant llvm takes the newest LLVM that the loader finds, unless DRJIT_LIBLLVM_PATH names one.
Older ones than 16 cannot compile half-precision numbers for processors that have them, and end the
process.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mitsuba
import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import LightParameters, Sharing
from sensor_models.light.spectra import reflectance
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene
from sensor_models.scene.tracing import RayScene
from tests import mitsuba_scenes as peer
from tests.bench.bars import Bar, best_in_turns
from tests.bench.grain import ANGLE, EYE, SIZE, TARGET, camera_of, grain, inside, made, rms
from tests.sensor_models.camera.test_ccd_mitsuba import looking
from tests.tools import llvm

SAMPLES, DEPTH, TURNS = 16, 3, 5
#: Samples of a picture that stands for the truth, over those of others.
TRUTH = 16
#: Of pictures whose error is measured.
HALF = (SIZE[0] // 2, SIZE[1] // 2)
Floats = NDArray[np.float64]
VARIANTS = ("llvm_ad_rgb", "scalar_rgb")
#: Tells Mitsuba which LLVM to take; it might find an older one.
LLVM_PATH = "DRJIT_LIBLLVM_PATH"


class Picture:
    """A way to make a picture, and the least processor time of all threads that it has taken."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work, self.busy = work, float("inf")

    def __call__(self) -> float:
        """Make one; how long it takes by the clock."""
        start, busy = time.perf_counter(), time.process_time()
        self._work()
        self.busy = min(self.busy, time.process_time() - busy)
        return time.perf_counter() - start


def bars() -> list[Bar]:
    """The picture beside the faster of two variants."""
    library = llvm()
    if library is not None:
        os.environ[LLVM_PATH] = library
    scene = load_scene("yard")
    best, busy = measure(scene)
    fastest = min(VARIANTS, key=best.__getitem__)
    spent = ", ".join(f"{name} {took:.2f} s" for name, took in best.items())
    of_processors = busy[fastest] / busy["ours"]
    detail = f"{spent}; {of_processors:.2f} x of processor time; {library}"
    ratio = best[fastest] / best["ours"]
    rate, gain = pace()
    shared, alone, _ = grain(HALF)[""]
    error, theirs = errors(scene)
    equal = best[VARIANTS[0]] * rate * (theirs / error) ** 2
    return [
        Bar("CCD picture over Mitsuba's path tracer", ratio, 1.5, "x", detail, at_least=True),
        Bar("CCD pictures with shared light", rate, 4.0, "/s",
            f"{gain:.2f} x as fast as with light.sharing = none", at_least=True),
        Bar("CCD pictures over Mitsuba's at equal error", equal, 4.0, "x",
            f"{VARIANTS[0]}; rms errors {100.0 * error:.2f} and {100.0 * theirs:.2f} %",
            at_least=True),
        Bar("CCD grain with shared light", shared, 0.5, "DN",
            f"{alone:.2f} DN with light.sharing = none"),
    ]  # fmt: skip


def pace() -> tuple[float, float]:
    """Pictures a second with shared light, and how much faster that is than without sharing."""
    pose = looking(EYE, TARGET)
    with RayScene(load_scene("yard")) as rays:
        cameras = {kind.name: camera_of(SIZE, LightParameters(sharing=kind)) for kind in Sharing}

        def taking(camera: CcdCamera) -> Callable[[], object]:
            return lambda: made(camera, rays, pose)

        pictures = {name: Picture(taking(camera)) for name, camera in cameras.items()}
        for picture in pictures.values():
            picture()
        best = best_in_turns(pictures, TURNS)
    shared = best[Sharing.neighbours.name]
    return 1.0 / shared, best[Sharing.none.name] / shared


def measure(scene: Scene) -> tuple[dict[str, float], dict[str, float]]:
    """What a picture takes by us and by each variant, by the clock and of processors, in turns."""
    camera = camera_of(SIZE, LightParameters(sky_at_bounce=False, sharing=Sharing.none))
    pose = looking(EYE, TARGET)
    with tempfile.TemporaryDirectory() as folder, RayScene(scene) as rays:
        measured: dict[str, Callable[[], object]] = {"ours": lambda: camera.expose(rays, pose)}
        for variant in VARIANTS:
            measured[variant] = rendering(variant, theirs_of(scene, Path(folder), variant, SIZE))
        for work in measured.values():
            work()
        pictures = {name: Picture(work) for name, work in measured.items()}
        best = best_in_turns(pictures, TURNS)
    return best, {name: picture.busy for name, picture in pictures.items()}


def theirs_of(
    scene: Scene, folder: Path, variant: str, size: tuple[int, int], samples: int = SAMPLES
) -> object:
    """The scene as Mitsuba's."""
    sky = scene.sky
    sun, above = (
        float(np.interp(550e-9, *np.array(pairs).T)) * 1e-9
        for pairs in (sky.sun_spectrum, sky.sky_spectrum)
    )
    shares = [float(reflectance(m, np.array([550e-9]))[0]) for m in scene.materials]
    mitsuba.set_variant(variant)
    given = {
        **peer.shapes(scene, folder, shares),
        **peer.lights(np.array(sky.sun_direction), sun, above),
        "integrator": {"type": "path", "max_depth": DEPTH, "rr_depth": 1000},
        "sensor": peer.camera(EYE, TARGET, ANGLE, size, samples),
    }
    return mitsuba.load_dict({"type": "scene", **given})


def errors(scene: Scene) -> tuple[float, float]:
    """The relative rms errors of our picture with shared light, and of Mitsuba's."""
    pose, variant = looking(EYE, TARGET), VARIANTS[0]
    with tempfile.TemporaryDirectory() as folder, RayScene(scene) as rays:
        many = LightParameters(rays=SAMPLES * TRUTH, sharing=Sharing.none)
        truth = camera_of(HALF, many).expose(rays, pose)
        fast = camera_of(HALF, LightParameters(sharing=Sharing.neighbours)).expose(rays, pose, 1)
        theirs = [
            mitsuba.render(theirs_of(scene, Path(folder), variant, HALF, count), seed=count)
            for count in (SAMPLES, SAMPLES * TRUTH)
        ]
        pictures = [np.array(each, float).reshape(HALF[1], HALF[0]) for each in theirs]
    parts = [inside(truth.material == k) for k in range(len(scene.materials))]
    part = np.logical_or.reduce(parts)
    found, wanted = (np.asarray(each.light, float).mean(axis=2) for each in (fast, truth))
    return relative(found, wanted, part), relative(pictures[0], pictures[1], part)


def relative(one: Floats, truth: Floats, part: NDArray[np.bool_]) -> float:
    """The rms difference of some pixels over the mean of the truth there."""
    return rms((one - truth) ** 2, part) / float(truth[part].mean())


def rendering(variant: str, scene: object) -> Callable[[], object]:
    """A picture by one variant, on the processor until it is there."""

    def work() -> object:
        mitsuba.set_variant(variant)
        return np.array(mitsuba.render(scene))

    return work
