"""A line that shows progress on a terminal."""

from typing import TextIO

BAR = 30  # characters


class Progress:
    """One line on a terminal that is overwritten; nothing in a pipe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._watched = stream.isatty()

    def say(self, text: str) -> None:
        """Replace the line."""
        if self._watched:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()

    def show(self, share: float, text: str) -> None:
        """Replace the line by a bar and a text."""
        done = round(BAR * share)
        self.say(f"[{'#' * done}{'.' * (BAR - done)}] {100.0 * share:3.0f} %  {text}")

    def clear(self) -> None:
        """Leave an empty line for further output."""
        self.say("")
