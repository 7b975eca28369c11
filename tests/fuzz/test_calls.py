"""The short run of random calls; ``python -m tests.fuzz`` is the long one. For Linux."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import MODELS
from tests.fuzz.calls import Fuzzer, Outcome, build_fuzzer
from tests.masters.sensors import TYPES

CALLS = 20_000

#: What every FMU must have said OK to in the course of a run, so far that states were set.
GOOD = {
    "fmi2Instantiate",
    "fmi2ExitInitializationMode",
    "fmi2DoStep",
    "fmi2GetReal",
    "fmi2GetString",
    "fmi2GetFMUstate",
    "fmi2SetFMUstate",
    "fmi2FreeInstance",
}
#: What every FMU must have refused.
REFUSED = {
    "fmi2SetupExperiment",
    "fmi2EnterInitializationMode",
    "fmi2ExitInitializationMode",
    "fmi2SetReal",
    "fmi2SetInteger",
    "fmi2SetString",
    "fmi2DoStep",
    "fmi2SetFMUstate",
    "fmi2CancelStep",
}
#: What some FMUs must have taken, and some refused.
BOTH = {
    "fmi2Terminate",
    "fmi2Reset",
    "fmi2FreeFMUstate",
    "fmi2DeSerializeFMUstate",
    "fmi2SetDebugLogging",
    "fmi2GetRealStatus",
    *(f"fmi2{verb}{kind}" for verb in ("Set", "Get") for kind in TYPES),
}


@pytest.fixture(scope="module")
def fuzzer(fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Fuzzer:
    fmus = [fmu_directory / f"{name}.fmu" for name in MODELS]
    return build_fuzzer(fmus, tmp_path_factory.mktemp("fuzz"))


def unreached(outcome: Outcome) -> Iterator[str]:
    """What a run did not come to: it must get far into the life of each FMU."""

    def answers(function: str) -> dict[str, tuple[int, int]]:
        return {model: outcome.answers.get((model, function), (0, 0)) for model in MODELS}

    for function in sorted(GOOD | REFUSED):
        for model, (good, refused) in answers(function).items():
            if (function in GOOD and not good) or (function in REFUSED and not refused):
                yield f"{model}: {function} {good} good, {refused} refused"
    for function in sorted(BOTH):
        if not all(map(sum, zip(*answers(function).values(), strict=True))):
            yield f"{function}: {answers(function)}"
    yield from (m for m, (good, _) in answers("fmi2DoStep").items() if good < CALLS / 500)


def test_random_calls_harm_no_host_and_no_error_goes_without_a_word(fuzzer: Fuzzer) -> None:
    outcome = fuzzer.run(20, CALLS)
    assert outcome.calls == CALLS
    assert list(unreached(outcome)) == []
    assert outcome.steps > CALLS / 10
    assert outcome.errors > CALLS / 10


def test_the_same_seed_makes_the_same_calls(fuzzer: Fuzzer) -> None:
    assert fuzzer.run(3, 500) == fuzzer.run(3, 500)
