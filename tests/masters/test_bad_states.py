"""Serialised states that are damaged, foreign or made up are refused. For Linux."""

import hashlib
import json
import math
import random
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from tests.masters.c_instance import Instance
from tests.masters.c_master import Library
from tests.masters.protocol import Status
from tests.masters.sensors import (
    MODELS,
    STEP,
    Phase,
    bring_to,
    check_it_measures,
    error_of,
    snapshot,
    unchanged,
)

PREFIX = struct.Struct("<8sHI")
DIGEST_SIZE = 32


@pytest.fixture(params=MODELS)
def library(request: pytest.FixtureRequest, sensors: Mapping[str, Library]) -> Library:
    return sensors[request.param]


@pytest.fixture
def instance(library: Library) -> Iterator[Instance]:
    """An instance after its first step, which must be able to make the second one at the end."""
    created = library.instantiate("sensor")
    bring_to(created, Phase.STEPPING)
    yield created
    check_it_measures(created, STEP, 0.75)
    created.free()


def content_of(instance: Instance) -> bytes:
    state = instance.get_state()
    content = instance.serialize(state)
    instance.free_state(state).expect()
    return content


def check_is_refused(instance: Instance, content: bytes) -> None:
    """Reading these bytes, or at the latest continuing from them, must fail and change nothing."""
    with unchanged(instance):
        state, reply = instance.try_deserialize(content)
        if reply.status is Status.OK:
            reply = instance.set_state(state)
            instance.free_state(state).expect()
        assert error_of(reply) != ""


def test_a_state_survives_its_way_through_bytes(library: Library, instance: Instance) -> None:
    other = library.instantiate("sensor")
    before = snapshot(instance)
    other.set_state(other.deserialize(before.state)).expect()
    assert snapshot(other) == before
    check_it_measures(other, STEP, 0.5)
    other.free()


def test_bytes_with_any_one_changed_are_refused(instance: Instance) -> None:
    content = content_of(instance)
    chosen = random.Random(8)
    for place in {*range(PREFIX.size), *chosen.sample(range(len(content)), 100)}:
        damaged = bytearray(content)
        damaged[place] ^= 1 << chosen.randrange(8)
        text = error_of(instance.try_deserialize(bytes(damaged))[1])
        assert "damaged" in text or "no state" in text


def test_bytes_of_another_length_are_refused(instance: Instance) -> None:
    content = content_of(instance)
    for other in (b"", content[:1], content[:20], content[:-1], content[1:], content + b"\0"):
        error_of(instance.try_deserialize(other)[1])
    for length in (1, 40, 1000):
        error_of(instance.try_deserialize(random.Random(length).randbytes(length))[1])


def test_a_state_of_another_kind_of_sensor_is_refused_by_name(
    sensors: Mapping[str, Library],
) -> None:
    instances = [library.instantiate("sensor") for library in sensors.values()]
    contents = [content_of(each) for each in instances]
    for n, each in enumerate(instances):
        for m, content in enumerate(contents):
            if n != m:
                with unchanged(each):
                    text = error_of(each.try_deserialize(content)[1])
                assert f"the state is of {MODELS[m]}" in text
                assert f"this is {MODELS[n]}" in text
    for each in instances:
        each.free()


# ---- states made up by somebody who knows the format -------------------------------------------


def parts_of(content: bytes) -> tuple[dict[str, Any], bytes]:
    _, _, size = PREFIX.unpack_from(content)
    header = json.loads(content[PREFIX.size : PREFIX.size + size])
    return header, content[PREFIX.size + size : -DIGEST_SIZE]


def forged(header: object, arrays: bytes, version: int = 1) -> bytes:
    """A state with a digest that fits."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    content = PREFIX.pack(b"SNSRFMU\n", version, len(text)) + text + arrays
    return content + hashlib.sha256(content).digest()


def changed(name: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda header: header | {name: value}


def without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda header: {key: value for key, value in header.items() if key != name}


def with_first_array(*entry: object) -> Callable[[dict[str, Any]], object]:
    return lambda header: header | {"arrays": [list(entry), *header["arrays"][1:]]}


HEADERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no JSON": lambda header: b"{",
    "no UTF-8": lambda header: b"\xff",
    "a list": lambda header: [],
    "a number": lambda header: 1,
    **{f"no {k}": without(k) for k in ("model", "guid", "phase", "time", "strings", "arrays")},
    "phase that is none": changed("phase", 99),
    "phase 0": changed("phase", 0),
    "two phases at once": changed("phase", 6),
    "phase that is no number": changed("phase", "stepping"),
    "no phase at all": changed("phase", None),
    "time that is no number": changed("time", "now"),
    "no time at all": changed("time", None),
    "infinite time": changed("time", float("inf")),
    "time that is nan": changed("time", float("nan")),
    "strings that are numbers": lambda h: h | {"strings": [1 for _ in h["strings"]]},
    "too few strings": lambda h: h | {"strings": h["strings"][1:]},
    "strings that are none": changed("strings", None),
    "arrays that are none": changed("arrays", []),
    "array of an unknown name": with_first_array("foreign", "float64", [1]),
    "array of objects": with_first_array("reals", "object", [1]),
    "array of a negative length": with_first_array("reals", "float64", [-1]),
    "array longer than the state": with_first_array("reals", "float64", [2**40]),
    "array beyond all memory": with_first_array("reals", "float64", [2**62, 2**62]),
    "array of too many dimensions": with_first_array("reals", "float64", [1] * 99),
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_state_with_a_senseless_header_is_refused(instance: Instance, case: str) -> None:
    header, arrays = parts_of(content_of(instance))
    check_is_refused(instance, forged(HEADERS[case](header), arrays))


def test_a_forgery_of_the_true_content_is_taken(instance: Instance) -> None:
    content = content_of(instance)
    assert forged(*parts_of(content)) == content


def test_a_state_of_another_format_is_refused_by_its_number(instance: Instance) -> None:
    with unchanged(instance):
        reply = instance.try_deserialize(forged(*parts_of(content_of(instance)), version=2))[1]
    assert "format 2" in error_of(reply)


def with_number(content: bytes, array: str, index: int, number: bytes) -> bytes:
    """The same state but for one number in one of its arrays."""
    header, arrays = parts_of(content)
    offset = len(number) * index
    for name, dtype, shape in header["arrays"]:
        if name == array:
            return forged(header, arrays[:offset] + number + arrays[offset + len(number) :])
        offset += np.dtype(dtype).itemsize * math.prod(shape)
    raise KeyError(array)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("index", range(4))
def test_a_state_with_a_clock_that_cannot_be_is_refused(
    instance: Instance, index: int, number: float
) -> None:
    bad = struct.pack("<d", number)
    check_is_refused(instance, with_number(content_of(instance), "run.clock", index, bad))


@pytest.mark.parametrize(
    ("name", "array", "number"),
    [
        ("sample_rate", "reals", struct.pack("<d", -1.0)),
        ("sample_rate", "reals", struct.pack("<d", math.nan)),
        ("output_format", "integers", struct.pack("<i", 99)),
    ],
)
def test_a_state_with_a_value_that_its_variable_cannot_have_is_refused(
    instance: Instance, name: str, array: str, number: bytes
) -> None:
    variables = instance.files.variables
    same_type = [v.reference for v in variables.values() if v.type == variables[name].type]
    index = variables[name].reference - min(same_type)
    check_is_refused(instance, with_number(content_of(instance), array, index, number))
