"""Carried kernels: as quick as those that Numba compiles for this processor alone, and at once."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.bars import Bar, best_in_turns
from tests.bench.calls import load_and_step
from tests.masters.fmu_files import FmuFiles

#: Frames of the same lidar in the same process: by the FMU's packages, and by those of the tree.
FRAMES = """
import importlib, importlib.util, json, sys, time
from pathlib import Path
import numpy as np

resources = Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("fmu_loader", resources / "fmu_loader.py")
loader = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loader)
home = loader.load_packages(str(resources), loader.read_lines(str(resources / "fmu.txt")))
assert home

def frames_of(home):
    named = importlib.import_module(f"{home}sensor_models.lidar.named")
    manifest = importlib.import_module(f"{home}sensor_models.scene.manifest")
    tracing = importlib.import_module(f"{home}sensor_models.scene.tracing")
    poses_of = importlib.import_module(f"{home}sensor_models.sight.mount").poses_of
    lidar, _ = named.named_lidar("OS0-128", {})
    rays = tracing.RayScene(manifest.load_scene("yard"), threads=1)
    poses = poses_of(lidar.mount, np.array([[0.0, 0.0, 1.8, 1.0, 0.0, 0.0, 0.0]]))
    cloud, columns = lidar.new_cloud(), (0, lidar.pattern.columns)
    return lambda: lidar.scan(rays, poses, 0, (0.0, 0.0), columns, cloud)

best = {}
works = {"carried": frames_of(home), "numba": frames_of("")}
for _ in range(25):
    for name, work in works.items():
        start = time.process_time()
        work()
        best[name] = min(best.get(name, 1e9), time.process_time() - start)
scan = {n: importlib.import_module(f"{n}sensor_models.kernels.lidar.scan") for n in (home, "")}
assert scan[home].make_columns.stats.carried and not scan[""].make_columns.stats.carried
print(json.dumps(best))
"""


def frames(lidar: FmuFiles) -> dict[str, float]:
    """The processor's time of a frame of an OS0-128, best of many, in turns."""
    usual = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    command = [sys.executable, "-c", FRAMES, str(lidar.directory / "resources")]
    done = subprocess.run(command, env=usual, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def first_step(executable: Path, files: FmuFiles, scene: str = "") -> float:
    """Seconds of loading an FMU and its first step, where nothing is kept of earlier runs."""
    with tempfile.TemporaryDirectory() as folder:
        return load_and_step(executable, files, scene, {"SENSOR_FMUS_CACHE_DIR": folder})


def bars(executable: Path, encoder: FmuFiles, lidar: FmuFiles) -> list[Bar]:
    """Speed of the largest kernel, and the first start on a new machine."""
    found = frames(lidar)
    ratio = found["carried"] / found["numba"]
    detail = f"{1e3 * found['carried']:.1f} ms, by Numba {1e3 * found['numba']:.1f} ms"
    first = best_in_turns(
        {
            "Encoder": lambda: first_step(executable, encoder),
            "Lidar": lambda: first_step(executable, lidar, "corridor"),
        },
        5,
    )
    return [
        Bar("a lidar's frame by carried kernels, to Numba's", ratio, 1.03, "x", detail),
        Bar("load of Encoder to its first step, nothing kept", first["Encoder"], 0.45, "s", ""),
        Bar("load of Lidar to its first frame, nothing kept", first["Lidar"], 1.0, "s", "corridor"),
    ]
