"""Pictures of roughness, metal, normals and light on surfaces, as the CCD camera sees them.

Against plates that are rough, of metal or aslant as a whole, closed forms, and a path tracer.
"""

import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import (
    LightParameters,
    OpticsParameters,
    PictureParameters,
    Sharing,
)
from sensor_models.camera.ccd.responses import trapezoid
from sensor_models.light.spectra import color_matching, linear_color
from sensor_models.light.textures import METAL
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests import mitsuba_scenes as peer
from tests.sensor_models.camera.test_ccd_mitsuba import looking
from tests.sensor_models.camera.test_ccd_textures import png
from tests.sensor_models.scene_files import write_manifest

TOWARD = np.array([0.3, -0.5, 0.8]) / math.sqrt(0.98)
SUN = f"[sky]\nsun_direction = {TOWARD.tolist()}\nsun_spectrum = [[300e-9, 2.0], [1100e-9, 2.0]]\n"
EVEN = "sky_spectrum = [[300e-9, 0.3], [1100e-9, 0.3]]\n"
MATT = """
[materials.own]
kind = "lambert"
source = "estimate"
surface = [
    { wavelength = 400e-9, diffuse_reflectance = 0.5 },
    { wavelength = 780e-9, diffuse_reflectance = 0.5 },
]
"""
PLATE = """
[meshes.plate]
plane = { size = [4, 4] }
material = "own"
TEXTURE
[[instances]]
mesh = "plate"
PLACE
"""
#: Below the plate, so that one which is turned gets no light from there.
BLACK = """
[materials.black]
kind = "lambert"
source = "estimate"
color = [0, 0, 0]
surface = [{ wavelength = 905e-9, diffuse_reflectance = 0 }]
[meshes.black]
plane = { size = [200, 200] }
material = "black"
[[instances]]
mesh = "black"
position = [0, 0, -1.5]
"""
EYE = np.array([0.5, -4.0, 5.0])


def coated(sigma: float, extinction: float = 0.0, diffuse: float = 0.4) -> str:
    numbers = (
        f"ior = {METAL.ior if extinction else 1.5}, extinction = {extinction}, "
        f"diffuse_reflectance = {diffuse}, roughness_beckmann = {sigma}, roughness_oren_nayar = 0.0"
    )
    return f"""
[materials.own]
kind = "two_layer"
source = "estimate"
surface = [{{ wavelength = 400e-9, {numbers} }}, {{ wavelength = 780e-9, {numbers} }}]
"""


def plate(material: str, texture: str = "", place: str = "", sky: str = SUN) -> str:
    return sky + material + PLATE.replace("TEXTURE", texture).replace("PLACE", place)


def mapped(**pictures: str | float) -> str:
    keys = [f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v}" for k, v in pictures.items()]
    return f"texture = {{ size = [4, 4], {', '.join(keys)} }}"


def radiance(
    folder: Path, text: str, eye: np.ndarray = EYE, size: int = 48, angle: float = 20.0,
    target: np.ndarray | None = None, rays: int = 64,
) -> np.ndarray:  # fmt: skip
    """The radiance that a grey camera sees, W/m2/sr/m, where that is the same for all light."""
    focal = size / 2.0 / math.tan(math.radians(angle / 2.0))
    given = OpticsParameters(width=size, height=size, intrinsics=(focal, focal, 0.0, 0.0))
    camera = CcdCamera(
        given, PictureParameters(bands=1), light=LightParameters(rays=rays, sharing=Sharing.none)
    )
    pose = looking(eye, np.zeros(3) if target is None else target)
    with RayScene(load_scene(write_manifest(folder, text)), threads=2) as scene:
        seen = camera.expose(scene, pose)
    return seen.light[:, :, 0].astype(float) / camera.response.sum()


def one(color: tuple[int, int, int], side: int = 4) -> bytes:
    return png(np.broadcast_to(np.array(color, np.uint8), (side, side, 3)))


def leaning(color: tuple[int, int, int]) -> np.ndarray:
    """The normal that a texel of a plate which faces up says: u along x, v against y."""
    normal = 2.0 * np.array(color) / 255.0 - 1.0
    return normal / np.linalg.norm(normal)


@pytest.mark.parametrize(
    "color", [(128, 128, 255), (190, 128, 230), (128, 60, 225), (80, 170, 220)]
)
def test_a_leaning_normal_has_the_light_of_a_plate_that_leans(
    tmp_path: Path, color: tuple[int, int, int]
) -> None:
    (tmp_path / "n.png").write_bytes(one(color))
    found = radiance(tmp_path, plate(MATT, mapped(normals="n.png")))
    wanted = 0.5 / math.pi * 2.0 * float(leaning(color) @ TOWARD)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_leaning_coat_shines_as_a_plate_that_leans(tmp_path: Path) -> None:
    """With the sun in its highlight, against a plate that is turned by the same angle."""
    color = (160, 128, 250)
    (tmp_path / "n.png").write_bytes(one(color))
    normal = leaning(color)
    angle = math.degrees(math.atan2(normal[0], normal[2]))
    eye = 6.0 * (2.0 * (TOWARD @ normal) * normal - TOWARD)
    other = tmp_path / "turned"
    other.mkdir()
    lean = math.degrees(math.asin(-normal[1]))  # of its y, which is 1/255
    place = f"roll_pitch_yaw_deg = [{lean}, {angle}, 0]"
    turned = radiance(other, plate(coated(0.2), place=place) + BLACK, eye, angle=4.0)
    bent = plate(coated(0.2), mapped(normals="n.png")) + BLACK
    found = radiance(tmp_path, bent, eye, angle=4.0)
    middle = np.s_[20:28, 20:28]
    assert found[middle].mean() > 1.3 * 0.4 / math.pi * 2.0 * float(normal @ TOWARD)
    assert found[middle].mean() == pytest.approx(turned[middle].mean(), rel=2e-3)


def test_lean_scales_how_far_normals_lean(tmp_path: Path) -> None:
    color = (190, 128, 230)
    (tmp_path / "n.png").write_bytes(one(color))
    found = radiance(tmp_path, plate(MATT, mapped(normals="n.png", lean=0.5)))
    normal = (2.0 * np.array(color) / 255.0 - 1.0) * (0.5, 0.5, 1.0)
    wanted = 0.5 / math.pi * 2.0 * float(normal @ TOWARD) / np.linalg.norm(normal)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_normals_turn_with_the_plate_and_its_back_mirrors_them(tmp_path: Path) -> None:
    """What leans along u leans along u of whoever looks, from either side and after a turn."""
    color = (190, 128, 230)
    (tmp_path / "n.png").write_bytes(one(color))
    normal = leaning(color)
    turned = radiance(
        tmp_path, plate(MATT, mapped(normals="n.png"), "roll_pitch_yaw_deg = [0, 0, 90]")
    )
    wanted = 0.5 / math.pi * 2.0 * float(np.array([-normal[1], normal[0], normal[2]]) @ TOWARD)
    np.testing.assert_allclose(turned, wanted, rtol=1e-5)
    # Turned about x by half a turn, its back is up: a front at that place would lean along x, too,
    # and against y; glTF turns the normal of a back about.
    back = radiance(
        tmp_path, plate(MATT, mapped(normals="n.png"), "roll_pitch_yaw_deg = [180, 0, 0]")
    )
    wanted = 0.5 / math.pi * 2.0 * float(np.array([-normal[0], normal[1], normal[2]]) @ TOWARD)
    np.testing.assert_allclose(back, wanted, rtol=1e-5)


def test_no_light_comes_from_below_the_surface(tmp_path: Path) -> None:
    """A sun behind the plate, before the normals of its picture."""
    (tmp_path / "n.png").write_bytes(one((240, 128, 190)))
    toward = np.array([1.0, 0.0, -0.1])
    assert leaning((240, 128, 190)) @ toward > 0.5
    sky = SUN.replace(str(TOWARD.tolist()), str(toward.tolist()))
    assert sky != SUN
    dark = radiance(tmp_path, plate(MATT, mapped(normals="n.png"), sky=sky))
    np.testing.assert_array_equal(dark, 0.0)


def roughness_byte(sigma: float) -> int:
    """The byte whose α = r² is that of a slope roughness σ, √2 σ, nearly."""
    return round(255.0 * math.sqrt(math.sqrt(2.0) * sigma))


def sigma_of(byte: int) -> float:
    return (byte / 255.0) ** 2 / math.sqrt(2.0)


def test_half_a_plate_is_rough_as_a_rough_plate(tmp_path: Path) -> None:
    """By sun and an even sky, on both sides of the line, coated and of metal."""
    rows = np.full((64, 64), roughness_byte(0.12), np.uint8)
    rows[:, 32:] = roughness_byte(0.35)
    (tmp_path / "r.png").write_bytes(png(rows))
    eye = 6.0 * np.array([-TOWARD[0], -TOWARD[1], TOWARD[2]])
    for material in (coated(0.2), coated(0.2, METAL.extinction, 0.0)):
        text = plate(material, mapped(roughness="r.png"), sky=SUN + EVEN)
        found = radiance(tmp_path, text, eye)
        # It looks along -y, so the right of the picture is that of -x.
        for byte, half in ((rows[0, 63], np.s_[20:28, 4:18]), (rows[0, 0], np.s_[20:28, 30:44])):
            sigma = sigma_of(int(byte))
            whole = material.replace("beckmann = 0.2", f"beckmann = {sigma}")
            wanted = radiance(tmp_path, plate(whole, sky=SUN + EVEN), eye)
            assert found[half].mean() == pytest.approx(wanted[half].mean(), rel=5e-3)


def test_what_a_picture_calls_metal_is_metal(tmp_path: Path) -> None:
    """All of it, and half of it: then the mean of a coated and of a metal plate."""
    eye = 6.0 * np.array([-TOWARD[0], -TOWARD[1], TOWARD[2]])
    colors = "color = [0.8, 0.5, 0.3]\n"
    base = coated(sigma_of(128)) + colors
    metal = coated(sigma_of(128), METAL.extinction, 0.0) + colors
    base, metal = (text.replace("400e-9", "905e-9").replace("780e-9", "950e-9")
                   for text in (base, metal))  # fmt: skip
    (tmp_path / "r.png").write_bytes(one((128, 128, 128)))
    seen = {
        name: radiance(tmp_path, plate(text, sky=SUN + EVEN), eye)
        for name, text in (("coat", base), ("metal", metal))
    }
    assert abs(seen["coat"].mean() / seen["metal"].mean() - 1.0) > 0.1
    for share, byte in ((1.0, 255), (102 / 255, 102), (0.0, 0)):
        (tmp_path / "m.png").write_bytes(one((byte, byte, byte)))
        texture = mapped(roughness="r.png", metal="m.png")
        for material in (base, metal):
            if material is metal and share < 1.0:
                continue  # its coat is one of index 1.5 and its own colour
            found = radiance(tmp_path, plate(material, texture, sky=SUN + EVEN), eye)
            wanted = share * seen["metal"] + (1.0 - share) * seen["coat"]
            assert found.mean() == pytest.approx(wanted.mean(), rel=5e-3)


def test_normals_that_are_too_small_to_see_make_a_coat_rough(tmp_path: Path) -> None:
    """Toksvig's law: a chequer of normals, each a fraction of a pixel."""
    lean = (64, 192)
    cells = np.indices((256, 256)).sum(axis=0) % 2
    pixels = np.full((256, 256, 3), 128, np.uint8)
    pixels[..., 0] = np.where(cells, *lean)
    pixels[..., 2] = 239
    (tmp_path / "n.png").write_bytes(png(pixels))
    normals = [leaning((x, 128, 239)) for x in lean]
    mean = np.mean(normals, axis=0)
    length = np.linalg.norm(mean)
    slopes = 2.0 * 0.15**2 + 2.0 * (1.0 - length) / length
    eye = 60.0 * np.array([-TOWARD[0], -TOWARD[1], TOWARD[2]])
    found = radiance(tmp_path, plate(coated(0.15), mapped(normals="n.png")), eye, 16, 2.0)
    rough = coated(math.sqrt(0.5 * slopes))
    wanted = radiance(tmp_path, plate(rough), eye, 16, 2.0)
    smooth = radiance(tmp_path, plate(coated(0.15)), eye, 16, 2.0)
    assert smooth.mean() > 1.3 * wanted.mean()
    assert found.mean() == pytest.approx(wanted.mean(), rel=1e-2)


def test_a_sign_is_as_bright_as_it_says(tmp_path: Path) -> None:
    """By night and by day, in cd/m2 by the curve of the eye, and as DN by its exposure."""
    (tmp_path / "e.png").write_bytes(one((200, 200, 200)))
    texture = mapped(emission="e.png", luminance=500.0)
    luminance = 500.0 * float(linear_color([200 / 255.0])[0])
    night = radiance(tmp_path, plate(MATT, texture, sky=""), rays=1)
    day = radiance(tmp_path, plate(MATT, texture), rays=1)
    unlit = radiance(tmp_path, plate(MATT), rays=1)
    # White is the same at all wavelengths: luminance over 683 lm/W and the integral of the curve.
    grid = np.arange(360, 831) * 1e-9
    per = luminance / (683.0 * float(trapezoid(grid) @ color_matching(grid)[1]))
    np.testing.assert_allclose(night, per, rtol=1e-3)
    np.testing.assert_allclose(day, unlit + night, rtol=1e-6)
    camera = CcdCamera(
        OpticsParameters(width=8, height=8, intrinsics=(80.0, 80.0, 0.0, 0.0)),
        PictureParameters(bands=1, exposure_time=1e-2, full_scale=5e-3, bit_depth=16),
    )
    with RayScene(load_scene(write_manifest(tmp_path, plate(MATT, texture, sky="")))) as rays:
        seen = camera.expose(rays, looking(EYE, np.zeros(3)))
        numbers, _ = camera.develop(rays.pool, seen.light, 0)
    share = per * camera.response.sum() * camera.vignette.reshape(8, 8) * 1e-2 / 5e-3
    assert 0.1 < share.max() < 0.9
    np.testing.assert_allclose(numbers[..., 0], share * 65535.0, rtol=1e-3, atol=1.0)


def test_a_sign_lights_what_is_before_it(tmp_path: Path) -> None:
    """With the mean of its picture: a wall beside one that is half bright."""
    pixels = np.zeros((8, 8), np.uint8)
    pixels[:4] = 255
    (tmp_path / "e.png").write_bytes(png(pixels))
    (tmp_path / "h.png").write_bytes(one((188, 188, 188)))  # 0.503 of white
    seen = []
    for name, luminance in (("e.png", 1000.0), ("h.png", 500.0 / linear_color([188 / 255])[0])):
        texture = mapped(emission=name, luminance=float(luminance))
        text = plate(MATT, texture, "position = [0, 0, 3]", sky="")
        text += MATT.replace("own", "floor") + PLATE.replace("plate", "floor").replace(
            '"own"', '"floor"'
        ).replace("TEXTURE", "").replace("PLACE", "")
        seen.append(radiance(tmp_path, text, np.array([0.1, -9.0, 2.0]), 24, 8.0).mean())
    assert seen[0] > 0.0
    assert seen[0] == pytest.approx(seen[1], rel=1e-4)


def test_maps_are_those_of_a_path_tracer(tmp_path: Path) -> None:
    """Blocks of roughness and of normals on bare metal, in sun and sky."""
    mitsuba = pytest.importorskip("mitsuba", reason="no wheel of Mitsuba for this platform")
    mitsuba.set_variant("scalar_rgb")
    random, texels = np.random.default_rng(4), 16
    rough = random.integers(110, 175, (6, 6))
    normals = np.stack([random.integers(100, 156, (6, 6)), random.integers(100, 156, (6, 6)),
                        np.full((6, 6), 250)], axis=-1)  # fmt: skip
    blocks = [np.repeat(np.repeat(each, texels, 0), texels, 1) for each in (rough, normals)]
    (tmp_path / "r.png").write_bytes(png(blocks[0]))
    (tmp_path / "n.png").write_bytes(png(blocks[1]))
    alpha = np.rint(255.0 * (blocks[0] / 255.0) ** 2)
    (tmp_path / "alpha.png").write_bytes(png(alpha))
    h = 2.0
    (tmp_path / "plate.obj").write_text(
        f"v {-h} {-h} 0\nv {h} {-h} 0\nv {h} {h} 0\nv {-h} {h} 0\n"
        "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n"
    )
    eye, size, angle = 6.0 * np.array([-TOWARD[0], -TOWARD[1], TOWARD[2]]), 96, 36.0
    text = plate(coated(0.2, METAL.extinction, 0.0), mapped(roughness="r.png", normals="n.png"),
                 sky=SUN + EVEN)  # fmt: skip
    ours = radiance(tmp_path, text, eye, size, angle, rays=1024)

    def bitmap(name: str) -> dict:
        return {"type": "bitmap", "filename": str(tmp_path / name), "raw": True,
                "filter_type": "bilinear"}  # fmt: skip

    metal = {
        "type": "roughconductor", "distribution": "ggx", "alpha": bitmap("alpha.png"),
        "eta": peer.spectrum(METAL.ior), "k": peer.spectrum(METAL.extinction),
    }  # fmt: skip
    parts = {
        "plate": {
            "type": "obj", "filename": str(tmp_path / "plate.obj"), "face_normals": True,
            "bsdf": {"type": "normalmap", "normalmap": bitmap("n.png"), "bsdf": metal},
        },
        "sensor": peer.camera(eye, np.zeros(3), angle, (size, size), 256),
    }  # fmt: skip
    # Sun and sky one by one: drawing one of them for each ray would be noise.
    theirs = sum(
        peer.picture({**parts, name: light}, depth=2)
        for name, light in peer.lights(TOWARD, 2.0, 0.3).items()
    )
    rows, columns = np.indices((size, size)) - 0.5 * (size - 1)
    inside = np.maximum(abs(rows) * 1.6, abs(columns) * 1.4) < 0.35 * size
    off = np.abs(ours - theirs)[inside] / theirs[inside]
    assert theirs[inside].std() > 0.2 * theirs[inside].mean()
    # Not the mean: between blocks normals are mixed, and shorter, so our coat is rougher there.
    assert np.median(off) <= 0.01
