"""Tables of bidirectional reflectance that tests make of surfaces with closed forms."""

import math

import numpy as np

from sensor_models.light.surfaces import bidirectional_reflectance, pack_surface
from sensor_models.scene.brdf import table_of
from sensor_models.scene.model import Brdf, Material, SurfaceKind, SurfaceParameters


def directions(theta, phi=0.0):
    """Directions by their angles to the normal and their azimuth."""
    theta, phi = np.broadcast_arrays(theta, phi)
    return np.stack(
        [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1
    )


def rows_of(f, theta, phi):
    """Rows of a table of a function of light and viewer, whose normal is z."""
    a, b, c = (each.ravel() for each in np.meshgrid(theta, theta, phi, indexing="ij"))
    return np.column_stack([a, b, c, f(directions(a), directions(b, c))])


def lambert_rows(reflectance, steps=19):
    """A matt surface as goniometers see it, in one plane."""
    theta = np.radians(np.linspace(0.0, 90.0, steps))
    return rows_of(lambda light, _: np.full(len(light), reflectance / math.pi), theta, [0, math.pi])


def coated_rows(numbers: SurfaceParameters, theta, phi, two_way=False):
    """A surface of two layers."""
    row = pack_surface(SurfaceKind.two_layer, numbers, two_way)

    def f(light, viewer):
        return bidirectional_reflectance(row, light, viewer, np.array([0.0, 0.0, 1.0]))

    return rows_of(f, theta, phi)


def lambert_table(reflectance) -> Brdf:
    """A matt surface as a table."""
    return table_of(lambert_rows(reflectance))


def material(brdf: Brdf, diffuse=0.5, retro=0.0, wavelength=905e-9, **more) -> Material:
    """A surface that is a table."""
    numbers = SurfaceParameters(diffuse_reflectance=diffuse, retro_reflectance=retro, brdf=brdf)
    return Material("table", SurfaceKind.tabulated, {wavelength: numbers}, **more)
