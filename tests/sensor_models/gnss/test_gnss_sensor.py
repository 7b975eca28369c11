"""The receiver as a sensor: what comes out when, scenes, faults, saved states."""

import itertools
import math

import numpy as np
import pytest

from sensor_models.catalog import spec_of
from sensor_models.core.faults import Fault, FaultMode, FaultWave
from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError
from sensor_models.core.sensor import Held, Inputs, Setup
from sensor_models.core.spec import Groups, scalars_of
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import ErrorMode, GnssParameters
from sensor_models.scene.registry import open_scene
from sensor_models.scene.tracing import MovingBodies, RayScene
from tests.sensor_models.scene_files import write_manifest
from tests.trajectories import body_state

SPEC = spec_of("Gnss")
NAMES = [name for name, _, _ in scalars_of(SPEC.readings)]
PLACE = {"origin.latitude": math.radians(48.1), "origin.longitude": math.radians(11.6)}
#: A roof of 20 x 20 m on a body, 5 m above the ground, in a world on the Earth.
ROOF = """
[world]
origin = { latitude_deg = 48.1, longitude_deg = 11.6, height = 520, heading_deg = 30 }

[meshes.roof]
plane = { size = [20, 20] }
material = "concrete"

[[bodies]]
name = "roof"
position = [0, 0, 5]

[[instances]]
mesh = "roof"
body = "roof"
"""


def make(start=0.0, **given):
    given = {name.replace("__", "."): value for name, value in given.items()}
    return SPEC.make(Setup(SPEC, SPEC.build({**PLACE, **given}), "gnss", start))


def held_of(scene=None, **faults):
    groups = {group: group.declaring() for group in SPEC.held}
    for group in groups:
        if group.prefix in faults:
            groups[group] = faults[group.prefix]
    return Held(Groups(groups), scene)


def value(result, name):
    return result.values[NAMES.index(name)]


def run(sensor, times, held=None, state=None, ends=None):
    """The results by the steps that they come out with."""
    held = held or held_of()
    state = body_state() if state is None else state
    found = [list(sensor.begin(Inputs(state, held, held)))]
    ends = ends or [*times[1:], times[-1]]
    for (t0, t1), end in zip(itertools.pairwise([times[0], *times]), ends, strict=False):
        found.append(list(sensor.advance(Inputs(state, held, held, end), t0, t1)))
    return found


# --- latency -------------------------------------------------------------------------------------


def shown(found):
    """The numbers of the samples that came out, by steps."""
    return [[result.number for result in step] for step in found]


def test_without_latency_a_sample_comes_out_when_its_instant_is_known():
    # the state at the start is given twice, and so is sample 0
    assert shown(run(make(sample_rate=10.0), [0.0, 0.1, 0.2])) == [[0], [0], [1], [2]]


def test_a_sample_comes_out_with_the_first_step_that_ends_late_enough():
    # Steps of 0.1 s by the rule of FMI: the last one begins at 0.5 s and ends at 0.6 s.
    times = [k / 10 for k in range(6)]
    found = run(make(sample_rate=10.0, latency=0.25), times, ends=[t + 0.1 for t in times])
    assert shown(found) == [[], [], [], [0], [1], [2], [3]]
    assert [step[0].time for step in found[3:]] == [0.0, 0.1, 0.2, 0.3]
    exact = run(make(sample_rate=10.0, latency=0.3), times, ends=[t + 0.1 for t in times])
    assert shown(exact) == [[], [], [], [0], [1], [2], [3]]


def test_inputs_at_the_end_of_a_step_come_out_by_the_same_rule():
    times = [k / 10 for k in range(7)]
    found = run(make(sample_rate=10.0, latency=0.25), times, ends=times)
    assert shown(found) == [[], [], [], [], [0], [1], [2], [3]]


def test_what_comes_out_late_is_what_was_measured():
    times = [k / 10 for k in range(30)]
    given = {"sample_rate": 10.0, "nmea__on": True, "rinex__on": True}
    prompt = {r.number: r for step in run(make(**given), times) for r in step}
    late = [r for step in run(make(latency=0.47, **given), times) for r in step]
    assert len(late) == 25
    assert all(result == prompt[result.number] for result in late)


def test_a_long_step_gives_all_samples_in_order():
    found = run(make(sample_rate=10.0, latency=0.25), [0.0, 10.0], ends=[5.0, 10.0])
    assert shown(found) == [[], [0], [*range(1, 98)]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"latency": 0.5}, "needs a sampling rate"),
        ({"latency": 500.0, "sample_rate": 1000.0}, "under way"),
    ],
)
def test_a_latency_that_needs_too_much_is_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        make(**given)


def test_a_state_holds_what_is_on_its_way():
    given = {"sample_rate": 10.0, "latency": 0.35, "nmea__on": True, "rinex__on": True}
    sensor, other = make(**given), make(**given)
    held = held_of(**{"fault.height": Fault(mode=FaultMode.present)})
    run(sensor, [k / 10 for k in range(8)], held)
    other.restore(sensor.state())
    for k in range(8, 14):
        inputs = Inputs(body_state(), held, held, k / 10)
        first, second = (list(s.advance(inputs, k / 10 - 0.1, k / 10)) for s in (sensor, other))
        assert first == second
        assert len(first) == 1
    state = sensor.state()
    with pytest.raises(ValueError, match="not those of this sensor"):
        other.restore({**state, "model": state["model"][:-1]})
    with pytest.raises(ValueError, match="not those of this sensor"):
        other.restore({name: array for name, array in state.items() if name != "bodies"})
    # first and count, then 8 rows of 16 values, a place, ranges of 24 satellites, and a stamp
    ring = state["model"][-2 - 8 * (16 + 3 + 24 + 2) :]
    assert ring[1] == 4
    for place, value in ((0, -1.0), (0, 8.0), (1, 9.0), (1, math.nan)):
        bad = {**state, "model": state["model"].copy()}
        bad["model"][place - len(ring)] = value
        with pytest.raises(ValueError, match="on their way"):
            other.restore(bad)


def test_a_refused_step_leaves_what_is_on_its_way():
    sensor, twin = (make(sample_rate=10.0, latency=0.2) for _ in range(2))
    good = held_of()
    bad = held_of(**{"fault.height": Fault(mode=FaultMode.max)})
    for each in (sensor, twin):
        run(each, [0.0, 0.1, 0.2])
    with pytest.raises(ParameterError, match="height"):
        list(sensor.advance(Inputs(body_state(), bad, good, 0.3), 0.2, 0.3))
    place = Georeference(PLACE["origin.latitude"], PLACE["origin.longitude"])
    far = body_state(-place.axes @ place.ecef)  # the centre of the Earth
    with pytest.raises(ParameterError, match="centre"):
        list(sensor.advance(Inputs(far, good, good, 0.3), 0.2, 0.3))
    inputs = Inputs(body_state(), good, good, 0.3)
    assert list(sensor.advance(inputs, 0.2, 0.3)) == list(twin.advance(inputs, 0.2, 0.3))


# --- faults --------------------------------------------------------------------------------------

IDEAL = {"error__mode": ErrorMode.off, "sample_rate": 10.0}


def test_a_fault_touches_its_signal_and_the_sentences():
    fault = Fault(wave=FaultWave.square, amplitude=100.0, period=1e9)
    plain = run(make(nmea__on=True, **IDEAL), [0.0, 0.1])[-1][0]
    wrong = run(make(nmea__on=True, **IDEAL), [0.0, 0.1], held_of(**{"fault.height": fault}))
    faulty = wrong[-1][0]
    differs = [n for n, a, b in zip(NAMES, plain.values, faulty.values, strict=True) if a != b]
    assert differs == ["height", "nmea.sentences"]
    # one rounding of 620 m
    assert value(faulty, "height") == pytest.approx(value(plain, "height") + 100.0, abs=1e-12)
    height = float(value(faulty, "nmea.sentences").split(",")[9])
    assert height == pytest.approx(value(faulty, "height"), abs=0.05)


def test_a_stuck_signal_holds_from_where_it_was_until_it_is_free():
    sensor = make(sample_rate=10.0)
    free, stuck = held_of(), held_of(**{"fault.velocity.north": Fault(mode=FaultMode.present)})
    list(sensor.begin(Inputs(body_state(), free, free)))
    found = []
    for k in range(12):
        held = stuck if 3 <= k < 8 else free
        inputs = Inputs(body_state(), held, held, k / 10)
        (sample,) = sensor.advance(inputs, max(k - 1, 0) / 10, k / 10)
        found.append((value(sample, "velocity.north"), value(sample, "velocity.east")))
    assert len({north for north, _ in found[3:8]}) == 1
    assert len({north for north, _ in found}) == 12 - 4
    assert len({east for _, east in found}) == 12


# --- scenes --------------------------------------------------------------------------------------


@pytest.fixture
def roofed(tmp_path):
    with open_scene(write_manifest(tmp_path, ROOF)) as scene:
        yield scene


def test_a_scene_says_where_the_world_is_unless_the_parameters_do(roofed):
    def place(scene, **given):
        spec = SPEC.build({"error.mode": ErrorMode.off, "sky_visibility": False, **given})
        sensor = SPEC.make(Setup(SPEC, spec, "gnss"))
        state = body_state((1000.0, 2000.0, 30.0))
        (sample,) = run(sensor, [0.0], held_of(scene), state)[0]
        return [value(sample, name) for name in ("latitude", "longitude", "height")]

    degrees = np.degrees(place(roofed)[:2])
    # acceptance row GNSS-5
    assert degrees == pytest.approx([48.1110766652, 11.6250569293], abs=1e-9)
    assert place(roofed)[2] == pytest.approx(550.3916, abs=1e-4)
    own = Georeference(0.3, -0.2, 10.0)
    given = {"origin.latitude": 0.3, "origin.longitude": -0.2, "origin.height": 10.0}
    # rounding of Earth-fixed positions
    assert place(roofed, **given) == pytest.approx(own.to_geodetic((1000, 2000, 30)), abs=1e-8)
    assert place(None, **given) == place(roofed, **given)


def pose_of_roof(time):
    return np.array([-30.0 + 8.0 * time, 0.0, 5.0, 1.0, 0.0, 0.0, 0.0])


def states_of_roof(time):
    return np.array([[*pose_of_roof(time), 8.0, 0.0, 0.0, 0.0, 0.0, 0.0]])


def expected_sky(scene, times):
    """Satellites and dilution by the model with the roof at its place."""
    parameters = GnssParameters(error_mode=ErrorMode.off, elevation_mask=0.3)
    with RayScene(scene) as rays:
        gnss = Gnss(parameters, None, scene.origin, rays=rays)
        for k, time in enumerate(times):
            bodies = MovingBodies(pose_of_roof(time).reshape(1, 1, 7))
            reading = gnss.sample(k, time, body_state(), bodies)
            yield reading.satellites, reading.dop_position


@pytest.mark.parametrize("cut", [1, 3, 40])
def test_moving_bodies_hide_satellites_where_they_were_at_the_instant(roofed, cut):
    times = np.arange(0.0, 7.9, 1 / 40)
    expected = list(expected_sky(roofed.scene, times))
    assert len({count for count, _ in expected}) > 3
    spec = SPEC.build(
        {"error.mode": ErrorMode.off, "elevation_mask": 0.3, "sample_rate": 40.0, "latency": 0.1}
    )
    sensor = SPEC.make(Setup(SPEC, spec, "gnss"))
    roofed.move(0.0, states_of_roof(0.0))
    held = held_of(roofed)
    found = list(sensor.begin(Inputs(body_state(), held, held)))
    last = 0.0
    for k in range(0, len(times) + cut + 40, cut):
        time = k / 40
        roofed.move(time, states_of_roof(time))
        found += sensor.advance(Inputs(body_state(), held, held, time), last, time)
        last = time
    seen = [(value(r, "satellites"), value(r, "dop.position")) for r in found]
    # poses between two known ones round
    counts, dilution = np.array(seen[: len(times)]).T
    assert counts.tolist() == [count for count, _ in expected]
    assert dilution == pytest.approx([d for _, d in expected], rel=1e-9)


def test_another_scene_changes_the_sky_and_no_noise(roofed):
    sensor, open_sky = (make(sample_rate=10.0, elevation_mask=0.3) for _ in range(2))
    roofed.move(0.0, np.array([[0.0, 0.0, 5.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]))
    free, under = held_of(), held_of(roofed)
    fixes = []
    for k in range(9):
        time, last = k / 10, max(k - 1, 0) / 10
        held = under if 3 <= k < 6 else free
        before = under if 3 <= k - 1 < 6 else free
        (sample,) = sensor.advance(Inputs(body_state(), held, before, time), last, time)
        (other,) = open_sky.advance(Inputs(body_state(), free, free, time), last, time)
        fixes.append(value(sample, "fix"))
        if k < 3 or k >= 6:
            assert sample.values[:9] == other.values[:9]  # all but dilution
            # the sky is surveyed again when the scene is left, and moves within a second
            assert sample.values[9:16] == pytest.approx(other.values[9:16], rel=1e-3)
    assert fixes == [3] * 3 + [0] * 3 + [3] * 3
