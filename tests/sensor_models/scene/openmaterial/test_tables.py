"""Property tables of OpenMATERIAL: conditions, conventions, and indices of reflection tables."""

import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.light.fresnel import reflectance
from sensor_models.scene.errors import SceneError
from sensor_models.scene.openmaterial.documents import Document
from sensor_models.scene.openmaterial.tables import (
    Verdict,
    best_index,
    brdfs_of,
    electromagnetic_indices,
    fitted_indices,
    optical_indices,
)

FILE = Path("table.xompt")


def document(**content) -> Document:
    return Document(FILE, content)


def test_rows_of_the_usual_conditions_count() -> None:
    rows = [
        [3.9e-3, 250.0, 50.0, 1.0, 0.0, 4.0, 0.5],
        [3.9e-3, 294.0, 90.0, 1.0, 0.0, 5.0, 0.5],
        [3.9e-3, 294.0, 40.0, 1.0, 0.0, 6.0, 0.5],
        [12e-3, None, None, 1.0, 0.0, 7.0, None],
        [None, 294.0, 40.0, 1.0, 0.0, 6.0, 0.5],
        [30e-3, 294.0, 40.0, 1.0, 0.0, 6.0, 0.5],
    ]
    found = electromagnetic_indices(document(electromagneticProperties=rows), Verdict("refuse"))
    assert list(found) == [3.9e-3]
    assert found[3.9e-3] ** 2 == pytest.approx(6.0 - 0.5j)
    assert found[3.9e-3].imag < 0.0


def test_the_index_of_a_magnetic_body_is_that_of_its_reflection() -> None:
    rows = [[3.9e-3, 293.0, 50.0, 2.0, 0.1, 8.0, 0.4]]
    found = electromagnetic_indices(document(electromagneticProperties=rows), Verdict("refuse"))
    impedance = np.sqrt((2.0 - 0.1j) / (8.0 - 0.4j))
    assert (1.0 - found[3.9e-3]) / (1.0 + found[3.9e-3]) == pytest.approx(
        (impedance - 1.0) / (impedance + 1.0)
    )


def test_metals_of_light_may_have_any_permittivity() -> None:
    rows = [[905e-9, 293.0, 50.0, 1.0, 0.0, -182.7, 51.4]]
    found = electromagnetic_indices(document(electromagneticProperties=rows), Verdict("refuse"))
    assert found[905e-9] ** 2 == pytest.approx(-182.7 - 51.4j)


def test_optical_indices_of_several_wavelengths() -> None:
    rows = [[850e-9, 297, 1.51, 0.0], [905e-9, 297, None, 0.0], [1550e-9, 297, 1.5, 1e-6]]
    found = optical_indices(document(opticalProperties=rows), Verdict("refuse"))
    assert found == {850e-9: 1.51, 1550e-9: 1.5 - 1e-6j}


def coefficients(index: complex, angles) -> np.ndarray:
    """Rows of |r| for both planes of polarisation, by Fresnel's law."""
    cosine, sine = np.cos(angles), np.sin(angles)
    inner = np.sqrt(index**2 - sine**2)
    across = np.abs((cosine - inner) / (cosine + inner))
    along = np.abs((index**2 * cosine - inner) / (index**2 * cosine + inner))
    both = 0.5 * (across**2 + along**2)
    expected = reflectance(cosine, index.real, -index.imag)
    assert both == pytest.approx(expected, rel=1e-9)  # the law that sensors use
    plane = np.repeat([0.0, 0.5 * math.pi], len(angles))
    return np.column_stack([np.tile(angles, 2), plane, np.concatenate([along, across])])


@pytest.mark.parametrize("index", [2.29 - 0.07j, 1.5 - 0.01j, 4.0 - 2.0j, 1.96 - 0.3j])
def test_an_index_is_found_from_what_it_reflects(index: complex) -> None:
    theta, plane, size = coefficients(index, np.radians([5.0, 25.0, 45.0, 65.0, 80.0])).T
    n, k, misfit = best_index(theta, plane, size)
    assert misfit < 1e-9
    assert n == pytest.approx(index.real, rel=1e-6)
    assert k == pytest.approx(-index.imag, rel=1e-6)


def test_reflection_coefficients_give_the_index_of_a_radar() -> None:
    rows = coefficients(2.29 - 0.07j, np.radians([10.0, 40.0, 70.0]))
    table = [
        [3.9e-3, *(round(a, 6) for a in (theta, theta, math.pi, plane)), size, None]
        for theta, plane, size in rows.tolist()
    ]
    away = [[3.9e-3, 0.5, 0.9, 3.141593, 0.0, 1e-9, None]]
    part = {"reflectionCoefficient": {"wavelengths": [3.9e-3], "lookupTable": table + away}}
    found = fitted_indices(document(**part), Verdict("refuse"))
    assert found[3.9e-3] == pytest.approx(2.29 - 0.07j, rel=1e-4)


def test_coefficients_that_fit_no_index_are_refused() -> None:
    table = [[3.9e-3, 0.1 * k, 0.1 * k, 3.141593, 0.0, 0.9 * (k % 2), None] for k in range(14)]
    part = {"reflectionCoefficient": {"lookupTable": table}}
    with pytest.raises(SceneError, match=r"14 coefficients at 3.9 mm fit no index"):
        fitted_indices(document(**part), Verdict("refuse"))


def test_a_table_that_does_not_say_what_goes_back_is_noted() -> None:
    whole = [[905e-9, 0.2 * k, 0.2 * k, 0.0, 0.1] for k in range(7)]
    for rows, known in (
        (whole, None),
        (whole[5:], "from 57 to 69 degrees only"),
        ([[905e-9, 0.2 * k, 0.0, 0.0, 0.1] for k in range(1, 7)], "at no angle"),
    ):
        verdict = Verdict("refuse")
        brdfs_of(document(brdf={"lookupTable": rows}), verdict)
        assert len(verdict.notes) == (known is not None)
        assert known is None or known in verdict.notes[0]


def test_rows_with_null_are_left_out_of_tables() -> None:
    rows = [[905e-9, 0.0, 0.0, 0.0, 0.1], [905e-9, 0.5, 0.5, 0.0, 0.1], [905e-9, 1.0, None, 0, 1]]
    found = brdfs_of(document(brdf={"lookupTable": rows}), Verdict("refuse"))
    assert found[905e-9].values == pytest.approx(0.1)
    with pytest.raises(SceneError, match=r"table.xompt: brdf.lookupTable\[0\]: is no list of 5"):
        brdfs_of(document(brdf={"lookupTable": [[1, 2]]}), Verdict("refuse"))
