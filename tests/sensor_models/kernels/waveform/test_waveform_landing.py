"""Packets whose rays all meet one owner are looked up together: what ray by ray gives."""

import dataclasses

import numpy as np
import pytest

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.facing import LENGTH, OUTWARD, SURFACE, look_up, new_facing
from sensor_models.kernels.light.surfaces import SURFACE_SIZE
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import new_packet
from sensor_models.kernels.tracing.rays import claim, set_ray, trace_surfaces
from sensor_models.kernels.waveform.landing import (
    NUMBERS_OF_PULSES,
    is_alike,
    look_up_alike,
)
from sensor_models.scene.model import Instance
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin


@njit(nogil=True)
def _look(view, claims, surfaces, origins, directions, numbers, materials, alike):
    """Look up packets of rays in both ways."""
    packet, one, other = new_packet(), new_facing(NUMBERS_OF_PULSES), new_facing(NUMBERS_OF_PULSES)
    chunk = claim(claims)
    while chunk * WIDTH < len(directions):
        for lane in range(WIDTH):
            ray = chunk * WIDTH + lane
            origin = origins[ray, 0], origins[ray, 1], origins[ray, 2]
            direction = directions[ray, 0], directions[ray, 1], directions[ray, 2]
            set_ray(view, packet, lane, origin, direction, 1e-4, np.inf, 0.0)
        trace_surfaces(view, packet, True)
        alike[chunk] = is_alike(view, packet)
        look_up(view, surfaces, packet, one)
        numbers[chunk, 0], materials[chunk, 0] = one.numbers, one.material
        if alike[chunk]:
            look_up_alike(view, surfaces, packet, other)
            numbers[chunk, 1], materials[chunk, 1] = other.numbers, other.material
        chunk = claim(claims)


@pytest.mark.parametrize("mixed", [False, True])
def test_rays_that_meet_one_owner_are_looked_up_as_each_alone(mixed):
    """Ground of small facets, turned either way, of one material and of two; beside it another
    owner and nothing, which are left to ``look_up``."""
    rng, packets = np.random.default_rng(8), 60
    u, v = np.meshgrid(np.linspace(-4, 4, 41), np.linspace(-4, 4, 41))
    vertices = np.stack([u, v, 0.2 * np.sin(3 * u) * np.cos(2 * v)], axis=-1).reshape(-1, 3)
    first = (np.arange(40)[:, None] * 41 + np.arange(40)).reshape(-1, 1)
    faces = np.concatenate([first + np.array(corners) for corners in ([0, 1, 42], [0, 42, 41])])
    turned = rng.uniform(size=len(faces)) < 0.5
    faces[turned] = faces[turned][:, ::-1]
    kinds = rng.integers(0, 2, len(faces)) if mixed else np.zeros(len(faces), int)
    ground = twin.mesh_of(vertices, faces)
    ground.face_material[:] = kinds
    aside = np.eye(4)
    aside[:3, 3] = 9.0, 0.0, 0.0
    scene = twin.scene_of(
        ground, instances=(Instance(0, np.eye(4), 1), Instance(0, aside, 2)),
        materials=(twin.LAMBERT, dataclasses.replace(twin.LAMBERT, name="other")),
    )  # fmt: skip
    middles = np.repeat(np.column_stack([rng.uniform(-5, 5, (packets, 2)), np.zeros(packets)]),
                        WIDTH, axis=0)  # fmt: skip
    wide = np.repeat(rng.choice([0.3, 0.01], packets), WIDTH)  # some meet one facet
    targets = middles + wide[:, None] * rng.uniform(-1, 1, middles.shape) * [1, 1, 0]
    origins = np.tile([0.0, 0.0, 6.0], (len(targets), 1))
    along = targets - origins
    along /= np.linalg.norm(along, axis=1)[:, None]
    surfaces = rng.uniform(0.1, 1.0, (2, SURFACE_SIZE))
    numbers = np.zeros((packets, 2, NUMBERS_OF_PULSES))
    materials, alike = np.zeros((packets, 2, WIDTH), np.int64), np.zeros(packets, np.bool_)
    with RayScene(scene, 1) as rays:
        rays.run(_look, surfaces, origins, along, numbers, materials, alike)
    assert 10 < alike.sum() < packets
    rows = [*range(LENGTH, LENGTH + WIDTH), *range(OUTWARD, OUTWARD + 3 * WIDTH),
            *range(SURFACE, SURFACE + SURFACE_SIZE * WIDTH)]  # fmt: skip
    np.testing.assert_array_equal(numbers[alike, 0][:, rows], numbers[alike, 1][:, rows])
    np.testing.assert_array_equal(materials[alike, 0], materials[alike, 1])
    assert len(np.unique(materials[alike, 0])) == 1 + mixed
