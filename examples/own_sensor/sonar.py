"""A sonar: the nearest surface in a cone, by the way of sound, and the strength of its echo."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import BodyState, MountParameters, interpolate_body
from sensor_models.core.placement import PlacementParameters
from sensor_models.core.quantities import check, integer, real
from sensor_models.core.random import normal, stream_key
from sensor_models.core.sensor import Held, SampledSensor, Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, SensorSpec
from sensor_models.output.records import RecordParameters
from sensor_models.scene.history import MovingBodies
from sensor_models.sight.mount import mount_of, poses_of
from sensor_models.sight.scene import SceneName, SceneNumber


@dataclass(frozen=True)
class SonarParameters:
    """What a sonar is."""

    half_angle: float = real(0.13, "rad", "Half angle of the cone", minimum=0.0, maximum=1.5)
    max_range: float = real(5.0, "m", "Farthest that is heard", minimum=0.0)
    rays: int = integer(200, "Rays in the cone", minimum=1, maximum=100_000)
    speed_error: float = real(0.0, "1", "Share by which sound is faster than is reckoned with")
    noise: float = real(0.005, "m", "Standard deviation of a range", minimum=0.0)

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        check(self)


@dataclass(frozen=True)
class SonarReading:
    """What it reports."""

    range: float = real(0.0, "m", "Distance to the nearest surface; 0 for none")
    echo: float = real(0.0, "1", "Share of the rays that meet something within its range")


class Sonar:
    """Rays in a cone, and noise that is a function of seed, name and sample."""

    def __init__(self, setup: Setup) -> None:
        """Lay rays on a spiral, evenly over the cone."""
        self.own, self.mount = setup.parameters.of(SonarParameters), mount_of(setup)
        self.key = stream_key(setup.sampling.seed, setup.identity, "range noise")
        share = (np.arange(self.own.rays) + 0.5) / self.own.rays
        ahead = 1.0 - share * (1.0 - np.cos(self.own.half_angle))
        around = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(self.own.rays)
        aside = np.sqrt(1.0 - ahead**2)
        self.along = np.column_stack([ahead, aside * np.cos(around), aside * np.sin(around)])
        self.state = np.zeros(1)  # what it remembers from sample to sample: nothing

    def reset(self) -> None:
        """There is nothing to forget."""

    def sample(
        self, index: int, time: float, body: NDArray[np.float64], held: Held
    ) -> SonarReading:
        """One ping, where the body is at its instant."""
        turn, place = np.split(poses_of(self.mount, body[None])[0], [9])
        others = MovingBodies(held.scene.bodies_at([time]).states[:, :, :7].copy())
        rays, ways = held.scene.rays(placed=False), self.along @ turn.reshape(3, 3).T
        hits = rays.trace(place, ways, self.own.max_range, bodies=others)
        heard = np.isfinite(hits.t)
        if not heard.any():
            return SonarReading()
        noise = self.own.noise * normal(self.key, index, 0)
        seen = float(hits.t.min()) / (1.0 + self.own.speed_error) + noise
        return SonarReading(max(seen, 0.0), float(heard.mean()))


def make(setup: Setup) -> SampledSensor:
    """A sonar in a run."""
    model = Sonar(setup)
    return SampledSensor(setup, model, model.sample, interpolate_body)


SPEC = SensorSpec(
    name="Sonar",
    text="Ultrasonic range finder",
    create=make,
    state=(Group(BodyState),),
    held=(Group(SceneNumber),),
    parameters=tuple(
        map(Group, (SonarParameters, PlacementParameters, MountParameters, SceneName))
    ),
    readings=(Group(SonarReading),),
    sinks=(Group(RecordParameters),),
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
