"""Packages inside FMUs and those of the host: neither hides the other; and where they come from."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import build_fmus
from fmus.binding import fmu_loader
from tests.fmus.binding.test_loading import bare_python, check_life, life, run_host, unpack

__all__ = ["bare_python"]  # a fixture

IGNORED = shutil.ignore_patterns("__pycache__")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sources that differ from those in the FMUs by a line."""
    tree = tmp_path_factory.mktemp("checkout")
    for folder in ("sensor_models", "fmus"):
        shutil.copytree(build_fmus.ROOT / folder, tree / folder, ignore=IGNORED)
        with (tree / folder / "__init__.py").open("a") as source:
            source.write("\n#: Not in the FMUs.\nFROM_CHECKOUT = True\n")
    return tree


def test_a_checkout_can_be_imported_after_an_fmu_was_loaded_and_has_gone(
    fmu_directory: Path, checkout: Path, tmp_path: Path
) -> None:
    encoder = unpack(fmu_directory / "Encoder.fmu", tmp_path / "encoder")
    *answers, _, _, scene, kernel, package = run_host(
        *life(encoder),
        ["remove", encoder.key],
        ["path", str(checkout)],
        ["import", "sensor_models.scene"],
        ["import", "sensor_models.kernels.light.media"],
        ["import", "fmus"],
    )
    check_life("Encoder", answers)
    assert scene.value == str(checkout / "sensor_models" / "scene" / "__init__.py")
    assert kernel.value == str(checkout / "sensor_models" / "kernels" / "light" / "media.py")
    assert package.value == str(checkout / "fmus" / "__init__.py")


def test_fmus_run_beside_other_sources_that_the_host_has_imported(
    fmu_directory: Path, checkout: Path, tmp_path: Path
) -> None:
    for model in ("Encoder", "Null"):
        fmu = unpack(fmu_directory / f"{model}.fmu", tmp_path / model)
        _, module, *answers = run_host(
            ["path", str(checkout)], ["import", "sensor_models.wheel.encoder"], *life(fmu)
        )
        assert module.value.startswith(str(checkout))
        check_life(model, answers)


@pytest.mark.parametrize("first", [False, True])
def test_modules_of_the_host_by_the_same_names_are_left_alone(
    fmu_directory: Path, tmp_path: Path, first: bool
) -> None:
    for name in ("fmus", "pythonfmu", "sensor_models"):
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own" / f"{name}.py").write_text("")
    imports = [["path", str(tmp_path / "own")]]
    imports += [["import", name] for name in ("fmus", "pythonfmu", "sensor_models")]
    encoder = unpack(fmu_directory / "Encoder.fmu", tmp_path / "encoder")
    commands = [*imports, *life(encoder)] if first else [*life(encoder), *imports]
    answers = run_host(*commands)
    found, lived = (answers[:4], answers[4:]) if first else (answers[5:], answers[:5])
    check_life("Encoder", lived)
    assert [Path(answer.value).parent for answer in found[1:]] == [tmp_path / "own"] * 3


def test_the_same_sources_in_the_host_are_shared(fmu_directory: Path, tmp_path: Path) -> None:
    encoder = unpack(fmu_directory / "Encoder.fmu", tmp_path / "encoder")
    _, _, _, *answers, kernels = run_host(
        ["path", str(build_fmus.ROOT)],
        ["import", "fmus"],
        ["import", "pythonfmu"],
        *life(encoder),
        ["kernels"],
    )
    check_life("Encoder", answers)
    assert kernels.value
    assert all(line.startswith("sensor_models.") for line in kernels.value)


# ---- packages of another interpreter -------------------------------------------------------------


def test_fmu_python_lends_its_packages_to_a_host_with_a_python_of_its_own(
    fmu_directory: Path, tmp_path: Path, bare_python: str
) -> None:
    encoder = unpack(fmu_directory / "Encoder.fmu", tmp_path / "encoder")
    (encoder.resources / "python.txt").unlink()
    check_life("Encoder", run_host(*life(encoder), python=bare_python, FMU_PYTHON=sys.executable))


def test_an_fmu_python_that_cannot_lend_is_told(
    fmu_directory: Path, tmp_path: Path, bare_python: str
) -> None:
    encoder = unpack(fmu_directory / "Encoder.fmu", tmp_path / "encoder")
    (encoder.resources / "python.txt").unlink()
    (answer,) = run_host(["open", encoder.key], python=bare_python, FMU_PYTHON="/bin/true")
    (message,) = answer.messages
    assert "FMU_PYTHON names '/bin/true', whose packages are for no Python" in message


@pytest.mark.parametrize("executable", ["/usr/bin/some-host", "", sys.executable])
def test_where_the_system_manages_packages_the_message_makes_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    needed = ["no-such-package>=1,<3", 'tomli>=2; python_version < "3.11"', "numba>=0.60"]
    (tmp_path / "requirements.txt").write_text("\n".join(needed))
    with pytest.raises(fmu_loader.FmuLoadError, match="no-such-package is not installed") as told:
        fmu_loader.check_requirements(str(tmp_path))
    environment, install, choice = str(told.value).splitlines()[1:]
    python = environment.split('"')[1]
    assert environment.endswith("-m venv ~/sensor-fmus")
    wanted = ['"no-such-package>=1,<3"', *(['"tomli>=2"'] if sys.version_info < (3, 11) else [])]
    packages = " ".join([*wanted, '"numba>=0.60"'])
    assert install.strip() == f"~/sensor-fmus/bin/python -m pip install {packages}"
    assert choice.strip() == "FMU_PYTHON=~/sensor-fmus/bin/python"
    subprocess.run([python, "-m", "venv", "--without-pip", str(tmp_path / "made")], check=True)
    version = subprocess.check_output([tmp_path / "made" / "bin" / "python", "-V"], text=True)
    assert version.split()[1] == sys.version.split()[0]


def test_a_host_that_embeds_python_is_not_taken_for_an_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    assert "/bin/true" not in fmu_loader.remedy(["numpy"])
