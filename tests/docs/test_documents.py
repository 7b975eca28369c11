"""What the documents show works as shown."""

import itertools
import math
import re
import subprocess
import sys
from pathlib import Path

import fmpy
import numpy as np
import pyarrow.parquet
import pytest

import build_fmus
from sensor_models import catalog
from sensor_models.core.spec import scalars_of
from sensor_models.scene.materials import material_library

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(build_fmus.__file__).parent


def test_fmpy_example_of_the_readme_runs(fmu_directory: Path, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0]
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "fmus").symlink_to(fmu_directory)
    command = [sys.executable, "-c", example]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, position, _, sample_time = map(float, done.stdout.splitlines()[-1].strip("()").split(","))
    degree = 2.0 * math.pi / 360.0
    assert abs(position - 3.0 * sample_time) < degree + 5e-3  # one code, and 5 times the noise


def test_example_of_scenes_runs() -> None:
    page = (ROOT / "docs" / "scenes.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    command = [sys.executable, "-c", example]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"nearest \d+\.\d\d m, entity \d+\n", done.stdout)


def test_example_of_packets_writes_them_with_their_metadata(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    command = [sys.executable, "-c", example]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    packet = 32 + 16 * (12 + 12 * 128) + 32
    assert (tmp_path / "os1.pcap").stat().st_size == 24 + 64 * (16 + 14 + 20 + 8 + packet)
    assert '"RNG19_RFL8_SIG16_NIR16"' in (tmp_path / "os1.json").read_text()


def test_imu_example_draws(tmp_path: Path) -> None:
    script = ROOT / "examples" / "imu.py"
    arguments = ["--hours", "0.02", "--preset", "ADIS16470", "--output", str(tmp_path)]
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "imu.png").read_bytes().startswith(b"\x89PNG")


def test_wheel_example_draws_and_records(fmu_directory: Path, tmp_path: Path) -> None:
    script = ROOT / "examples" / "wheel.py"
    command = [sys.executable, str(script), "--fmus", str(fmu_directory), "--output", str(tmp_path)]
    for _ in range(2):  # a second run replaces what the first one wrote
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "wheel.png").read_bytes().startswith(b"\x89PNG")
    (record,) = tmp_path.glob("*encoder*.parquet")
    table = pyarrow.parquet.read_table(record)
    assert table.num_rows == 24_001  # 12 s at 2000 Hz, both ends included
    stuck = table.filter(
        (pyarrow.compute.field("time") > 7.05) & (pyarrow.compute.field("time") < 7.95)
    )
    assert len(set(stuck["position"].to_pylist())) == 1


def test_extras_that_documents_name_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    named = re.findall(r"""pip install [^\n]*?["'](?:sensor-fmus|\.)\[([\w,]+)\]""", text)
    assert len(named) >= 5
    assert {extra for names in named for extra in names.split(",")} <= extras.keys()


def test_readme_shows_every_fmu() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in build_fmus.fmu_sources():
        assert re.search(rf"^\| (`\w+`, )*`{name}`(, `\w+`)* \|", readme, re.MULTILINE)


def rows_of_choices() -> list[tuple[list[str], list[str], dict[str, int]]]:
    """The table of choices: names, sensors, and the numbers of the items."""
    page = (ROOT / "docs" / "masters.md").read_text(encoding="utf-8")
    table = page.partition("## Numbers of choices")[2]
    found = re.findall(r"^\| (`.+?) \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    return [
        (
            re.findall("`([^`]+)`", names),
            re.findall("`([^`]+)`", sensors),
            {item: int(number) for number, item in re.findall(r"(\d+) (\w+)", items)},
        )
        for names, sensors, items in found
    ]


def choices_of(sensor: str) -> dict[str, dict[str, int]]:
    """The choices of a sensor by their names."""
    return {
        name: {item.name: item.value for item in quantity.choices}
        for name, quantity, _ in scalars_of(catalog.spec_of(sensor).groups())
        if quantity.choices is not None
    }


def meant_by(name: str) -> list[str]:
    """The names that one with braces stands for."""
    parts = re.split(r"\{(.+?)\}", name)
    options = [part.split(",") if k % 2 else [part] for k, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*options)]


def test_numbers_of_choices_in_the_document_are_those_of_the_sensors() -> None:
    rows = rows_of_choices()
    assert len(rows) > 20
    for names, sensors, numbers in rows:
        for name, sensor in itertools.product(names, sensors):
            for meant in meant_by(name):
                assert choices_of(sensor).get(meant) == numbers, (sensor, meant)


@pytest.mark.parametrize("sensor", catalog.names())
def test_every_choice_of_a_sensor_is_in_the_document(sensor: str) -> None:
    rows = rows_of_choices()
    listed = {
        meant
        for names, sensors, _ in rows
        if sensor in sensors
        for name in names
        for meant in meant_by(name)
    }
    assert listed == choices_of(sensor).keys()


#: The keywords of Modelica 3.6.
MODELICA = frozenset(
    [
        "algorithm",
        "and",
        "annotation",
        "block",
        "break",
        "class",
        "connect",
        "connector",
        "constant",
        "constrainedby",
        "der",
        "discrete",
        "each",
        "else",
        "elseif",
        "elsewhen",
        "encapsulated",
        "end",
        "enumeration",
        "equation",
        "expandable",
        "extends",
        "external",
        "false",
        "final",
        "flow",
        "for",
        "function",
        "if",
        "import",
        "impure",
        "in",
        "initial",
        "inner",
        "input",
        "loop",
        "model",
        "not",
        "operator",
        "or",
        "outer",
        "output",
        "package",
        "parameter",
        "partial",
        "protected",
        "public",
        "pure",
        "record",
        "redeclare",
        "replaceable",
        "return",
        "stream",
        "then",
        "true",
        "type",
        "when",
        "while",
        "within",
    ]
)


def words_of_modelica() -> dict[str, set[str]]:
    """The parts of names that are words of Modelica, with their variables, or with their groups."""
    found: dict[str, set[str]] = {}
    for source in build_fmus.fmu_sources().values():
        for variable in source.model.table().variables:
            *groups, last = variable.name.split(".")
            if last in MODELICA:
                found.setdefault(last, set()).add(variable.name)
            for place, group in enumerate(groups):
                if group in MODELICA:
                    found.setdefault(group, set()).add(".".join([*groups[: place + 1], "*"]))
    return found


def test_words_of_modelica_in_the_document_are_those_in_names() -> None:
    page = (ROOT / "docs" / "masters.md").read_text(encoding="utf-8")
    table = page.partition("## Names that are words of Modelica")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|$", table, re.MULTILINE)
    assert {word: set(re.findall("`([^`]+)`", names)) for word, names in rows} == (
        words_of_modelica()
    )


def test_every_claim_of_the_readme_has_its_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    claims = re.findall(r"^- \*\*(.+?)\*\*.*?\(`([^`]+)`\)\.$", readme, re.MULTILINE)
    assert len(claims) == len(re.findall(r"^- \*\*", readme, re.MULTILINE)) >= 6
    for _, command in claims:
        program, _, words = command.partition(" ")
        assert program in ("pytest", "python", "sensor-fmus")
        if program == "pytest":
            assert (ROOT / words).is_file()
        if program == "python":
            assert re.fullmatch(r"-m tests\.bench (\w+)", words)
            assert f'"{words.split()[-1]}": lambda' in (
                ROOT / "tests" / "bench" / "__main__.py"
            ).read_text(encoding="utf-8")
    (number,) = re.findall(r"(\d+) surfaces", readme)
    assert int(number) == len(material_library())


def test_readme_leads_to_every_tool_and_every_kind_of_sensor() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tools = ("start", "campaigns", "datasets", "quick_caster", "presets", "fitting", "messages")
    for page in (*tools, "library", "depth_camera", "wheels", "worlds", "standalone", "fmi3"):
        assert f"](docs/{page}.md" in readme, page
    assert "`sensor-fmus --help`" in readme
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    for word in ("URDF", "MJCF", "USD", "glTF", "Euler", "Foxglove", "ROS 2", "OSI", "KITTI"):
        assert word in pages, word


def test_what_fmpy_does_in_silence_is_said_where_the_first_script_is() -> None:
    start = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    assert "fmpy's own `simulate_fmu` [would ignore them silently](masters.md#fmpy)" in start
    masters = (ROOT / "docs" / "masters.md").read_text(encoding="utf-8")
    assert "with redirect_stdout(None):" in masters


def test_lines_that_fmpy_prints_of_an_imu_are_counted_right(
    fmu_directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    masters = (ROOT / "docs" / "masters.md").read_text(encoding="utf-8")
    found = re.search(r"(\d+) for an `Imu` of which one is given; (\d+) of them are", masters)
    assert found is not None
    turning = np.rec.fromarrays([[0.0, 0.1], [0.0, 0.0]], names=["time", "body.position.x"])
    options = {"stop_time": 0.1, "step_size": 0.1, "input": turning, "output": ["sample.time"]}
    fmpy.simulate_fmu(str(fmu_directory / "Imu.fmu"), **options)
    lines = [line for line in capfd.readouterr().out.splitlines() if "missing input" in line]
    faults = [line for line in lines if "fault" in line]
    assert (len(lines), len(faults)) == (int(found[1]), int(found[2]))
