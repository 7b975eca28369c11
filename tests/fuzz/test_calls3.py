"""The short run of random calls of FMI 3.0; ``python -m tests.fuzz`` is the long one. For Linux."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.calls import Fuzzer, Outcome
from tests.fuzz.calls3 import build_fuzzer3

CALLS = 20_000

#: The FMUs of the short run: of each kind of run one, with frames and messages, and those with
#: clocks and without. The long run takes all, and calls of FMI 2.0 lead to the same code in them.
MODELS = ("Encoder", "Environment", "Imu", "Lidar", "Null", "Radar")

#: What every FMU must have said OK to in the course of a run.
GOOD = {
    "fmi3InstantiateCoSimulation",
    "fmi3EnterInitializationMode",
    "fmi3DoStep",
    "fmi3GetFloat64",
    "fmi3GetFMUState",
    "fmi3SetFMUState",
    "fmi3FreeInstance",
}
#: What every FMU must have refused.
REFUSED = {
    "fmi3EnterInitializationMode",
    "fmi3ExitInitializationMode",
    "fmi3SetFloat64",
    "fmi3DoStep",
    "fmi3SetFMUState",
    "fmi3EnterEventMode",
}
#: What some FMUs must have taken, and some refused.
BOTH = {
    "fmi3Terminate",
    "fmi3EnterStepMode",
    "fmi3EnterEventMode",
    "fmi3UpdateDiscreteStates",
    "fmi3DeserializeFMUState",
    "fmi3SetBinary",
    "fmi3GetBinary",
    "fmi3GetClock",
    *(f"fmi3{verb}{kind}" for verb in ("Set", "Get") for kind in ("Int32", "Int64", "String")),
}


@pytest.fixture(scope="module")
def fuzzer(fmu3_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Fuzzer:
    fmus = [fmu3_directory / f"{name}.fmu" for name in MODELS]
    return build_fuzzer3(fmus, tmp_path_factory.mktemp("fuzz3"))


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
    yield from (m for m, (good, _) in answers("fmi3DoStep").items() if good < CALLS / 500)


def test_random_calls_harm_no_host_and_no_error_goes_without_a_word(fuzzer: Fuzzer) -> None:
    outcome = fuzzer.run(20, CALLS)
    assert outcome.calls == CALLS
    assert list(unreached(outcome)) == []
    assert outcome.steps > CALLS / 12
    assert outcome.errors > CALLS / 10


def test_the_same_seed_makes_the_same_calls(fuzzer: Fuzzer) -> None:
    assert fuzzer.run(3, 500) == fuzzer.run(3, 500)
