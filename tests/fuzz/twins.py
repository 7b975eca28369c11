"""FMUs of both versions of FMI side by side: the same bits, and states that go over.

``python -m tests.fuzz.twins [NAME ...]`` takes 10,000 steps with each sensor, or with those that
are named. Bits are compared by ``repr``, which tells 0 from -0.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import build_fmus
from fmus.binding.compile import host_platform
from fmus.fmi.arrays import Interface
from sensor_models import catalog
from tests.fmus.histories import go, parameters_of
from tests.fmus.host import Instance, open_fmu
from tests.fmus.twins import Twin, open_twin

STEPS = 10_000
#: Steps from one exchange of states to the next, and those that are taken again from such a state.
STRETCH, AGAIN = 500, 15


def side_by_side(old: Instance, new: Twin, steps: int) -> None:
    """Take steps with both; after each stretch one continues from the other's state and back.

    What has run on must not matter: before it takes the state of a step, the twin goes further.
    """
    shown = [name for name in old.names("output") if name in new.scalars]
    assert len(shown) == len(new.names("output"))

    def rows(instance: Instance, first: int, last: int) -> list[str]:
        return [repr([row[name] for name in shown]) for row in go(instance, first, last)]

    done = 0
    while done < steps:
        last = min(done + STRETCH, steps)
        for k, (ours, theirs) in enumerate(
            zip(rows(old, done, last), rows(new, done, last), strict=True)
        ):
            assert ours == theirs, f"step {done + k}"
        content = old.saved()
        assert new.saved() == content
        later = rows(old, last, last + AGAIN)
        go(new, last, last + AGAIN // 2)
        new.restore(content)
        assert rows(new, last, last + AGAIN) == later
        old.restore(new.saved())
        assert old.saved() == new.saved()
        done = last + AGAIN


def compare(old: Path, new: Path, model: str, steps: int) -> None:
    """Initialise the FMUs of a sensor of both versions in the same way, and run them."""
    with open_fmu(old) as instance, open_twin(new) as twin:
        for each in (instance, twin):
            each.initialize(parameters_of(model))
        side_by_side(instance, twin, steps)


def main(arguments: Sequence[str] | None = None) -> None:
    """Build both FMUs of each sensor, and compare them."""
    parser = argparse.ArgumentParser(description="Long runs of FMUs of both versions of FMI.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="sensors; default: all")
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args(arguments)
    known = build_fmus.fmu_sources()
    for name in options.names or catalog.names():
        with tempfile.TemporaryDirectory() as directory:
            old, new = (
                build_fmus.build(
                    [known[name]],
                    Path(directory, interface.value),
                    platforms=[host_platform()],
                    interface=interface,
                )[0]
                for interface in (Interface.fmi2, Interface.arrays)
            )
            compare(old, new, name, options.steps)
        print(f"{name}: the same bits over {options.steps} steps", flush=True)


if __name__ == "__main__":
    main()
