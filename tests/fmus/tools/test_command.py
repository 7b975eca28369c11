"""The words of ``sensor-fmus``: what is misspelt, missing or forbidden is said in a line."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fmus.building import project
from fmus.tools import command

COMMANDS = (
    "new", "examples", "list", "build", "demo", "scene", "presets", "fit", "campaign", "dataset",
    "validate",
)  # fmt: skip


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The line that says what is wrong."""
    assert command.main(words) != 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_help_has_every_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "``" not in said
    lines = [line.split()[0] for line in said.splitlines() if line.startswith("    ")]
    assert [word for word in lines if word in COMMANDS] == list(COMMANDS)


def test_without_words_it_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 2
    assert "sensor-fmus new DIRECTORY" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nwe", "no command 'nwe'; did you mean new?"),
        ("datset", "did you mean dataset?"),
        ("frobnicate", f"there are {', '.join(COMMANDS)}"),
    ],
)
def test_a_word_that_is_no_command(
    word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in failed(capsys, word)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["scene", "--help"], "usage: sensor-fmus scene "),
        (["scene", "view", "--help"], "usage: sensor-fmus scene view "),
        (["build", "--help"], "usage: sensor-fmus build "),
        (["presets", "--help"], "usage: sensor-fmus presets "),
        (["fit", "--help"], "usage: sensor-fmus fit "),
        (["campaign", "run", "--help"], "usage: sensor-fmus campaign run "),
        (["validate", "--help"], "usage: sensor-fmus validate "),
    ],
)
def test_help_names_the_command_as_it_was_called(
    words: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(shown)
    assert "``" not in said
    assert "::\n" not in said


def test_an_fmu_that_is_misspelt(capsys: pytest.CaptureFixture[str]) -> None:
    assert failed(capsys, "build", "--only", "imu") == "no FMU imu; did you mean Imu?\n"
    assert "there are Accelerometer," in failed(capsys, "build", "--only", "Sonar")


@pytest.mark.parametrize("place", ["x", "a b", "ä ö", "プロジェクト", "it's"])
def test_what_is_to_be_done_next_can_be_copied_into_a_shell(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main(["new", place]) == 0
    said = capsys.readouterr().out.removeprefix("now: ").strip()
    (tmp_path / place / "run.py").write_text("import sys\nprint(sys.prefix)")
    done = subprocess.run(
        ["sh", "-c", said], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, sys.prefix)


def test_an_environment_on_the_path_is_called_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    assert command.main(["new", str(tmp_path / "x")]) == 0
    assert capsys.readouterr().out == f"now: cd {tmp_path / 'x'} && python run.py\n"


def test_a_copy_can_be_changed_where_the_package_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package" / "starter"
    command.copy_new(project.EXAMPLES / "starter", package)
    for file in package.iterdir():
        file.chmod(0o444)
    package.chmod(0o555)
    monkeypatch.setattr(project, "EXAMPLES", package.parent)
    (tmp_path / "there").mkdir(mode=0o700)
    for name in ("new", "there"):
        assert command.main(["new", str(tmp_path / name)]) == 0
        for file in (tmp_path / name).iterdir():
            assert file.stat().st_mode & stat.S_IWUSR
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o700
    package.chmod(0o755)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["new", "taken.txt"], "taken.txt is there already; name a directory that is new or empty"),
        (["new", "taken.txt/x"], "taken.txt/x: Not a directory"),
        (["examples", "."], ". is there already; name a directory that is new or empty"),
        (["scene", "new", "nothere.glb"], "nothere.glb: cannot be read: No such file or directory"),
        (["scene", "check", "nothere.toml"], "nothere.toml: does not exist"),
        (["dataset", "nothere.toml"], "nothere.toml: cannot be read: No such file or directory"),
        (["campaign", "run", "nothere.toml"], "nothere.toml: cannot be read: No such file"),
        (["fit", "imu", "nothere.csv"], "nothere.csv"),
    ],
)
def test_what_is_not_there_or_in_the_way(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.txt").touch()
    assert said in failed(capsys, *words)
    assert [file.name for file in tmp_path.iterdir()] == ["taken.txt"]


def test_a_directory_that_may_not_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:  # root may write everywhere
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    place = tmp_path / "x"
    for name in ("new", "examples"):
        assert failed(capsys, name, str(place)) == f"{place}: Permission denied\n"


def test_who_reads_only_the_first_lines_hears_no_complaint() -> None:
    read, written = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "fmus.tools.command", "presets", "units"],
        stdout=written, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(written)
    assert (done.returncode, done.stderr) == (1, "")


def test_what_is_stopped_goes_on_only_where_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object) -> int:
        raise KeyboardInterrupt

    for name, said in (("_scene", "stopped\n"), ("_build", "stopped; the same command goes on")):
        monkeypatch.setattr(command, name, stopped)
        assert command.main([name[1:]]) == 130
        assert capsys.readouterr().err.strip("\n").startswith(said.strip())


def test_examples_are_listed_with_their_folders(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["examples"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines()[:-1]}
    files = {path.name for path in project.EXAMPLES.glob("*.py")}
    folders = {f"{path.name}/" for path in project.EXAMPLES.iterdir() if path.is_dir()}
    # those that scripts use, and what running them leaves
    used = {"report/", "robot/", "walk/", "__pycache__/"}
    assert listed == (files | folders | {"scenes/"}) - used
