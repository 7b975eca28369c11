"""The files of a release, made of what is here with one FMU."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import sensor_models
from fmus.building import release
from tests.tools import need

VERSION = sensor_models.__version__


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial of a release."""
    need("git")
    place = tmp_path_factory.mktemp("release") / "files"
    options = ["--trial", "--only", "Odometer", "--levels", "host"]
    assert release.main([str(place), *options]) == 0
    return place


def test_all_files_are_there_and_match_their_digests(made: Path) -> None:
    names = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert names == {
        f"sensor_fmus-{VERSION}-py3-none-any.whl",
        f"sensor_fmus-{VERSION}.tar.gz",
        f"sensor-fmus-{VERSION}-fmi2.zip",
        f"sensor-fmus-{VERSION}-fmi3.zip",
        "fmi2/Odometer.fmu",
        "fmi3/Odometer.fmu",
        "SHA256SUMS",
    }
    lines = (made / "SHA256SUMS").read_text().splitlines()
    assert {line.split("  ")[1] for line in lines} == names - {"SHA256SUMS"}
    command = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(command, cwd=made, check=False).returncode == 0


def test_digests_tell_of_a_changed_file(made: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(made, tmp_path / "copy")
    with (copy / "fmi2" / "Odometer.fmu").open("ab") as fmu:
        fmu.write(b"!")
    done = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "fmi2/Odometer.fmu: FAILED" in done.stdout


@pytest.mark.parametrize("short", ["fmi2", "fmi3"])
def test_archives_hold_the_fmus_with_the_version(made: Path, short: str) -> None:
    with zipfile.ZipFile(made / f"sensor-fmus-{VERSION}-{short}.zip") as archive:
        assert archive.namelist() == ["Odometer.fmu"]
        assert archive.read("Odometer.fmu") == (made / short / "Odometer.fmu").read_bytes()
    with zipfile.ZipFile(made / short / "Odometer.fmu") as fmu:
        assert f'version="{VERSION}"' in fmu.read("modelDescription.xml").decode()


def test_sources_make_the_same_wheel(made: Path, tmp_path: Path) -> None:
    with tarfile.open(made / f"sensor_fmus-{VERSION}.tar.gz") as sources:
        sources.extractall(tmp_path, **({"filter": "data"} if sys.version_info >= (3, 12) else {}))
    (folder,) = tmp_path.iterdir()
    again = tmp_path / "again"
    again.mkdir()
    program = "import sys; from setuptools import build_meta as b; b.build_wheel(sys.argv[1])"
    command = [sys.executable, "-c", program, str(again)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (wheel,) = again.glob("*.whl")
    with (
        zipfile.ZipFile(wheel) as found,
        zipfile.ZipFile(made / f"sensor_fmus-{VERSION}-py3-none-any.whl") as expected,
    ):
        names = set(expected.namelist())
        assert set(found.namelist()) == names
        assert len(names) > 700
        for name in names:
            if not name.endswith("RECORD"):
                assert found.read(name) == expected.read(name), name


def test_nothing_is_written_over_and_nothing_unfinished_released(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main([str(made), "--trial"]) == 1
    assert "is not empty" in capsys.readouterr().err
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("## 1.2.3 (unreleased)\n")
    with pytest.raises(release.ReleaseError, match=r"no heading '## 1\.2\.3 \(YYYY-MM-DD\)'"):
        release.check_ready(tmp_path, "1.2.3")
    changes.write_text("## 1.2.3 (2026-12-01)\n")
    with pytest.raises(release.ReleaseError, match="changes that are not committed"):
        release.check_ready(tmp_path, "1.2.3")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["add", "-A"], [*who, "commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    release.check_ready(tmp_path, "1.2.3")


def test_digests_are_signed_by_the_key_that_is_named(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("GnuPG")
    home = tmp_path / "gpg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    key = ["--batch", "--passphrase", "", "--quick-generate-key", "a@b.example", "ed25519"]
    subprocess.run(["gpg", *key], check=True, capture_output=True)
    digests = Path(shutil.copy(made / "SHA256SUMS", tmp_path))
    signature = release.sign(digests, "a@b.example")
    check = ["gpg", "--verify", str(signature), str(digests)]
    assert subprocess.run(check, check=False, capture_output=True).returncode == 0
    digests.write_text(digests.read_text() + "0" * 64 + "  more\n")
    assert subprocess.run(check, check=False, capture_output=True).returncode == 1
