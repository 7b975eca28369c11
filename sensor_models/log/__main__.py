"""``python -m sensor_models.log FILE``: what is in a log."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sensor_models.log.reading import LogError, Summary, read_summary


def table_of(summary: Summary) -> list[str]:
    """A line for each topic."""
    rows = [("topic", "messages", "Hz", "MB", "from s", "to s", "type")]
    for c in sorted(summary.channels, key=lambda channel: channel.topic):
        lasts = (c.last - c.first) * 1e-9
        rate = f"{(c.messages - 1) / lasts:.1f}" if lasts > 0.0 else ""
        times = f"{c.first * 1e-9:.3f}", f"{c.last * 1e-9:.3f}"
        rows.append((c.topic, str(c.messages), rate, f"{c.bytes * 1e-6:.2f}", *times, c.schema))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(map(_aligned, range(len(row)), row, widths)).rstrip() for row in rows]


def _aligned(place: int, value: str, width: int) -> str:
    """Numbers to the right, the texts around them to the left."""
    return value.ljust(width) if place in (0, 6) else value.rjust(width)


def file_in(path: Path) -> Path:
    """The file of a log; that of a bag, if it is a directory."""
    if not path.is_dir():
        return path
    found = sorted(path.glob("*.mcap"))
    if not found:
        raise LogError("the directory has no MCAP file")
    return found[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Say what is in logs."""
    parser = argparse.ArgumentParser(prog="python -m sensor_models.log", description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path, metavar="FILE", help=".mcap, or a bag")
    for path in parser.parse_args(arguments).logs:
        try:
            with file_in(path).open("rb") as stream:
                summary = read_summary(stream)
        except (OSError, LogError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
        state = "" if summary.complete else ", not finished: its writer ended before"
        kind = f"profile {summary.profile}" if summary.profile else "Foxglove"
        lasts = (summary.last - summary.first) * 1e-9
        print(f"{path}: {kind}, {summary.messages} messages in {lasts:.3f} s{state}")
        print("\n".join(table_of(summary)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
