"""Worlds of MuJoCo: what rays hit is what MuJoCo's own rays hit, wherever the bodies are."""

import itertools
from pathlib import Path

import mujoco
import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.scene.linkage import Linkage
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.scene.worlds.mujoco_world import MujocoWorld
from sensor_models.scene.worlds.world import TESSELLATION
from tests.sensor_models.scene import world_files

GROUPS = np.array([1, 1, 1, 0, 0, 0], np.uint8)


def compiled(path: Path) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_path(str(path))
    return model, mujoco.MjData(model)


def placed_anywhere(model: mujoco.MjModel, data: mujoco.MjData, seed: int) -> None:
    """Random positions and velocities of all joints and mocap bodies."""
    draws = np.random.default_rng(seed)
    data.qpos[:] = model.qpos0 + draws.uniform(-1.0, 1.0, model.nq)
    data.qvel[:] = draws.uniform(-3.0, 3.0, model.nv)
    data.mocap_pos[:] += draws.uniform(-1.0, 1.0, data.mocap_pos.shape)
    data.mocap_quat[:] = draws.normal(size=data.mocap_quat.shape)
    mujoco.mj_normalizeQuat(model, data.qpos)
    mujoco.mj_forward(model, data)


def mujoco_rays(model, data, origin, directions, groups):
    count = len(directions)
    geoms, ranges = np.zeros(count, np.int32), np.zeros(count)
    more = (None,) if mujoco.mj_versionString() >= "3.5" else ()
    arguments = (model, data, origin, directions.ravel(), groups, 1, -1, geoms, ranges)
    mujoco.mj_multiRay(*arguments, *more, count, 1e3)
    return ranges, geoms


def directions_around(seed: int, count: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def largest_radius(model: mujoco.MjModel) -> float:
    round_ones = np.isin(model.geom_type, (2, 3, 4, 5))
    return float(model.geom_size[round_ones].max(initial=0.0))


@pytest.mark.parametrize("configuration", range(20))
def test_rays_meet_what_those_of_mujoco_meet(tmp_path: Path, configuration: int) -> None:
    """But for rays that graze an edge or a curve, which one of both passes by."""
    model, data = compiled(world_files.write_machine(tmp_path))
    with MujocoWorld(model, data, threads=1) as world:
        placed_anywhere(model, data, configuration)
        directions = directions_around(configuration, 4000)
        origin = np.array([0.1, -0.2, 2.2])
        ranges, geoms = mujoco_rays(model, data, origin, directions, GROUPS)
        hits = world.rays().trace(np.tile(origin, (len(directions), 1)), directions, 400.0)
        within = (ranges >= 0.0) & (ranges < 390.0)
        same = within & (hits.entity_id == geoms + 1)
        assert within.sum() > 1500
        assert same.sum() > 0.99 * within.sum()
        # a face inside of a curve by the error of its segments is met later, the more so the
        # flatter the ray meets it: cos is the cosine of the angle at which it does
        normals = np.where(np.isfinite(hits.normal), hits.normal, 0.0)
        cos = np.maximum(np.abs((normals * directions).sum(axis=1)), 0.01)
        curved = np.isin(model.geom_type[np.maximum(geoms, 0)], (2, 3, 4, 5))
        allowed = 1e-4 + np.where(curved, 1.5 * TESSELLATION * largest_radius(model), 0.0) / cos
        steep = same & (cos > 0.2)
        assert steep.sum() > 0.8 * same.sum()
        assert (np.abs(hits.t - ranges)[steep] <= allowed[steep]).all()


def test_bodies_have_the_names_of_the_file_and_shapes_its_order(tmp_path: Path) -> None:
    path = world_files.write_machine(tmp_path)
    model, _ = compiled(path)
    scene = load_scene(path)
    moving = [model.body(b).name for b in range(1, model.nbody) if model.body(b).name != "house"]
    assert [body.name for body in scene.bodies] == moving
    ids = [instance.entity_id for instance in scene.instances]
    assert ids == sorted(ids)
    seen = [g for g in range(model.ngeom) if model.geom_group[g] <= 2 and model.geom_rgba[g, 3] > 0]
    assert ids == [geom + 1 for geom in seen]
    named = {i.name for i in scene.instances}
    assert {model.geom(g).name for g in seen if model.geom(g).name} <= named


def test_states_are_those_of_mujoco(tmp_path: Path) -> None:
    model, data = compiled(world_files.write_machine(tmp_path))
    with MujocoWorld(model, data, threads=1) as world:
        placed_anywhere(model, data, 7)
        states = world.states()
        for body, state in zip(world.scene.bodies, states, strict=True):
            number = model.body(body.name).id
            velocity = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, number, velocity, 0)
            assert state[:3] == pytest.approx(data.xpos[number], abs=1e-12)
            assert state[7:10] == pytest.approx(velocity[3:], abs=1e-9)
            assert state[10:] == pytest.approx(velocity[:3], abs=1e-9)


def test_the_collision_shapes_are_taken_on_request(tmp_path: Path) -> None:
    path = world_files.write_machine(tmp_path)
    model, _ = compiled(path)
    scene = load_scene(path, geometry="collision")
    solid = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    assert [i.entity_id for i in scene.instances] == list(np.flatnonzero(solid) + 1)
    assert len(scene.instances) != len(load_scene(path).instances)


def test_a_file_is_the_scene_that_mujoco_has(tmp_path: Path) -> None:
    """Read by its name, or taken from the compiled model: the same triangles."""
    path = world_files.write_machine(tmp_path)
    model, data = compiled(path)
    scene = load_scene(path)
    with MujocoWorld(model, data, threads=1) as world:
        for one, other in itertools.zip_longest(scene.meshes, world.scene.meshes):
            assert np.array_equal(one.vertices, other.vertices)
            assert np.array_equal(one.faces, other.faces)


def test_a_urdf_shows_its_visual_shapes_and_keeps_its_fixed_links(tmp_path: Path) -> None:
    scene = load_scene(world_files.write_urdf(tmp_path))
    assert [body.name for body in scene.bodies] == ["base", "arm", "tip"]
    assert [body.parent for body in scene.bodies] == [-1, 0, 1]
    assert [joint.name for body in scene.bodies for joint in body.joints] == ["shoulder"]
    with RayScene(scene, 1) as rays:
        hits = rays.trace(
            [[0.0, 0.0, 9.0], [5.0, 0.0, 0.0]], [[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]], 20.0
        )
    # the tip, 0.3 m around (0, 0, 3.5), which hangs on a fixed joint; the base is 1 m wide
    assert hits.t == pytest.approx([5.2, 4.5], abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_bodies_on_joints_are_where_mujoco_has_them_and_move_as_there(
    tmp_path: Path, seed: int
) -> None:
    path = world_files.write_machine(tmp_path)
    model, data = compiled(path)
    scene = load_scene(path)
    placed_anywhere(model, data, seed)
    with MujocoWorld(model, data, threads=1) as world:
        truth = world.states()
    linkage = Linkage(scene)
    values, states = linkage.values_at_start(), np.full_like(truth, np.nan)
    for row, joint in zip(values, linkage.joints, strict=True):
        own = data.joint(joint.name)
        row[: len(own.qpos)] = own.qpos
        first = 4 if joint.kind == "ball" else 1
        row[first : first + len(own.qvel)] = own.qvel
    free = [number for number, body in enumerate(scene.bodies) if body.is_free]
    states[free] = truth[free]
    linkage.move(values, states)
    turned = np.sign((states[:, 3:7] * truth[:, 3:7]).sum(axis=1, keepdims=True))
    states[:, 3:7] *= turned  # q and -q are the same
    assert np.abs(states[:, :7] - truth[:, :7]).max() < 1e-9
    assert np.abs(states[:, 7:] - truth[:, 7:]).max() < 1e-9


def test_a_ball_without_a_direction_is_refused_by_name(tmp_path: Path) -> None:
    scene = load_scene(world_files.write_machine(tmp_path))
    linkage = Linkage(scene)
    values = linkage.values_at_start()
    values[[joint.name for joint in linkage.joints].index("neck"), :4] = 0.0
    with pytest.raises(ParameterError, match=r"neck.orientation = \[0.0, 0.0, 0.0, 0.0\]"):
        linkage.move(values, np.zeros((len(scene.bodies), 13)))


def test_what_moves_no_shape_is_not_asked_for(tmp_path: Path) -> None:
    """Old models have inertias without a place, and options that MuJoCo does not know any more."""
    text = """<mujoco>
  <option collision="predefined" gravity="0 0 -3"><flag contact="disable"/></option>
  <worldbody>
    <body name="cart" pos="1 2 3"><joint type="slide"/><inertial mass="10"/>
      <geom type="box" size="1 1 1"/></body>
  </worldbody>
</mujoco>"""
    path = tmp_path / "old.xml"
    path.write_text(text)
    scene = load_scene(path)
    assert scene.bodies[0].position == pytest.approx((1.0, 2.0, 3.0))
    assert scene.gravity == (0.0, 0.0, -3.0)
