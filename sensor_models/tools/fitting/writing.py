"""A preset of what a fit has found: each number with its interval and method beside it."""

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sensor_models.output.files import output_errors, published
from sensor_models.tools.fitting.estimates import Fit

#: Digits that are written of a number: more than any interval holds.
DIGITS = 7


def preset_text(fit: Fit, name: str, logs: Sequence[Path], today: datetime.date) -> str:
    """The preset as the text of a TOML file."""
    sensor = json.dumps(list(fit.sensors) if len(fit.sensors) > 1 else fit.sensors[0])
    unseen = [
        f"{e.name}: not seen in these data, 0 stands here; {e.shown()}"
        for e in fit.estimates
        if e.is_parameter and not e.is_seen
    ]
    unknown = [_text(line) for line in (*fit.unknown, *unseen)]
    lines = [
        "[preset]",
        f"name = {_text(name)}",
        f"sensor = {sensor}",
        f"description = {_text(f'Fitted to {_names(logs)}')}",
        "unknown = [",
        *(f"  {line}," for line in unknown),
        "]",
        "",
        "[preset.datasheet]",
        'publisher = "sensor-fmus fit"',
        f"title = {_text(f'fit {fit.kind} of {_names(logs)}; intervals of 95 %')}",
        f"revision = {_text(today.isoformat())}",
        "",
        "[parameters]",
        *_parameters(fit),
    ]
    return "\n".join(lines) + "\n"


def write_preset(path: Path, text: str, files: Mapping[str, str]) -> None:
    """Write a preset and the files that it names, which go beside it."""
    with output_errors(f"cannot write {path}"):
        for name, content in files.items():
            with published(path.parent / name) as aside:
                aside.write_text(content, encoding="utf-8")
        with published(path) as aside:
            aside.write_text(text, encoding="utf-8")


def _parameters(fit: Fit) -> Iterator[str]:
    for name, value in fit.settings.items():
        yield f"{name} = {_value(value)}"
    for estimate in fit.estimates:
        remark = f"{estimate.shown()}; {estimate.method}"
        if not estimate.is_parameter:
            yield f"# {estimate.name}: {remark}"
            continue
        digits = 12 if estimate.is_exact else DIGITS
        value = float(f"{estimate.value:.{digits}g}") if estimate.is_seen else 0.0
        yield f"{estimate.name} = {_value(value)} # {remark}"


def _value(value: float | int | bool | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _names(logs: Sequence[Path]) -> str:
    names = [log.name for log in logs]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
