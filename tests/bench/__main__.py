"""Speed bars, each measured against a peer in the same run: ``python -m tests.bench [NAME ...]``.

A machine is noisy, so a ratio to a peer counts, best of several runs of each, taken in turns.
Bars without a peer are absolute. Each subject has a process of its own: what others leave in the
memory of a process, pages and threads, changes what is measured after them. The exit code says
whether all bars hold. A subject whose peer lacks a library of the system (``tests.tools``) is not
measured: the last line names it, and it counts as one whose bars do not hold.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import build_fmus
from fmus.binding.compile import host_platform
from tests.bench import calls, inertial
from tests.bench.bars import Bar
from tests.bench.reference_fmu import build_reference_fmu
from tests.conftest import NULL_FMU
from tests.masters.c_master import build_master
from tests.masters.fmu_files import FmuFiles
from tests.tools import LLVM, OPEN3D, install_line, missing

Subject = Callable[[Path, Callable[[str], FmuFiles]], list[Bar]]


def tracing_bars() -> list[Bar]:
    """The bars of the ray engine; its peers take seconds to import."""
    from tests.bench import tracing

    return tracing.bars()


def depth_bars(master: Path, files: FmuFiles) -> list[Bar]:
    """The bars of the depth camera."""
    from tests.bench import depth

    return depth.bars(master, files)


def lidar_bars(master: Path, files: FmuFiles) -> list[Bar]:
    """The bars of the lidar."""
    from tests.bench import lidar

    return lidar.bars(master, files)


def gnss_bars(master: Path, files: FmuFiles) -> list[Bar]:
    """The bars of the GNSS receiver."""
    from tests.bench import gnss

    return gnss.bars(master, files)


def waveform_bars(files: FmuFiles) -> list[Bar]:
    """The bars of the full-waveform lidar."""
    from tests.bench import waveform

    return waveform.bars(files)


def body_bars(files: FmuFiles) -> list[Bar]:
    """The bars of bodies that move."""
    from tests.bench import bodies

    return bodies.bars(files)


def radar_bars(files: FmuFiles) -> list[Bar]:
    """The bars of the radar."""
    from tests.bench import radar

    return radar.bars(files)


def message_bars() -> list[Bar]:
    """The bars of messages and logs."""
    from tests.bench import messages

    return messages.bars()


def ccd_bars() -> list[Bar]:
    """The bars of the CCD camera."""
    from tests.bench import ccd

    return ccd.bars()


def caster_bars() -> list[Bar]:
    """The bars of the quick caster."""
    from tests.bench import caster

    return caster.bars()


def campaign_bars(fmus: Path) -> list[Bar]:
    """The bars of campaigns."""
    from tests.bench import campaigns

    return campaigns.campaign_bars(fmus)


def dataset_bars() -> list[Bar]:
    """The bars of data sets."""
    from tests.bench import campaigns

    return campaigns.dataset_bars()


def kernel_bars(master: Path, encoder: FmuFiles, lidar: FmuFiles) -> list[Bar]:
    """The bars of the kernels that FMUs carry."""
    from tests.bench import kernels

    return kernels.bars(master, encoder, lidar)


def version_bars() -> list[Bar]:
    """The bars of FMI 3.0 beside FMI 2.0."""
    from tests.bench import versions

    return versions.bars()


def memory_bars(master: Path, fmu: Callable[[str], FmuFiles]) -> list[Bar]:
    """The bars of memory."""
    from tests.bench import memory

    return memory.bars(master, fmu)


def world_bars() -> list[Bar]:
    """The bars of worlds that others made."""
    from tests.bench import worlds

    return worlds.bars()


SUBJECTS: dict[str, Subject] = {
    "versions": lambda *_: version_bars(),
    "calls-c": lambda master, fmu: calls.call_in_c(master, fmu("Null"), fmu("Reference")),
    "calls-fmpy": lambda _, fmu: calls.call_in_fmpy(fmu("Null"), fmu("Reference")),
    "load": lambda master, fmu: calls.load(master, fmu("Encoder"), fmu("Lidar")),
    "kernels": lambda master, fmu: kernel_bars(master, fmu("Encoder"), fmu("Lidar")),
    "scene": lambda _master, _fmu: calls.first_frame(),
    "imu": lambda master, fmu: inertial.bars(master, fmu("Imu")),
    "depth": lambda master, fmu: depth_bars(master, fmu("DepthCamera")),
    "lidar": lambda master, fmu: lidar_bars(master, fmu("Lidar")),
    "gnss": lambda master, fmu: gnss_bars(master, fmu("Gnss")),
    "radar": lambda _, fmu: radar_bars(fmu("Radar")),
    "ccd": lambda _master, _fmu: ccd_bars(),
    "bodies": lambda _, fmu: body_bars(fmu("Lidar")),
    "waveform": lambda _, fmu: waveform_bars(fmu("WaveformLidar")),
    "messages": lambda _master, _fmu: message_bars(),
    # the master stands beside the FMUs
    "campaign": lambda master, _fmu: campaign_bars(master.parent),
    "dataset": lambda _master, _fmu: dataset_bars(),
    "caster": lambda _master, _fmu: caster_bars(),
    "tracing": lambda _master, _fmu: tracing_bars(),
    "memory": memory_bars,
    "worlds": lambda _master, _fmu: world_bars(),
}


#: The subjects with peers that need more than Python packages.
PEERS: Mapping[str, str] = {
    **dict.fromkeys(("bodies", "depth", "lidar", "radar", "tracing", "waveform"), OPEN3D),
    "ccd": LLVM,
}


def measure(name: str) -> bool:
    """Measure one subject and print its bars as they come; whether all hold."""
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        sources = [*build_fmus.fmu_sources().values(), build_fmus.own_source(NULL_FMU)]
        build_fmus.build(sources, directory, platforms=[host_platform()], levels=["host"])
        build_reference_fmu(directory)
        master = build_master(directory)

        def fmu(model: str) -> FmuFiles:
            return FmuFiles.unpack(directory / f"{model}.fmu", directory / "unpacked" / model)

        for bar in SUBJECTS[name](master, fmu):
            holds = holds and bar.holds
            print(bar.line(), flush=True)
    return holds


def unmeasured(names: Iterable[str]) -> tuple[list[str], str]:
    """The subjects whose peers cannot be loaded here, and a line that says so."""
    lacking = missing({PEERS[name]: None for name in names if name in PEERS})
    left_out = [name for name in names if PEERS.get(name) in lacking]
    what = f"{', '.join(left_out)}, for lack of {' and '.join(lacking)}"
    return left_out, f"not measured: {what}; to measure this, too: {install_line(lacking)}"


def main(names: list[str]) -> int:
    """Measure the named subjects, or all, each in a process of its own."""
    left_out, line = unmeasured(names or SUBJECTS)
    wanted = [name for name in names or SUBJECTS if name not in left_out]
    if len(names) == len(wanted) == 1:
        return 0 if measure(names[0]) else 1
    codes = [
        subprocess.run([sys.executable, "-m", "tests.bench", name], check=False).returncode
        for name in wanted
    ]
    if left_out:
        print(line)
    return 1 if any(codes) or left_out else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
