"""Bars: measured figures with the bound that they have to keep."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """A measured figure and its bound: the highest that it may be, or the lowest."""

    what: str
    figure: float
    bound: float
    unit: str
    detail: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the figure keeps its bound."""
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound

    def line(self) -> str:
        """The bar as a line for people."""
        verdict = "holds" if self.holds else "FAILS"
        side = "at least" if self.at_least else "at most"
        figure = f"{self.figure:9.2f} {self.unit:<4} ({side} {self.bound:g})"
        return f"{verdict}  {self.what:<52} {figure}  {self.detail}"


def best_in_turns(measured: Mapping[str, Callable[[], float]], turns: int) -> dict[str, float]:
    """The best figure of each, all measured in turns so that they share what the machine does."""
    figures: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(turns):
        for name, measure in measured.items():
            figures[name].append(measure())
    return {name: min(values) for name, values in figures.items()}
