"""Terrain from GeoTIFF, where rasterio writes the files and says where pixels are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from rasterio.transform import Affine

from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Mesh

HEAD = 'format = 1\nname = "a"\n[meshes.a]\nmaterial = "soil"\n'
EAST, NORTH = 500_000.0, 5_400_000.0
USUAL = {"crs": "EPSG:32633", "transform": Affine(2.0, 0.0, EAST, 0.0, -3.0, NORTH)}


def write(folder: Path, heights: np.ndarray, **more: Any) -> Path:
    rows, columns = heights.shape
    known = {"driver": "GTiff", "height": rows, "width": columns, "count": 1}
    path = folder / "a.tif"
    with rasterio.open(path, "w", dtype=heights.dtype, **(known | USUAL | more)) as file:
        file.write(heights, 1)
    return path


def mesh_of(folder: Path, more: str = "") -> Mesh:
    path = folder / "scene.toml"
    path.write_text(f'{HEAD}heightmap = {{ image = "a.tif"{more} }}\n[[instances]]\nmesh = "a"\n')
    return load_scene(path).meshes[0]


def places_of(mesh: Mesh) -> np.ndarray:
    return mesh.vertices.astype(float) + np.array(mesh.origin)


def hills(rows: int, columns: int, dtype: str) -> np.ndarray:
    heights = 100.0 * np.random.default_rng(5).normal(size=(rows, columns))
    return (np.abs(heights) if dtype.startswith("u") else heights).astype(dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "float32"])
@pytest.mark.parametrize(
    "packed", [{}, {"compress": "lzw", "tiled": True, "blockxsize": 16, "blockysize": 16}]
)
def test_pixels_are_where_rasterio_has_them(
    tmp_path: Path, dtype: str, packed: dict[str, Any]
) -> None:
    """In the coordinates of the map, less the origin of the scene."""
    heights = hills(20, 30, dtype)
    path = write(tmp_path, heights, **packed)
    with rasterio.open(path) as file:
        row, column = np.indices(heights.shape).reshape(2, -1)
        x, y = rasterio.transform.xy(file.transform, row, column)  # the middles of pixels
        truth = np.column_stack([x, y, file.read(1).ravel()]) - (EAST, NORTH - 9.0, 0.0)
    mesh = mesh_of(tmp_path, f", origin = [{EAST}, {NORTH - 9.0}]")
    assert places_of(mesh) == pytest.approx(truth, abs=1e-4)
    assert len(mesh.faces) == 2 * 19 * 29
    corners = places_of(mesh)[mesh.faces]
    assert (np.cross(*(corners[:, k] - corners[:, 0] for k in (1, 2)))[:, 2] > 0.0).all()


def test_floats_with_a_predictor_are_read(tmp_path: Path) -> None:
    heights = hills(40, 40, "float32")
    write(
        tmp_path, heights, compress="deflate", predictor=3, tiled=True, blockxsize=16, blockysize=16
    )
    assert places_of(mesh_of(tmp_path))[:, 2] == pytest.approx(heights.ravel(), abs=1e-4)


def test_terrain_lies_around_the_origin_unless_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, hills(5, 4, "float32"))
    places = places_of(mesh_of(tmp_path))
    assert places.min(axis=0)[:2] == pytest.approx((-3.0, -6.0))
    assert places.max(axis=0)[:2] == pytest.approx((3.0, 6.0))
    places = places_of(mesh_of(tmp_path, ", size = [30, 80]"))
    assert places.max(axis=0)[:2] == pytest.approx((15.0, 40.0))


def test_two_sheets_of_a_map_meet(tmp_path: Path) -> None:
    """The second sheet lies to the east of the first, and both name the same origin."""
    whole = hills(6, 9, "float32")
    origin = f", origin = [{EAST}, {NORTH}]"
    write(tmp_path, whole)
    truth = {(x, y): z for x, y, z in places_of(mesh_of(tmp_path, origin)).tolist()}
    for first, last in ((0, 5), (5, 9)):
        sheet = Affine(2.0, 0.0, EAST + 2.0 * first, 0.0, -3.0, NORTH)
        write(tmp_path, whole[:, first:last], transform=sheet)
        for x, y, z in places_of(mesh_of(tmp_path, origin)).tolist():
            assert truth[x, y] == z


@pytest.mark.parametrize(
    ("dtype", "unknown"),
    [("int16", -32768), ("float32", -9999.9), ("float32", -3.4028234663852886e38), ("uint16", 0)],
)
def test_what_is_not_known_is_a_hole_or_has_the_height_that_is_given(
    tmp_path: Path, dtype: str, unknown: float
) -> None:
    heights = np.full((5, 6), 7, dtype)
    heights[2, 3] = unknown
    write(tmp_path, heights, nodata=unknown)
    mesh = mesh_of(tmp_path)
    assert len(mesh.faces) == 2 * 4 * 5 - 6
    assert set(places_of(mesh)[:, 2]) == {7.0}
    filled = mesh_of(tmp_path, ", fill = 3.5")
    assert len(filled.faces) == 2 * 4 * 5
    assert places_of(filled)[2 * 6 + 3, 2] == 3.5


def test_what_is_no_number_is_a_hole(tmp_path: Path) -> None:
    heights = hills(3, 3, "float32")
    heights[0, 0] = np.nan
    write(tmp_path, heights)
    assert len(mesh_of(tmp_path).faces) == 2 * 4 - 1


def test_feet_are_converted(tmp_path: Path) -> None:
    """A plane of a state in US survey feet."""
    write(tmp_path, hills(3, 3, "float32"), crs="EPSG:2225")
    places = places_of(mesh_of(tmp_path))
    assert np.ptp(places[:, 0]) == pytest.approx(4.0 * 1200.0 / 3937.0)


def test_pixels_may_be_points(tmp_path: Path) -> None:
    """Then the tie point is the place of the first height itself."""
    path = write(tmp_path, hills(3, 3, "float32"))
    with rasterio.open(path, "r+") as file:
        file.update_tags(AREA_OR_POINT="Point")
        x, y = rasterio.transform.xy(file.transform, [0], [0])
    mesh = mesh_of(tmp_path, f", origin = [{EAST}, {NORTH}]")
    assert places_of(mesh)[0, :2] == pytest.approx((x[0] - EAST, y[0] - NORTH))


BAD = {
    "degrees": ({"crs": "EPSG:4326"}, "", "a.tif is a map in degrees: bring it into metres"),
    "turned": (
        {"transform": Affine(2.0, 0.1, EAST, 0.1, -2.0, NORTH)},
        "",
        "a.tif is turned on its map",
    ),
    "doubles": ({"dtype": "float64"}, "", "a.tif is no readable GeoTIFF of up to 32 bits"),
    "unknown": ({"nodata": 7}, "", "a.tif knows no height"),
    "low": ({}, ", low = 3", "meshes.a.heightmap: low is for PNG images"),
    "both": ({}, ", size = [1, 1], origin = [0, 0]", "origin is for the size of the map"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_map_that_cannot_be_taken_is_refused(tmp_path: Path, case: str) -> None:
    more, keys, expected = BAD[case]
    dtype = more.pop("dtype", "float32") if case == "doubles" else "float32"
    write(tmp_path, np.full((3, 3), 7, dtype), **more)
    with pytest.raises(SceneError) as refused:
        mesh_of(tmp_path, keys)
    assert expected in str(refused.value)
    assert "heightmap" in str(refused.value)


def test_a_tiff_without_a_map_needs_a_size(tmp_path: Path) -> None:
    from PIL import Image

    Image.fromarray(hills(3, 4, "float32")).save(tmp_path / "a.tif")
    with pytest.raises(SceneError, match=r"a\.tif says nothing of its size: give size"):
        mesh_of(tmp_path)
    assert np.ptp(places_of(mesh_of(tmp_path, ", size = [6, 2]"))[:, 0]) == 6.0


def test_a_png_needs_a_size(tmp_path: Path) -> None:
    text = f'{HEAD}heightmap = {{ image = "a.png" }}\n'
    (tmp_path / "scene.toml").write_text(text)
    with pytest.raises(SceneError, match="size is required, unless the image is a GeoTIFF"):
        load_scene(tmp_path / "scene.toml")
