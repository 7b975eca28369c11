"""Campaigns: many runs of a system, with real FMUs in real processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import fmpy
import numpy as np
import pyarrow.parquet as pq
import pytest

import sensor_models
from fmus.building.sources import fmu_sources
from fmus.tools import command
from fmus.tools.campaigns import design
from fmus.tools.campaigns.campaign import open_campaign, run_campaign
from fmus.tools.campaigns.description import read_campaign
from fmus.tools.campaigns.master import Master
from fmus.tools.campaigns.results import JOURNAL, Results, ResultsError, Row, read_rows
from fmus.tools.systems import DescriptionError
from sensor_models._levels import host_level
from sensor_models.output.holding import HeldError
from sensor_models.tools.workers.cluster import ClusterPool
from sensor_models.tools.workers.local import LocalPool
from tests.campaigns import CAMPAIGN, write_campaign
from tests.clusters import local_cluster

ROOT = Path(sensor_models.__file__).parents[1]


@pytest.fixture(scope="module")
def pool():
    with LocalPool(2) as pool:
        yield pool


#: What the campaign of the tests varies.
VARIED = '"imu.gyroscope.bias.z" = [0.0, 0.02]'
#: Half of its runs name a parameter that the preset does not set, which only the FMU finds out.
FAILING = CAMPAIGN.replace(VARIED, '"imu.preset_except" = ["", "nothing"]')


def rows_of(directory):
    return pq.read_table(directory / "runs.parquet").to_pylist()


def without_times(rows):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def test_each_run_has_a_row_with_what_was_varied_and_measured(fmu_directory, tmp_path, pool):
    path, output = write_campaign(tmp_path, fmu_directory), tmp_path / "out"
    seen = []
    run_campaign(path, output, pool, lambda *done: seen.append(done))
    rows = rows_of(output)
    assert seen[-1] == (6, 6)
    assert [row["run"] for row in rows] == list(range(6))
    assert [row["seed"] for row in rows] == [1, 2, 3] * 2
    assert [row["imu.gyroscope.bias.z"] for row in rows] == [0.0] * 3 + [0.02] * 3
    assert {row["status"] for row in rows} == {"ok"}
    # one draw of noise for both choices, so that the bias is all that differs
    rates = np.array([row["rate"] for row in rows])
    np.testing.assert_allclose(rates[3:] - rates[:3], 0.02, atol=1e-3)
    assert len(set(rates)) == 6
    for row in rows:
        series = pq.read_table(output / row["directory"] / "series.parquet")
        assert series.column_names == ["t", "imu.gyroscope.z"]
        assert np.mean(series["imu.gyroscope.z"]) == row["rate"]


def test_a_run_has_the_bits_that_it_has_alone_in_fmpy(fmu_directory, tmp_path, pool):
    """The oracle is fmpy's own master, with the parameters written out by hand."""
    path, output = write_campaign(tmp_path, fmu_directory), tmp_path / "out"
    run_campaign(path, output, pool)
    row = rows_of(output)[4]
    assert row["seed"] == 2
    own = {"preset": "VN-100", "sample_rate": 100.0, "seed": 2, "gyroscope.bias.z": 0.02}
    # An instance's name is the second part of the key of its noise: fmpy names it by the model.
    series = pq.read_table(output / row["directory"] / "series.parquet")["imu.gyroscope.z"]
    alone = in_fmpy(fmu_directory / "Imu.fmu", "imu", {**own, "body.angular_velocity.z": 0.5})
    np.testing.assert_array_equal(series, alone)


def in_fmpy(file, name, values):
    """The z of the gyroscope over 20 steps, with nothing of the campaign's master."""
    folder = fmpy.extract(file)
    description = fmpy.read_model_description(folder)
    variables = {v.name: v for v in description.modelVariables}
    fmu = fmpy.fmi2.FMU2Slave(
        guid=description.guid, unzipDirectory=folder, instanceName=name,
        modelIdentifier=description.coSimulation.modelIdentifier,
    )  # fmt: skip
    fmu.instantiate()
    for key, value in values.items():
        getattr(fmu, f"set{variables[key].type}")([variables[key].valueReference], [value])
    fmu.setupExperiment()
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    found = []
    for step in range(20):
        fmu.doStep(step * 0.01, 0.01)
        found += fmu.getReal([variables["gyroscope.z"].valueReference])
    fmu.terminate()
    fmu.freeInstance()
    return found


def test_rows_do_not_depend_on_workers(fmu_directory, tmp_path, pool):
    path = write_campaign(tmp_path, fmu_directory)
    run_campaign(path, tmp_path / "two", pool)
    with LocalPool(1) as alone:
        run_campaign(path, tmp_path / "one", alone)
    with local_cluster(2) as cluster, ClusterPool(cluster.scheduler_address) as many:
        run_campaign(path, tmp_path / "many", many)
    one = without_times(rows_of(tmp_path / "one"))
    assert without_times(rows_of(tmp_path / "two")) == one
    assert without_times(rows_of(tmp_path / "many")) == one


def test_a_run_that_fails_is_a_row_and_stops_nothing(fmu_directory, tmp_path, pool):
    path = write_campaign(tmp_path, fmu_directory, text=FAILING, seeds=2)
    run_campaign(path, tmp_path / "out", pool)
    rows = rows_of(tmp_path / "out")
    assert [row["status"] for row in rows] == ["ok", "ok", "failed", "failed"]
    assert "nothing" in rows[2]["message"]
    assert rows[2]["rate"] is None
    assert rows[0]["rate"] is not None


def test_runs_that_failed_are_told_with_their_number_and_the_exit_code(
    fmu_directory, tmp_path, capsys
):
    path, output = write_campaign(tmp_path, fmu_directory, text=FAILING, seeds=2), tmp_path / "out"
    words = ["campaign", "run", str(path), "--output", str(output), "--workers", "1"]
    assert command.main(words) == 1
    assert "4 runs, 2 failed" in capsys.readouterr().out
    assert (output / "report.html").is_file()
    assert command.main(["campaign", "report", str(path), "--output", str(output)]) == 0


def test_only_the_run_that_ends_its_process_fails(fmu_directory, tmp_path, pool):
    text = CAMPAIGN.replace(
        'rate = "np.mean(imu.gyroscope.z)"',
        'ends = { function = "tests.campaigns:ends_its_process", outputs = ["imu.gyroscope.z"] }',
    ).replace("[0.0, 0.02]", "[0.0, 3.0]")
    path = write_campaign(tmp_path, fmu_directory, text=text, seeds=2)
    run_campaign(path, tmp_path / "out", pool, trust=True)
    rows = rows_of(tmp_path / "out")
    assert [row["status"] for row in rows] == ["ok", "ok", "failed", "failed"]
    assert "process ended 3 times" in rows[3]["message"]


def test_workers_use_the_kernels_that_fmus_carry(fmu_directory, tmp_path):
    """With an empty cache, all that was compiled would be kept there."""
    if not host_level():
        pytest.skip("FMUs carry kernels for x86-64 processors")
    path, cache = write_campaign(tmp_path, fmu_directory, seeds=1), tmp_path / "cache"
    system = tmp_path / "system.toml"
    system.write_text(system.read_text().replace('preset = "VN-100"\n', ""))
    words = ["campaign", "run", str(path), "--output", str(tmp_path / "out"), "--workers", "1"]
    subprocess.run(
        [sys.executable, "-m", "fmus.tools.command", *words],
        cwd=Path(__file__).parents[4],
        env={**os.environ, "SENSOR_FMUS_CACHE_DIR": str(cache), "TMPDIR": str(tmp_path)},
        check=True,
    )
    assert {row["status"] for row in rows_of(tmp_path / "out")} == {"ok"}
    assert list(cache.rglob("*.kernel")) == []
    assert list(tmp_path.glob("campaign-*")) == []  # what the worker has unpacked


def test_a_campaign_that_was_killed_goes_on(fmu_directory, tmp_path, pool):
    path, output = write_campaign(tmp_path, fmu_directory, seeds=100), tmp_path / "out"
    command_line = [sys.executable, "-m", "fmus.tools.command", "campaign", "run", str(path)]
    client = subprocess.Popen(
        [*command_line, "--output", str(output), "--workers", "1"], cwd=Path(__file__).parents[4]
    )
    while lines_of(output / JOURNAL) < 10:
        time.sleep(0.02)
        assert client.poll() is None, "it ended before it could be killed"
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    before = lines_of(output / JOURNAL)
    with (output / JOURNAL).open("a") as journal:
        journal.write('{"run": 199, "se')  # as a kill in the middle of a line leaves it
    run_campaign(path, output, pool)
    rows = rows_of(output)
    assert 10 <= before < 201
    assert [row["run"] for row in rows] == list(range(200))
    run_campaign(write_campaign(tmp_path / "again", fmu_directory, seeds=5), tmp_path / "o2", pool)
    few = {(r["seed"], r["imu.gyroscope.bias.z"]): r["rate"] for r in rows_of(tmp_path / "o2")}
    many = {(r["seed"], r["imu.gyroscope.bias.z"]): r["rate"] for r in rows}
    assert all(many[key] == rate for key, rate in few.items())


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


IDENTITY = {"name": "x", "digest": "1"}


def a_row(number, **changed):
    known = Row(number, 1, {}, {"m": 1.5}, "ok", "", 0.1, "")
    return replace(known, **changed)


def with_rows(directory, *numbers):
    results = Results(directory, IDENTITY)
    for number in numbers:
        results.add(a_row(number))
    results.close()


@pytest.mark.parametrize("torn", ['{"run": 7, "se', '{"run": 7}', "\0" * 40, '"x"', "\udcff\udcfe"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_torn_lines_of_a_journal_are_skipped(tmp_path, torn, end):
    with_rows(tmp_path, 0, 1)
    with (tmp_path / JOURNAL).open("a", errors="surrogateescape") as journal:
        journal.write(torn + end)
    with_rows(tmp_path, 2, 7)  # goes on behind it
    rows = read_rows(tmp_path, IDENTITY)
    assert rows == {number: a_row(number) for number in (0, 1, 2, 7)}


def test_lines_that_two_writers_have_mixed_cost_their_runs_only(tmp_path):
    with_rows(tmp_path, 0, 1, 2)
    first, *lines = (tmp_path / JOURNAL).read_text().splitlines()
    mixed = [first, lines[0], lines[1][:20] + lines[2], lines[1][20:]]
    (tmp_path / JOURNAL).write_text("\n".join(mixed) + "\n")
    assert set(read_rows(tmp_path, IDENTITY)) == {0}


def test_a_journal_that_was_torn_in_its_first_line_begins_anew(tmp_path):
    (tmp_path / JOURNAL).write_text('{"campai')
    with_rows(tmp_path, 3)
    assert set(read_rows(tmp_path, IDENTITY)) == {3}


def test_reading_changes_no_journal(tmp_path):
    """A report may be made while the campaign runs."""
    results = Results(tmp_path, IDENTITY)
    results.add(a_row(0))
    with (tmp_path / JOURNAL).open("a") as journal:
        journal.write('{"run": 1, "se')
    before = (tmp_path / JOURNAL).read_bytes()
    assert set(read_rows(tmp_path, IDENTITY)) == {0}
    assert (tmp_path / JOURNAL).read_bytes() == before
    results.close()


def test_two_campaigns_do_not_write_to_one_directory(tmp_path):
    results = Results(tmp_path, IDENTITY)
    with pytest.raises(HeldError, match=f"{tmp_path} is in use by process {os.getpid()} on "):
        Results(tmp_path, IDENTITY)
    results.close()
    Results(tmp_path, IDENTITY).close()


def test_results_of_another_campaign_are_not_mixed(fmu_directory, tmp_path, pool):
    path = write_campaign(tmp_path, fmu_directory, seeds=1)
    run_campaign(path, tmp_path / "out", pool)
    write_campaign(tmp_path, fmu_directory, seeds=2)
    with pytest.raises(ResultsError, match="results of another campaign"):
        run_campaign(path, tmp_path / "out", pool)


def test_a_run_is_noted_once(tmp_path):
    results = Results(tmp_path, {"name": "x"})
    row = Row(0, 1, {}, {}, "ok", "", 0.1, "")
    results.add(row)
    with pytest.raises(ResultsError, match="run 0 has ended already"):
        results.add(row)
    results.close()
    assert json.loads((tmp_path / JOURNAL).read_text().splitlines()[1])["run"] == 0


def test_connected_parts_and_files(fmu_directory, tmp_path):
    """A wheel turns an encoder: what one part gives reaches the other in the same step."""
    (tmp_path / "system.toml").write_text(
        '[system]\nname = "Cart"\ndescription = "A vehicle and a wheel"\nstep = 0.01\nstop = 0.3\n'
        'connections = [["car.wheel_1", "wheel.joint"]]\n'
        '[parts.car]\nfmu = "VehicleDynamics"\nparameters.drive.left = 6.0\n'
        '[parts.wheel]\nfmu = "Encoder"\nparameters.inputs_at_step_end = true\n'
        "parameters.record = true\n"
    )
    text = (
        f'[campaign]\nname = "cart"\nsystem = "system.toml"\nfmus = "{fmu_directory.as_posix()}"\n'
        "[keep]\nseries = ['car.wheel_1.position', 'wheel.position']\nfiles = true\n"
    )
    (tmp_path / "c.toml").write_text(text)
    campaign = open_campaign(tmp_path / "c.toml")
    master = Master(campaign.system, campaign.fmus, campaign.outputs)
    series = master.run({}, 1, campaign.step, campaign.stop, tmp_path / "files")
    truth, read = series.columns["car.wheel_1.position"], series.columns["wheel.position"]
    assert truth[-1] > 0.1
    np.testing.assert_allclose(read[1:], truth[1:], atol=2e-2)
    again = master.run({}, 1, campaign.step, campaign.stop, tmp_path / "again")
    np.testing.assert_array_equal(again.columns["wheel.position"], read)
    master.close()
    assert list((tmp_path / "files" / "wheel").iterdir())


# ---- descriptions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "small"', 'nam = "small"', "campaign.name is missing"),
        ("[0.0, 0.02]", "[0.0, true]", "has the wrong type"),
        ("[0.0, 0.02]", "[]", "a list of no values"),
        ("[0.0, 0.02]", "{ low = 1.0, high = 0.0 }", "must be rising"),
        ("[0.0, 0.02]", "{ low = 0.0, high = 1.0, scale = 'logarithmic' }", "rising above 0"),
        ("[0.0, 0.02]", "{ mean = 0.0 }", "are none of low and high"),
        ("imu.gyroscope.bias.z", "imu.gyroscope.bias.q", "is no parameter or input"),
        ("imu.gyroscope.bias.z", "gps.x", "'gps' is no part, there are imu, wheel"),
        ("imu.accelerometer.x)", "imu.accelerometer.q)", "'accelerometer.q' is no output of imu"),
        ("np.std(imu", "np.std((imu", "is no expression"),
        ('["imu.gyroscope.z"]', '["wheel.joint.position"]', "is no output of wheel"),
        ("seeds = 3", "seeds = 3\nsampling = 'sobol'", "samples = 0 must be at least 1 for sobol"),
        ("seeds = 3", "seeds = 3\nsampling = 'all'", "is none of grid, latin_hypercube"),
        ("seeds = 3", "seeds = 3\nstep = 9.0", "campaign.step must be above 0 s"),
        # misspelt, of a wrong type or out of range although it is drawn
        ('bias.z" = [0.0, 0.02]', 'bias.q" = { mean = 0.0, deviation = 1.0 }', "is no parameter"),
        (
            'gyroscope.bias.z" = [0.0, 0.02]',
            'seed" = { mean = 1.0, deviation = 1.0 }',
            "wrong type",
        ),
        (
            "seeds = 3\n[vary]\n" + VARIED,
            'sampling = "random"\nsamples = 99\n[vary]\n'
            '"imu.gyroscope.noise.density.z" = { mean = 1e-3, deviation = 1e-3 }',
            "is out of range, allowed is at least 0 rad/s/sqrt(Hz); choose a smaller deviation",
        ),
        (VARIED, '"imu.preset" = ["VN-100", "x"]', "'x'"),
        (
            '"imu.gyroscope.bias.z" = [0.0, 0.02]',
            '"imu.preset" = ["VN-100", "own/x.toml"]',
            "x.toml",
        ),
        # counts without end
        (
            "seeds = 3",
            "seeds = 3000000000",
            "campaign.seeds = 3000000000 must be a whole number of 1",
        ),
        ("seeds = 3", "seeds = 0", "campaign.seeds = 0 must be a whole number of 1 to 1000000"),
        (
            "seeds = 3",
            "seeds = [3000000000]",
            "must be a whole number of -2147483648 to 2147483647",
        ),
        (
            "seeds = 3",
            "sampling_seed = -1",
            "campaign.sampling_seed = -1 must be a whole number of 0",
        ),
        (
            "seeds = 3",
            'sampling = "random"\nsamples = 10000000000',
            "campaign.samples = 10000000000 must be a whole number of 1 to 1000000",
        ),
        (
            "[0.0, 0.02]",
            "{ low = 0.0, high = 1.0, count = 10000000000 }",
            "count = 10000000000 must be a whole number of 2 to 1000000",
        ),
        (
            "[0.0, 0.02]",
            "{ low = 0.0, high = 1.0, count = 400000 }",
            "the campaign has 1200000 runs, with 3 seeds for each combination; allowed are at most",
        ),
        ("seeds = 3", "seeds = 3\nstep = 1e-12", "2e+11 steps, allowed are at most 100000000"),
        ("seeds = 3", "seeds = 3\nstop = inf", "steps, allowed are at most 100000000"),
        # columns of the results
        (
            "rate =",
            "seed =",
            "metrics.seed: seed is a column of the results, give the metric another",
        ),
        ("rate =", '"imu.gyroscope.bias.z" =', "imu.gyroscope.bias.z is varied, give the metric"),
        # code
        ("np.std(imu.accelerometer.x)", "np.load('x')", "np.load is not allowed"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(tmp_path, old, new, said):
    models = {name: source.model for name, source in fmu_sources().items()}
    path = write_campaign(tmp_path, tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises((DescriptionError, design.DesignError)) as refusal:
        read_campaign(path, models)
    assert said in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_paths_of_presets_are_relative_to_the_description(tmp_path):
    own = tmp_path / "mine.toml"
    shutil.copy(Path(sensor_models.__file__).parent / "presets" / "vn-100.toml", own)
    text = CAMPAIGN.replace(
        '"imu.gyroscope.bias.z" = [0.0, 0.02]', '"imu.preset" = ["./mine.toml"]'
    )
    models = {name: source.model for name, source in fmu_sources().items()}
    campaign = read_campaign(write_campaign(tmp_path, tmp_path, text=text), models)
    (preset,) = campaign.variations[0].values
    assert Path(preset) == own
    assert Path(preset).is_absolute()
