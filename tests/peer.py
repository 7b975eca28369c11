"""Another process that takes part in scenes, and does what it is told."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import sensor_models

#: Evaluates each line and answers with its value, or with what a ValueError said.
LOOP = """
import json, os, sys, time
from sensor_models.scene.registry import attach, open_scene
from tests.rail_scene import move, move_until, watch, watch_past

for line in sys.stdin:
    try:
        answer = eval(line)
    except ValueError as error:
        answer = str(error)
    print(json.dumps(answer), flush=True)
"""


class Peer:
    """A process of its own, killed at the end if it has not ended by then."""

    def __init__(self, **environment: str) -> None:
        root = Path(sensor_models.__file__).parents[1]
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, **environment},
        )

    def tell(self, expression: str) -> None:
        """Have an expression evaluated, its answer to be read later."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{expression}\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """The next answer."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, expression: str) -> Any:
        """The value of an expression, in which ``(w := ...)`` keeps a value for later."""
        self.tell(expression)
        return self.answer()

    def kill(self) -> None:
        """End it without a chance to clean up."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20.0)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process.stdout.close()
