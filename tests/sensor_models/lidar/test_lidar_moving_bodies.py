"""Lidar frames among bodies that move: closed forms, and any cutting of time.

A box of 2 m goes away along x at 8 m/s and turns about z at 0.4 rad/s. Its near face, with the
normal n = -(cos w t, sin w t, 0), holds the points p with n (p - c(t)) = 1 at their own times.
"""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.lidar import InstantScan, Lidar, LidarParameters, RollingScan, ScanMode
from sensor_models.lidar.patterns import PatternParameters, PatternType
from sensor_models.scene import shared_file
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.scene.registry import SceneHandle, attach, open_scene
from sensor_models.threads.pool import Work
from tests.peer import Peer
from tests.rail_scene import write_rail

SPEED, TURN, START, NEAR = 8.0, 0.4, 6.0, 1e-3
NARROW = {"elevation": (-0.03, 0.03), "azimuth": (-0.03, 0.03)}
PATTERNS = {
    "grid": PatternParameters(rows=4, columns=60, **NARROW),
    "raster": PatternParameters(type=PatternType.raster, rows=3, columns=80, **NARROW),
    "rosette": PatternParameters(type=PatternType.rosette, rows=1, columns=4000),
}
CUTS = {
    "1 ms": np.arange(501) / 1000.0,
    "10 ms": np.arange(51) / 100.0,
    "100 ms": np.arange(6) / 10.0,
    "500 ms": np.array([0.0, 0.5]),
    "irregular": np.array([0.0, 0.013, 0.1, 0.137, 0.1371, 0.2, 0.31, 0.5]),
}


def states_at(time: float) -> np.ndarray:
    states = np.zeros((2, BODY_SIZE))
    states[:, 3], states[1, 1] = 1.0, 500.0
    states[0, 0], states[0, 7], states[0, 12] = START + SPEED * time, SPEED, TURN
    states[0, 3], states[0, 6] = math.cos(0.5 * TURN * time), math.sin(0.5 * TURN * time)
    return states


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SceneHandle:
    monkeypatch.setenv(shared_file.DIRECTORY_VARIABLE, str(tmp_path / "shared"))
    with open_scene(write_rail(tmp_path / "rail")) as opened:
        yield opened


def scan_of(pattern: str, mode: ScanMode):
    parameters = LidarParameters(scan_mode=mode, max_range=100.0)
    lidar = Lidar(parameters, PATTERNS[pattern], rate=10.0)
    kind = RollingScan if lidar.rolls else InstantScan
    return kind(lidar, 0.0, 10.0)


def frames(world: SceneHandle, scan, known, looks=None):
    """The clouds of a run whose sensor stands still, and what is said of each."""
    body = np.array([0.0, 0.0, 0.0, 1.0, *[0.0] * 9])
    looks, found = set(known.tolist()) if looks is None else set(looks.tolist()), []
    for time in known.tolist():
        world.move(time, states_at(time))
        if time in looks:
            scan.know(time, body)
            found += [
                (frame.number, frame.cloud.points(), dict(frame.about))
                for frame in scan.frames(world)
            ]
    return found


def off_face(points: np.ndarray, rolling: bool, number: int) -> np.ndarray:
    """How far points are from the face where it is at their own times."""
    time = points["time"] if rolling else np.full(len(points), number / 10.0)
    normal = np.stack([-np.cos(TURN * time), -np.sin(TURN * time)])
    x, y = points["x"] - (START + SPEED * time), points["y"]
    return normal[0] * x + normal[1] * y - 1.0


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("pattern", "mode"),
    [
        ("grid", ScanMode.instant),
        ("grid", ScanMode.rolling),
        ("raster", ScanMode.rolling),
        ("rosette", ScanMode.rolling),
    ],
)
def test_every_point_is_on_the_body_at_its_own_stamp(
    world: SceneHandle, pattern: str, mode: ScanMode, cut: str
) -> None:
    rolling = mode == ScanMode.rolling
    found = frames(world, scan_of(pattern, mode), CUTS[cut])
    assert [number for number, _, _ in found] == list(range(5 if rolling else 6))
    for number, points, about in found:
        assert about == {}
        seen = points[points["entity_id"] == 7]
        # The rosette looks beside the box, too, and at its other faces.
        off = np.abs(off_face(seen, rolling, number))
        if pattern == "rosette":
            middle = np.abs(seen["y"]) + np.abs(seen["z"]) < 0.4
            off = off[middle]
        assert len(off) > 20
        assert off.max() < NEAR
        if rolling and pattern != "rosette":
            assert np.ptp(seen["x"]) > 0.7, "the box goes 0.8 m in a frame"


@pytest.mark.parametrize("looks", ["100 ms", "500 ms", "irregular", "10 ms"])
@pytest.mark.parametrize("pattern", ["grid", "raster", "rosette"])
@pytest.mark.parametrize("mode", [ScanMode.instant, ScanMode.rolling])
def test_bits_do_not_depend_on_when_the_sensor_looks(
    world: SceneHandle, pattern: str, mode: ScanMode, looks: str
) -> None:
    known = np.unique(np.concatenate([CUTS["10 ms"], CUTS["irregular"]]))
    whole = frames(world, scan_of(pattern, mode), known)
    again = frames(world, scan_of(pattern, mode), known, CUTS[looks])
    assert len(whole) == len(again) >= 5
    for (_, points, _), (_, other, _) in zip(whole, again, strict=True):
        assert points.tobytes() == other.tobytes()


def digest_of_frames(number: int) -> str:
    """What a lidar that has not looked before sees of an open scene up to 0.5 s."""
    body, digest = np.array([0.0, 0.0, 0.0, 1.0, *[0.0] * 9]), hashlib.sha256()
    with attach(number) as world:
        scan = scan_of("grid", ScanMode.rolling)
        for time in (0.0, 0.5):
            scan.know(time, body)
            for frame in scan.frames(world):
                digest.update(frame.cloud.points().tobytes())
    return digest.hexdigest()


def test_another_process_sees_the_same_bits(world: SceneHandle) -> None:
    for time in CUTS["10 ms"].tolist():
        world.move(time, states_at(time))
    module = "__import__('tests.sensor_models.lidar.test_lidar_moving_bodies', fromlist=['x'])"
    with Peer() as peer:
        there = peer.ask(f"{module}.digest_of_frames({world.number})")
    assert there == digest_of_frames(world.number)


def test_frames_at_common_instants_of_all_cuts_have_the_same_bits(world: SceneHandle) -> None:
    runs = [
        frames(world, scan_of("grid", ScanMode.instant), CUTS[cut])
        for cut in ("1 ms", "10 ms", "100 ms")
    ]
    for run in runs[1:]:
        for (_, points, _), (_, other, _) in zip(run, runs[0], strict=True):
            assert points.tobytes() == other.tobytes()


@pytest.mark.parametrize("after", range(1, 9))
@pytest.mark.parametrize("pattern", ["grid", "raster"])
def test_a_state_continues_with_the_same_bits_although_the_past_lives_in_the_scene(
    world: SceneHandle, tmp_path: Path, pattern: str, after: int
) -> None:
    """In a scene that only knows the bodies from the saved instant on."""
    known, mode = np.arange(11) * 0.033, ScanMode.rolling
    whole = frames(world, scan_of(pattern, mode), known)
    scan = scan_of(pattern, mode)
    begun = frames(world, scan, known[: after + 1])
    resumed = scan_of(pattern, mode)
    resumed.restore(scan.state())
    with open_scene(write_rail(tmp_path / "other")) as elsewhere:
        elsewhere.move(known[after], states_at(known[after]))
        rest = frames(elsewhere, resumed, known[after + 1 :])
    assert len(begun) + len(rest) == len(whole) == 3
    for (_, points, about), (_, other, said) in zip([*begun, *rest], whole, strict=True):
        assert points.tobytes() == other.tobytes()
        assert about == said == {}


def test_a_frame_says_that_the_bodies_were_not_known_as_far(world: SceneHandle) -> None:
    body = np.array([0.0, 0.0, 0.0, 1.0, *[0.0] * 9])
    for mode in (ScanMode.rolling, ScanMode.instant):
        scan = scan_of("grid", mode)
        world.move(0.0, states_at(0.0))
        world.move(0.05, states_at(0.05))
        scan.know(0.0, body)
        scan.know(0.31, body)
        found = list(scan.frames(world))
        said = [dict(frame.about) for frame in found[:3]]
        first = {} if mode == ScanMode.instant else {"bodies_known_until": 0.05}
        assert said == [first, {"bodies_known_until": 0.05}, {"bodies_known_until": 0.05}]
        late = found[2].cloud.points()
        np.testing.assert_allclose(late["x"].min(), START + SPEED * 0.05 - 1.0, atol=0.05)


def test_what_is_said_of_a_frame_survives_a_saved_state(world: SceneHandle) -> None:
    body = np.array([0.0, 0.0, 0.0, 1.0, *[0.0] * 9])
    scan = scan_of("grid", ScanMode.rolling)
    world.move(0.0, states_at(0.0))
    for time in (0.0, 0.05):
        scan.know(time, body)
        assert list(scan.frames(world)) == []
    resumed = scan_of("grid", ScanMode.rolling)
    resumed.restore(scan.state())
    world.move(0.2, states_at(0.2))
    resumed.know(0.1, body)
    (frame,) = resumed.frames(world)
    assert frame.about == {"bodies_known_until": 0.0}


@pytest.mark.parametrize("step", [0.001, 0.01, 0.025, 0.04])
def test_rays_of_short_steps_are_sent_together_and_frames_come_when_they_end(
    world: SceneHandle, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    body, columns, ends = np.array([0.0, 0.0, 0.0, 1.0, *[0.0] * 9]), [], []
    scan, send = scan_of("grid", ScanMode.rolling), Lidar.begin

    def sent(lidar: Lidar, *arguments) -> Work:
        columns.append(arguments[4])
        return send(lidar, *arguments)

    monkeypatch.setattr(Lidar, "begin", sent)
    for time in (step * np.arange(round(0.2 / step) + 1)).tolist():
        world.move(time, states_at(time))
        scan.know(time, body)
        ends += [time for _ in scan.frames(world)]
    np.testing.assert_allclose(ends, [step * math.ceil(0.1 / step - 1e-9), 0.2], rtol=1e-9)
    assert len(columns) <= 8
    both = [first for first, _ in columns], [after for _, after in columns]
    assert both[0] == [0, *(after % 60 for after in both[1][:-1])], "each column once, in order"
    assert both[1].count(60) == 2


def test_rays_that_wait_are_sent_into_the_scene_that_was_seen_when_they_were_due(
    world: SceneHandle, tmp_path: Path
) -> None:
    body, apart, change = np.array([0.0, 0.0, 0.0, 1.0, *[0.0] * 9]), 20.0, 0.04
    scan, found = scan_of("grid", ScanMode.rolling), []
    with open_scene(write_rail(tmp_path / "other")) as farther:
        before = world
        for time in (0.01 * np.arange(11)).tolist():
            there = states_at(time)
            there[0, 0] += apart
            world.move(time, states_at(time))
            farther.move(time, there)
            seen = world if time < change + 1e-9 else farther
            scan.know(time, body)
            found += [frame.cloud.points() for frame in scan.frames(seen, before)]
            before = seen
    (points,) = found
    points = points[points["entity_id"] == 7]
    # Of the 32 slices of a frame, 12 end by then.
    late = points["time"] > 12 / 32 * 0.1
    assert 50 < late.sum() < len(points) - 50
    assert np.abs(off_face(points[~late], True, 0)).max() < NEAR
    points["x"] -= apart
    assert np.abs(off_face(points[late], True, 0)).max() < NEAR


BODY = np.array([0.0, 0.0, 0.0, 1.0, *[0.0] * 9])


def steps_of(scan: RollingScan, scene: SceneHandle, times, before=None):
    """Points of the frames that end in some steps; bodies go on as in ``states_at``."""
    found = []
    for time in times:
        scene.move(time, states_at(time))
        scan.know(time, BODY)
        found += [frame.cloud.points().tobytes() for frame in scan.frames(scene, before)]
    return found


def test_a_state_that_is_saved_while_rays_are_under_way_goes_on_in_another_scene(
    world: SceneHandle, tmp_path: Path
) -> None:
    times = (0.005 * np.arange(21)).tolist()
    one, other = (scan_of("grid", ScanMode.rolling) for _ in range(2))
    assert steps_of(one, world, times[:11]) == []
    saved = one.state()
    with open_scene(write_rail(tmp_path / "other")) as farther:
        found = []
        for scan in (one, other):
            if scan is other:
                other.restore(saved)
            for time in times[11:]:
                there = states_at(time)
                there[0, 0] += 20.0
                farther.move(time, there)
                scan.know(time, BODY)
                frames = scan.frames(farther, world)
                found += [frame.cloud.points().tobytes() for frame in frames]
    first, second = found
    assert first == second


def test_what_threads_raise_reaches_the_next_step_and_is_made_again_then(
    world: SceneHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = (0.005 * np.arange(21)).tolist()
    (whole,) = steps_of(scan_of("grid", ScanMode.rolling), world, times)
    begin, fails = Lidar.begin, [2]

    def failing(lidar: Lidar, *arguments) -> Work:
        work, fails[0] = begin(lidar, *arguments), fails[0] - 1
        if fails[0] == 0:
            work.end()

            def fail() -> None:
                raise MemoryError("no room")

            work.afterwards = fail
        return work

    monkeypatch.setattr(Lidar, "begin", failing)
    scan, found, raised = scan_of("grid", ScanMode.rolling), [], 0
    for time in times:
        world.move(time, states_at(time))
        scan.know(time, BODY)
        try:
            found += [frame.cloud.points().tobytes() for frame in scan.frames(world)]
        except MemoryError:
            raised += 1
    assert raised == 1
    assert found == [whole]


@pytest.mark.parametrize("fails", [False, True])
def test_a_frame_is_handed_over_when_the_next_one_has_begun_and_is_not_lost_if_that_fails(
    world: SceneHandle, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    begin, seen = Lidar.begin, []

    def noted(lidar: Lidar, scene, poses, frame: int, *arguments) -> Work:
        if frame == 1 and fails and "failed" not in seen:
            seen.append("failed")
            raise MemoryError("no room")
        seen.append(f"begun {frame}")
        return begin(lidar, scene, poses, frame, *arguments)

    monkeypatch.setattr(Lidar, "begin", noted)
    scan = scan_of("grid", ScanMode.rolling)
    for time in (0.0, 0.14):
        world.move(time, states_at(time))
        scan.know(time, BODY)
        for _ in range(2):
            try:
                seen.extend(f"frame {frame.number}" for frame in scan.frames(world))
            except MemoryError:
                continue
    order = [entry for entry in seen if entry != "failed"]
    assert order == ["begun 0", "begun 1", "frame 0"]
    assert ("failed" in seen) == fails
