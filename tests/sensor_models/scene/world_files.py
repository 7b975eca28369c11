"""Worlds in formats of others that tests write, read and break."""

import json
import struct
from pathlib import Path

import numpy as np

#: A machine with all that MuJoCo can place, and a house that stands still.
MACHINE = """<mujoco model="machine">
  <compiler angle="radian" meshdir="parts"/>
  <option gravity="0 0 -9.5"/>
  <default>
    <default class="hull"><geom contype="0" conaffinity="0" group="2"/></default>
    <default class="solid"><geom group="3" rgba="0 1 0 0.3"/></default>
  </default>
  <asset>
    <mesh name="wedge" file="wedge.stl" scale="0.5 0.7 0.4"/>
    <mesh file="prism.obj"/>
    <hfield name="hills" nrow="7" ncol="9" size="4 3 0.8 0.4"
      elevation="{heights}"/>
    <texture name="planks" type="2d" file="planks.png"/>
    <material name="oak" texture="planks"/>
    <material name="brushed" rgba="0.6 0.6 0.62 1" metallic="0.9" roughness="0.3"/>
  </asset>
  <worldbody>
    <light pos="0 0 5"/>
    <geom name="ground" type="plane" size="0 0 1" pos="0 0 -2" material="oak"/>
    <geom name="hill" type="hfield" hfield="hills" pos="5 4 -2"/>
    <body name="house" pos="-6 1 0" euler="0 0 0.4">
      <geom name="wall" type="box" size="0.2 3 2" rgba="0.8 0.3 0.2 1"/>
      <geom type="ellipsoid" size="0.6 0.9 0.4" pos="2 0 1"/>
      <site name="door"/>
    </body>
    <body name="cart" pos="1 -4 0.5" euler="0.1 0.2 0.3">
      <freejoint name="cart_root"/>
      <geom class="hull" name="chassis" type="box" size="0.8 0.5 0.2" material="brushed"/>
      <geom class="solid" type="box" size="0.9 0.6 0.3"/>
      <body name="mast" pos="0 0 0.3" euler="0 0.2 0">
        <joint name="lift" type="slide" axis="0 0.1 1" ref="0.2"/>
        <joint name="swing" type="hinge" axis="0.3 1 0.2" pos="0.05 0.02 0.1"/>
        <geom class="hull" type="capsule" fromto="0 0 0 0 0 0.7" size="0.1" rgba="0.1 0.2 0.9 1"/>
        <body name="head" pos="0 0 0.8">
          <joint name="neck" type="ball" pos="0.02 0 -0.05"/>
          <geom class="hull" type="sphere" size="0.25" rgba="0.7 0.85 0.9 0.2"/>
          <body name="horn" pos="0.3 0 0" euler="0 1.2 0">
            <geom class="hull" type="cylinder" size="0.06 0.2"/>
            <geom class="hull" type="mesh" mesh="prism" pos="0 0 0.4"/>
            <geom type="sphere" size="0.5" rgba="1 0 0 0"/>
          </body>
        </body>
      </body>
    </body>
    <body name="gate" pos="2 3 0">
      <joint name="hinge" axis="0 0 1" pos="-1 0 0" ref="0.3"/>
      <geom type="box" size="1 0.05 1"/>
    </body>
    <body name="target" mocap="true" pos="-2 -3 1">
      <geom type="mesh" mesh="wedge" rgba="0.9 0.9 0.1 1"/>
    </body>
  </worldbody>
  <actuator><motor joint="swing"/></actuator>
</mujoco>
"""

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <material name="steel grey"><color rgba="0.5 0.5 0.55 1"/></material>
  <link name="base">
    <visual><geometry><box size="1 1 1"/></geometry><material name="steel grey"/></visual>
    <collision><geometry><sphere radius="0.9"/></geometry></collision>
  </link>
  <link name="arm">
    <visual><origin xyz="0 0 1"/><geometry><cylinder radius="0.1" length="2"/></geometry></visual>
    <visual><geometry><mesh filename="package://robot/meshes/prism.obj" scale="0.1 0.1 0.1"/>
    </geometry></visual>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/><origin xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <link name="tip">
    <visual><geometry><mesh filename="package://robot/meshes/tip.dae"/></geometry></visual>
    <collision><geometry><sphere radius="0.3"/></geometry></collision>
  </link>
  <joint name="mount" type="fixed">
    <parent link="arm"/><child link="tip"/><origin xyz="0 0 2.5"/>
  </joint>
</robot>
"""

_WEDGE = np.array([[0, 0, 0], [2, 0, 0], [0, 1, 0], [0.2, 0.1, 1.5]], float)
_SIDES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3))


def write_machine(folder: Path) -> Path:
    """The machine with its parts."""
    from PIL import Image

    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    (parts / "wedge.stl").write_bytes(_stl())
    (parts / "prism.obj").write_text(_prism())
    Image.new("RGB", (4, 4), (130, 90, 40)).save(folder / "planks.png")
    draws = np.random.default_rng(3).uniform(0.0, 1.0, 63)
    path = folder / "machine.xml"
    path.write_text(MACHINE.format(heights=" ".join(f"{height:.3f}" for height in draws)))
    return path


def write_urdf(folder: Path) -> Path:
    """A robot as a ROS package; one of its meshes is Collada, which nobody reads here."""
    for name in ("urdf", "meshes"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "package.xml").write_text("<package/>")
    (folder / "meshes" / "prism.obj").write_text(_prism())
    path = folder / "urdf" / "arm.urdf"
    path.write_text(URDF)
    return path


def _stl() -> bytes:
    records = b"".join(
        struct.pack("<12fH", 0, 0, 0, *_WEDGE[list(side)].ravel(), 0) for side in _SIDES
    )
    return b"\0" * 80 + struct.pack("<I", len(_SIDES)) + records


def _prism() -> str:
    corners = [(x, y, z) for z in (-0.2, 0.2) for x, y in ((0.3, 0), (-0.1, 0.2), (-0.1, -0.2))]
    faces = ((1, 3, 2), (4, 5, 6), (1, 2, 5), (1, 5, 4), (2, 3, 6), (2, 6, 5), (3, 1, 4), (3, 4, 6))
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in corners)
    return text + "".join(f"f {a} {b} {c}\n" for a, b, c in faces)


def write_gltf(folder: Path) -> Path:
    """Boxes on nodes that turn, scale, mirror and shear, two materials on one of them, as GLB."""
    folder.mkdir(parents=True, exist_ok=True)
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], "<f4")
    sides = "013 032 457 476 046 062 157 173 015 054 237 276"
    faces = np.array([[int(c) for c in side] for side in sides.split()], "<u2")
    strip = np.array([0, 1, 2, 3], "<u4")
    blob = corners.tobytes() + faces.tobytes() + strip.tobytes()
    views = [(0, 96), (96, 72), (168, 16)]
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 3]}],
        "nodes": [
            {"name": "house", "mesh": 0, "translation": [1, 2, 3], "children": [1, 2]},
            {"name": "turned", "mesh": 1, "rotation": [0.6, 0, 0, 0.8], "scale": [2, 1, 0.5]},
            {"name": "mirrored", "mesh": 1, "matrix": [-1, 0, 0, 0, 0, 1, 0, 0, *MIRRORED]},
            {"name": "group", "scale": [1, 3, 1], "children": [4]},
            {"name": "sheared", "mesh": 1, "rotation": [0, 0, 0.6, 0.8]},
        ],
        "meshes": [
            {
                "name": "walls",
                "primitives": [
                    {"attributes": {"POSITION": 0}, "indices": 1, "material": 0},
                    {"attributes": {"POSITION": 0}, "indices": 2, "material": 1, "mode": 5},
                ],
            },
            {"name": "box", "primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]},
        ],
        "materials": [
            {"name": "red", "pbrMetallicRoughness": {"baseColorFactor": [0.8, 0, 0, 1]}},
            {
                "name": "clear",
                "pbrMetallicRoughness": {"metallicFactor": 0},
                "extensions": {
                    "KHR_materials_transmission": {"transmissionFactor": 0.9},
                    "KHR_materials_ior": {"ior": 1.37},
                },
            },
        ],
        "extensionsUsed": ["KHR_materials_transmission", "KHR_materials_ior"],
        "cameras": [{"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR"},
            {"bufferView": 2, "componentType": 5125, "count": 4, "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteOffset": a, "byteLength": b} for a, b in views],
        "buffers": [{"byteLength": len(blob)}],
    }
    tree["accessors"][0] |= {"min": [0, 0, 0], "max": [1, 2, 3]}
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    total = 28 + len(text) + len(blob)
    head = struct.pack("<4sIII4s", b"glTF", 2, total, len(text), b"JSON")
    path = folder / "boxes.glb"
    path.write_bytes(head + text + struct.pack("<I4s", len(blob), b"BIN\0") + blob)
    return path


#: The rest of a matrix.
MIRRORED = (0, 0, 1, 0, 5, 0, 0, 1)


#: What a robot of the yard is made of: an arch of seven corners with a dent, and a cap.
USD_PART = """#usda 1.0
(
    defaultPrim = "Arch"
    metersPerUnit = 0.01
    upAxis = "Y"
)
def Xform "Arch"
{
    def Mesh "arch" (prepend apiSchemas = ["MaterialBindingAPI"])
    {
        uniform token subdivisionScheme = "none"
        int[] faceVertexCounts = [8, 8, 4, 4, 3]
        int[] faceVertexIndices = [
            7, 6, 5, 4, 3, 2, 1, 0,  8, 9, 10, 11, 12, 13, 14, 15,
            0, 1, 9, 8,  1, 2, 10, 9,  16, 17, 18]
        int[] holeIndices = [4]
        point3f[] points = [
            (0, 0, 0), (300, 0, 0), (300, 200, 0), (200, 200, 0),
            (200, 50, 0), (100, 50, 0), (100, 200, 0), (0, 200, 0),
            (0, 0, 40), (300, 0, 40), (300, 200, 40), (200, 200, 40),
            (200, 50, 40), (100, 50, 40), (100, 200, 40), (0, 200, 40),
            (0, 300, 0), (100, 300, 0), (0, 400, 0)]
        rel material:binding = </Arch/Looks/oak>
        def GeomSubset "back" (prepend apiSchemas = ["MaterialBindingAPI"])
        {
            uniform token elementType = "face"
            uniform token familyName = "materialBind"
            int[] indices = [1]
            rel material:binding = </Arch/Looks/brushed>
        }
    }
    def Scope "Looks"
    {
        def Material "oak"
        {
            token outputs:surface.connect = </Arch/Looks/oak/surface.outputs:surface>
            def Shader "surface"
            {
                uniform token info:id = "UsdPreviewSurface"
                color3f inputs:diffuseColor.connect = </Arch/Looks/oak/planks.outputs:rgb>
                float inputs:roughness = 0.7
                token outputs:surface
            }
            def Shader "planks"
            {
                uniform token info:id = "UsdUVTexture"
                asset inputs:file = @planks.png@
                float3 outputs:rgb
            }
        }
        def Material "brushed"
        {
            token outputs:surface.connect = </Arch/Looks/brushed/surface.outputs:surface>
            def Shader "surface"
            {
                uniform token info:id = "UsdPreviewSurface"
                color3f inputs:diffuseColor = (0.2, 0.2, 0.25)
                float inputs:metallic = 0.9
                token outputs:surface
            }
        }
    }
}
"""

USD = """#usda 1.0
(
    defaultPrim = "Yard"
    metersPerUnit = 0.01
    upAxis = "Y"
    subLayers = [@more.usda@]
)
def PhysicsScene "physics"
{
    vector3f physics:gravityDirection = (0, -1, 0)
    float physics:gravityMagnitude = 950
}
def Xform "Yard" (prepend variantSets = "season"
    variants = { string season = "summer" })
{
    float3 xformOp:rotateXYZ = (5, 40, -3)
    double3 xformOp:translate = (100, 0, -250)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ"]
    def "turned" (prepend references = @part.usda@)
    {
        double3 xformOp:translate = (0, 0, 500)
        float3 xformOp:scale = (1, 2, 0.5)
        float3 xformOp:rotateZXY = (10, 20, 30)
        uniform token[] xformOpOrder = [
            "xformOp:translate", "xformOp:rotateZXY", "xformOp:scale"]
    }
    def "flipped" (instanceable = true
        prepend references = @part.usda@)
    {
        float3 xformOp:scale = (-1, 1, 1)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    }
    def "moving" (instanceable = true
        prepend payload = @part.usda@)
    {
        double3 xformOp:translate.timeSamples = {
            0: (-400, 0, 0),
            24: (-800, 0, 0),
        }
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def Mesh "left" (prepend apiSchemas = ["SemanticsLabelsAPI:class"])
    {
        token[] semantics:labels:class = ["kerb"]
        uniform token orientation = "leftHanded"
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0, 1, 2, 3]
        point3f[] points = [(-900, 0, 0), (-900, 0, 100), (-900, 100, 100), (-900, 100, 0)]
        color3f[] primvars:displayColor = [(1, 0, 0)]
        matrix4d xformOp:transform = ((1, 0.2, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 9, 0, 1))
        uniform token[] xformOpOrder = ["xformOp:transform"]
    }
    def PointInstancer "trees"
    {
        rel prototypes = [</Yard/trees/pole>, </Yard/trees/group>]
        int[] protoIndices = [0, 1, 0, 0]
        int64[] ids = [5, 6, 7, 8]
        int64[] invisibleIds = [7]
        point3f[] positions = [(0, 0, -400), (200, 0, -500), (0, 0, 0), (400, 0, -400)]
        quath[] orientations = [
            (1, 0, 0, 0), (0.5, 0.5, 0.5, -0.5), (1, 0, 0, 0), (0.5, 0.5, -0.5, 0.5)]
        float3[] scales = [(1, 1, 1), (1, 2, 1), (1, 1, 1), (2, 2, 2)]
        def "pole" (prepend references = @part.usda@)
        {
            float3 xformOp:scale = (0.1, 1, 0.1)
            uniform token[] xformOpOrder = ["xformOp:scale"]
        }
        def Xform "group"
        {
            def PointInstancer "inner"
            {
                rel prototypes = </Yard/trees/group/inner/box>
                int[] protoIndices = [0, 0]
                point3f[] positions = [(0, 50, 0), (50, 0, 0)]
                def Cube "box"
                {
                    double size = 20
                }
            }
        }
    }
    def Xform "crate" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
    {
        double3 xformOp:translate = (0, 300, 0)
        float3 xformOp:rotateXYZ = (0, 30, 20)
        float3 xformOp:scale = (2, 2, 2)
        uniform token[] xformOpOrder = [
            "xformOp:translate", "xformOp:rotateXYZ", "xformOp:scale"]
        def Cube "hull" (prepend apiSchemas = ["PhysicsCollisionAPI"])
        {
            double size = 50
        }
        def Cylinder "axle"
        {
            double height = 80
            double radius = 5
            token axis = "X"
        }
    }
    def Sphere "hidden"
    {
        token visibility = "invisible"
    }
    def Sphere "stand_in"
    {
        uniform token purpose = "proxy"
    }
    def DistantLight "sun"
    {
    }
    def Camera "view"
    {
    }
    def BasisCurves "grass"
    {
    }
    variantSet "season" = {
        "summer" {
            def Cone "tent"
            {
                double radius = 60
                double height = 100
                token axis = "Y"
                double3 xformOp:translate = (500, 50, 0)
                uniform token[] xformOpOrder = ["xformOp:translate"]
            }
        }
        "winter" {
            def Sphere "snowman"
            {
            }
        }
    }
}
"""

USD_MORE = """#usda 1.0
(
    metersPerUnit = 0.01
    upAxis = "Y"
)
over "Yard"
{
    def Capsule "post"
    {
        double radius = 10
        double height = 100
        token axis = "Y"
    }
    def Plane "ground"
    {
        double width = 3000
        double length = 2000
        token axis = "Y"
        double3 xformOp:translate = (0, -1, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}
"""


def write_usd(folder: Path) -> Path:
    """A yard in layers, with instances of a part, and what nobody sees."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part.usda").write_text(USD_PART)
    (folder / "more.usda").write_text(USD_MORE)
    Image.new("RGB", (4, 4), (130, 90, 40)).save(folder / "planks.png")
    path = folder / "yard.usda"
    path.write_text(USD)
    return path


def write_usdc(folder: Path) -> Path:
    """The yard as one binary layer, beside its picture."""
    from pxr import Usd, UsdUtils

    path = folder / "yard.usdc"
    source = write_usd(folder / "source")
    layer = Usd.Stage.Open(str(source)).Flatten()
    UsdUtils.ModifyAssetPaths(layer, lambda name: Path(name).name)
    layer.Export(str(path))
    _move_away(folder, "planks.png")
    return path


def write_usdz(folder: Path) -> Path:
    """The yard as a package."""
    from pxr import Sdf, UsdUtils

    path = folder / "yard.usdz"
    source = write_usd(folder / "source")
    UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(source)), str(path))
    _move_away(folder)
    return path


def write_map(folder: Path) -> Path:
    """A manifest with terrain from a GeoTIFF in tiles, with a hole."""
    import rasterio
    from rasterio.transform import Affine

    folder.mkdir(parents=True, exist_ok=True)
    heights = np.random.default_rng(4).uniform(0.0, 9.0, (40, 50)).astype(np.float32)
    heights[3, 4] = -1.0
    known = {"driver": "GTiff", "height": 40, "width": 50, "count": 1, "dtype": "float32"}
    tiles = {"tiled": True, "blockxsize": 16, "blockysize": 16, "compress": "deflate"}
    place = {"crs": "EPSG:32633", "transform": Affine(2.0, 0.0, 5e5, 0.0, -2.0, 5e6), "nodata": -1}
    with rasterio.open(folder / "map.tif", "w", **known, **tiles, **place) as file:
        file.write(heights, 1)
    path = folder / "scene.toml"
    path.write_text(
        'format = 1\nname = "map"\n[meshes.a]\nmaterial = "soil"\n'
        'heightmap = { image = "map.tif" }\n[[instances]]\nmesh = "a"\n'
    )
    return path


def _move_away(folder: Path, *kept: str) -> None:
    """Leave only what a test damages: some files of the sources, beside the world."""
    import shutil

    for name in kept:
        shutil.copy(folder / "source" / name, folder / name)
    shutil.rmtree(folder / "source")
