"""Bags of ROS 2: a directory with an MCAP file and ``metadata.yaml``, which says what is in it.

Source: rosbag2, metadata version 5.
"""

from pathlib import Path

from sensor_models.log.reading import Summary, read_summary
from sensor_models.messages.ros import quality_of
from sensor_models.output.files import output_errors, published


def file_of(bag: Path) -> Path:
    """The file with the messages."""
    return bag / f"{bag.name}_0.mcap"


def describe(bag: Path) -> None:
    """Write what describes a bag; while others write to its file, nothing is known yet."""
    with output_errors(f"cannot write {bag / 'metadata.yaml'}"):
        with file_of(bag).open("rb") as stream:
            summary = read_summary(stream)
        if summary.complete:
            with published(bag / "metadata.yaml") as aside:
                aside.write_text(_yaml(summary, file_of(bag).name), encoding="utf-8")


def _yaml(summary: Summary, file: str) -> str:
    first, last = summary.first, summary.last
    lines = [
        "rosbag2_bagfile_information:",
        "  version: 5",
        "  storage_identifier: mcap",
        "  duration:",
        f"    nanoseconds: {last - first}",
        "  starting_time:",
        f"    nanoseconds_since_epoch: {first}",
        f"  message_count: {summary.messages}",
        "  topics_with_message_count:",
    ]
    for channel in summary.channels:
        lines += [
            "    - topic_metadata:",
            f"        name: {channel.topic}",
            f"        type: {channel.schema}",
            "        serialization_format: cdr",
            f"        offered_qos_profiles: {_quality(channel.topic)}",
            f"      message_count: {channel.messages}",
        ]
    lines += [
        '  compression_format: ""',
        '  compression_mode: ""',
        "  relative_file_paths:",
        f"    - {file}",
        "  files:",
        f"    - path: {file}",
        "      starting_time:",
        f"        nanoseconds_since_epoch: {first}",
        "      duration:",
        f"        nanoseconds: {last - first}",
        f"      message_count: {summary.messages}",
    ]
    return "\n".join(lines) + "\n"


def _quality(topic: str) -> str:
    """What subscribers that come later get, as a text of YAML."""
    return '"' + quality_of(topic).replace("\n", "\\n") + '"'
