"""Campaigns: many runs of a system, with real FMUs in real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fmpy
import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from fmus import command
from fmus.building.sources import fmu_sources
from fmus.campaigns import design
from fmus.campaigns.campaign import open_campaign, run_campaign
from fmus.campaigns.description import read_campaign
from fmus.campaigns.master import Master
from fmus.campaigns.report import decades
from fmus.campaigns.results import JOURNAL, Results, ResultsError, Row
from fmus.systems import DescriptionError
from sensor_models.crew.cluster import ClusterCrew
from sensor_models.crew.local import LocalCrew
from tests.browser import open_page
from tests.campaigns import CAMPAIGN, write_campaign
from tests.clusters import local_cluster
from tests.tools import need


@pytest.fixture(scope="module")
def crew():
    with LocalCrew(2) as crew:
        yield crew


def rows_of(directory):
    return pq.read_table(directory / "runs.parquet").to_pylist()


def without_times(rows):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def test_each_run_has_a_row_with_what_was_varied_and_measured(fmu_directory, tmp_path, crew):
    path, output = write_campaign(tmp_path, fmu_directory), tmp_path / "out"
    seen = []
    run_campaign(path, output, crew, lambda *done: seen.append(done))
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


def test_a_run_has_the_bits_that_it_has_alone_in_fmpy(fmu_directory, tmp_path, crew):
    """The oracle is fmpy's own master, with the parameters written out by hand."""
    path, output = write_campaign(tmp_path, fmu_directory), tmp_path / "out"
    run_campaign(path, output, crew)
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


def test_rows_do_not_depend_on_workers(fmu_directory, tmp_path, crew):
    path = write_campaign(tmp_path, fmu_directory)
    run_campaign(path, tmp_path / "two", crew)
    with LocalCrew(1) as alone:
        run_campaign(path, tmp_path / "one", alone)
    with local_cluster(2) as cluster, ClusterCrew(cluster.scheduler_address) as many:
        run_campaign(path, tmp_path / "many", many)
    one = without_times(rows_of(tmp_path / "one"))
    assert without_times(rows_of(tmp_path / "two")) == one
    assert without_times(rows_of(tmp_path / "many")) == one


def test_a_run_that_fails_is_a_row_and_stops_nothing(fmu_directory, tmp_path, crew):
    text = CAMPAIGN.replace(
        '"imu.gyroscope.bias.z" = [0.0, 0.02]', '"imu.preset" = ["VN-100", "x"]'
    )
    path = write_campaign(tmp_path, fmu_directory, text=text, seeds=2)
    run_campaign(path, tmp_path / "out", crew)
    rows = rows_of(tmp_path / "out")
    assert [row["status"] for row in rows] == ["ok", "ok", "failed", "failed"]
    assert "preset" in rows[2]["message"]
    assert rows[2]["rate"] is None
    assert rows[0]["rate"] is not None


def test_only_the_run_that_ends_its_process_fails(fmu_directory, tmp_path, crew):
    text = CAMPAIGN.replace(
        'rate = "np.mean(imu.gyroscope.z)"',
        'ends = { function = "tests.campaigns:ends_its_process", outputs = ["imu.gyroscope.z"] }',
    ).replace("[0.0, 0.02]", "[0.0, 3.0]")
    path = write_campaign(tmp_path, fmu_directory, text=text, seeds=2)
    run_campaign(path, tmp_path / "out", crew)
    rows = rows_of(tmp_path / "out")
    assert [row["status"] for row in rows] == ["ok", "ok", "failed", "failed"]
    assert "process ended 3 times" in rows[3]["message"]


def test_a_campaign_that_was_killed_goes_on(fmu_directory, tmp_path, crew):
    path, output = write_campaign(tmp_path, fmu_directory, seeds=100), tmp_path / "out"
    command_line = [sys.executable, "-m", "fmus.command", "campaign", "run", str(path)]
    client = subprocess.Popen(
        [*command_line, "--output", str(output), "--workers", "1"], cwd=Path(__file__).parents[1]
    )
    while lines_of(output / JOURNAL) < 10:
        time.sleep(0.02)
        assert client.poll() is None, "it ended before it could be killed"
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    before = lines_of(output / JOURNAL)
    with (output / JOURNAL).open("a") as journal:
        journal.write('{"run": 199, "se')  # as a kill in the middle of a line leaves it
    run_campaign(path, output, crew)
    rows = rows_of(output)
    assert 10 <= before < 201
    assert [row["run"] for row in rows] == list(range(200))
    run_campaign(write_campaign(tmp_path / "again", fmu_directory, seeds=5), tmp_path / "o2", crew)
    few = {(r["seed"], r["imu.gyroscope.bias.z"]): r["rate"] for r in rows_of(tmp_path / "o2")}
    many = {(r["seed"], r["imu.gyroscope.bias.z"]): r["rate"] for r in rows}
    assert all(many[key] == rate for key, rate in few.items())


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_results_of_another_campaign_are_not_mixed(fmu_directory, tmp_path, crew):
    path = write_campaign(tmp_path, fmu_directory, seeds=1)
    run_campaign(path, tmp_path / "out", crew)
    write_campaign(tmp_path, fmu_directory, seeds=2)
    with pytest.raises(ResultsError, match="results of another campaign"):
        run_campaign(path, tmp_path / "out", crew)


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


def test_a_grid_goes_through_all_combinations():
    sampling = design.Sampling("grid", 0, (7, 8), 0)
    runs = design.runs_of(
        sampling, [design.Variation("a", (1, 2)), design.Variation("b", ("x", "y", "z"))]
    )
    assert [run.number for run in runs] == list(range(12))
    assert [(r.values["a"], r.values["b"], r.seed) for r in runs][:4] == [
        (1, "x", 7), (1, "x", 8), (1, "y", 7), (1, "y", 8),
    ]  # fmt: skip
    with pytest.raises(design.DesignError, match="a grid needs a list"):
        design.runs_of(sampling, [design.Variation("a", low=0.0, high=1.0)])


@pytest.mark.parametrize("kind", ["latin_hypercube", "sobol", "random"])
def test_samples_follow_their_distributions(kind):
    """SciPy's distributions as the oracle; a wrong one is off by more than 0.1."""
    variations = [
        design.variation_of("uniform", {"low": 2.0, "high": 6.0}),
        design.variation_of("log", {"low": 1e-3, "high": 10.0, "scale": "logarithmic"}),
        design.variation_of("normal", {"mean": 3.0, "deviation": 0.5}),
        design.Variation("list", ("a", "b", "c", "d")),
    ]
    runs = design.runs_of(design.Sampling(kind, 1000, (1,), 3), variations)
    column = {name: [run.values[name] for run in runs] for name in runs[0].values}
    laws = {
        "uniform": stats.uniform(2.0, 4.0),
        "log": stats.loguniform(1e-3, 10.0),
        "normal": stats.norm(3.0, 0.5),
    }
    for name, law in laws.items():
        distance = stats.kstest(column[name], law.cdf).statistic
        assert distance < (0.05 if kind == "random" else 0.01)
    counts = [column["list"].count(letter) for letter in "abcd"]
    assert sum(counts) == 1000
    assert max(abs(count - 250) for count in counts) < (50 if kind == "random" else 10)
    again = design.runs_of(design.Sampling(kind, 1000, (1,), 3), variations)
    assert [run.values for run in again] == [run.values for run in runs]


def test_a_latin_hypercube_has_one_sample_in_each_interval():
    variations = [design.Variation(name, low=0.0, high=1.0) for name in "abc"]
    runs = design.runs_of(design.Sampling("latin_hypercube", 50, (1,), 0), variations)
    for name in "abc":
        places = sorted(int(50 * run.values[name]) for run in runs)
        assert places == list(range(50))


# ---- the report ----------------------------------------------------------------------------------


def test_the_command_runs_a_campaign_and_reports(fmu_directory, tmp_path, capsys):
    need("Chromium")
    path = write_campaign(tmp_path, fmu_directory)
    output = tmp_path / "out"
    assert command.main(["campaign", "run", str(path), "--output", str(output)]) == 0
    assert "6 runs, 0 failed" in capsys.readouterr().out
    with open_page(output / "report.html", 1200, 800) as page:
        page.wait_for("document.body?.dataset.ready === 'true'")
        assert page.evaluate("document.getElementById('runs').textContent") == "6"
        figures = "[...document.querySelectorAll('.figure')].map(f => f.id)"
        assert page.evaluate(figures) == ["coordinates", "metric-rate", "metric-spread"]
        drawn = "document.querySelectorAll('.figure .main-svg').length"
        assert page.evaluate(drawn) >= 3
        assert page.evaluate("document.querySelectorAll('a[href^=runs]').length") == 12
        assert page.errors == []
        assert page.requests == []


def test_what_varies_by_decades_is_drawn_by_decades():
    axis = decades("density", [3e-5, 1e-3, 2e-4])
    np.testing.assert_allclose(axis["values"], [np.log10(3.0) - 5.0, -3.0, np.log10(2.0) - 4.0])
    assert axis["ticktext"] == ["5e-05", "0.0001", "0.0002", "0.0005", "0.001"]
    np.testing.assert_allclose(10.0 ** np.array(axis["tickvals"]), [5e-5, 1e-4, 2e-4, 5e-4, 1e-3])


def test_the_command_says_what_is_wrong_in_a_line(tmp_path, capsys):
    path = write_campaign(tmp_path, tmp_path / "none")
    assert command.main(["campaign", "run", str(path), "--workers", "1"]) == 1
    error = capsys.readouterr().err
    assert "Imu.fmu" in error
    assert "build it with build_fmus.py" in error
    assert "Traceback" not in error
