"""What a reader of a document has before its first block: FMUs, examples, files of his own."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import fmpy
import mujoco
import trimesh

from tests import fit_examples
from tests.pendulum import description, write_fmu

#: How the examples are made small: file, text, what is there instead.
SMALLER = (
    ("campaign/campaign.toml", "samples = 40", "samples = 2"),
    ("campaign/campaign.toml", "seeds = 2 ", "seeds = 1 "),
    ("dataset/yard.toml", "samples = 200", "samples = 18"),
)


def prepare(page: str, place: Path, fmus: Path, root: Path) -> None:
    """Fill the directory that a page is run in."""
    shutil.copytree(root / "examples", place / "examples")
    for name, long, short in SMALLER:
        file = place / "examples" / name
        text = file.read_text(encoding="utf-8")
        assert long in text
        file.write_text(text.replace(long, short), encoding="utf-8")
    give_fmus(place, fmus)
    OWN.get(page, lambda place: None)(place)


def give_fmus(place: Path, fmus: Path) -> None:
    """Put FMUs where commands look for them."""
    built = place / "build" / "fmus"
    built.mkdir(parents=True, exist_ok=True)
    for file in fmus.glob("*.fmu"):
        if not (built / file.name).exists():
            (built / file.name).symlink_to(file)


def _house(file: Path) -> None:
    house = trimesh.Scene()
    for number, part in enumerate(("Walls", "Window_Glass", "entrance")):
        box = trimesh.creation.box((1.0, 1.0, 1.0)).apply_translation((2.0 * number, 0.0, 0.0))
        box.visual = trimesh.visual.TextureVisuals(
            material=trimesh.visual.material.PBRMaterial(name=part)
        )
        house.add_geometry(box, geom_name=part)
    house.export(file)


def _scenes(place: Path) -> None:
    for folder in ("meshes", "my"):
        (place / folder).mkdir()
    _house(place / "meshes" / "house.glb")
    trimesh.creation.box((4.0, 2.0, 1.5)).export(place / "meshes" / "car.stl")
    shutil.copy(place / "examples" / "starter" / "world.toml", place / "my" / "scene.toml")


def _worlds(place: Path) -> None:
    for name in ("robot.xml", "my.xml"):
        shutil.copy(place / "examples" / "robot" / "rover.xml", place / name)
    model = mujoco.MjModel.from_xml_path(str(place / "robot.xml"))
    assert model.nbody > 1


def _fitting(place: Path) -> None:
    folder = place / "build" / "fit"
    for name in ("flat", "clouds", "depths"):
        (folder / name).mkdir(parents=True)
    log = fit_examples.still_log(folder, 4000)
    lines = log.read_text(encoding="utf-8").splitlines()  # of which the time and one axis do
    log.write_text("\n".join(",".join(line.split(",")[:2]) for line in lines), encoding="utf-8")
    shutil.copy(log, place / "still.csv")
    fit_examples.flat_fields(folder / "flat")
    fit_examples.wall_clouds(folder / "clouds")
    fit_examples.wall_depths(folder / "depths")
    fit_examples.roof_log(folder)
    fit_examples.turn_log(folder)


def _masters(place: Path) -> None:
    write_fmu(place / "Pendulum.fmu", description())


def _messages(place: Path) -> None:
    log = place / "build" / "demo" / "drive.mcap"
    log.parent.mkdir()
    fmpy.simulate_fmu(
        place / "build" / "fmus" / "Encoder.fmu", stop_time=0.1, start_values={"log": str(log)}
    )


OWN: Mapping[str, Callable[[Path], None]] = {
    "fitting.md": _fitting,
    "masters.md": _masters,
    "messages.md": _messages,
    "scenes.md": _scenes,
    "worlds.md": _worlds,
}
