"""Logs that viewers read while they come, with a client of another make (``websockets``)."""

import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from sensor_models.core.quantities import ParameterError
from sensor_models.log import live
from sensor_models.log.live import Address, LiveServer, address_of, is_live
from sensor_models.log.mcap import Schema
from sensor_models.log.shared import Message, leave_log, use_log
from sensor_models.log.websocket import Incoming, WebSocketError, head_of
from sensor_models.output.files import OutputError

JSON = Schema("plain", "jsonschema", b'{"type": "object"}', "json")
PROTO = Schema("foxglove.Point3", "protobuf", b"\x00\x01\xff", "protobuf")
SOON = 20.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


@contextmanager
def server() -> Iterator[tuple[LiveServer, str]]:
    address = Address("127.0.0.1", free_port())
    made = LiveServer(address)
    try:
        yield made, str(address)
    finally:
        made.finish()


def client(url: str, *, protocol: str = live.PROTOCOLS[0], **own: Any) -> ClientConnection:
    return connect(url, subprotocols=[protocol], max_size=None, compression=None, **own)  # type: ignore[list-item]


def told(connection: ClientConnection) -> dict[str, Any]:
    found = json.loads(connection.recv(SOON))
    assert isinstance(found, dict)
    return found


def subscribe(connection: ClientConnection, **channels: int) -> None:
    wanted = [{"id": int(own[1:]), "channelId": channel} for own, channel in channels.items()]
    connection.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))
    connection.ping().wait(SOON)  # it has been read when the answer comes


def data(connection: ClientConnection) -> tuple[int, int, bytes]:
    """The next message that is not one of time."""
    while (found := connection.recv(SOON))[0] == 2:
        assert isinstance(found, bytes)
        assert len(found) == 9
    assert isinstance(found, bytes)
    kind, subscription, stamp = struct.unpack_from("<BIQ", found)
    assert kind == 1
    return subscription, stamp, found[13:]


# ---- the server --------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", live.PROTOCOLS)
def test_a_client_is_told_of_channels_and_gets_what_it_subscribes_to(protocol: str) -> None:
    with server() as (made, url), client(url, protocol=protocol) as viewer:
        assert viewer.subprotocol == protocol
        assert told(viewer) == {"op": "serverInfo", "name": "sensor-fmus", "capabilities": ["time"]}
        assert told(viewer) == {"op": "advertise", "channels": []}
        first = made.channel("/one", JSON, {})
        assert made.channel("/one", JSON, {}) == first
        second = made.channel("/two", PROTO, {})
        (one,), (two,) = told(viewer)["channels"], told(viewer)["channels"]
        assert one == {
            "id": first, "topic": "/one", "encoding": "json", "schemaName": "plain",
            "schema": '{"type": "object"}', "schemaEncoding": "jsonschema",
        }  # fmt: skip
        assert (two["schema"], two["schemaEncoding"]) == ("AAH/", "protobuf")
        subscribe(viewer, _7=second)
        assert made.newcomers()
        assert not made.newcomers()
        many = np.random.default_rng(3).integers(0, 256, 300_000).astype(np.uint8)
        made.add(first, 5, 5, [b"not for him"])
        made.add(second, 6_000_000_000, 0, [b"ab", many])
        made.add(second, 7_000_000_000, 0, [b""])
        assert data(viewer) == (7, 6_000_000_000, b"ab" + many.tobytes())
        assert data(viewer) == (7, 7_000_000_000, b"")
        viewer.send(json.dumps({"op": "unsubscribe", "subscriptionIds": [7]}))
        viewer.ping().wait(SOON)
        made.add(second, 8, 8, [b"too late"])
        assert viewer.recv(SOON) == struct.pack("<BQ", 2, 8)
        with pytest.raises(TimeoutError):
            viewer.recv(0.1)


def test_a_client_that_comes_late_is_told_of_all_channels() -> None:
    with server() as (made, url):
        assert not made.wanted
        made.channel("/one", JSON, {})
        with client(url) as viewer:
            until(lambda: made.wanted)
            told(viewer)
            assert [one["topic"] for one in told(viewer)["channels"]] == ["/one"]
        until(lambda: not made.wanted)


def test_the_end_brings_what_is_waiting_and_closes() -> None:
    with server() as (made, url), client(url) as viewer:
        told(viewer), told(viewer)
        channel = made.channel("/one", JSON, {})
        told(viewer)
        subscribe(viewer, _0=channel)
        large = b"x" * 3_000_000
        for k in range(5):
            made.add(channel, k, k, [large])
        made.finish()
        assert [data(viewer)[1] for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(ConnectionClosed) as closed:
            viewer.recv(SOON)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1000


def test_a_slow_client_loses_the_oldest_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_WAITING", 1 << 20)
    with server() as (made, url), client(url, max_queue=1) as viewer:
        told(viewer), told(viewer)
        channel = made.channel("/one", JSON, {})
        told(viewer)
        subscribe(viewer, _0=channel)
        for k in range(400):  # 80 MB, more than all buffers between
            made.add(channel, k, k, [bytes(200_000)])
        stamps, lost = [], 0
        while not stamps or stamps[-1] < 399 or lost < 400 - len(stamps):
            found = viewer.recv(SOON)
            if isinstance(found, str):
                status = json.loads(found)
                assert (status["op"], status["level"]) == ("status", 1)
                lost += int(status["message"].split()[0])  # messages of time count, too
            elif found[0] == 1:
                stamps.append(struct.unpack_from("<BIQ", found)[2])
        assert stamps == sorted(stamps)
        assert len(stamps) < 350


# ---- what no client sends ----------------------------------------------------------------------


def test_other_requests_are_answered() -> None:
    with server() as (_, url):
        with pytest.raises(InvalidStatus) as refused, client(url, protocol="chat"):
            pass
        assert refused.value.response.status_code == 400
        assert b"foxglove.websocket.v1" in (refused.value.response.body or b"")
        place = ("127.0.0.1", address_of(url).port)
        with socket.create_connection(place, SOON) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert plain.recv(1000).startswith(b"HTTP/1.1 400 ")
        with socket.create_connection(place, SOON) as endless:
            endless.sendall(b"x" * 20_000)
            assert endless.recv(1000).startswith(b"HTTP/1.1 400 ")
        with client(url) as viewer:  # it goes on
            assert told(viewer)["op"] == "serverInfo"


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"\x81\x01a", 1002),  # not masked
        (b"\xc1\x81....a", 1002),  # compressed
        (b"\x83\x80....", 1002),  # of no kind
        (b"\x80\x80....", 1002),  # goes on with nothing
        (b"\x09\x80....", 1002),  # a ping in parts
        (b"\x81\xff\x00\x00\x00\x01\x00\x00\x00\x00", 1009),
    ],
)
def test_bad_frames_end_a_connection(sent: bytes, code: int) -> None:
    with server() as (made, url), client(url) as viewer:
        told(viewer), told(viewer)
        viewer.socket.sendall(sent)
        with pytest.raises(ConnectionClosed) as closed:
            viewer.recv(SOON)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == code
        until(lambda: not made.wanted)


@pytest.mark.parametrize(
    "sent",
    [
        "not json", "[]", "{}", "[" * 100_000, '{"op": "subscribe"}',
        '{"op": "subscribe", "subscriptions": [{"id": "x", "channelId": 1}]}',
        '{"op": "unsubscribe", "subscriptionIds": 3}',
    ],
)  # fmt: skip
def test_requests_that_make_no_sense_are_told(sent: str) -> None:
    with server() as (_, url), client(url) as viewer:
        told(viewer), told(viewer)
        viewer.send(sent)
        status = told(viewer)
        assert (status["op"], status["level"]) == ("status", 2)
        viewer.send('{"op": "getParameters", "parameterNames": []}')  # not here, and no error
        assert viewer.ping().wait(SOON)


def masked(kind: int, content: bytes, *, last: bool = True) -> bytes:
    head = bytearray(head_of(kind, len(content)))
    head[0] = (0x80 if last else 0) | kind
    head[1] |= 0x80
    mask = b"\x12\x34\x56\x78"
    return bytes(head) + mask + bytes(b ^ mask[n % 4] for n, b in enumerate(content))


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536])
def test_frames_are_read_however_they_come(size: int) -> None:
    content = np.random.default_rng(size).bytes(size)
    stream = masked(2, content, last=False) + masked(9, b"!") + masked(0, content) + masked(1, b"a")
    for step in (1, 7, 1 << 20) if size < 1000 else (4096,):
        incoming, found = Incoming(), []
        for start in range(0, len(stream), step):
            found += incoming.feed(stream[start : start + step])
        assert found == [(9, b"!"), (2, content + content), (1, b"a")]


def test_a_message_in_endless_parts_is_refused() -> None:
    incoming = Incoming()
    list(incoming.feed(masked(2, bytes(1 << 19), last=False)))
    list(incoming.feed(masked(0, bytes(1 << 19), last=False)))
    with pytest.raises(WebSocketError, match="too long"):
        list(incoming.feed(masked(0, b"x", last=False)))


# ---- as a log ----------------------------------------------------------------------------------


def test_addresses() -> None:
    assert is_live("ws://127.0.0.1")
    assert not is_live("ws.mcap")
    assert address_of("ws://127.0.0.1") == ("127.0.0.1", 8765)
    assert address_of("ws://0.0.0.0:90/") == ("0.0.0.0", 90)
    assert str(address_of("ws://[::1]:90")) == "ws://[::1]:90"
    for wrong in ("ws://", "ws://a:0", "ws://a:65536", "ws://a:b", "ws://a/b", "ws://a b"):
        with pytest.raises(ParameterError, match=r"ws://HOST:PORT"):
            address_of(wrong)


def test_an_address_that_is_taken_is_refused_by_name() -> None:
    with server() as (_, url), pytest.raises(OutputError, match=f"cannot write the log {url}"):
        use_log(url)


def test_nothing_is_made_for_nobody_and_once_is_told_again() -> None:
    url = f"ws://127.0.0.1:{free_port()}"
    log = use_log(url)
    ticket = log.join("a")

    def frame(now: float) -> Callable[[], list[Message]]:
        def make() -> list[Message]:
            found = [Message("/often", JSON, now, (b"{}",))]
            if log.first_to_tell("scene"):
                found.insert(0, Message("/once", JSON, now, (b"once",), once="scene"))
            return found

        return make

    try:
        assert not log.wanted
        log.take(ticket, 0.0, frame(0.0))  # somebody does not ask
        for _ in range(2):  # the second one has missed what the first one was told
            with client(url) as viewer:
                until(lambda: log.wanted)
                told(viewer)
                log.take(ticket, 1.0, frame(1.0))
                log.take(ticket, 2.0, frame(2.0))
                channels: dict[str, int] = {}
                while len(channels) < 2:
                    message = viewer.recv(SOON)
                    if isinstance(message, str):
                        known = json.loads(message)["channels"]
                        channels.update({one["topic"]: one["id"] for one in known})
                subscribe(viewer, _1=channels["/once"], _2=channels["/often"])
                log.take(ticket, 3.0, frame(3.0))
                log.take(ticket, 4.0, frame(4.0))
                while data(viewer)[2] != b"once":
                    pass
            until(lambda: not log.wanted)
    finally:
        log.leave(ticket)
        leave_log(log)
    with socket.create_server(("127.0.0.1", address_of(url).port)):
        pass  # the port is free again


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_leaves_the_server_alone() -> None:
    url = f"ws://127.0.0.1:{free_port()}"
    log = use_log(url)
    child = os.fork()
    if child == 0:
        os._exit(0 if log._writer._listener.fileno() == -1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    try:
        with client(url) as viewer:
            assert told(viewer)["op"] == "serverInfo"
    finally:
        leave_log(log)
