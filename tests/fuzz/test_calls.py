"""The short run of random calls; ``python -m tests.fuzz`` is the long one. For Linux."""

from pathlib import Path

import pytest

from tests.conftest import MODELS
from tests.fuzz.calls import Fuzzer, build_fuzzer

CALLS = 2_000


@pytest.fixture(scope="module")
def fuzzer(fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Fuzzer:
    fmus = [fmu_directory / f"{name}.fmu" for name in MODELS]
    return build_fuzzer(fmus, tmp_path_factory.mktemp("fuzz"))


def test_random_calls_harm_no_host_and_no_error_goes_without_a_word(fuzzer: Fuzzer) -> None:
    outcome = fuzzer.run(20, CALLS)
    assert outcome.calls == CALLS
    # far enough into the life of the FMUs to have met more than refusals
    assert outcome.steps > CALLS / 100
    assert outcome.errors > CALLS / 100


def test_the_same_seed_makes_the_same_calls(fuzzer: Fuzzer) -> None:
    assert fuzzer.run(3, 500) == fuzzer.run(3, 500)
