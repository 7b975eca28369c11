"""Textures in the pictures of the CCD camera, against means, twins and a path tracer."""

import io
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import LightParameters, OpticsParameters, PictureParameters
from sensor_models.kernels.camera.ccd.textures import wrapped
from sensor_models.light.spectra import linear_color
from sensor_models.light.textures import NODES, pyramid, table_error
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Texture, Wrap
from sensor_models.scene.tracing import RayScene
from tests import mitsuba_scenes as peer
from tests.sensor_models.camera.test_ccd_mitsuba import looking
from tests.sensor_models.scene_files import write_manifest

SKY = "[sky]\nsky_spectrum = [[300e-9, 0.3], [1100e-9, 0.3]]\n"
PLATE = """
[materials.matt]
kind = "lambert"
source = "estimate"
color = {color}
surface = [{{ wavelength = 905e-9, diffuse_reflectance = 0.5 }}]
[meshes.plate]
{mesh}
material = "matt"
[[instances]]
mesh = "plate"
{place}
"""
DARK, LIGHT = 40, 220
CELLS, SIDE = 16, 4.0  # of the chequered plate, m


def linear(number: int) -> float:
    return float(linear_color([number / 255.0])[0])


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def chequers(texels: int = 4, cells: int = CELLS) -> np.ndarray:
    """Grey cells of some texels, dark and light."""
    rows, columns = np.indices((cells * texels, cells * texels)) // texels
    return np.repeat(np.where((rows + columns) % 2, LIGHT, DARK)[..., None], 3, 2).astype(np.uint8)


def write_obj(folder: Path, side: float = SIDE) -> None:
    """A plate that faces up, with its picture."""
    (folder / "chequers.png").write_bytes(png(chequers()))
    (folder / "plate.mtl").write_text("newmtl tiles\nKd 1 1 1\nmap_Kd chequers.png\n")
    h = side / 2.0
    (folder / "plate.obj").write_text(
        "mtllib plate.mtl\n"
        f"v {-h} {-h} 0\nv {h} {-h} 0\nv {h} {h} 0\nv {-h} {h} 0\n"
        "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nusemtl tiles\nf 1/1 2/2 3/3 4/4\n"
    )


def plate(mesh: str, color: float = 0.5, place: str = "", head: str = SKY) -> str:
    return head + PLATE.format(mesh=mesh, color=[color] * 3, place=place)


def light_of(path: Path, pose: np.ndarray, size: int, focal: float, **optics) -> np.ndarray:
    """What a grey camera sees, as a share of what a white plate sends."""
    given = OpticsParameters(width=size, height=size, intrinsics=(focal, focal, 0.0, 0.0), **optics)
    camera = CcdCamera(given, PictureParameters(bands=1), light=LightParameters(rays=4))
    with RayScene(load_scene(path), threads=2) as rays:
        seen = camera.expose(rays, pose)
    return seen.light[:, :, 0].astype(float) / camera.response.sum() / 0.3


@pytest.mark.parametrize("elevation", [90.0, 60.0, 35.0, 15.0, 6.0])
@pytest.mark.parametrize("focal", [3000.0, 700.0])
def test_a_chequered_plate_is_as_bright_as_its_mean(
    tmp_path: Path, elevation: float, focal: float
) -> None:
    """Against a plate of the mean colour at the same place, from afar: cells of any size."""
    write_obj(tmp_path)
    mean = 0.5 * (linear(DARK) + linear(LIGHT))
    angle = math.radians(elevation)
    eye = 30.0 * np.array([0.3 * math.cos(angle), -math.cos(angle), math.sin(angle) + 1e-9])
    pose = looking(eye, np.array([0.0, 1e-6, 0.0]))
    (tmp_path / "other").mkdir()
    even = 1.055 * mean ** (1.0 / 2.4) - 0.055
    flat = write_manifest(tmp_path / "other", plate("plane = { size = [4, 4] }", even))
    tiled = write_manifest(tmp_path, plate('file = "plate.obj"'))
    found, wanted = (light_of(path, pose, 512, focal, sample_factor=1) for path in (tiled, flat))
    on_plate = np.abs(wanted - mean) < 0.02 * mean
    assert on_plate.sum() > 500
    assert found[on_plate].mean() == pytest.approx(wanted[on_plate].mean(), rel=5e-3)


def energy_of_fine_detail(picture: np.ndarray) -> float:
    """Energy beyond three quarters of the highest frequency, of a picture with soft borders."""
    window = np.hanning(picture.shape[0])[:, None] * np.hanning(picture.shape[1])
    spectrum = np.abs(np.fft.fft2((picture - picture.mean()) * window)) ** 2
    along, across = (np.abs(np.fft.fftfreq(n)) for n in picture.shape)
    fine = np.maximum(along[:, None], across) > 0.375
    return float(spectrum[fine].sum())


def test_a_textured_plate_is_that_of_a_path_tracer(tmp_path: Path) -> None:
    mitsuba = pytest.importorskip("mitsuba", reason="no wheel of Mitsuba for this platform")
    mitsuba.set_variant("scalar_rgb")
    write_obj(tmp_path)
    eye, target, size, angle = np.array([0.3, -3.0, 1.0]), np.array([0.0, 0.2, 0.0]), 160, 40.0
    focal = size / 2.0 / math.tan(math.radians(angle / 2.0))
    ours = light_of(write_manifest(tmp_path, plate('file = "plate.obj"')), looking(eye, target),
                    size, focal)  # fmt: skip
    picture = {
        "type": "bitmap",
        "filename": str(tmp_path / "chequers.png"),
        "filter_type": "bilinear",
    }
    parts = {
        "plate": {
            "type": "obj", "filename": str(tmp_path / "plate.obj"), "face_normals": True,
            "bsdf": {"type": "twosided", "bsdf": {"type": "diffuse", "reflectance": picture}},
        },
        "sky": {"type": "constant", "radiance": peer.spectrum(0.3)},
        "sensor": peer.camera(eye, target, angle, (size, size), 256),
    }  # fmt: skip
    theirs = peer.picture(parts, depth=2) / 0.3
    inside = np.isclose(light_of(
        write_manifest(tmp_path, plate("plane = { size = [3.9, 3.9] }", 0.0)),
        looking(eye, target), size, focal), 0.001, atol=0.02)  # fmt: skip
    assert inside.mean() > 0.3
    off = np.abs(ours - theirs)[inside] / theirs[inside]
    assert np.median(off) <= 0.01
    assert ours[inside].mean() == pytest.approx(theirs[inside].mean(), rel=5e-3)
    for part in (np.s_[58:80, 40:120], np.s_[80:120, 40:120], np.s_[120:160, 40:120]):
        assert inside[part].all()
        assert energy_of_fine_detail(ours[part]) <= energy_of_fine_detail(theirs[part])


def test_a_texture_rides_on_its_body(tmp_path: Path) -> None:
    """On a body that was turned and moved it looks as on what stands there."""
    write_obj(tmp_path)
    turn, position = math.radians(30.0), (1.0, 0.5, 0.2)
    w, z = math.cos(turn / 2.0), math.sin(turn / 2.0)
    body = f'[[bodies]]\nname = "b"\nposition = {list(position)}\norientation = [{w}, 0, 0, {z}]\n'
    pose = looking(np.array([0.5, -5.0, 3.0]), np.array([0.9, 0.4, 0.0]))
    place = f"position = {list(position)}\norientation = [{w}, 0, 0, {z}]"
    still = light_of(
        write_manifest(tmp_path, plate('file = "plate.obj"', place=place)), pose, 96, 90.0
    )
    text = plate('file = "plate.obj"', place='body = "b"', head=body + SKY)
    moved = light_of(write_manifest(tmp_path, text), pose, 96, 90.0)
    assert still.std() > 0.1
    assert np.quantile(np.abs(still - moved), 0.99) < 1e-4


def test_pictures_of_the_manifest_are_laid_in_metres(tmp_path: Path) -> None:
    """Upright on walls, with its middle at the origin of the mesh."""
    pixels = np.zeros((2, 2, 3), np.uint8)
    pixels[0, 0], pixels[0, 1], pixels[1, 0], pixels[1, 1] = 40, 90, 150, 220
    (tmp_path / "four.png").write_bytes(png(np.repeat(np.repeat(pixels, 16, 0), 16, 1)))
    mesh = 'box = { size = [2, 2, 2] }\ntexture = { image = "four.png", size = [2, 2] }'
    path = write_manifest(tmp_path, plate(mesh, place="position = [1, 1, 1]"))
    scene = load_scene(path)
    assert len(scene.textures) == 1
    assert tmp_path / "four.png" in scene.files
    mesh_of = scene.meshes[0]
    assert (mesh_of.face_texture == 0).all()
    for eye in ([1.0, -9.0, 1.0], [11.0, 1.0, 1.0], [1.0, 11.0, 1.0], [-9.0, 1.0, 1.0]):
        seen = light_of(path, looking(np.array(eye), np.array([1.0, 1.0, 1.0])), 64, 256.0)
        quarters = [seen[r : r + 12, c : c + 12].mean() for r in (14, 38) for c in (14, 38)]
        wanted = np.array([linear(number) for number in (40, 90, 150, 220)])
        shares = np.array(quarters) / quarters[3]  # all in the same light
        np.testing.assert_allclose(shares, wanted / wanted[3], atol=0.01)


def test_levels_keep_the_mean_of_a_picture() -> None:
    random = np.random.default_rng(6)
    for shape in ((8, 8), (7, 5), (1, 9), (33, 64)):
        texture = Texture("x", random.integers(0, 256, (*shape, 3)).astype(np.uint8))
        levels = pyramid(texture)
        whole = levels[0].mean(axis=(0, 1), dtype=float)
        assert levels[-1].shape[:2] == (1, 1)
        for level in levels:
            np.testing.assert_allclose(level.mean(axis=(0, 1), dtype=float), whole, rtol=1e-5)


def test_pictures_go_on_beyond_their_edges() -> None:
    places = range(-7, 12)
    assert [wrapped(k, 4, Wrap.repeat) for k in places] == [k % 4 for k in places]
    assert [wrapped(k, 4, Wrap.clamp) for k in places] == [min(max(k, 0), 3) for k in places]
    row = [0, 1, 2, 3, 3, 2, 1, 0]
    assert [wrapped(k, 4, Wrap.mirror) for k in places] == [row[k % 8] for k in places]


def test_spectra_of_the_table_are_near_those_of_the_colors() -> None:
    """Their colours are the same; this says how far reflectances are off at single wavelengths."""
    random = np.random.default_rng(7)
    values = linear_color(random.uniform(0.15, 0.85, 3 * 40).tolist()).reshape(-1, 3)
    wavelengths = np.linspace(400e-9, 700e-9, 31)
    assert table_error(wavelengths, values) < 0.05
    nodes = linear_color(np.linspace(0.0, 1.0, NODES).tolist())
    assert table_error(wavelengths, nodes[[[2, 3, 4], [5, 1, 6]]]) < 1e-6
