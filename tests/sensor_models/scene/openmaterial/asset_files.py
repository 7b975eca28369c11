"""An asset of OpenMATERIAL with all kinds of materials, that tests write, read and break."""

import base64
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.brdf_tables import lambert_rows

#: Sides of the plates, m, which stand at x = 10, faces toward the origin, beside each other.
SIDE = 2.0
NAMES = ("Matt_Paint", "Window", "Sheet_Metal", "Road", "Other_Name", "Painted", "Not_Mapped")
WINDOW_THICKNESS = 0.02


def about(name: str, version: str = "1.1.0", **more: Any) -> dict[str, Any]:
    """The metadata of a file."""
    return {
        "name": name,
        "uuid": "c492bda2-7c84-43e6-be19-03115545e844",
        "openMaterial3dVersion": version,
        "copyrights": ["(C) somebody"],
        "license": "MPL-2.0",
        "authors": ["somebody"],
        **more,
    }


def write(file: Path, **content: Any) -> Path:
    """Write a file with metadata."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"metadata": about(file.stem), **content}))
    return file


def brdf_content(rows: np.ndarray, wavelength: float = 905e-9) -> dict[str, Any]:
    """The content of a table of bidirectional reflectance; angles have six digits."""
    table = [[wavelength, *(round(each, 6) for each in row[:3]), row[3]] for row in rows.tolist()]
    limits = np.array([1.570796, 1.570796, 6.283185])
    for row in table:
        row[1:4] = np.minimum(row[1:4], limits).tolist()
    return {"brdf": {"wavelengths": [wavelength], "lookupTable": table}}


def write_materials(folder: Path) -> None:
    """Write the materials and their tables."""
    write(
        folder / "paint.xomp",
        materialProperties={
            "brdfUris": ["./tables/paint_brdf.xompt"],
            "electromagneticPropertiesUri": "tables/metal_emp.xompt",
            "densityData": {"density": 1.0, "sources": "guess"},
        },
    )
    write(folder / "tables" / "paint_brdf.xompt", **brdf_content(lambert_rows(0.1)))
    metal = [[1e-3, 300.0, 50.0, 1.0, 0.0, -80839, 1.946e6], [3.893e-3, None, 50, 1, 0, -2e5, 7e6]]
    write(folder / "tables" / "metal_emp.xompt", electromagneticProperties=metal)
    glass = [[8.5e-7, 297, 1.51, 0.0], [9.05e-7, 293, 1.52, 0.0], [9.05e-7, 400, 1.6, 0.0]]
    write(folder / "tables" / "glass_optical.xompt", opticalProperties=glass)
    write(
        folder / "glass.xomp",
        materialProperties={"opticalPropertiesUri": "tables/glass_optical.xompt"},
    )
    write(
        folder / "steel.xomp",
        materialProperties={
            "opticalPropertiesUri": "tables/steel_optical.xompt",
            "surfaceRoughness": {
                "surfaceHeightRms": 2e-6,
                "surfaceCorrelationLength": 2e-5,
                "sources": "a guess",
            },
        },
    )
    steel = [[9.05e-7, 293, 2.95, 3.59]]
    write(folder / "tables" / "steel_optical.xompt", opticalProperties=steel)
    write(
        folder / "road.xomp",
        materialProperties={
            "electromagneticPropertiesUri": "tables/road_emp.xompt",
            "surfaceRoughness": {
                "surfaceHeightRms": 5e-4,
                "surfaceCorrelationLength": 5e-3,
                "sources": "",
            },
        },
    )
    road = [[3.893e-3, 293.0, 50.0, 1.0, 0.0, 4.0, 0.5]]
    write(folder / "tables" / "road_emp.xompt", electromagneticProperties=road)
    write(
        folder / "sign.xomp",
        materialProperties={
            "brdfUris": ["tables/sign_brdf.xompt"],
            "retroreflectivityData": {"coefficientOfRetroreflection": 70.0, "sources": "D4956"},
        },
    )
    write(folder / "tables" / "sign_brdf.xompt", **brdf_content(lambert_rows(0.2)))


def gltf() -> dict[str, Any]:
    """Plates side by side, one for each name, as a glTF in metres, y up."""
    half = 0.5 * SIDE
    corners = np.array([[0, -half, -half], [0, half, -half], [0, half, half], [0, -half, half]])
    y_up = corners[:, [0, 2, 1]] * np.array([1.0, 1.0, -1.0])
    faces = np.array([[0, 2, 1], [0, 3, 2]], "<u2")  # toward -x
    places = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], "<f4")
    blob = y_up.astype("<f4").tobytes() + faces.tobytes() + places.tobytes()
    views = [(0, 48), (48, 12), (60, 32)]
    data = base64.b64encode(blob).decode()
    attributes = {"POSITION": 0, "TEXCOORD_0": 2}
    return {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": list(range(len(NAMES)))}],
        "nodes": [
            {"name": f"Grp_{name}", "mesh": number, "translation": [10.0, 0.0, -place(number)]}
            for number, name in enumerate(NAMES)
        ],
        "meshes": [
            {"primitives": [{"attributes": attributes, "indices": 1, "material": number}]}
            for number in range(len(NAMES))
        ],
        "materials": [
            {"name": name, "pbrMetallicRoughness": {"metallicFactor": 0}} for name in NAMES
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"},
            {"bufferView": 2, "componentType": 5126, "count": 4, "type": "VEC2"},
        ],
        "bufferViews": [{"buffer": 0, "byteOffset": a, "byteLength": b} for a, b in views],
        "buffers": [
            {"byteLength": len(blob), "uri": f"data:application/octet-stream;base64,{data}"}
        ],
    }


def place(number: int) -> float:
    """Where the middle of a plate is along y."""
    return (number - 3) * 1.25 * SIDE


def azimuth(number: int) -> float:
    """Where the middle of a plate is, seen from the origin."""
    return math.atan2(place(number), 10.0)


def picture() -> bytes:
    """An assignment texture: red on the left, blue on the right, of 40 texels; 10 of them red."""
    texels = np.zeros((8, 40, 3), np.uint8)
    texels[:, :10, 0], texels[:, 10:, 2] = 255, 255
    stream = io.BytesIO()
    Image.fromarray(texels).save(stream, "PNG")
    return stream.getvalue()


def write_asset(folder: Path) -> Path:
    """Write an asset with its mesh, mapping, materials and tables."""
    folder.mkdir(parents=True, exist_ok=True)
    write_materials(folder / "materials")
    mapping = [
        ["Matt_Paint", "materials/paint.xomp", "10 percent"],
        ["Window", "./materials/glass.xomp", ""],
        ["Sheet_Metal", "materials/steel.xomp", ""],
        ["Road", "materials/road.xomp", ""],
        ["Sign", "materials/sign.xomp", ""],
        ["rgb:255;0;0", "materials/sign.xomp", ""],
        ["rgb:0;0;255", "materials/paint.xomp", ""],
    ]
    write(folder / "table.xomm", materialMapping=mapping)
    (folder / "plates.gltf").write_text(json.dumps(gltf()))
    (folder / "painted_xom.png").write_bytes(picture())
    return write(
        folder / "plates.xoma",
        materialMappingUri="table.xomm",
        materialTextureAssignment=[["Painted", "painted_xom.png"]],
        materialReplacement=[["Other_Name", "Sign"]],
        geometryProperties=[{"node": "Grp_Window", "thickness": WINDOW_THICKNESS}],
        lightDefinitions=[{"node": "Grp_Light_0", "luminousIntensity": 1.0}],
    )
