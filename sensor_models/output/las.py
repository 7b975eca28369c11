"""Structured points as LAS, the exchange format of laser scanning, or LAZ, which is compressed.

Version 1.4 with point format 6. Values that do not fit into LAS's own fields are kept in extra
dimensions:

x, y, z          integers in steps of 0.1 mm from an offset in the middle of the cloud, for each
                 axis; if an axis is longer than 429 km, in the next power of ten that holds all
                 points. A point that is not finite is left out, as no integer stands for it.
time             ``gps_time``, exact. It is the time of the simulation, not GPS time.
intensity        ``intensity`` is normalised to 16 bits, as LAS demands: 65535 stands for the
                 intensity that the writer is given, and for larger ones; 0 stands for NaN. A
                 sensor of b bits has its counts times 2^(16 - b). The dimension
                 ``intensity_raw`` is exact.
return_number    ``return_number``, and ``return_count`` as ``number_of_returns``: at most 15.
                 The dimensions ``return_number_raw`` and ``return_count_raw`` are exact.
others           a dimension with the name of the field

``classification`` stays 0, "never classified": its numbers have meanings by the standard (7 is
noise, which many programs drop) that the labels of a scene do not share.
The day of creation is 1970-01-01 in every file, so that equal points give equal files.

With waveforms, point format 9 is used: the samples are in the file, in an extended record 65535
after the points, and each point names its packet. Samples are counts of 16 bits, as programs that
read waveforms know 8 and 16; gain and offset of a descriptor convert them to W. A file has at most
255 descriptors: 51 lengths, which packets are padded to with the count for 0 W, for each of five
ranges of power, every one 64 times smaller than the one before. So the peak of a packet is 1,000
counts at least, unless it is 10^9 times lower than the highest in the file. A point is
``return_point_wave_location`` ps after the first sample; what was measured later is (x_t, y_t, z_t)
m per ps further along the pulse. Spacings are whole ps.

Source: ASPRS, "LAS specification 1.4 - R15", sections 2.4 (header), 2.6.7 and 2.6.10 (point formats
6 and 9), 2.7 (waveform packet data) and "Extra Bytes".
"""

import importlib
import math
import struct
from collections.abc import Mapping, Sequence
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.output.files import OutputError
from sensor_models.output.frame_files import write_parts

RESOLUTION = 1e-4  # m
LARGEST_INTEGER = 2**31 - 1
LARGEST_INTENSITY = 65535
MOST_RETURNS = 15
DAY = date(1970, 1, 1)

#: Fields that LAS has itself, and their names there.
OWN = {"x": "X", "y": "Y", "z": "Z", "time": "gps_time"}
#: Fields that LAS has, but cannot hold exactly, and the dimensions that can.
EXACT = {name: f"{name}_raw" for name in ("intensity", "return_number", "return_count")}

#: The compressor blocks all other threads, so it gets the points in parts.
PART = 4096


#: Speed of light in m for each ps, there and back.
METRES_PER_PS = 0.5 * 299_792_458.0 * 1e-12
#: Lengths of packets, the number of the first descriptor's record, and that of the data.
MOST_LENGTHS, FIRST_DESCRIPTOR, PACKET_RECORD = 51, 100, 65535
#: The header of extended records, and places in the header of the file that are written last.
EXTENDED = struct.Struct("<H16sHQ32s")
START_OF_PACKETS, FIRST_EXTENDED = 227, 235
#: Bits and bytes of a sample, the largest count; ranges of power, and how many times smaller each
#: is than the one before.
SAMPLE_BITS, SAMPLE_BYTES, LARGEST_SAMPLE = 16, 2, 2**16 - 1
POWER_RANGES, SMALLER = 5, 64.0


class WavePackets(NamedTuple):
    """Waveforms that points were made of."""

    #: ``first`` (s after the pulse), ``offset`` and ``count`` of its samples, ``returns`` (how many
    #: points, in their order), and ``along_x`` to ``along_z``, of each
    rows: NDArray[np.void]
    samples: NDArray[np.float32]  # W
    step: float  # s, between samples

    @property
    def unit(self) -> int:
        """The unit of the lengths of packets."""
        longest = int(self.rows["count"].max(initial=1))
        return -(-longest // MOST_LENGTHS)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of samples of each packet, after padding."""
        unit = self.unit
        return np.asarray(-(-self.rows["count"] // unit) * unit, np.int64)

    @property
    def peaks(self) -> NDArray[np.float64]:
        """The largest amount of power in each packet, W."""
        held = self.rows["count"] > 0
        peaks = np.zeros(len(self.rows))
        if held.any():
            begins = self.rows["offset"][held].astype(np.intp)
            peaks[held] = np.maximum.reduceat(np.abs(self.samples), begins)
        return peaks

    @property
    def power_ranges(self) -> NDArray[np.int64]:
        """The number of the range of power of each packet, 0 for the largest one."""
        peaks = self.peaks
        highest = peaks.max(initial=0.0)
        with np.errstate(divide="ignore"):
            below = np.log(np.where(peaks > 0.0, highest / np.maximum(peaks, 1e-300), 1.0))
        numbers = np.floor(below / math.log(SMALLER) + 1e-9)
        return np.asarray(np.clip(numbers, 0, POWER_RANGES - 1), np.int64)

    def scales(self) -> dict[int, tuple[float, float]]:
        """Gain and offset of each range: the W of one count, and the W of the count 0."""
        ranges = self.power_ranges
        of_sample = np.repeat(ranges, self.rows["count"])
        found = {}
        for number in np.unique(ranges).tolist():
            own = self.samples[of_sample == number]
            low, high = min(float(own.min(initial=0.0)), 0.0), float(own.max(initial=0.0))
            found[number] = max(high - low, 1e-30) / LARGEST_SAMPLE, low
        return found

    @property
    def descriptors(self) -> NDArray[np.int64]:
        """The number of the descriptor of each packet, from 1."""
        return self.power_ranges * MOST_LENGTHS + self.lengths // self.unit


def check_las(*, compressed: bool) -> None:
    """Refuse at the start what could not be written later."""
    _import_laspy(compressed)


def write_las(
    path: Path,
    points: NDArray[np.void],
    descriptions: Mapping[str, str],
    shift: Sequence[float] = (0.0, 0.0, 0.0),
    full_intensity: float = 1.0,
    packets: WavePackets | None = None,
    *,
    compressed: bool,
) -> int:
    """Write points with x, y and z; returns how many of them are in the file.

    Args:
        path: of the file.
        points: the points.
        descriptions: of the fields, of at most 32 characters.
        shift: the point that positions are relative to, m.
        full_intensity: the intensity that the largest count, 65535, stands for.
        packets: the waveforms that the points were made from.
        compressed: whether to write a laz.
    """
    laspy = _import_laspy(compressed)
    axes = np.stack([_float64(points[axis]) + m for axis, m in zip("xyz", shift, strict=True)])
    finite = np.isfinite(axes).all(axis=0)
    of_point = None if packets is None else _packet_of_point(packets)
    if not finite.all():
        points, axes = points[finite], axes[:, finite]
        of_point = None if of_point is None else of_point[finite]
    header = _header(laspy, points.dtype, descriptions, packets)
    records = _placed(laspy, header, axes)
    _fill(records, points, full_intensity)
    if packets is not None and of_point is not None:
        _fill_packets(records, points, packets, of_point)
    # In memory first, so that errors of the disk come from the system and have a reason.
    stream = _stream_of(laspy, header, records, compressed=compressed)
    if packets is not None:
        _append_packets(stream, packets)
    write_parts(path, stream.getbuffer())
    return len(points)


def _packet_of_point(packets: WavePackets) -> NDArray[np.intp]:
    return np.repeat(np.arange(len(packets.rows)), packets.rows["returns"])


def _placed(laspy: Any, header: Any, axes: NDArray[np.float64]) -> Any:
    """Records with only the positions; the header gets their offsets and scales."""
    _fit_integers(header, axes)
    records = laspy.ScaleAwarePointRecord.zeros(axes.shape[1], header=header)
    for axis, values, offset, scale in zip("XYZ", axes, header.offsets, header.scales, strict=True):
        records[axis] = np.rint((values - offset) / scale).astype(np.int32)
    return records


def _stream_of(laspy: Any, header: Any, records: Any, *, compressed: bool) -> BytesIO:
    """A file of records, in memory."""
    stream = BytesIO()
    backend = laspy.LazBackend.Lazrs if compressed else None
    writer = laspy.LasWriter(stream, header, laz_backend=backend, closefd=False)
    for first in range(0, len(records), PART):
        writer.write_points(records[first : first + PART])
    writer.close()
    return stream


def _float64(values: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # of signalling NaNs, which become quiet ones
        return values.astype(np.float64)


def _import_laspy(compressed: bool) -> Any:
    # Imported here, because it takes long, and few sensors write LAS.
    try:
        if compressed:
            importlib.import_module("lazrs")  # laspy compresses with it
        return importlib.import_module("laspy")
    except ImportError as error:
        raise OutputError(
            f"writing {'laz' if compressed else 'las'} needs the package laspy[lazrs], which"
            f" cannot be imported ({error}); install it, or choose another output format"
        ) from error


def _header(
    laspy: Any,
    record: np.dtype[np.void],
    descriptions: Mapping[str, str],
    packets: WavePackets | None,
) -> Any:
    header = laspy.LasHeader(version="1.4", point_format=6 if packets is None else 9)
    if packets is not None:
        header.global_encoding.waveform_data_packets_internal = True
        header.vlrs.extend(_descriptors(laspy, packets))
    header.global_encoding.wkt = True  # demanded by point format 6
    header.creation_date = DAY
    header.system_identifier = "simulation"
    header.generating_software = "sensor_models"
    dimensions = [name for name in record.names or () if name not in OWN]
    if dimensions:
        header.add_extra_dims(
            [
                laspy.ExtraBytesParams(EXACT.get(name, name), record[name], descriptions[name])
                for name in dimensions
            ]
        )
    return header


def _fit_integers(header: Any, axes: NDArray[np.float64]) -> None:
    """Choose offsets and scales so that integers hold all points."""
    header.scales = np.full(3, RESOLUTION)
    if axes.size:
        low, high = axes.min(axis=1), axes.max(axis=1)
        header.offsets = np.floor((low + high) / 2)
        reach = np.maximum(high - header.offsets, header.offsets - low)
        header.scales = np.array([_scale(distance) for distance in reach.tolist()])


def _scale(reach: float) -> float:
    """The size of a step if coordinates are up to this far from the offset."""
    least = reach / LARGEST_INTEGER
    if least <= RESOLUTION:
        return RESOLUTION
    return float(10.0 ** math.ceil(math.log10(least)))


def _fill(records: Any, points: NDArray[np.void], full_intensity: float) -> None:
    names = points.dtype.names or ()
    for name in names:
        if name not in "xyz":
            records[OWN.get(name) or EXACT.get(name, name)] = points[name]
    if "intensity" in names:
        share = np.nan_to_num(np.clip(_float64(points["intensity"]) / full_intensity, 0.0, 1.0))
        records["intensity"] = np.rint(share * LARGEST_INTENSITY).astype(np.uint16)
    if "return_number" in names:
        records["return_number"] = np.minimum(points["return_number"], MOST_RETURNS)
    if "return_count" in names:
        records["number_of_returns"] = np.minimum(points["return_count"], MOST_RETURNS)


# ---- waveforms -----------------------------------------------------------------------------------


def _descriptors(laspy: Any, packets: WavePackets) -> list[Any]:
    """The descriptors of packets, one for each length and range of power."""
    scales, spacing = packets.scales(), max(round(1e12 * packets.step), 1)
    found = []
    for number in np.unique(packets.descriptors).tolist():
        power_range, units = divmod(number - 1, MOST_LENGTHS)
        length = (units + 1) * packets.unit
        told = SAMPLE_BITS, 0, length, spacing, *scales[power_range]
        text = f"{length} samples"
        record = FIRST_DESCRIPTOR - 1 + number
        found.append(laspy.VLR("LASF_Spec", record, text, struct.pack("<BBIIdd", *told)))
    return found


def _fill_packets(
    records: Any, points: NDArray[np.void], packets: WavePackets, of_point: NDArray[np.int64]
) -> None:
    """Set for each point its packet, and its place in that packet."""
    lengths = packets.lengths
    begin = EXTENDED.size + SAMPLE_BYTES * (np.cumsum(lengths) - lengths)
    rows = packets.rows[of_point]
    records["wavepacket_index"] = packets.descriptors[of_point]
    records["wavepacket_offset"] = begin[of_point]
    records["wavepacket_size"] = SAMPLE_BYTES * lengths[of_point]
    after = points["range"].astype(float) / METRES_PER_PS - 1e12 * rows["first"]
    records["return_point_wave_location"] = after
    for axis in "xyz":
        records[f"{axis}_t"] = METRES_PER_PS * rows[f"along_{axis}"]


def _counts_of(
    packets: WavePackets,
    part: slice,
    lengths: NDArray[np.int64],
    scales: NDArray[np.float64],
) -> NDArray[np.uint16]:
    """Samples of some packets, one after the other, padded; ``scales``: gain and offset of each."""
    rows, (gain, low) = packets.rows[part], scales[part].T
    held = rows["count"].astype(np.int64)
    counts = np.repeat(np.rint(-low / gain), lengths)
    inside = np.repeat(np.cumsum(lengths) - lengths, held)
    steps = np.arange(int(held.sum())) - np.repeat(np.cumsum(held) - held, held)
    begin = int(rows["offset"][0])
    given = packets.samples[begin : begin + len(steps)].astype(float)
    counts[inside + steps] = np.rint((given - np.repeat(low, held)) / np.repeat(gain, held))
    whole: NDArray[np.uint16] = np.clip(counts, 0, LARGEST_SAMPLE).astype("<u2")
    return whole


def _append_packets(stream: BytesIO, packets: WavePackets) -> None:
    """Write the samples at the end, and their place into the header."""
    start, lengths, known = stream.seek(0, 2), packets.lengths, packets.scales()
    scales = np.array([known[number] for number in packets.power_ranges.tolist()]).reshape(-1, 2)
    name = b"LASF_Spec".ljust(16, b"\0"), b"waveform packets".ljust(32, b"\0")
    size = SAMPLE_BYTES * int(lengths.sum())
    stream.write(EXTENDED.pack(0, name[0], PACKET_RECORD, size, name[1]))
    for first in range(0, len(lengths), PART):
        part = slice(first, first + PART)
        stream.write(_counts_of(packets, part, lengths[part], scales).tobytes())
    for place, form, value in (
        (START_OF_PACKETS, "<Q", start),
        (FIRST_EXTENDED, "<QI", (start, 1)),
    ):
        stream.seek(place)
        stream.write(struct.pack(form, *(value if isinstance(value, tuple) else (value,))))
