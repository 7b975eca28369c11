"""The figures of the report for Plotly; the browser adds the colours of the page."""

import io
from base64 import b64encode
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image
from plotly.subplots import make_subplots

from report.allan import Allan
from report.odometry import Odometry
from report.radar import AHEAD, ASIDE
from report.recording import QUATERNION, Recording
from report.satellites import Fixes
from sensor_models.light.spectra import shown_color
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]

#: Colours that can be distinguished on light and on dark backgrounds.
TRUTH, READING, SECOND, THIRD = "#f2722b", "#5b8def", "#e5488d", "#27a58c"
OTHERS = "#a98ad8"
DEGREES = 180.0 / np.pi
MARGIN = 5.0  # m around what is shown from above
PIXEL = 0.06  # m
STANDARD_GRAVITY = 9.80665
#: The readings of sensors with single axes, by those of the IMU.
SINGLE = {"accelerometer": "accelerometer.acceleration", "gyroscope": "gyroscope.angular_rate"}
IMU_PLACE = np.array([0.0, 0.0, 0.4])  # on the body, m


# ---- from above --------------------------------------------------------------------------------


def top_view(recording: Recording, odometry: Odometry, fixes: Fixes) -> go.Figure:
    """Truth, odometry and fixes on a picture of the yard from above."""
    truth = recording.vector("body.position", ("x", "y"))
    others = [recording.vector(f"vehicle_{n}.position", ("x", "y")) for n in (1, 2, 3)]
    paths = [truth, odometry.by_gyroscope, odometry.by_wheels, fixes.places[:, :2], *others]
    everything = np.concatenate(paths)
    low, high = np.nanmin(everything, axis=0) - MARGIN, np.nanmax(everything, axis=0) + MARGIN
    figure = go.Figure()
    figure.add_layout_image(
        source=picture_from_above(low, high), xref="x", yref="y", layer="below",
        x=low[0], y=high[1], sizex=high[0] - low[0], sizey=high[1] - low[1], sizing="stretch",
    )  # fmt: skip
    for n, path in enumerate(others):
        ring = _line(path, OTHERS, "other vehicles", width=1.5)
        figure.add_trace(ring.update(showlegend=n == 0, legendgroup="others"))
    figure.add_trace(_dots(fixes.places, THIRD, "satellite fixes"))
    figure.add_trace(_line(odometry.by_wheels, SECOND, "odometers alone", dash="dot"))
    figure.add_trace(_line(odometry.by_gyroscope, READING, "odometers + gyroscope", dash="dash"))
    figure.add_trace(_line(truth, TRUTH, "truth", width=3.5))
    figure.add_trace(_here(truth[0]))
    figure.update_xaxes(title="x / m, east", range=[low[0], high[0]])
    figure.update_xaxes(constrain="domain", showgrid=False, zeroline=False)
    figure.update_yaxes(
        title="y / m, north", range=[low[1], high[1]], scaleanchor="x", constrain="domain"
    )
    figure.update_yaxes(showgrid=False, zeroline=False)
    figure.update_layout(height=640, legend=_legend_above())
    return figure


def _here(place: Floats) -> go.Scatter:
    """Where the vehicle is at the chosen time; the page moves it."""
    return go.Scatter(
        x=[place[0]],
        y=[place[1]],
        mode="markers",
        name="chosen time",
        marker={"size": 15, "color": "#ffffff", "line": {"color": TRUTH, "width": 4}},
    )


def _line(path: Floats, color: str, name: str, **line: Any) -> go.Scatter:
    return go.Scatter(
        x=path[:, 0].astype(np.float32),
        y=path[:, 1].astype(np.float32),
        mode="lines",
        name=name,
        line={"color": color, "width": 2.5} | line,
    )


def _dots(places: Floats, color: str, name: str) -> go.Scatter:
    return go.Scatter(
        x=places[:, 0].astype(np.float32),
        y=places[:, 1].astype(np.float32),
        mode="markers",
        name=name,
        marker={"size": 5, "color": color},
    )


def picture_from_above(low: Floats, high: Floats) -> str:
    """The yard from above, in the colours of its materials, with shadows of the sun."""
    scene = load_scene("yard")
    still = tuple(i for i in scene.instances if i.body < 0)
    sun = np.array(scene.sky.sun_direction) / np.linalg.norm(scene.sky.sun_direction)
    columns, rows = np.ceil((high - low) / PIXEL).astype(int)
    x = low[0] + (np.arange(columns) + 0.5) * PIXEL
    y = high[1] - (np.arange(rows) + 0.5) * PIXEL
    ground = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    origins = np.column_stack([ground, np.full(len(ground), 50.0)])
    down = np.tile([0.0, 0.0, -1.0], (len(origins), 1))
    with RayScene(replace(scene, instances=still, bodies=())) as rays:
        hits = rays.trace(origins, down)
        points = origins + (np.nan_to_num(hits.t, posinf=0.0)[:, None] - 1e-3) * down
        sunny = np.isinf(rays.trace(points, np.tile(sun, (len(points), 1))).t)
    normals = np.where(hits.normal[:, 2:] < 0.0, -hits.normal, hits.normal)
    light = 0.55 + 0.55 * sunny * np.clip(normals @ sun, 0.0, 1.0)
    colors = np.array([shown_color(material) for material in scene.materials])[hits.material]
    picture = np.clip(255.0 * (0.15 + 0.85 * colors * light[:, None]), 0, 255).astype(np.uint8)
    content = io.BytesIO()
    Image.fromarray(picture.reshape(rows, columns, 3)).save(content, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{b64encode(content.getvalue()).decode()}"


# ---- what follows the chosen time: the page puts its values in ---------------------------------


def radar_map() -> go.Figure:
    """Targets on the power that comes from each place."""
    figure = go.Figure()
    figure.add_layout_image(
        source="", xref="x", yref="y", layer="below", x=ASIDE, y=AHEAD, sizex=2.0 * ASIDE,
        sizey=AHEAD, sizing="stretch",
    )  # fmt: skip
    for name, color in (("stands", THIRD), ("moves", READING)):
        ring = {"size": 13, "color": "rgba(0,0,0,0)", "line": {"color": color, "width": 2}}
        figure.add_trace(go.Scatter(x=[], y=[], mode="markers", name=name, marker=ring))
    figure.update_xaxes(title="to the left / m", range=[ASIDE, -ASIDE], constrain="domain")
    figure.update_yaxes(title="ahead / m", range=[0.0, AHEAD], scaleanchor="x", constrain="domain")
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(showgrid=False, zeroline=False)
    return figure.update_layout(height=520, legend=_legend_above(), showlegend=True)


def pulse() -> go.Figure:
    """The signal of a pulse with its echoes."""
    figure = go.Figure()
    line = {"color": READING, "width": 2}
    figure.add_trace(go.Scatter(x=[], y=[], mode="lines", name="received", line=line))
    marker = {"size": 11, "color": TRUTH, "symbol": "diamond"}
    figure.add_trace(go.Scatter(x=[], y=[], mode="markers+text", name="echoes", marker=marker))
    figure.update_traces(textposition="top center", selector=1)
    figure.update_xaxes(title="range / m")
    figure.update_yaxes(title="power / \u00b5W", rangemode="tozero")
    return figure.update_layout(height=520, legend=_legend_above())


def sky(fixes: Fixes) -> go.Figure:
    """Where satellites stand, with the zenith in the middle, and which are used."""
    figure = go.Figure()
    for name, color in (("used", THIRD), ("hidden", OTHERS)):
        marker = {"size": 10, "color": color}
        own = go.Scatterpolar(r=[], theta=[], mode="markers+text", name=name, marker=marker)
        figure.add_trace(own.update(textfont={"size": 11}))
    mask = 90.0 - fixes.sky["mask"]
    figure.update_polars(
        angularaxis={"rotation": 90, "direction": "clockwise", "tickvals": [0, 90, 180, 270],
                     "ticktext": ["N", "E", "S", "W"]},
        radialaxis={"range": [0, 90], "tickvals": [30, 60, mask], "angle": 225, "tickangle": 225,
                    "ticktext": ["60\u00b0", "30\u00b0", f"{fixes.sky['mask']:.0f}\u00b0"]},
    )  # fmt: skip
    return figure.update_layout(height=430, legend=_legend_above(), showlegend=True)


# ---- over time ---------------------------------------------------------------------------------


def heading(recording: Recording, odometry: Odometry) -> go.Figure:
    """Headings, and their errors."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for values, color, name in (
        (odometry.compass_heading, THIRD, "magnetometer"),
        (odometry.wheel_heading, SECOND, "odometers"),
        (odometry.gyroscope_heading, READING, "gyroscope"),
    ):
        error = DEGREES * (values - recording.heading)
        error -= 360.0 * np.round(error / 360.0)  # turns that unwrapping began with
        line = {"color": color, "width": 1.5}
        for row, shown in ((1, DEGREES * recording.heading + error), (2, error)):
            trace = _over(recording.time, shown, name, line, legend=row == 1)
            figure.add_trace(trace, row=row, col=1)
    line = {"color": TRUTH, "width": 2}
    figure.add_trace(_over(recording.time, DEGREES * recording.heading, "truth", line), 1, 1)
    figure.update_yaxes(title="heading / °", row=1, col=1)
    figure.update_yaxes(title="error / °", row=2, col=1)
    figure.update_xaxes(title="time / s", row=2, col=1)
    figure.update_layout(height=640, legend=_legend_above())
    return figure


def fix(fixes: Fixes) -> go.Figure:
    """Errors of the fixes, and the number of satellites."""
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08, row_heights=[0.65, 0.35]
    )
    time = fixes.table["time"]
    for axis, name, color in ((0, "east", READING), (1, "north", SECOND), (2, "up", THIRD)):
        line = {"color": color, "width": 1.5}
        figure.add_trace(_over(time, fixes.errors[:, axis], name, line), 1, 1)
    line = {"color": TRUTH, "width": 1.5, "shape": "hv"}
    count = _over(time, fixes.table["satellites"], "satellites", line, legend=False)
    figure.add_trace(count, 2, 1)
    figure.update_yaxes(title="error / m", row=1, col=1)
    figure.update_yaxes(title="satellites", rangemode="tozero", row=2, col=1)
    figure.update_xaxes(title="time / s", row=2, col=1)
    return figure.update_layout(height=430, legend=_legend_above())


def wheels(recording: Recording) -> go.Figure:
    """Speeds of the wheels by their encoders."""
    figure = make_subplots(
        rows=1, cols=2, shared_yaxes=True, subplot_titles=("left", "right"),
        horizontal_spacing=0.04,
    )  # fmt: skip
    for column, (side, wheel) in enumerate((("left", "wheel_1"), ("right", "wheel_2")), 1):
        read, true = recording.readings[f"{side} encoder.speed"], recording.truth
        first = column == 1
        line = {"color": READING, "width": 1.5}
        figure.add_trace(_over(recording.time, read, "encoder", line, first), 1, column)
        line = {"color": TRUTH, "width": 1}
        shown = true[f"{wheel}.velocity"]
        figure.add_trace(_over(recording.time, shown, "truth", line, first), 1, column)
    figure.update_yaxes(title="wheel speed / (rad/s)", row=1, col=1)
    figure.update_xaxes(title="time / s")
    figure.update_layout(height=320, legend=_legend_above(-0.1))
    return figure


def imu(recording: Recording) -> go.Figure:
    """Truth and reading of accelerometer and gyroscope."""
    titles = ("specific force / (m/s²)", "angular rate / (rad/s)")
    figure = make_subplots(
        rows=3, cols=2, shared_xaxes=True, vertical_spacing=0.05, horizontal_spacing=0.08,
        column_titles=titles,
    )  # fmt: skip
    read = recording.record("IMU")
    truths = imu_truth(recording)
    for column, (sensor, truth) in enumerate(
        zip(("accelerometer", "gyroscope"), truths, strict=True), 1
    ):
        for row, axis in enumerate("xyz", 1):
            first = row == 1 and column == 1
            line = {"color": THIRD, "width": 1}
            single = recording.readings[f"{SINGLE[sensor]}.{axis}"]
            figure.add_trace(_over(recording.time, single, "BMI088", line, first), row, column)
            line = {"color": READING, "width": 1}
            values = read[f"{sensor}.{axis}"]
            figure.add_trace(_over(read["time"], values, "VN-100", line, first), row, column)
            line = {"color": TRUTH, "width": 1.2}
            shown = truth[:, row - 1]
            figure.add_trace(_over(recording.time, shown, "truth", line, first), row, column)
            figure.update_yaxes(title=axis, row=row, col=column)
    figure.update_xaxes(title="time / s", row=3)
    figure.update_layout(height=640, legend=_legend_above(-0.06))
    return figure


def imu_truth(recording: Recording) -> tuple[Floats, Floats]:
    """Specific force and angular rate where the IMU sits, in its frame, from the vehicle's truth.

    f = a + alpha x r + omega x (omega x r) - g, turned into the frame of the body.
    """
    rotation = rotations(recording.vector("body.orientation", QUATERNION))
    arm = rotation @ IMU_PLACE
    rate = recording.vector("body.angular_velocity")
    force = recording.vector("body.acceleration") + np.array([0.0, 0.0, STANDARD_GRAVITY])
    force = force + np.cross(recording.vector("body.angular_acceleration"), arm)
    force = force + np.cross(rate, np.cross(rate, arm))
    into_body = "nji,nj->ni"
    return np.einsum(into_body, rotation, force), np.einsum(into_body, rotation, rate)


def rotations(orientations: Floats) -> Floats:
    """Rotation matrices of quaternions w, x, y, z, (n, 3, 3)."""
    w, x, y, z = orientations.T
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.array(rows).transpose(2, 0, 1)


def _over(
    time: Floats, values: Floats, name: str, line: dict[str, Any], legend: bool = True
) -> go.Scatter:
    """A line over equally spaced times."""
    return go.Scatter(
        x0=float(time[0]),
        dx=float(time[-1] - time[0]) / (len(time) - 1),
        y=values.astype(np.float32),
        mode="lines",
        name=name,
        legendgroup=name,
        showlegend=legend,
        line=line,
    )


def _legend_above(place: float = 0.0) -> dict[str, Any]:
    """Names in a row above a figure; ``place`` moves it down from there, in figure heights."""
    return {"orientation": "h", "x": 0.0, "y": 1.02 - place, "yanchor": "bottom"}


# ---- noise -------------------------------------------------------------------------------------


def allan(found: Allan) -> go.Figure:
    """Allan deviations with the lines of the datasheet."""
    titles = ("accelerometer / (m/s²)", "gyroscope / (rad/s)")
    figure = make_subplots(rows=1, cols=2, subplot_titles=titles, horizontal_spacing=0.09)
    for column, sensor in enumerate(found.sensors, 1):
        first = column == 1
        for axis, color in zip("xyz", (READING, SECOND, THIRD), strict=True):
            line = {"color": color, "width": 2}
            figure.add_trace(
                _curve(sensor.tau, sensor.deviation[axis], f"{axis}, simulated", line, first),
                1, column,
            )  # fmt: skip
        for values, name, dash in (
            (sensor.density / np.sqrt(sensor.tau), "datasheet: noise density N/√τ", "dash"),
            (np.full_like(sensor.tau, sensor.floor), "datasheet: bias instability", "dot"),
        ):
            line = {"color": TRUTH, "width": 1.5, "dash": dash}
            figure.add_trace(_curve(sensor.tau, values, name, line, first), 1, column)
    figure.update_xaxes(type="log", title="averaging time τ / s", dtick=1)
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(title="Allan deviation", row=1, col=1)
    figure.update_layout(height=430, legend=_legend_above(-0.1))
    return figure


def _curve(x: Floats, y: Floats, name: str, line: dict[str, Any], legend: bool) -> go.Scatter:
    return go.Scatter(
        x=x, y=y, mode="lines", name=name, legendgroup=name, showlegend=legend, line=line
    )
