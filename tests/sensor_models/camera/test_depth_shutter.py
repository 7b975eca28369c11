"""Rolling shutter: when frames are complete, where their rows are taken from, and what they see."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.camera import DepthCamera, DepthCameraParameters, Rows, ShutterParameters
from sensor_models.core.clock import SampleClock
from sensor_models.core.quantities import ParameterError
from sensor_models.core.sensor import Held
from sensor_models.core.spec import Groups
from sensor_models.kernels.tracing.sequence_lock import NOTHING
from sensor_models.scene.history import History
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin

ROWS = 9
READOUT = 0.02
START = 3.0
SPEED = np.array([2.0, -1.0, 0.5])
TURN = 1.5  # rad/s about z


def still(time=0.0):
    body = np.zeros(13)
    body[:3], body[3:7] = (1.0, 2.0, 3.0), (0.8, 0.0, 0.6, 0.0)
    return body


def moving(time):
    """Straight on at constant speed, turning at a constant rate: both are interpolated exactly."""
    body = np.zeros(13)
    body[:3], body[7:10], body[12] = SPEED * time, SPEED, TURN
    body[3], body[6] = math.cos(TURN * time / 2.0), math.sin(TURN * time / 2.0)
    return body


class NoBodies:
    """As much of a scene as a schedule looks at, with no bodies in it."""

    number, record = 1, NOTHING
    scene = twin.scene_of()

    def history(self, _since):
        return History.nothing()


NOWHERE = Held(Groups({}), NoBodies())


def shutter(rate=0.0, readout=READOUT, rows=ROWS, start=START):
    return Rows(SampleClock(start, rate), readout, rows)


def take_all(taking):
    """All frames that are complete: index, stamp, and a pose of the body, or one a row."""

    def take(frame):
        poses = taking.states_of(frame)[:, :7]
        return frame.number, frame.time, poses if len(poses) > 1 else poses[0]

    return taking.results(NOWHERE, NOWHERE, take)


def run(taking, instants, motion=moving):
    """Frames with the instant at which each was complete."""
    found = []
    for instant in instants:
        taking.know(instant, motion(instant))
        found += [(instant, *frame) for frame in take_all(taking)]
    return found


def assert_poses(poses, instants):
    # Roundings of numbers of about 10, those of the cut instants included.
    expected = np.array([moving(instant)[:7] for instant in instants])
    np.testing.assert_allclose(poses, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("step", [0.0007, 0.004, 0.02, 0.05, 0.31])
def test_each_row_has_the_pose_of_its_own_instant(step):
    frames = run(shutter(rate=10.0), START + step * np.arange(math.ceil(0.62 / step) + 1))
    assert [index for _, index, _, _ in frames] == list(range(len(frames)))
    assert len(frames) >= 6
    for _, index, stamp, poses in frames:
        assert stamp == START + index / 10.0
        assert_poses(poses, stamp + np.linspace(0.0, READOUT, ROWS))


@settings(deadline=None, derandomize=True)
@given(
    cuts=st.lists(st.floats(0.0, 0.5), max_size=30),
    readout=st.floats(1e-4, 0.1),
    rows=st.integers(1, 12),
)
def test_rows_do_not_depend_on_how_time_is_cut(cuts, readout, rows):
    # Instants that differ by less are one to a clock, which takes the state of either for it.
    instants = sorted({START, START + 0.5, *(START + round(cut, 6) for cut in cuts)})
    frames = run(shutter(10.0, readout, rows), instants)
    complete = math.floor((0.5 - readout * (rows > 1)) * 10.0 + 1e-6) + 1
    assert len(frames) == complete
    for _, index, stamp, poses in frames:
        assert stamp == START + index / 10.0
        delays = np.linspace(0.0, readout, rows) if rows > 1 else np.zeros(1)
        expected = np.array([moving(stamp + delay)[:7] for delay in delays])
        # A millionth of a step may pass for nothing, at 2 m/s.
        np.testing.assert_allclose(poses.reshape(-1, 7), expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize(("step", "ends"), [(0.004, 0.02), (0.005, 0.02), (0.008, 0.024)])
def test_a_frame_is_complete_with_the_first_state_at_or_after_its_last_row(step, ends):
    # Instants that are added up miss the end by roundings, which count as nothing.
    instants = list(itertools.accumulate([step] * 10, initial=START))
    (complete, _, stamp, _), *_ = run(shutter(rate=5.0), instants)
    assert stamp == START
    assert complete == pytest.approx(START + ends, abs=1e-12)


def test_a_frame_whose_last_row_is_not_known_is_not_there():
    taking = shutter(rate=10.0)
    assert not run(taking, [START, START + 0.5 * READOUT, START + 0.99 * READOUT])
    assert len(run(taking, [START + READOUT])) == 1


def test_all_rows_of_a_camera_that_stands_have_the_very_same_pose():
    for _, _, _, poses in run(shutter(10.0), START + 0.0033 * np.arange(100), still):
        assert (poses == still()[:7]).all()
        assert poses.shape == (ROWS, 7)


def test_the_first_row_has_the_pose_that_all_rows_would_have_without_a_rolling_shutter():
    # Instants that are added up: states count as those of samples which they miss by roundings.
    instants = list(itertools.accumulate([0.01] * 300, initial=START))
    rolled, plain = run(shutter(rate=10.0), instants), run(shutter(10.0, 0.0), instants)
    assert len(rolled) == 30
    for (_, *stamp, poses), (_, *expected, pose) in zip(rolled, plain, strict=False):
        assert stamp == expected
        assert poses[0].tobytes() == pose.tobytes()


def test_without_a_rolling_shutter_a_frame_has_one_pose_at_once():
    frames = run(shutter(readout=0.0), [START, START + 0.1])
    assert [(complete, stamp) for complete, _, stamp, _ in frames] == [
        (START, START),
        (START + 0.1, START + 0.1),
    ]
    for _, _, stamp, pose in frames:
        assert pose.tolist() == moving(stamp)[:7].tolist()


def test_without_a_rate_each_known_state_begins_a_frame_of_its_own():
    instants = START + 0.008 * np.arange(10)
    frames = run(shutter(), instants)
    # Those of the last three steps would need states that are not known.
    assert [stamp for _, _, stamp, _ in frames] == instants[:7].tolist()
    for complete, _, stamp, poses in frames:
        assert complete == pytest.approx(stamp + 0.024)
        assert_poses(poses, stamp + np.linspace(0.0, READOUT, ROWS))


def test_the_start_may_be_given_twice_and_the_later_state_counts():
    taking = shutter(rate=10.0)
    taking.know(START, still())
    ((_, index, stamp, poses),) = run(taking, START + np.array([0.0, 0.05]))
    assert (index, stamp) == (0, START)
    assert_poses(poses, START + np.linspace(0.0, READOUT, ROWS))


def test_a_state_that_is_given_again_replaces_the_earlier_one():
    taking = shutter(rate=10.0)
    taking.know(START, moving(START))
    taking.know(START + 0.01, still())
    ((_, _, _, poses),) = run(taking, START + np.array([0.01, 0.05]))
    assert_poses(poses, START + np.linspace(0.0, READOUT, ROWS))


def test_a_frame_that_could_not_be_taken_comes_again():
    taking = shutter(rate=10.0, readout=0.0)
    taking.know(START, moving(START))

    def refuse(frame):
        raise MemoryError(f"no room for frame {frame.number}")

    with pytest.raises(MemoryError, match="no room for frame 0"):
        next(taking.results(NOWHERE, NOWHERE, refuse))
    assert [index for index, _, _ in take_all(taking)] == [0]
    assert not list(take_all(taking))


def test_a_frame_that_was_taken_does_not_come_again():
    taking = shutter(rate=10.0, readout=0.0)
    taking.know(START, moving(START))
    interrupted = take_all(taking)
    next(interrupted)
    interrupted.close()  # as an error of who writes it does
    assert not list(take_all(taking))


def test_a_refused_state_changes_nothing():
    taking = shutter(rate=10.0)
    run(taking, [START, START + 0.01])
    before = taking.state()
    with pytest.raises(ParameterError, match="lies before the latest known state"):
        taking.know(START, moving(START))
    assert all((before[name] == array).all() for name, array in taking.state().items())


@pytest.mark.parametrize("rate", [0.0, 12.0, 50.0])
@pytest.mark.parametrize("after", range(1, 12))
def test_a_state_half_way_through_a_read_out_continues_with_the_same_bits(rate, after):
    instants = START + 0.009 * np.arange(30)
    taking = shutter(rate)
    run(taking, instants[:after])
    resumed = shutter(rate)
    resumed.restore(taking.state())
    for one, other in zip(
        run(taking, instants[after:]), run(resumed, instants[after:]), strict=True
    ):
        assert one[:3] == other[:3]
        assert one[3].tobytes() == other[3].tobytes()


def test_no_more_states_are_kept_than_unfinished_frames_need():
    taking = shutter(rate=10.0)
    for instant in START + 1e-3 * np.arange(1000):
        taking.know(instant, moving(instant))
        list(take_all(taking))
        # Those within the read-out, and one at each side of it.
        assert len(taking.state()["track"]) <= READOUT / 1e-3 + 2


def test_damaged_states_are_refused():
    taking = shutter(rate=10.0)
    run(taking, [START, START + 0.01])
    for change in (
        {"begun": np.zeros((1, 3))},
        {"begun": np.full((1, 15), np.nan)},
        {"track": np.zeros((1, 3))},
        {"track": taking.state()["track"][::-1]},
    ):
        with pytest.raises(ParameterError):
            taking.restore({**taking.state(), **change})


def test_a_read_out_that_is_longer_than_the_period_of_frames_is_refused():
    shutter(rate=30.0, readout=1.0 / 30.0)
    with pytest.raises(ParameterError, match=r"rolling_shutter = 0\.04 s is longer than a frame"):
        shutter(rate=30.0, readout=0.04)
    with pytest.raises(ParameterError, match=r"rolling_shutter = -0\.1 s is out of range"):
        ShutterParameters(rolling_shutter=-0.1)


# ---- images ----------------------------------------------------------------------------------

CAMERA = DepthCameraParameters(width=120, height=40, horizontal_fov=1.0, normalize_range=False)
EDGE, AWAY, FAST = 0.3, 5.0, 40.0  # m, m, m/s: the edge of a plate to the left of the camera


def plate(x, right):
    """A plate across the optical axis whose right edge is upright, at y = ``right``."""
    corners = [(x, right, -50.0), (x, right, 50.0), (x, 50.0, 50.0), (x, 50.0, -50.0)]
    return twin.scene_of(twin.mesh_of(corners, [[0, 1, 2], [0, 2, 3]]))


def sideways(time):
    body = np.zeros(13)
    body[1], body[8], body[3] = FAST * (time - START), FAST, 1.0
    return body


@pytest.mark.parametrize("step", [0.0013, 0.02, 0.09])
def test_an_upright_edge_is_slanted_by_the_way_of_a_row(step):
    taking = shutter(rate=1.0, rows=CAMERA.height)
    ((_, _, stamp, poses),) = run(taking, START + step * np.arange(0.03 // step + 2), sideways)
    with RayScene(plate(AWAY, EDGE)) as rays:
        frame = DepthCamera(CAMERA).capture(rays, poses, rolling=True)
    row_time = READOUT / (CAMERA.height - 1)
    to_edge = EDGE - FAST * row_time * np.arange(CAMERA.height)  # from the camera of each row
    focal_length = CAMERA.focal_lengths[0]
    edge = CAMERA.width / 2.0 - focal_length * to_edge / AWAY  # in pixels, from the left
    seen = np.arange(CAMERA.width) + 0.5 < edge[:, None]
    np.testing.assert_array_equal(frame.entity >= 0, seen)
    assert seen.any(axis=1).all()
    assert edge[-1] - edge[0] == pytest.approx(focal_length * FAST * READOUT / AWAY)
    assert stamp == START


def test_rows_are_seen_in_the_frame_of_the_sensor_at_their_own_instants():
    taking = shutter(rate=1.0, rows=CAMERA.height)
    ((_, _, _, poses),) = run(taking, START + np.array([0.0, 0.03]), sideways)
    own = DepthCameraParameters(**{**vars(CAMERA), "return_pointcloud": True})
    world = DepthCameraParameters(**{**vars(own), "pointcloud_in_world_frame": True})
    with RayScene(plate(AWAY, EDGE)) as rays:
        in_sensor = DepthCamera(own).capture(rays, poses, rolling=True).points
        in_world = DepthCamera(world).capture(rays, poses, rolling=True).points
    shift = poses[:, None, :3]
    np.testing.assert_allclose(in_sensor + shift, in_world, rtol=0, atol=1e-5)  # of float32
    assert np.nanmin(in_world[..., 1]) > EDGE - 1e-5  # the plate, wherever it was seen from


def test_a_frame_of_a_camera_that_stands_is_the_one_without_a_rolling_shutter_bit_for_bit():
    everything = {"return_pointcloud": True, "return_normals": True, "return_faces": True}
    camera = DepthCamera(
        DepthCameraParameters(**{**vars(CAMERA), **everything, "max_range": 100.0})
    )
    instants = START + 0.007 * np.arange(5)
    ((_, index, _, rolled),) = run(shutter(1.0, rows=CAMERA.height), instants, still)
    ((_, _, _, plain),) = run(shutter(1.0, 0.0, CAMERA.height), instants, still)
    random = np.random.default_rng(4)
    mesh = twin.mesh_of_corners(5.0 * twin.random_triangles(random, 300))
    with RayScene(twin.scene_of(mesh)) as rays:
        one = camera.capture(rays, rolled, index, rolling=True)
        other = camera.capture(rays, plain, index)
    assert (other.entity >= 0).any()
    for array, expected in zip(one, other, strict=True):
        assert (array is None) == (expected is None)
        assert array is None or array.tobytes() == expected.tobytes()
