r"""Ray-traced radar: chirps and antennas in a scene, by physical optics on tubes of rays.

Of the scene at the middle of a frame and of its motion then, tubes of rays make paths
(``kernels.radar.ray_tubes``, ``ray_paths``), paths make a cube of range, Doppler and channels
(``synthesis``), the receiver adds its noise (``noise``), and what stands out becomes a list of
targets (``targets``).

Why not the tree of rays of ``kernels.light``: that carries a weight, a share of power that belongs
to one ray. Here a ray stands for a tube with a complex vector field, whose phase is needed to some
0.01 rad, so that lengths have to be those to planes in float64, and a tube needs to know how its
phase goes from one side to the other. What both share is what finds facets (``kernels.tracing``).

Motion. Lengths are those at the middle of the frame; they go on at the speed of their path. That is
exact for even motion with ``beat``; ``kernel`` takes a path to stay in its cell of range. Over a
frame of 10 ms an acceleration of 10 m/s2 moves a target by 0.1 mm.

Not modelled: diffraction beyond that of physical optics, creeping waves, phase noise,
interference, coupling of antennas and their near field, rain and fog.

Source: Ling, Chou, Lee 1989; Schuessler et al. 2021 (IEEE J. Microwaves 1, 4); Holder 2021
(Fourier tracing).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import matrix_from_quaternion
from sensor_models.core.random import stream_key
from sensor_models.kernels.radar.batches import parts_of
from sensor_models.kernels.radar.cells import list_cells, look, spread
from sensor_models.kernels.radar.crossings import LOOKS, MOST_IMAGES, Images, list_images
from sensor_models.kernels.radar.noise import add_noise
from sensor_models.kernels.radar.pages import PAGE, PATH_SIZE, Pages
from sensor_models.kernels.radar.ray_paths import Cells, shoot
from sensor_models.kernels.radar.ray_tubes import Sender
from sensor_models.kernels.radar.synthesis import (
    BLOCK,
    SECTORS,
    SPAN,
    Strongest,
    add_paths,
    assemble,
    beat,
    count_paths,
    sort_paths,
)
from sensor_models.kernels.radar.windows import kernel_table, rows_of, window_of
from sensor_models.radar.ray_parameters import Polarization, RayTracedParameters, Synthesis
from sensor_models.radar.surfaces import RadarScene
from sensor_models.radar.waveform import Radio
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]

#: Parts v and h of what is sent and received.
SLANTED = math.sqrt(0.5)
AXES = {
    Polarization.vv: ((1.0, 0.0), (1.0, 0.0)),
    Polarization.hh: ((0.0, 1.0), (0.0, 1.0)),
    Polarization.vh: ((1.0, 0.0), (0.0, 1.0)),
    Polarization.hv: ((0.0, 1.0), (1.0, 0.0)),
    Polarization.plus45: ((SLANTED, SLANTED), (SLANTED, SLANTED)),
}
#: How the receiver's axis stands to that of what is sent: d x v = h, and d x h = -v.
CROSSED = {Polarization.vh: 1.0, Polarization.hv: -1.0}
#: Share of a cell that rays are drawn from. With none, whole columns straight ahead met nothing: a
#: direction that is 0 but for rounding, beside others in a packet, is too much for the ray engine.
LEAST_JITTER = 0.01
#: Tubes of a chunk, at least; one thread makes a chunk.
CHUNK = 4096
#: Power of what scatters, beside the noise in a direction of a cell, below which some of it stands
#: for all: it is 10 dB below, and its mean is the same. Scatter that is as strong as the noise is
#: then of ten parts or more, whose sum is spread as that of many.
FAINT = 0.1
#: An object that is smaller than so many cells of the first pass is looked for by its bounds.
SMALL = 4.0
#: Samples or chirps from which on kernels are cut off beyond their reach.
FEWEST = 16


class Motion(NamedTuple):
    """Sensor and bodies at the middle of a frame."""

    position: Floats  # of the sensor in the world, m
    orientation: Floats  # w, x, y, z
    velocity: Floats  # of the sensor, m/s
    bodies: Floats  # (n, 7): poses
    velocities: Floats  # (n, 6): velocity and angular velocity


class Paths(NamedTuple):
    """What came back, in the order of chunks."""

    pages: Pages
    order: NDArray[np.int64]
    tubes: int
    lost: int  # tubes that were not followed as there was no room

    @property
    def numbers(self) -> Floats:
        """All paths, (n, PATH_SIZE)."""
        parts = [self.pages.numbers[p, : self.pages.used[p, 2]] for p in self.order]
        return np.concatenate([np.zeros((0, PATH_SIZE)), *parts])

    @property
    def entities(self) -> NDArray[np.int32]:
        """The entity of each path."""
        parts = [self.pages.entities[p, : self.pages.used[p, 2]] for p in self.order]
        return np.concatenate([np.zeros(0, np.int32), *parts])


class Image(NamedTuple):
    """A frame before anything is detected in it."""

    cube: NDArray[np.complex64]  # (range, Doppler, channels)
    strongest: Strongest
    tubes: int


class RayTracedRadar:
    """A radar that sends tubes of rays."""

    def __init__(
        self,
        parameters: RayTracedParameters | None = None,
        *,
        seed: int = 0,
        identity: str = "",
        warn: Callable[[str], None] | None = None,
        integrates: bool = True,
        jitter: float = LEAST_JITTER,
    ) -> None:
        """Make it; without ``integrates`` and with a ``jitter``, only for comparison.

        Rays that look for facets go nearly through the middles of cells. Drawn anywhere in their
        cells, they blur edges: far side lobes of a plate lose 3 dB, and 4 dB from lobe to lobe.
        """
        self.parameters = own = parameters or RayTracedParameters()
        self.radio = Radio(own.antenna, own.chirp, own.window)
        self._jitter = stream_key(seed, identity, "tubes")
        self._noise = stream_key(seed, identity, "noise")
        self._warn = warn
        self._integrates, self._jitters = integrates, jitter
        self._scene: RadarScene | None = None
        self._pages = new_pages(256)
        self._slabs = np.zeros((0, 0, 0), np.float32)
        self._shown = np.zeros((0, 0, 0, 0), np.float32)
        chirp, window = own.chirp, own.window
        self._tables = (
            rows_of(kernel_table(int(window.range), chirp.samples)),
            kernel_table(int(window.doppler), chirp.count),
        )
        _ = self.radio.kernel_waveform, self.radio.pattern  # refused here, not in a frame

    # ---- paths -------------------------------------------------------------------------------

    def trace(self, rays: RayScene, motion: Motion, frame: int) -> Paths:
        """All paths from the sensor into the scene and back."""
        if self._scene is None or self._scene.scene is not rays.scene:
            spacing = self.parameters.rays.spacing
            self._scene = RadarScene(rays.scene, self.parameters.antenna.frequency, spacing)
        scene, sender = self._scene, self._sender(motion, frame)
        moving = MovingBodies(np.ascontiguousarray(motion.bodies, float)[np.newaxis])
        bodies = moving if len(motion.bodies) else None
        cells, images, tubes = self._cells(rays, scene, sender, motion, bodies)
        motions = np.zeros((len(motion.bodies), 9))
        motions[:, :6] = motion.velocities
        motions[:, 6:] = motion.bodies[:, :3] - motion.position
        while True:
            pages = self._pages
            pages.claims[0] = pages.lost[0] = 0
            rays.run(shoot, sender, scene.tables, motions, images, cells, pages, bodies=bodies)
            taken = int(pages.claims[0])
            if taken <= len(pages.used):
                break
            # Threads that find no room claim less than they need.
            self._pages = new_pages(max(taken + taken // 4, 2 * len(pages.used)))
        used = pages.used[:taken]
        order = np.lexsort((used[:, 1], used[:, 0])).astype(np.int64)
        return Paths(pages, order, tubes, int(pages.lost[0]))

    def _sender(self, motion: Motion, frame: int) -> Sender:
        own = self.parameters
        turn = matrix_from_quaternion(motion.orientation)
        x, y, z = (tuple(column) for column in turn.T.tolist())
        sent, received = AXES[Polarization(own.antenna.polarization)]
        return Sender(
            tuple(motion.position.tolist()), x, y, z, tuple(motion.velocity.tolist()),
            2.0 * math.pi / self.radio.wavelength,
            math.sqrt(own.antenna.transmit_power / own.antenna.loss),
            sent, received, own.tracing.max_bounces, self._jitters, self._integrates,
            frame, self._jitter, CROSSED.get(Polarization(own.antenna.polarization), 0.0),
            FAINT * self.radio.noise if own.tracing.noise else 0.0, self.radio.pattern,
        )  # fmt: skip

    def _cells(
        self,
        rays: RayScene,
        scene: RadarScene,
        sender: Sender,
        motion: Motion,
        bodies: MovingBodies | None,
    ) -> tuple[Cells, Images, int]:
        """The cells that are looked at, by two passes, what mirrors show, and how many tubes."""
        own = self.parameters
        half_u, half_v = math.tan(own.fov.azimuth), math.tan(own.fov.elevation)
        columns = max(math.ceil(2.0 * half_u / own.rays.angle), 1)
        rows = max(math.ceil(2.0 * half_v / own.rays.angle), 1)
        width, height = 2.0 * half_u / columns, 2.0 * half_v / rows
        grid = -half_u, -half_v, width, height
        spacings, windows = self._pictures(scene, motion, grid, columns, rows)
        parts, facets = np.empty((2, rows, columns), np.int32), np.empty((rows, columns), np.int64)
        reached = np.empty((rows, columns), np.float32)
        owners = np.empty((LOOKS, rows, columns), np.int32)
        shown = self._room_for_images(rows, columns)
        rays.run(
            look, sender, scene.tables, *grid, spacings, parts, facets, reached, owners, shown,
            bodies=bodies,
        )  # fmt: skip
        divided = np.empty_like(parts)  # across, and upward
        rays.run(spread, parts, facets, divided)
        for window, ahead, counts in windows:
            free = reached[window] >= ahead  # what is nearer hides it
            for part, count in zip(divided, counts, strict=True):
                np.maximum(part[window], np.where(free, count, 0), out=part[window])
        listed, tubes = self._listed(rays, divided)
        if tubes > own.rays.maximum:
            listed, tubes = self._listed(rays, self._limited(divided, tubes))
        numbers, across, upward, chunks = listed
        images = _images(rays, owners, shown, len(scene.owners))
        return Cells(numbers, across, upward, chunks, columns, *grid), images, tubes

    def _room_for_images(self, rows: int, columns: int) -> NDArray[np.float32]:
        """Where cells note images; it is kept, as few of its pages are ever written to."""
        if self._shown.shape[1:3] != (rows, columns):
            self._shown = np.empty((LOOKS, rows, columns, 4), np.float32)
        return self._shown

    def _listed(self, rays: RayScene, divided: NDArray[np.int32]) -> tuple[Any, int]:
        """Cells with their parts, and in chunks; how many tubes they are."""
        size = divided[0].size
        numbers, counts = np.empty(size, np.int64), np.empty((2, size), np.int32)
        chunks, found = np.empty(size + 1, np.int64), np.zeros(3, np.int64)
        rays.run(list_cells, divided, CHUNK, numbers, counts, chunks, found, threads=1)
        cells, last, tubes = found.tolist()
        return (numbers[:cells], *counts[:, :cells], chunks[: last + 1]), tubes

    def _pictures(
        self,
        scene: RadarScene,
        motion: Motion,
        grid: tuple[float, float, float, float],
        columns: int,
        rows: int,
    ) -> tuple[Floats, list[tuple[tuple[slice, slice], float, list[int]]]]:
        """The widest that tubes may be at each owner, across and upward, by its bounds.

        And for what is small, where these lie in the grid, how far ahead at least, and into how
        much cells are divided there.
        """
        left, bottom, width, height = grid
        spacings, windows = np.stack([scene.tables.spacing] * 2, axis=1), []
        turn = matrix_from_quaternion(motion.orientation)
        for owner, instance in enumerate(scene.owners):
            if not scene.mirrors[owner] or owner < len(scene.scene.volumes):
                continue
            corners = scene.corners[owner]
            if instance.body >= 0:
                pose = motion.bodies[instance.body]
                corners = corners @ matrix_from_quaternion(pose[3:]).T + pose[:3]
            seen = (corners - motion.position) @ turn
            if len(seen) == 0 or seen[:, 0].min() <= 1e-3:
                continue
            ahead = float(seen[:, 0].min())
            u, v = seen[:, 1] / seen[:, 0], seen[:, 2] / seen[:, 0]
            spacings[owner] = scene.spacing_of(
                owner, float(np.ptp(u)) * ahead, float(np.ptp(v)) * ahead
            )
            if float(np.sort(scene.sizes[owner])[1]) < SMALL * max(width, height) * ahead:
                window = _window(v, bottom, height, rows), _window(u, left, width, columns)
                needed = np.ceil(np.array([width, height]) * ahead / spacings[owner])
                divisions = np.minimum(needed, 4095).astype(int).tolist()
                windows.append((window, ahead, divisions))
        return spacings, windows

    def _limited(self, divided: NDArray[np.int32], tubes: int) -> NDArray[np.int32]:
        """Parts across and upward that make no more rays than are allowed."""

        def shrunk(share: float) -> NDArray[np.int32]:
            fewer = np.maximum((divided * share).astype(np.int32), 1)
            return np.where(divided > 0, fewer, 0).astype(np.int32)

        most = self.parameters.rays.maximum
        if self._warn is not None:
            self._warn(
                f"rays.maximum = {most} is less than the {tubes} rays that rays.spacing needs "
                "here: the spacing is wider, and radar cross sections are less exact"
            )
            self._warn = None
        low, high = 0.0, 1.0
        for _ in range(30):
            share = 0.5 * (low + high)
            fits = int(np.multiply(*shrunk(share), dtype=np.int64).sum()) <= most
            low, high = (share, high) if fits else (low, share)
        return shrunk(low)

    # ---- cube --------------------------------------------------------------------------------

    def image(self, rays: RayScene, motion: Motion, frame: int) -> Image:
        """The cube of a frame, with noise."""
        paths = self.trace(rays, motion, frame)
        cube, strongest = self.synthesise(rays, paths)
        return Image(self.with_noise(rays, cube, frame), strongest, paths.tubes)

    def with_noise(
        self, rays: RayScene, cube: NDArray[np.complex128], frame: int
    ) -> NDArray[np.complex64]:
        """A cube with the receiver's noise of a frame."""
        window = self.parameters.window
        out = np.empty(cube.shape, np.complex64)
        sigma = math.sqrt(0.5 * self.radio.noise_of_draw) if self.parameters.tracing.noise else 0.0
        windows = int(window.range), int(window.doppler)
        if sigma > 0.0:
            rays.run(add_noise, self._noise, frame, sigma, windows, cube, out)
        else:
            out[:] = cube
        return out

    def synthesise(self, rays: RayScene, paths: Paths) -> tuple[NDArray[np.complex128], Strongest]:
        """The cube of paths without noise, and which of them are the strongest."""
        wave, own = self.radio.kernel_waveform, self.parameters
        samples, chirps = wave.samples, wave.chirps
        channels = len(wave.transmitters) * len(wave.receivers)
        blocks = -(-samples // BLOCK)
        places, starts = self._sorted(rays, paths, blocks)
        shape = (samples, chirps, *self._sectors())
        strongest = Strongest(np.zeros(shape, np.float32), np.full(shape, -1, np.int32))
        room = blocks, chirps, SPAN * parts_of(channels)
        if self._slabs.shape != room:
            self._slabs = np.zeros(room, np.float32)
        rows = Strongest(strongest.power.reshape(-1), strongest.entity.reshape(-1))
        rays.run(
            add_paths, *paths.pages.flat, wave, places, starts, *self._tables, self._slabs, rows,
            self._sectors(),
        )  # fmt: skip
        if own.tracing.synthesis == Synthesis.beat or min(samples, chirps) < FEWEST:
            return self._transformed(rays, paths, places), strongest
        cube = np.empty((samples, chirps, channels), complex)
        rays.run(assemble, self._slabs, samples, channels, cube)
        return cube, strongest

    def _sorted(self, rays: RayScene, paths: Paths, blocks: int) -> tuple[Any, Any]:
        """Where paths are in the order of blocks of range, and where each block begins."""
        wave, pages, order = self.radio.kernel_waveform, paths.pages, paths.order
        counts = np.empty((len(order), blocks), np.int64)
        own = np.empty((len(order), PAGE), np.int32)
        rays.run(count_paths, pages, order, wave, own, counts)
        starts = np.zeros(blocks + 1, np.int64)
        np.cumsum(counts.sum(axis=0), out=starts[1:])
        firsts = starts[:-1] + np.cumsum(counts, axis=0) - counts
        places = np.empty(int(starts[-1]), np.int32)
        rays.run(sort_paths, pages, order, own, firsts, places)
        return places, starts

    def _sectors(self) -> tuple[int, int]:
        """By how many directions along y and z paths are told apart."""
        spans = np.ptp(self.radio.virtual, axis=0)
        return SECTORS if spans[0] > 0.0 else 1, SECTORS if spans[1] > 0.0 else 1

    def _transformed(
        self, rays: RayScene, paths: Paths, places: NDArray[np.int32]
    ) -> NDArray[np.complex128]:
        """The cube by the samples of all paths and two transforms."""
        wave, window = self.radio.kernel_waveform, self.parameters.window
        channels = len(wave.transmitters) * len(wave.receivers)
        signal = np.zeros((wave.chirps, wave.samples, channels), complex)
        rays.run(beat, paths.pages.flat[0], wave, places, signal)
        along = centred_transform(wave.samples, int(window.range), signed=False)
        over = centred_transform(wave.chirps, int(window.doppler), signed=True)
        cube = along(signal.transpose(1, 0, 2))
        found: NDArray[np.complex128] = over(cube.transpose(1, 0, 2)).transpose(1, 0, 2)
        return np.ascontiguousarray(found)


def centred_transform(count: int, window: int, *, signed: bool) -> Callable[[Any], Any]:
    """The windowed transform along the first axis, its phases counted from the middle.

    Cells are those of ``numpy.fft``; with ``signed``, the upper half stands for negative ones.
    """
    weights = window_of(window, count)
    cells = np.fft.fftfreq(count, 1.0 / count) if signed else np.arange(count, dtype=float)
    turn = np.exp(2j * np.pi * 0.5 * (count - 1) * cells / count)

    def transform(samples: Any) -> Any:
        shape = (count,) + (1,) * (samples.ndim - 1)
        return np.fft.fft(samples * weights.reshape(shape), axis=0) * turn.reshape(shape)

    return transform


def no_images(owners: int) -> Images:
    """None of any owner."""
    none = np.zeros(0)
    return Images(np.zeros(owners + 1, np.int64), none.reshape(0, 3), none.astype(np.int64), none)


def _images(
    rays: RayScene, owners: NDArray[np.int32], shown: NDArray[np.float32], count: int
) -> Images:
    """The images that the cells of a frame found."""
    counts, mirrors = np.zeros(count, np.int64), np.zeros((count, MOST_IMAGES), np.int64)
    places, shares = np.zeros((count, MOST_IMAGES, 3)), np.zeros((count, MOST_IMAGES))
    flat = owners.reshape(LOOKS, -1), shown.reshape(LOOKS, -1, 4)
    rays.run(list_images, *flat, counts, places, mirrors, shares, threads=1)
    taken = np.arange(MOST_IMAGES) < counts[:, np.newaxis]
    firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return Images(firsts, np.ascontiguousarray(places[taken]), mirrors[taken], shares[taken])


def _window(values: Floats, first: float, step: float, count: int) -> slice:
    """The cells that values lie in, and one more on either side."""
    low = int(np.clip(np.floor((values.min() - first) / step) - 1, 0, count))
    high = int(np.clip(np.floor((values.max() - first) / step) + 2, 0, count))
    return slice(low, high)


def new_pages(count: int) -> Pages:
    """Room for paths, each of them in one line of the cache."""
    memory = np.empty(8 * PATH_SIZE * (count * PAGE + 1), np.uint8)
    first = -memory.ctypes.data % (8 * PATH_SIZE)
    numbers = memory[first : first + 8 * PATH_SIZE * count * PAGE].view(float)
    return Pages(
        numbers.reshape(count, PAGE, PATH_SIZE),
        np.empty((count, PAGE), np.int32),
        np.zeros((count, 3), np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )
