"""Random calls on built FMUs of FMI 3.0 (``calls3.c``), under the address sanitizer if possible."""

import argparse
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import build_fmus
from fmus.binding.compile import SOURCE_DIR, host_platform
from fmus.fmi.arrays import ArrayVariable, Interface, Kind
from fmus.fmi.model_description import guid_of, token_of
from tests.conftest import NULL_FMU
from tests.fmus.histories import parameters_of
from tests.fuzz.calls import SANITIZER, Fuzzer, has_sanitizer
from tests.masters.compiling import compile_c

SOURCE = Path(__file__).with_name("calls3.c")

#: The letters of types.
LETTERS = {
    Kind.time: "T",
    Kind.real: "R",
    Kind.integer: "I",
    Kind.choice: "C",
    Kind.boolean: "B",
    Kind.string: "S",
    Kind.message: "M",
    Kind.frame: "F",
    Kind.clock: "K",
}


def build_fuzzer3(fmus: Sequence[Path], directory: Path) -> Fuzzer:
    """The host, and the FMUs unpacked with libraries of their own."""
    sanitized = has_sanitizer(directory)
    flags = SANITIZER if sanitized else ()
    host = compile_c(directory / "calls3", [SOURCE], *flags)
    own = ("-shared", "-fPIC", "-fvisibility=hidden", "-std=gnu11", *flags)
    library = compile_c(directory / "binding3.so", sorted(SOURCE_DIR.glob("*.c")), *own)
    lines = []
    for fmu in fmus:
        folder = directory / f"{fmu.stem} 3".replace(" ", "-")
        with zipfile.ZipFile(fmu) as archive:
            archive.extractall(folder)
        (place,) = (folder / "binaries").rglob(f"{fmu.stem}.so")
        # Each its own file: a library that is opened twice by one name is one library.
        shutil.copyfile(library, place)
        lines += lines_of(fmu.stem, place, folder / "resources")
    listed = directory / "fmus3.txt"
    listed.write_text("\n".join(lines) + "\n")
    return Fuzzer(host, listed, [fmu.stem for fmu in fmus], sanitized)


def lines_of(name: str, library: Path, resources: Path) -> list[str]:
    """What the host is told of an FMU."""
    source = build_fmus.own_source(NULL_FMU) if name == "Null" else build_fmus.fmu_sources()[name]
    model = source.model
    variables = model.layout(Interface.arrays).variables
    token = token_of(guid_of(name, model.table()), Interface.arrays)
    chosen = {**parameters_of(name), "scene": "targets"}
    for unsaid in ("write_files", "output_format"):
        chosen.pop(unsaid, None)
    words = [str(library), token, str(resources), str(len(variables))]
    return [" ".join(words), *(" ".join(words_of(v, chosen)) for v in variables)]


def words_of(variable: ArrayVariable, chosen: Mapping[str, Any]) -> list[str]:
    """Type and size of a variable, and what it is set to from the start."""
    is_value = variable.kind in (Kind.real, Kind.integer, Kind.choice, Kind.boolean, Kind.string)
    words = [LETTERS[variable.kind], str(len(variable.parts) if is_value else 1)]
    if not is_value or not any(part.name in chosen for part in variable.parts):
        return [*words, "0"]
    values = [chosen.get(part.name, part.start) for part in variable.parts]
    is_text = variable.kind == Kind.string
    texts = [(v or "@") if is_text else f"{float(v):.17g}" for v in values]
    return [*words, str(len(texts)), *texts]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one seed after the other; the first that fails is told."""
    parser = argparse.ArgumentParser(description="Random calls on all FMUs of FMI 3.0.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--calls", type=int, default=20_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        sources = list(build_fmus.fmu_sources().values())
        place, platforms = Path(directory), [host_platform()]
        fmus = build_fmus.build(sources, place, platforms=platforms, interface=Interface.arrays)
        fuzzer = build_fuzzer3(fmus, place)
        print("with" if fuzzer.sanitized else "without", "address sanitizer", flush=True)
        for seed in range(options.seed, options.seed + options.runs):
            outcome = fuzzer.run(seed, options.calls)
            print(f"{seed}: {outcome.steps} steps, {outcome.errors} errors", flush=True)


if __name__ == "__main__":
    main()
