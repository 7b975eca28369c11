"""What tables of TOML files are made of: types of their values, checks, and messages about them.

All values are in SI units, except where a key names another unit (``_deg``, ``_mm_h``).
"""

import difflib
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sensor_models.scene.errors import SceneError
from sensor_models.scene.model import LONGEST_LIGHT


def _one_or_three(given: Any) -> Any:
    """One factor for all axes as three."""
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return (given, given, given) if number else given


Array = Field(strict=False)  # TOML has lists where we have tuples

Vector = Annotated[tuple[float, float, float], Array]
Pair = Annotated[tuple[float, float], Array]
Positive = Annotated[float, Field(gt=0.0, le=1e6)]
Size3 = Annotated[tuple[Positive, Positive, Positive], Array]
Size2 = Annotated[tuple[Positive, Positive], Array]
Scale = Annotated[Size3, BeforeValidator(_one_or_three, json_schema_input_type=Positive | Size3)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Color = Annotated[tuple[Share, Share, Share], Array]
#: Of light: ultraviolet to far infrared.
LightWavelength = Annotated[float, Field(ge=1e-7, le=LONGEST_LIGHT)]
#: To the 12.5 mm of radars at 24 GHz.
Wavelength = Annotated[float, Field(ge=1e-7, le=2e-2)]
Spectrum = Annotated[tuple[Pair, ...], Array]
Integer32 = Annotated[int, Field(ge=0, le=2**31 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


def doc(text: str, default: Any = None, **known: Any) -> Any:
    """A field with its description; of no value if none is given."""
    return Field(default=default, description=text, **known)


class Table(BaseModel):
    """A table of the manifest: unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def validated(table: type[Table], content: dict[str, Any], file: Path) -> Any:
    """The content of a TOML file as a table, or the first thing that is wrong with it."""
    _refuse_large_integers(content, file)
    try:
        return table.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise SceneError(file, _key_text(first["loc"]), _reason(table, first)) from error


def _refuse_large_integers(content: dict[str, Any], file: Path) -> None:
    """Refuse integers that TOML does not have; Python does not even write very large ones."""
    waiting: list[tuple[tuple[int | str, ...], Any]] = [((), content)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, place), item) for place, item in enumerate(value)]
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            reason = f"is an integer of {value.bit_length()} bits, allowed are 64 with the sign"
            raise SceneError(file, _key_text(path), reason)


def _key_text(path: Sequence[int | str]) -> str:
    """A place in a manifest as people write it: ``instances[3].position[0]``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".")


#: TOML's words for what Python calls otherwise.
_WORDS = {"tuple_type": "must be a list", "model_type": "must be a table"}
_WORDS |= {"dict_type": "must be a table", "string_type": "must be a text"}


def _reason(table: type[Table], error: Any) -> str:
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "extra_forbidden":
        known = list(_table_at(table, error["loc"][:-1]).model_fields)
        close = difflib.get_close_matches(str(error["loc"][-1]), known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        return f"is unknown, known: {', '.join(known)}{hint}"
    if error["type"] in _WORDS:
        return _WORDS[error["type"]]
    message = str(error["msg"]).removeprefix("Value error, ")
    message = message.replace("Input should", "must").replace("Tuple should", "must")
    if error["type"] == "value_error" or isinstance(error["input"], (dict, list, tuple)):
        return message
    return f"{message}, not {error['input']!r}"


def _table_at(table: type[Table], path: Sequence[int | str]) -> type[Table]:
    """The class of the table at a place."""
    for part in path:
        if part in table.model_fields:
            table = _table_in(table.model_fields[str(part)].annotation) or table
    return table


def _table_in(annotation: Any) -> type[Table] | None:
    """The first table class that an annotation speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    if get_origin(annotation) in (tuple, dict, Annotated, Union, types.UnionType):
        return next(filter(None, map(_table_in, get_args(annotation))), None)
    return None


def one_of(table: Table, keys: tuple[str, ...]) -> None:
    """Refuse a table that does not have exactly one of these keys."""
    given = [key for key in keys if getattr(table, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        raise ValueError(f"needs exactly one of {', '.join(keys)}, has {found}")
