"""The server's side of a WebSocket: its handshake, and frames of messages.

Written here, as logs are written with nothing but what Python has: FMUs run where no package can be
installed. What a server of messages needs is a page: texts and closing from the client, messages of
any size to it. Nothing is compressed.

Source: RFC 6455, sections 4.2, 5 and 7.4.
"""

import base64
import hashlib
import struct
from collections.abc import Iterator, Sequence

#: What the key of a handshake is completed with.
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
NORMAL, PROTOCOL_ERROR, TOO_LARGE = 1000, 1002, 1009
#: What a client may send at most before its handshake is complete, and in one message.
MOST_HEADER, MOST_MESSAGE = 1 << 14, 1 << 20


class WebSocketError(ValueError):
    """Bytes that no client of a WebSocket sends; ``code`` is that of the closing frame."""

    def __init__(self, text: str, code: int = PROTOCOL_ERROR) -> None:
        super().__init__(text)
        self.code = code


def answer(request: bytes, protocols: Sequence[str]) -> bytes:
    """The answer to a client's request, which has to offer one of some protocols.

    Raises:
        WebSocketError: if it is no request for a WebSocket, or offers none of them.
    """
    first, *lines = request.decode("latin-1").split("\r\n")
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        known = fields.get(name.strip().lower())
        fields[name.strip().lower()] = value.strip() if known is None else f"{known}, {value}"
    key = fields.get("sec-websocket-key", "")
    if not first.startswith("GET ") or fields.get("upgrade", "").lower() != "websocket" or not key:
        raise WebSocketError("this is a WebSocket, for a viewer of logs")
    offered = [name.strip() for name in fields.get("sec-websocket-protocol", "").split(",")]
    chosen = next((name for name in protocols if name in offered), "")
    if not chosen:
        raise WebSocketError(f"the client offers {offered}, this server speaks {list(protocols)}")
    accepted = base64.b64encode(hashlib.sha1(key.encode() + _MAGIC).digest()).decode()
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accepted}\r\nSec-WebSocket-Protocol: {chosen}\r\n\r\n"
    ).encode()


def refusal(text: str) -> bytes:
    """The answer to a request that is none for a WebSocket."""
    body = f"{text}\n".encode()
    head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def head_of(kind: int, size: int) -> bytes:
    """What stands before a message of a kind and a size, which is one frame."""
    if size < 126:
        return struct.pack("!BB", 0x80 | kind, size)
    if size < 1 << 16:
        return struct.pack("!BBH", 0x80 | kind, 126, size)
    return struct.pack("!BBQ", 0x80 | kind, 127, size)


def closing(code: int) -> bytes:
    """The frame that ends a connection."""
    return head_of(CLOSE, 2) + struct.pack("!H", code)


class Incoming:
    """Takes the bytes of a client apart into messages."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._parts, self._kind = bytearray(), CONTINUED

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The messages that are complete with these bytes: kind and content.

        Raises:
            WebSocketError: if these are no frames of a client.
        """
        self._waiting += data
        while (frame := self._next()) is not None:
            kind, is_last, content = frame
            if kind >= CLOSE:
                yield kind, content
                continue
            if (kind == CONTINUED) != (self._kind != CONTINUED):
                raise WebSocketError("a message was begun before the one before had ended")
            self._kind = kind or self._kind
            self._parts += content
            if len(self._parts) > MOST_MESSAGE:
                raise WebSocketError("the message is too long", TOO_LARGE)
            if is_last:
                kind, content = self._kind, bytes(self._parts)
                self._parts, self._kind = bytearray(), CONTINUED
                yield kind, content

    def _next(self) -> tuple[int, bool, bytes] | None:
        """The first frame that waits, if it is complete: kind, whether it is the last, content."""
        waiting = self._waiting
        if len(waiting) < 2:
            return None
        first, second = waiting[0], waiting[1]
        kind, size, start = first & 0x0F, second & 0x7F, 2
        if first & 0x70 or not second & 0x80 or kind not in _KINDS:
            raise WebSocketError("these are no frames of a client")
        if kind >= CLOSE and (size > 125 or not first & 0x80):
            raise WebSocketError("a frame of control is short, and one")
        if size >= 126:
            length = 2 if size == 126 else 8
            if len(waiting) < start + length:
                return None
            size, start = int.from_bytes(waiting[start : start + length], "big"), start + length
        if size > MOST_MESSAGE:
            raise WebSocketError("the message is too long", TOO_LARGE)
        end = start + 4 + size
        if len(waiting) < end:
            return None
        mask = bytes(waiting[start : start + 4])
        masked = bytes(waiting[start + 4 : end])
        del waiting[:end]
        repeated = (mask * (size // 4 + 1))[:size]
        content = int.from_bytes(masked, "big") ^ int.from_bytes(repeated, "big")
        return kind, bool(first & 0x80), content.to_bytes(size, "big")


_KINDS = frozenset((CONTINUED, TEXT, BINARY, CLOSE, PING, PONG))
