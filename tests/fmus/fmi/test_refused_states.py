"""What FMUs do not continue from: damaged, foreign, forged and freed states."""

import hashlib
import json
import math
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fmus.histories import ENCODER, ODOMETER, go
from tests.fmus.host import Instance, open_fmu


@pytest.fixture(scope="module")
def running(encoder_fmu: Path) -> Iterator[Instance]:
    """An encoder between two steps."""
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize(ENCODER)
        go(encoder, 0, 31)
        yield encoder


def refusal_of(instance: Instance, content: bytes) -> str:
    """Why bytes are refused, which must leave the instance as it was."""
    before = instance.saved()
    message = instance.refusal(instance.restore, content)
    assert instance.saved() == before
    return message


ON_ONE_INSTANCE = settings(
    deadline=None,
    max_examples=200,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@ON_ONE_INSTANCE
@given(data=st.data())
def test_any_flipped_byte_is_noticed(running: Instance, data: st.DataObject) -> None:
    content = bytearray(running.saved())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    message = refusal_of(running, bytes(content))
    assert "state is damaged" in message or "no state of a sensor FMU" in message


@ON_ONE_INSTANCE
@given(data=st.data())
def test_a_part_of_a_state_is_refused(running: Instance, data: st.DataObject) -> None:
    content = running.saved()
    part = content[: data.draw(st.integers(1, len(content) - 1))]
    message = refusal_of(running, part)
    assert "state is damaged" in message or "no state of a sensor FMU" in message


@given(st.binary(min_size=1, max_size=200))
@ON_ONE_INSTANCE
def test_other_bytes_are_refused(running: Instance, content: bytes) -> None:
    assert "no state of a sensor FMU" in refusal_of(running, content)


def test_a_state_with_something_after_it_is_refused(running: Instance) -> None:
    assert "damaged" in refusal_of(running, running.saved() + b"\0")


def test_a_state_of_another_model_is_refused(running: Instance, odometer_fmu: Path) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize(ODOMETER)
        message = refusal_of(running, odometer.saved())
    assert "the state is of Odometer {" in message
    assert "this is Encoder {" in message


PREFIX = struct.Struct("<8sHI")


def forged(content: bytes, change: Callable[[dict[str, Any], bytearray], None]) -> bytes:
    """A state with a changed header or body, and the digest that belongs to it."""
    magic, version, size = PREFIX.unpack_from(content)
    header = json.loads(content[PREFIX.size : PREFIX.size + size])
    body = bytearray(content[PREFIX.size + size : -32])
    change(header, body)
    new_header = json.dumps(header).encode()
    whole = PREFIX.pack(magic, version, len(new_header)) + new_header + body
    return whole + hashlib.sha256(whole).digest()


def place_of(header: dict[str, Any], wanted: str) -> int:
    """Where an array begins in the body."""
    offset = 0
    for name, dtype, shape in header["arrays"]:
        if name == wanted:
            return offset
        offset += int(np.prod(shape)) * np.dtype(dtype).itemsize
    raise LookupError(wanted)


def filled(name: str, content: bytes) -> Callable[[dict[str, Any], bytearray], None]:
    """Overwrites an array from its beginning."""

    def change(header: dict[str, Any], body: bytearray) -> None:
        place = place_of(header, name)
        body[place : place + len(content)] = content

    return change


def entry(name: str, value: Any) -> Callable[[dict[str, Any], bytearray], None]:
    """Replaces an entry of the header."""

    def change(header: dict[str, Any], body: bytearray) -> None:
        header[name] = value

    return change


def array(part: int, value: Any) -> Callable[[dict[str, Any], bytearray], None]:
    """Gives all arrays another type or shape."""

    def change(header: dict[str, Any], body: bytearray) -> None:
        for described in header["arrays"]:
            described[part] = value

    return change


FORGERIES: dict[str, Callable[[dict[str, Any], bytearray], None]] = {
    "another guid": entry("guid", "{0}"),
    "phase 0": entry("phase", 0),
    "two phases": entry("phase", 6),
    "unknown phase": entry("phase", 16),
    "phase of text": entry("phase", "stepping"),
    "no time": lambda header, body: header.pop("time"),
    "time of text": entry("time", "now"),
    "time not finite": entry("time", float("nan")),
    "no strings": entry("strings", []),
    "strings that are none": entry("strings", [1, 2]),
    "no arrays": entry("arrays", []),
    "arrays of objects": array(1, "object"),
    "arrays of another type": array(1, "float32"),
    "negative shape": array(2, [-1]),
    "huge shape": array(2, [2**40]),
    "shape of text": array(2, ["x"]),
    "missing body": lambda header, body: body.clear(),
    "longer body": lambda header, body: body.extend(b"12345678"),
    "no clock": filled("run.clock", struct.pack("<4d", *4 * [math.nan])),
    "clock of negative samples": filled("run.clock", struct.pack("<3d", 0.0, 1.0, -1.0)),
    "faults that are none": filled("run.held", b"\xff" * 80),
    "input not finite": filled("reals", struct.pack("<d", math.nan)),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_state_is_refused_as_well(encoder_fmu: Path, forgery: str) -> None:
    with open_fmu(encoder_fmu) as encoder, open_fmu(encoder_fmu) as undisturbed:
        for each in (encoder, undisturbed):
            each.initialize(ENCODER)
            go(each, 0, 31)
        message = refusal_of(encoder, forged(encoder.saved(), FORGERIES[forgery]))
        assert len(message) > 20, "a message says what is wrong"
        assert go(encoder, 31, 60) == go(undisturbed, 31, 60)


def test_an_unchanged_forgery_is_a_state(running: Instance) -> None:
    content = running.saved()
    running.restore(forged(content, lambda header, body: None))
    assert running.saved() == content


def test_a_state_of_another_format_version_is_refused(running: Instance) -> None:
    content = bytearray(running.saved()[:-32])
    magic, version, size = PREFIX.unpack_from(content)
    PREFIX.pack_into(content, 0, magic, version + 1, size)
    message = refusal_of(running, bytes(content) + hashlib.sha256(content).digest())
    assert f"format {version + 1}, this FMU reads format {version}" in message


def test_a_state_of_another_instance_or_a_freed_one_is_refused(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu, "a") as one, open_fmu(encoder_fmu, "b") as other:
        for each in (one, other):
            each.initialize(ENCODER)
        foreign = other.slave.getFMUstate()
        assert one.refusal(one.slave.setFMUstate, foreign)
        own = one.slave.getFMUstate()
        held = type(own)(own.value)
        one.slave.freeFMUstate(own)
        assert "it was freed" in one.refusal(one.slave.setFMUstate, held)
        go(one, 0, 5)
