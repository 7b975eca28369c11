"""Points and waveforms of a frame.

Points have the fields of a lidar's, and ``amplitude`` (W), ``echo_width`` (s, full width at half
maximum), ``snr`` and ``detection_probability``. Of the waveforms only parts are kept: from the
first to the last sample above the threshold and a margin, or where there is light for an ideal
receiver. Each part is a row of ``WAVE``; its samples, float32 in W, lie in one long array.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.output.frame_files import write_npy
from sensor_models.output.points import CloudBuffer

#: The kept part of the waveform of a pulse.
WAVE = np.dtype(
    [
        ("pulse", "<i8"),  # column * rows + row
        ("time", "<f8"),  # s, at which it was sent
        ("azimuth", "<f4"),  # rad
        ("elevation", "<f4"),  # rad
        ("first", "<f8"),  # s after it was sent, of the first sample
        ("offset", "<i8"),  # of the first sample in the array of samples
        ("count", "<i8"),  # of samples
    ]
)
Waves = NDArray[np.void]
Samples = NDArray[np.float32]

#: Bytes of samples in memory before they go to an unnamed file.
IN_MEMORY = 1 << 23


class WaveStore:
    """The waveforms of one frame, as they come; the samples in a file if there are many."""

    def __init__(self) -> None:
        self._rows: list[Waves] = []
        self._samples: IO[bytes] = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - until it goes
            max_size=IN_MEMORY
        )
        self.count = 0  # of samples

    def __del__(self) -> None:
        self._samples.close()

    def clear(self) -> None:
        """Forget all waveforms."""
        self._rows.clear()
        self._samples.seek(0)
        self._samples.truncate()
        self.count = 0

    def add(self, rows: Waves, samples: Samples) -> None:
        """Add some waveforms; offsets count from the first of these samples."""
        rows["offset"] += self.count
        self._rows.append(rows)
        self._samples.seek(0, 2)
        self._samples.write(samples.tobytes())
        self.count += len(samples)

    def rows(self) -> Waves:
        """All waveforms."""
        return np.concatenate([np.zeros(0, WAVE), *self._rows])

    def samples(self) -> Samples:
        """All samples."""
        self._samples.seek(0)
        return np.frombuffer(self._samples.read(), np.float32)


class EchoCloud(CloudBuffer):
    """Room for the points of a frame, and for its waveforms if they are kept."""

    def __init__(
        self, rays: int, returns: int, *, normals: bool, wide: bool, keeps: bool = False
    ) -> None:
        self.waves = WaveStore() if keeps else None
        super().__init__(rays, returns, normals=normals, wide=wide, echoes=True)

    def clear(self) -> None:
        """Forget all points and waveforms."""
        super().clear()
        if self.waves is not None:
            self.waves.clear()

    def saved(self, rays: int) -> dict[str, NDArray[Any]]:
        """The points of the first rays and all waveforms, as arrays."""
        store = self.waves or WaveStore()
        rows = store.rows().view(np.uint8).copy()
        return {**super().saved(rays), "waves": rows, "samples": store.samples().copy()}

    def load(self, saved: Mapping[str, NDArray[Any]], rays: int) -> None:
        """Take over what was saved; ValueError if it does not fit."""
        waves, samples = saved["waves"], saved["samples"]
        fits = waves.dtype == np.uint8 and waves.ndim == 1 and len(waves) % WAVE.itemsize == 0
        rows = waves.copy().view(WAVE) if fits else np.zeros(0, WAVE)
        fits = fits and samples.dtype == np.float32 and samples.ndim == 1
        if not fits or (rows["count"] < 0).any() or int(rows["count"].sum()) != len(samples):
            raise ValueError("the saved waveforms of the lidar are damaged")
        super().load(saved, rays)
        if self.waves is not None:
            self.waves.add(rows, samples)


@dataclass(frozen=True)
class WaveFile:
    """The rows of the waveforms of a frame."""

    cloud: EchoCloud
    suffix: str = "waveform.npy"

    def write(self, path: Path) -> dict[str, object]:
        """Write them and tell what the index should know."""
        assert self.cloud.waves is not None
        rows = self.cloud.waves.rows()
        write_npy(path, rows)
        return {"kind": "waveform", "format": "npy", "waveforms": len(rows)}


@dataclass(frozen=True)
class SampleFile:
    """The samples of the waveforms of a frame."""

    cloud: EchoCloud
    suffix: str = "samples.npy"

    def write(self, path: Path) -> dict[str, object]:
        """Write them and tell what the index should know."""
        assert self.cloud.waves is not None
        write_npy(path, self.cloud.waves.samples())
        return {"kind": "samples", "format": "npy", "samples": self.cloud.waves.count}
