"""A full-waveform lidar from the parameters of its FMU, by their names."""

from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import MountParameters
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.spec import Groups
from sensor_models.lidar.parameters import AmbientParameters, LidarNoiseParameters
from sensor_models.lidar.patterns import PatternParameters, ScanPattern
from sensor_models.waveform.lidar import WaveformLidar
from sensor_models.waveform.parameters import (
    AdcParameters,
    ReceiverParameters,
    WaveformParameters,
)


def waveform_lidar_of(
    given: Groups, identity: str, *, keeps: bool = False, pattern: ScanPattern | None = None
) -> WaveformLidar:
    """The lidar that parameters describe, with another pattern if there is one."""
    sampling = given.of(SamplingParameters)
    mount, placement = given.of(MountParameters), given.of(PlacementParameters)
    return WaveformLidar(
        given.of(WaveformParameters),
        pattern or given.of(PatternParameters),
        given.of(ReceiverParameters, "receiver"),
        given.of(AdcParameters, "adc"),
        noise=given.of(LidarNoiseParameters),
        ambient=given.of(AmbientParameters),
        mount=placed(mount, placement, sampling.seed, identity),
        seed=sampling.seed,
        identity=identity,
        rate=sampling.sample_rate,
        keeps=keeps,
    )
