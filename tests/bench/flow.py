"""What optical flow adds to a frame of a depth camera: through its FMU, and by the bare library.

FMU      640 x 480 in the yard at 20 Hz with noise, depth, segmentation and normals, npy files, the
         camera and all vehicles moving, frames back to back; with ``flow.forward`` against without,
         in turns. Processor time of the whole process, the thread that writes included.
Library  ``capture`` and ``flow_between`` in one thread's order, without noise, files and motion of
         bodies; told beside the bar.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sensor_models.camera import DepthCamera, DepthCameraParameters
from sensor_models.camera.depth.sensor import flow_lens
from sensor_models.camera.flow import FirstHits, FlowParameters, Instants, flow_between
from sensor_models.core.placement import quaternion_of
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.registry import open_scene
from sensor_models.scene.tracing import RayScene
from tests.bench.bars import Bar, best_in_turns
from tests.bench.lidar import running
from tests.bench.tracing import best_of_all
from tests.masters.fmu_files import FmuFiles

CAMERA = DepthCameraParameters(width=640, height=480, max_range=60.0, return_normals=True)
POSE = np.array((-14.0, -12.0, 2.0, *quaternion_of(0.0, 0.05, 0.7)))
#: Velocities of the camera and of each vehicle, m/s.
SPEED, VEHICLES = np.array((10.0, 2.0, 0.0)), 2.0
RATE, ROUNDS = 20.0, 8
#: Frames of a round, and those before them in which memory is touched for the first time.
FRAMES, WARM = 20, 4


def settings(directory: str, flow: bool) -> dict[str, object]:
    """A depth camera that writes its frames."""
    w, x, y, z = POSE[3:].tolist()
    return {
        "width": CAMERA.width,
        "height": CAMERA.height,
        "max_range": CAMERA.max_range,
        "return_normals": True,
        "noise.on": True,
        "noise.multiplier": 0.01,
        "noise.dropout": 0.01,
        "sample_rate": RATE,
        "flow.forward": flow,
        "output_directory": directory,
        **{f"body.position.{axis}": POSE[k] for k, axis in enumerate("xyz")},
        **{f"body.velocity.{axis}": SPEED[k] for k, axis in enumerate("xyz")},
        "body.orientation.w": w,
        "body.orientation.x": x,
        "body.orientation.y": y,
        "body.orientation.z": z,
    }


def fill(file: Path, size: int) -> None:
    """Write a file of as many bytes as the files of a round, to be deleted right before these.

    A virtual machine gets the memory of files from its host at its first touch, and gives it back
    some seconds after they were deleted. That costs 6 us a page of 4 KiB, more than it takes to
    write to it: without this, frames with more files would be charged for what happened before.
    """
    part = bytes(1 << 20)
    with file.open("wb") as there:
        for _ in range(-(-size // len(part))):
            there.write(part)


def drive(files: FmuFiles, flow: bool) -> Callable[[], float]:
    """Seconds of processor time that a frame takes, its files included."""

    def measure() -> float:
        with tempfile.TemporaryDirectory() as folder, open_scene("yard") as world:
            values = settings(f"{folder}/frames", flow) | {"scene_handle": world.number}
            size = 4 * CAMERA.width * CAMERA.height * (9 if flow else 6) * FRAMES
            bodies, start, filled = world.states().bodies.copy(), 0.0, Path(folder) / "filled"
            bodies[:, 7] = VEHICLES
            fill(filled, size)
            with running(files.directory, "flow" if flow else "plain", values) as camera:
                for k in range(WARM + FRAMES):
                    if k == WARM:
                        filled.unlink()
                        start = time.process_time()
                    bodies[:, 0] += VEHICLES / RATE
                    world.move((k + 1) / RATE, bodies)
                    place = POSE[:3] + SPEED * (k + 1) / RATE
                    camera.set({f"body.position.{axis}": place[n] for n, axis in enumerate("xyz")})
                    camera.step(k / RATE, 1.0 / RATE)
                camera.terminate()
                return (time.process_time() - start) / FRAMES

    return measure


def bare() -> dict[str, float]:
    """Seconds that a frame takes with flow and without, by the library alone."""
    plain, camera = DepthCamera(CAMERA), DepthCamera(CAMERA, first_hits=True)
    lens, interval = flow_lens(CAMERA), 0.1
    later = POSE.copy()
    later[:3] += SPEED * interval
    now, then = (Instants(camera.placed(p.reshape(1, 1, 7), 0)[0], None) for p in (POSE, later))
    own = FlowParameters(forward=True)
    with RayScene(load_scene("yard")) as rays:

        def with_flow() -> None:
            frame = camera.capture(rays, POSE)
            hits = FirstHits(frame.met, frame.owner, frame.material)
            flow_between(rays, lens, camera.axes, hits, now, then, own)

        return best_of_all({"plain": lambda: plain.capture(rays, POSE), "flow": with_flow})


def flow_bar(files: FmuFiles) -> Bar:
    """What forward flow adds to the frames of the FMU."""
    took = best_in_turns({"plain": drive(files, False), "flow": drive(files, True)}, ROUNDS)
    library = bare()
    added, alone = (100.0 * (each["flow"] / each["plain"] - 1.0) for each in (took, library))
    detail = (
        f"{1e3 * took['plain']:.1f} and {1e3 * took['flow']:.1f} ms of processor time; the bare "
        f"library {1e3 * library['plain']:.1f} and {1e3 * library['flow']:.1f} ms, +{alone:.0f} %"
    )
    return Bar("flow over a frame of the DepthCamera FMU", added, 30.0, "%", detail)
