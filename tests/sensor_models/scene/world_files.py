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
