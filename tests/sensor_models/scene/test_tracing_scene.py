"""The life of a ray scene: bad scenes, threads, forks, bodies, freeing."""

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_distance, hit_instance, is_hit
from sensor_models.kernels.tracing.packets import new_packet
from sensor_models.kernels.tracing.rays import claim, set_ray, trace_surfaces
from sensor_models.scene.errors import SceneError
from sensor_models.scene.model import Body, Instance, Medium, MediumVolume
from sensor_models.scene.tracing import RayScene
from sensor_models.threads.pool import processors
from tests import oracles_rays as twin

CUBE = twin.box((1, -1, -1), (2, 1, 1))
AHEAD = [[1.0, 0.1, 0.2]]
NO_TURN = (1.0, 0.0, 0.0, 0.0)


def moving_scene(count=1):
    bodies = tuple(Body(f"body {k}", (3.0 * k, 0.0, 0.0)) for k in range(count))
    instances = [Instance(0, np.eye(4), k, body=k) for k in range(count)]
    return twin.scene_of(CUBE, instances=instances, bodies=bodies)


def bent(**changes):
    """A mesh of one face, with changes that make it bad."""
    known = {"vertices": np.eye(3, dtype=np.float32), "faces": [[0, 1, 2]]}
    known.update({k: changes.pop(k) for k in list(changes) if k in known})
    return twin.mesh_of(**known, **changes)


@pytest.mark.parametrize(
    ("mesh", "reason"),
    [
        (bent(vertices=[[0, 0, 0], [1, 0, np.nan], [0, 1, 0]]), "vertex that is not finite"),
        (bent(faces=[[0, 1, 3]]), "vertex index 3 of 3"),
        (bent(face_material=np.array([1], np.int32)), "material 1 of 1"),
        (bent(face_material=np.array([-1], np.int32)), "material -1 of 1"),
        (bent(face_material=np.zeros(2, np.int32)), r"shape \(2,\), not 1"),
        (bent(face_label=np.zeros(3, np.int32)), r"shape \(3,\), not 1"),
        (bent(vertex_normals=np.zeros((2, 3), np.float32)), r"shape \(2, 3\), not 3 x 3"),
    ],
)
def test_a_bad_mesh_is_refused_with_its_place_and_reason(mesh, reason):
    with pytest.raises(SceneError, match=f"test: mesh 1: has .*{reason}"):
        RayScene(twin.scene_of(CUBE, mesh))


@pytest.mark.parametrize(
    ("instance", "reason"),
    [
        (Instance(7, np.eye(4), 1, "gate"), "gate: mesh 7 does not exist"),
        (Instance(0, np.eye(4), 1, "gate", body=0), "gate: body 0 does not exist"),
        (Instance(0, np.diag([1, 1, 0, 1]), 1, "gate"), "flattens the mesh"),
        (Instance(0, np.full((4, 4), np.nan), 1, "gate"), "4 x 4 matrix of finite numbers"),
        (Instance(0, np.eye(3), 5), "entity id 5: its transform is no 4 x 4 matrix"),
        (Instance(0, 2 * np.eye(4), 1), "last row of its transform"),
    ],
)
def test_a_bad_instance_is_refused_with_its_name_and_reason(instance, reason):
    with pytest.raises(SceneError, match=reason):
        RayScene(twin.scene_of(CUBE, instances=[instance]))


def test_arrays_of_other_types_are_taken():
    mesh = twin.mesh_of(CUBE.vertices, CUBE.faces)
    loose = type(mesh)(
        np.asfortranarray(mesh.vertices.astype(float)),
        mesh.faces.astype(np.int64)[::1],
        mesh.face_material.astype(np.int64),
    )
    with RayScene(twin.scene_of(loose)) as rays:
        assert rays.trace((0, 0, 0), AHEAD).t[0] == 1.0


@pytest.mark.parametrize(
    ("position", "orientation", "name"),
    [
        ((np.nan, 0, 0), NO_TURN, r"body 0\.position"),
        ((0, np.inf, 0), NO_TURN, r"body 0\.position"),
        ((0, 0, 0), (0, 0, 0, 0), r"body 0\.orientation"),
        ((0, 0, 0), (np.nan, 0, 0, 0), r"body 0\.orientation"),
    ],
)
def test_a_bad_pose_is_refused_and_changes_nothing(position, orientation, name):
    with RayScene(moving_scene()) as rays:
        with pytest.raises(ParameterError, match=name):
            rays.move(0, position, orientation)
        with pytest.raises(ParameterError, match=name):
            rays.move_all([[*position, *orientation]])
        rays.commit()
        assert rays.trace((0, 0, 0), AHEAD).t[0] == 1.0


def test_bodies_that_do_not_exist_are_refused():
    with RayScene(moving_scene()) as rays:
        for body in (-1, 1):
            with pytest.raises(ParameterError, match=f"body = {body} is out of range"):
                rays.move(body, (0, 0, 0), NO_TURN)
        with pytest.raises(ParameterError, match="do not fit 1 bodies"):
            rays.move_all(np.zeros((2, 7)))


def test_an_orientation_of_any_length_turns_by_its_direction():
    with RayScene(moving_scene()) as rays:
        rays.move(0, (0, 0, 0), 17.0 * twin.turned_quaternion((0, 0, 1), np.pi))
        rays.commit()
        assert rays.trace((0, 0, 0), [[-1.0, 0.1, 0.2]]).t[0] == pytest.approx(1.0, abs=1e-6)


def test_a_closed_scene_says_so():
    rays = RayScene(moving_scene())
    rays.close()
    rays.close()
    for use in (
        lambda: rays.trace((0, 0, 0), AHEAD),
        lambda: rays.trace_all((0, 0, 0), AHEAD),
        rays.commit,
    ):
        with pytest.raises(ValueError, match="the ray scene of test is closed"):
            use()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_scenes_that_are_closed_or_forgotten_leave_nothing_behind():
    random = np.random.default_rng(1)
    scene = twin.scene_of(twin.mesh_of_corners(twin.random_triangles(random, 30_000)))

    def use(close):
        rays = RayScene(scene, threads=2)
        rays.trace((0, 0, 0), AHEAD)
        if close:
            rays.close()

    def resident():
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    for close in (True, False) * 3:
        use(close)
    before, threads = resident(), threading.active_count()
    for close in (True, False) * 10:
        use(close)
    # One scene of 30,000 triangles takes 2.5 MB.
    assert resident() - before < 5e6
    assert threading.active_count() <= threads + 2


def test_several_threads_trace_while_bodies_move():
    rays = RayScene(moving_scene(20), threads=2)
    directions = np.tile(AHEAD, (3000, 1))
    stop, seen, failures = threading.Event(), set(), []

    def look():
        try:
            while not stop.is_set():
                distances = np.unique(rays.trace((0, 0, 0), directions).t)
                assert len(distances) == 1  # never half before a commit and half after it
                seen.add(float(distances[0]))
        except BaseException as failure:
            failures.append(failure)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    poses = np.zeros((20, 7))
    poses[:, 3] = 1.0
    step = 0
    while step < 200 or (len(seen) < 2 and not failures):  # however few turns the others get
        poses[:, 0] = step % 4
        rays.move_all(poses)
        rays.commit()
        step += 1
    stop.set()
    for looker in lookers:
        looker.join()
    rays.close()
    assert not failures
    assert seen <= {1.0, 2.0, 3.0, 4.0}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_traces_and_moves():
    with RayScene(moving_scene(), threads=2) as rays:
        rays.trace((0, 0, 0), AHEAD)
        child = os.fork()
        if child == 0:
            good = rays.trace((0, 0, 0), AHEAD).t[0] == 1.0
            rays.move(0, (1, 0, 0), NO_TURN)
            rays.commit()
            good &= rays.trace((0, 0, 0), AHEAD).t[0] == 2.0
            os._exit(0 if good else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0


#: Builds scenes for one thread, after one for two if that is wanted, and does nothing: how long
#: the processors were at it. A loaded machine gives a thread that looks for work a tenth of that.
IDLE = """
import sys, time
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.threads.pool import processors
yard = load_scene("yard")
if sys.argv[1] == "two":
    RayScene(yard, threads=2).close()
scenes = [RayScene(yard, threads=1) for _ in range(3)]
time.sleep(0.2)
before = time.process_time()
time.sleep(2.0)
print(time.process_time() - before)
"""


@pytest.mark.skipif(processors() < 2, reason="TBB has a thread for each processor")
@pytest.mark.parametrize("before", ["none", "two"])
def test_nothing_is_at_work_when_scenes_for_one_thread_are_built(before):
    ended = subprocess.run(
        [sys.executable, "-c", IDLE, before], check=True, capture_output=True, text=True
    )
    assert float(ended.stdout) < 0.05


@njit(nogil=True)
def _distances(view, claims, directions, t, instance):
    """A kernel as lidars and cameras have them: rays are made, traced and read in one loop."""
    packet = new_packet()
    chunk = claim(claims)
    while chunk * WIDTH < len(directions):
        for lane in range(WIDTH):
            ray = min(chunk * WIDTH + lane, len(directions) - 1)
            direction = directions[ray, 0], directions[ray, 1], directions[ray, 2]
            set_ray(view, packet, lane, (0.0, 0.0, 0.0), direction, 1e-6, 100.0, 0.0)
        trace_surfaces(view, packet, False)
        for lane in range(WIDTH):
            ray = chunk * WIDTH + lane
            if ray < len(directions) and is_hit(packet, lane):
                t[ray] = hit_distance(packet, lane)
                instance[ray] = hit_instance(view, packet, lane)
        chunk = claim(claims)


def run_kernel(scene, directions):
    t = np.full(len(directions), np.inf, np.float32)
    instance = np.full(len(directions), -99, np.int32)
    with RayScene(scene, threads=2) as rays:
        rays.run(_distances, directions, t, instance)
    return t, instance


def test_a_kernel_traces_by_itself_what_a_trace_does():
    random = np.random.default_rng(3)
    scene = twin.scene_of(twin.mesh_of_corners(twin.random_triangles(random, 500)))
    directions = twin.unit_vectors(random, 1000)
    t, instance = run_kernel(scene, directions)
    with RayScene(scene) as rays:
        hits = rays.trace((0, 0, 0), directions, 100.0)
    np.testing.assert_array_equal(t, hits.t)
    np.testing.assert_array_equal(instance >= 0, hits.instance >= 0)


def test_boundaries_of_volumes_stop_no_ray():
    volumes = (MediumVolume(0, Instance(0, np.eye(4), 50)),)
    far = twin.box((4, -1, -1), (5, 1, 1))
    instances = [Instance(1, np.eye(4), 2)]
    scene = twin.scene_of(CUBE, far, instances=instances, volumes=volumes, media=(Medium(),))
    t, instance = run_kernel(scene, np.array(AHEAD * 20))
    assert (t == 4.0).all()
    assert (instance == 0).all()


def test_what_a_kernel_raises_in_any_thread_reaches_the_caller():
    def fail(view, claims):
        if claim(claims) == 1:
            raise RuntimeError("no light")

    with RayScene(moving_scene(), threads=2) as rays:
        with pytest.raises(RuntimeError, match="no light"):
            rays.run(lambda view, claims: [fail(view, claims) for _ in range(3)])
        assert rays.trace((0, 0, 0), AHEAD).t[0] == 1.0


def traced_in_the_background(rays, directions):
    t, instance = np.full(len(directions), np.inf, np.float32), np.zeros(len(directions), np.int32)
    return rays.begin(_distances, directions, t, instance), t


def test_who_begins_a_kernel_is_free_until_he_waits_for_it():
    go, at_work = threading.Event(), threading.Event()

    def kernel(view, claims, done):
        at_work.set()
        while (chunk := claims[0]) < len(done):
            claims[0] += 1
            done[chunk] = threading.get_ident()
            go.wait(10.0)

    with RayScene(moving_scene(), threads=2) as rays:
        done = np.zeros(3, np.int64)
        work = rays.begin(kernel, done)
        assert at_work.wait(10.0)
        assert done.tolist() != [threading.get_ident()] * 3
        assert (done == 0).any(), "nobody waits for it yet"
        go.set()
        work.end()
        assert (done != 0).all()
        work.end()  # once more is nothing


def test_a_scene_that_is_closed_waits_for_who_is_at_work_in_it():
    directions = np.array(AHEAD * 50_000)
    with RayScene(moving_scene(), threads=2) as rays:
        work, t = traced_in_the_background(rays, directions)
        rays.close()
        said = ""
        try:
            work.end()
        except ValueError as error:  # nobody had begun
            said = str(error)
        assert "is closed" in said or (t == 1.0).all()


def test_work_that_is_dropped_is_at_rest():
    with RayScene(moving_scene(), threads=2) as rays:
        work, t = traced_in_the_background(rays, np.array(AHEAD * 50_000))
        work.drop()
        before = t.copy()
        time.sleep(0.05)
        np.testing.assert_array_equal(t, before)
        work.end()  # nothing is left to do


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_what_a_forked_child_waits_for_is_made_there():
    with RayScene(moving_scene(), threads=2) as rays:
        run_kernel(moving_scene(), np.array(AHEAD))  # compiled
        work, t = traced_in_the_background(rays, np.array(AHEAD * 50_000))
        child = os.fork()
        if child == 0:
            work.end()
            os._exit(0 if (t == 1.0).all() else 1)
        work.end()
        assert (t == 1.0).all()
        _, status = os.waitpid(child, 0)
        assert status == 0


@pytest.mark.parametrize("missing", [0.0, 0.8, 0.97])
@pytest.mark.parametrize("coherent", [True, False])
def test_a_bare_trace_sees_what_a_trace_sees(coherent, missing):
    """Also where few rays of a packet, or of half of one, are there at all."""
    random = np.random.default_rng(4)
    scene = twin.scene_of(
        twin.mesh_of_corners(twin.random_triangles(random, 2000)),
        CUBE,
        instances=[Instance(0, np.eye(4), 1), Instance(1, np.eye(4), 2, body=0)],
        bodies=(Body("on"),),
    )
    grid = twin.unit_vectors(random, 63 * 35).reshape(63, 35, 3)
    grid[random.uniform(size=(63, 35)) < missing] = np.nan
    with RayScene(scene, threads=2) as rays:
        bare = rays.trace_bare((0, 0, 0), grid, 50.0, coherent=coherent)
        full = rays.trace((0, 0, 0), grid, 50.0)
    for name in bare._fields:
        np.testing.assert_array_equal(getattr(bare, name), getattr(full, name))
    assert set(np.unique(bare.instance)) == {-1, 0, 1}


def test_threads_out_of_range_are_refused():
    with pytest.raises(ParameterError, match="threads = -1"):
        RayScene(moving_scene(), threads=-1)
