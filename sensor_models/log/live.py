"""A log that viewers read while it comes: a server of Foxglove's WebSocket protocol.

    log = ws://127.0.0.1:8765        one machine; ws://0.0.0.0:8765 lets others in, too

A ``LiveServer`` stands where otherwise the writer of a file does (``mcap``). It tells clients of
channels as they appear, and sends what they subscribe to. Where nobody is connected, nothing is
made (``wanted``). Who comes late has missed what is told once (meshes, fixed frames), so that is
told again for him (``newcomers``).

All sockets belong to one thread. The thread of the log only queues messages for it. A client that
is slower than the simulation loses the oldest of more than ``MOST_WAITING`` bytes, and a status of
the protocol tells him how many; nobody waits for him.

Source: Foxglove WebSocket protocol, version 1 (foxglove/ws-protocol, docs/spec.md).
"""

import base64
import contextlib
import itertools
import json
import logging
import re
import selectors
import socket
import struct
import threading
import time as clock
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sensor_models.core.quantities import ParameterError
from sensor_models.log import websocket
from sensor_models.log.mcap import Part, Schema
from sensor_models.log.websocket import Incoming, WebSocketError

#: Both have the same messages, as far as they are sent here.
PROTOCOLS = ("foxglove.websocket.v1", "foxglove.sdk.v1")
SCHEME, DEFAULT_PORT = "ws://", 8765
#: Bytes that wait for one client at most: 16 sweeps of 131,072 points.
MOST_WAITING = 1 << 26
#: So long clients may take what is left for them when the log ends, in s.
LAST_SECONDS = 2.0
#: Clients at most; more are refused.
MOST_CLIENTS = 16

_DATA, _TIME = struct.Struct("<BIQ"), struct.Struct("<BQ")
_ADDRESS = re.compile(r"ws://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+)(?::([0-9]{1,5}))?/?")
_log = logging.getLogger(__name__)


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{SCHEME}{host}:{self.port}"


def is_live(path: str) -> bool:
    """Whether the path of a log is an address."""
    return path.startswith(SCHEME)


def address_of(path: str) -> Address:
    """The address that the path of a log is."""
    found = _ADDRESS.fullmatch(path)
    port = int(found[2] or DEFAULT_PORT) if found else 0
    if found is None or not 0 < port < 1 << 16:
        raise ParameterError(
            f"log = {path!r} is no address to listen at, allowed is ws://HOST:PORT with a port"
            f" from 1 to 65535, as in ws://127.0.0.1:{DEFAULT_PORT}"
        )
    return Address(found[1].strip("[]"), port)


class _Waiting(NamedTuple):
    """Bytes that wait to be sent; ``may_be_lost`` if a newer message can stand for them."""

    parts: tuple[bytes | memoryview, ...]
    size: int
    may_be_lost: bool


class _Client:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.request: bytearray | None = bytearray()  # until the handshake is complete
        self.incoming = Incoming()
        self.channels: dict[int, int] = {}  # subscriptions by channel
        self.waiting: deque[_Waiting] = deque()
        self.bytes_waiting, self.lost = 0, 0
        self.current: deque[memoryview] = deque()  # what is being sent
        self.ends = False

    @property
    def is_idle(self) -> bool:
        return not self.current and not self.waiting

    def queue(self, kind: int, *parts: bytes | memoryview, may_be_lost: bool = False) -> None:
        """Send a message when there is time; where too many wait, the oldest are lost."""
        size = sum(map(len, parts))
        self.put((websocket.head_of(kind, size), *parts), size, may_be_lost)

    def put(
        self, parts: tuple[bytes | memoryview, ...], size: int, may_be_lost: bool = False
    ) -> None:
        """Send bytes when there is time."""
        self.waiting.append(_Waiting(parts, size, may_be_lost))
        self.bytes_waiting += size
        while self.bytes_waiting > MOST_WAITING and self._lose_oldest():
            self.lost += 1

    def _lose_oldest(self) -> bool:
        place = next((n for n, one in enumerate(self.waiting) if one.may_be_lost), -1)
        if place < 0 or place == len(self.waiting) - 1:  # the newest one is sent in any case
            return False
        self.bytes_waiting -= self.waiting[place].size
        del self.waiting[place]
        return True

    def send(self) -> None:
        """Send as much as the socket takes."""
        while self.current or self.waiting:
            if not self.current:
                following = self.waiting.popleft()
                self.bytes_waiting -= following.size
                self.current.extend(memoryview(part).cast("B") for part in following.parts)
            part = self.current.popleft()
            if not len(part):
                continue
            try:
                sent = self.connection.send(part)
            except BlockingIOError:
                sent = 0
            if sent < len(part):
                self.current.appendleft(part[sent:])
                return


class LiveServer:
    """Sends messages to those who subscribe to them."""

    def __init__(self, address: Address) -> None:
        """Listen; ``OSError`` if that is not possible there."""
        self.waiting = self.messages = 0  # nothing is held back
        self._lock = threading.Lock()  # of all that follows
        self._numbers: dict[tuple[str, str], int] = {}
        self._advertised: dict[int, dict[str, Any]] = {}
        self._clients: dict[int, _Client] = {}
        self._newcomers = False
        self._ends = 0.0
        self._time = -1
        self._count = itertools.count(1)
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._listener = socket.create_server(address, family=family, backlog=8)
        self._listener.setblocking(False)
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._woken, selectors.EVENT_READ, self._empty_pipe)
        self._thread = threading.Thread(target=self._serve, name="live log", daemon=True)
        self._thread.start()

    # ---- from the thread of the log --------------------------------------------------------

    @property
    def wanted(self) -> bool:
        """Whether somebody is connected."""
        return bool(self._clients)

    def newcomers(self) -> bool:
        """Whether somebody has subscribed since this was asked last."""
        with self._lock:
            found, self._newcomers = self._newcomers, False
            return found

    def channel(self, topic: str, schema: Schema, metadata: Mapping[str, str]) -> int:
        """The number of a topic with messages of one kind; clients are told of a new one."""
        del metadata
        key = topic, schema.name
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers) + 1
            is_text = schema.encoding == "jsonschema"
            text = schema.data if is_text else base64.b64encode(schema.data)
            told = {
                "id": number,
                "topic": topic,
                "encoding": schema.message_encoding,
                "schemaName": schema.name,
                "schema": text.decode(),
                "schemaEncoding": schema.encoding,
            }
            with self._lock:
                self._advertised[number] = told
                for client in self._clients.values():
                    _tell(client, op="advertise", channels=[told])
            self._wake_up()
        return number

    def add(self, channel: int, time: int, published: int, parts: Sequence[Part]) -> None:
        """Send a message to all who subscribe to its channel; times in ns."""
        del published
        views = [part if isinstance(part, bytes) else memoryview(part.data) for part in parts]
        content = b"".join(views)  # what it was made of is used again
        with self._lock:
            for client in self._clients.values():
                if client.request is not None:
                    continue
                if time != self._time:
                    client.queue(websocket.BINARY, _TIME.pack(2, time), may_be_lost=True)
                subscription = client.channels.get(channel)
                if subscription is not None:
                    head = _DATA.pack(1, subscription, time)
                    client.queue(websocket.BINARY, head, content, may_be_lost=True)
            self._time = time
        self._wake_up()

    def end_chunk(self) -> None:
        """Nothing is held back."""

    def finish(self) -> None:
        """Send what waits, as far as clients take it soon, and close."""
        with self._lock:
            self._ends = clock.monotonic() + LAST_SECONDS
            for client in self._clients.values():
                if client.request is None:
                    client.put((websocket.closing(websocket.NORMAL),), 4)
                client.ends = True
        self._wake_up()
        self._thread.join()

    def close(self) -> None:
        """``finish`` has closed all."""

    def abandon(self) -> None:
        """Leave all sockets to the process that this one is a copy of."""
        for one in (self._listener, self._wake, self._woken, *self._connections()):
            one.close()

    def _connections(self) -> Iterator[socket.socket]:
        return (client.connection for client in list(self._clients.values()))

    def _wake_up(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):  # it is awake
            self._wake.send(b"\0")

    # ---- on the thread of the server -------------------------------------------------------

    def _serve(self) -> None:
        try:
            while not self._ends or (self._clients and clock.monotonic() < self._ends):
                for key, events in self._selector.select(0.1 if self._ends else None):
                    key.data(key.fileobj, events)
                self._pass_on()
        except Exception:  # the simulation goes on
            _log.exception("The live log has ended")
        finally:
            with self._lock:
                found = list(self._connections())
                self._clients.clear()
            for one in (self._listener, self._wake, self._woken, *found):
                one.close()
            self._selector.close()

    def _empty_pipe(self, woken: Any, events: int) -> None:
        del events
        with contextlib.suppress(BlockingIOError):
            while woken.recv(1 << 12):
                pass

    def _accept(self, listener: Any, events: int) -> None:
        del events
        with contextlib.suppress(OSError):  # it has gone again
            connection, _ = listener.accept()
            if len(self._clients) >= MOST_CLIENTS:
                connection.close()
                return
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            number = next(self._count)
            with self._lock:
                self._clients[number] = _Client(connection)
            read = selectors.EVENT_READ
            self._selector.register(connection, read, lambda _, events: self._hear(number, events))

    def _hear(self, number: int, events: int) -> None:
        """Read what a client sends."""
        client = self._clients.get(number)
        if client is None or not events & selectors.EVENT_READ:
            return
        try:
            data = client.connection.recv(1 << 16)
            if not data:
                self._drop(number)
            elif client.request is not None:
                self._shake_hands(client, client.request, data)
            else:
                self._take(client, data)
        except BlockingIOError:
            return
        except OSError:
            self._drop(number)
        except WebSocketError as error:
            self._refuse(client, error)

    def _shake_hands(self, client: _Client, request: bytearray, data: bytes) -> None:
        request += data
        head, end, rest = bytes(request).partition(b"\r\n\r\n")
        if not end:
            if len(request) > websocket.MOST_HEADER:
                raise WebSocketError("the request is too long")
            return
        accepted = websocket.answer(head, PROTOCOLS)
        with self._lock:
            client.request = None
            client.put((accepted,), len(accepted))
            _tell(client, op="serverInfo", name="sensor-fmus", capabilities=["time"])
            _tell(client, op="advertise", channels=list(self._advertised.values()))
        if rest:
            self._take(client, rest)

    def _take(self, client: _Client, data: bytes) -> None:
        for kind, content in client.incoming.feed(data):
            with self._lock:
                if kind == websocket.PING:
                    client.queue(websocket.PONG, content)
                elif kind == websocket.CLOSE:
                    client.put((websocket.closing(websocket.NORMAL),), 4)
                    client.ends = True
                elif kind == websocket.TEXT:
                    self._do(client, content)

    def _do(self, client: _Client, content: bytes) -> None:
        """What a client asks for; what is not known here is left alone."""
        try:
            asked = json.loads(content)
            if asked["op"] == "subscribe":
                for one in asked["subscriptions"]:
                    channel, own = int(one["channelId"]), int(one["id"])
                    if channel in self._advertised and 0 <= own < 1 << 32:
                        client.channels[channel] = own
                        self._newcomers = True
            elif asked["op"] == "unsubscribe":
                gone = set(map(int, asked["subscriptionIds"]))
                kept = {c: own for c, own in client.channels.items() if own not in gone}
                client.channels = kept
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            _tell(client, op="status", level=2, message=f"cannot be understood: {error!r}")

    def _refuse(self, client: _Client, error: WebSocketError) -> None:
        with self._lock:
            if client.request is not None:
                text = websocket.refusal(str(error))
                client.put((text,), len(text))
            else:
                client.put((websocket.closing(error.code),), 4)
            client.ends = True

    def _pass_on(self) -> None:
        """Send to all clients as much as they take now."""
        for number, client in list(self._clients.items()):
            try:
                with self._lock:
                    client.send()
                    if client.lost and client.bytes_waiting < MOST_WAITING // 2:
                        text = f"{client.lost} messages were not sent: they come too fast"
                        client.lost = 0
                        _tell(client, op="status", level=1, message=text)
                        client.send()
                    idle, ends = client.is_idle, client.ends
            except OSError:
                self._drop(number)
                continue
            if idle and ends:
                self._drop(number)
                continue
            wanted = selectors.EVENT_READ | (0 if idle else selectors.EVENT_WRITE)
            key = self._selector.get_key(client.connection)
            if key.events != wanted:
                self._selector.modify(client.connection, wanted, key.data)

    def _drop(self, number: int) -> None:
        with self._lock:
            client = self._clients.pop(number, None)
        if client is not None:
            self._selector.unregister(client.connection)
            client.connection.close()


def _tell(client: _Client, **content: Any) -> None:
    """Send a message of JSON, if the client has shaken hands."""
    if client.request is None:
        client.queue(websocket.TEXT, json.dumps(content).encode())
