"use strict";
// Draws the figures and the viewer of the page from the data in it.

const content = JSON.parse(document.getElementById("data").textContent);
const views = content.views;
const narrow = matchMedia("(max-width: 900px)"); // as in the style sheet
const config = () => ({ displaylogo: false, responsive: true, displayModeBar: narrow.matches ? false : "hover" });
const byId = (id) => document.getElementById(id);
const state = { instant: Math.floor(views.instants.length / 2), all: true, color: "intensity" };
const PLAYED = 700; // ms that each instant is shown

function variable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// The colours of the page, as a template that Plotly puts beneath each figure.
function template() {
  const axis = {
    gridcolor: variable("--line"),
    linecolor: variable("--line"),
    zerolinecolor: variable("--line"),
    automargin: true,
  };
  return {
    layout: {
      font: { color: variable("--ink"), family: "system-ui, DejaVu Sans, sans-serif", size: 13 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 60, r: 40, t: 40, b: 44 },
      hovermode: "closest",
      xaxis: axis,
      yaxis: axis,
      polar: { bgcolor: "rgba(0,0,0,0)", radialaxis: axis, angularaxis: axis },
      modebar: {
        orientation: "v",
        bgcolor: "rgba(0,0,0,0)",
        color: variable("--soft"),
        activecolor: variable("--accent"),
      },
    },
  };
}

function drawFigures() {
  return Promise.all(
    Object.entries(content.figures).map(([id, figure]) => {
      const plots = figure.data.every((trace) => trace.type === "scatter");
      const layout = narrow.matches && plots ? inOneColumn(figure) : figure.layout;
      return Plotly.react(id, figure.data, { ...layout, template: template() }, config());
    }),
  );
}

// The layout of a figure for a narrow window: its plots below each other, column by column, each
// under the title of its column, with the names of the lines at the bottom.
function inOneColumn(figure) {
  const layout = structuredClone(figure.layout);
  const key = (axis) => axis.replace(/^([xy])/, "$1axis");
  const whole = [0, 1];
  const pairs = new Set(figure.data.map((trace) => `${trace.xaxis ?? "x"} ${trace.yaxis ?? "y"}`));
  const plots = [...pairs].map((pair) => {
    const [x, y] = pair.split(" ").map((axis) => (layout[key(axis)] ??= {}));
    return { x, y, left: (x.domain ?? whole)[0], right: (x.domain ?? whole)[1], top: (y.domain ?? whole)[1] };
  });
  plots.sort((a, b) => a.left - b.left || b.top - a.top);
  const titles = layout.annotations ?? [];
  const firstOf = (plot) => plots.find((other) => other.left === plot.left) === plot;
  const [plotHeight, gap, title] = plots.length > 1 ? [150, 26, 34] : [300, 0, 0]; // pixels
  const columns = plots.filter(firstOf).length;
  const heading = titles.length > 0 ? title : 0;
  const axisTitles = (columns - 1) * 34; // below the last plot of each column but the last one
  const total = plots.length * plotHeight + (plots.length - 1) * gap + columns * heading + axisTitles;
  let y = 0;
  for (const [n, plot] of plots.entries()) {
    if (firstOf(plot)) {
      y += n > 0 ? axisTitles / (columns - 1) : 0;
      const its = titles.find((text) => text.x >= plot.left && text.x <= plot.right);
      if (its) {
        Object.assign(its, { x: 0, xanchor: "left", y: 1 - (y + 8) / total, yanchor: "top" });
        y += heading;
      }
    }
    plot.x.domain = whole;
    plot.y.domain = [Math.max(0, 1 - (y + plotHeight) / total), 1 - y / total];
    plot.y.showticklabels = true;
    y += plotHeight + gap;
  }
  const legend = { orientation: "h", x: 0, xanchor: "left", y: 0, yref: "container", yanchor: "bottom" };
  const lines = new Set(figure.data.filter((trace) => trace.showlegend !== false).map((t) => t.name));
  const below = 64 + 20 * lines.size; // pixels
  const margin = { l: 56, r: 8, t: 8, b: below };
  return { ...layout, legend, margin, height: total + margin.t + below };
}

// ---- point clouds ---------------------------------------------------------------------------

function unpack(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
}

// A cloud is unpacked when it is first shown.
function opened(cloud) {
  if (!cloud.x) {
    const places = unpack(cloud.xyz, Int16Array);
    ["x", "y", "z"].forEach((axis, shift) => {
      cloud[axis] = Float32Array.from(
        { length: cloud.count },
        (_, n) => cloud.middle[shift] + places[3 * n + shift] / 100,
      );
    });
    cloud.shares = unpack(cloud.intensity, Uint8Array);
    cloud.labels = unpack(cloud.label, Int8Array);
    cloud.entities = unpack(cloud.entity, Int16Array);
    cloud.names = Array.from(cloud.labels, (n, k) =>
      `${views.labels[n] ?? "no label"}, entity ${cloud.entities[k]}`);
  }
  return cloud;
}

function ramp(colors) {
  return colors.map((color, n) => [n / (colors.length - 1), color]);
}

function hue(n) {
  return `hsl(${Math.round((n * 137.508) % 360)}, 75%, 62%)`;
}

// Numbers for the points, the scale they go by, and what the key says of it.
function colored(cloud, by) {
  if (by === "intensity") {
    const [low, high] = cloud.intensity_range.map((value) => value.toPrecision(2));
    const key = { colors: views.colors.heat, low, high: `${high}, logarithmic` };
    return { color: cloud.shares, cmin: 0, cmax: 255, scale: ramp(views.colors.heat), key };
  }
  if (by === "height") {
    const key = { colors: views.colors.rainbow, low: "0", high: "6 m above the ground" };
    return { color: cloud.z, cmin: 0, cmax: 6, scale: ramp(views.colors.rainbow), key };
  }
  const values = by === "label" ? cloud.labels : cloud.entities;
  const kinds = Array.from(new Set(values)).sort((a, b) => a - b);
  const colorOf = by === "label"
    ? (n) => views.colors.labels[n] ?? views.colors.none
    : (n) => (n < 0 ? views.colors.none : hue(n));
  const place = new Map(kinds.map((kind, n) => [kind, n]));
  const scale = kinds.flatMap((kind, n) => [
    [n / kinds.length, colorOf(kind)],
    [(n + 1) / kinds.length, colorOf(kind)],
  ]);
  const entries = by === "label" ? kinds.map((n) => [colorOf(n), views.labels[n] ?? "none"]) : [];
  const note = by === "entity" ? `${kinds.length} entities, a colour each` : "";
  const color = Float32Array.from(values, (kind) => place.get(kind) + 0.5);
  return { color, cmin: 0, cmax: kinds.length, scale, key: { entries, note } };
}

function cloudTraces(cloud, vehicle) {
  const look = colored(cloud, state.color);
  fillKey(byId("cloud-key"), look.key);
  const column = (path, axis) => path.map((place) => place[axis]);
  const height = (path) => path.map((place) => place[2] + 0.1);
  return [
    {
      type: "scatter3d",
      mode: "markers",
      x: cloud.x,
      y: cloud.y,
      z: cloud.z,
      text: cloud.names,
      hovertemplate: "%{text}<br>%{x:.2f}, %{y:.2f}, %{z:.2f} m<extra></extra>",
      marker: {
        size: state.all ? 1.6 : 1.9,
        color: look.color,
        cmin: look.cmin,
        cmax: look.cmax,
        colorscale: look.scale,
      },
    },
    {
      type: "scatter3d",
      mode: "lines",
      x: column(views.path, 0),
      y: column(views.path, 1),
      z: height(views.path),
      line: { color: "#f2722b", width: 5 },
      hovertemplate: "the vehicle's way<extra></extra>",
    },
    {
      type: "scatter3d",
      mode: "markers",
      x: state.all ? [] : [vehicle[0]],
      y: state.all ? [] : [vehicle[1]],
      z: state.all ? [] : [vehicle[2] + 0.6],
      marker: { color: "#ffffff", size: 7, line: { color: "#f2722b", width: 3 } },
      hovertemplate: "the vehicle<extra></extra>",
    },
  ];
}

function cloudLayout() {
  const axis = (range, title) => ({
    range,
    title: { text: title },
    color: "#8b93a3",
    gridcolor: "#2a303c",
    zerolinecolor: "#2a303c",
    showspikes: false,
    showbackground: false,
  });
  const reach = 22;
  const middle = [3, 3];
  return {
    uirevision: "kept", // a view that was turned stays turned
    paper_bgcolor: "#10131a",
    font: { color: "#c8cdd8" },
    margin: { l: 0, r: 0, t: 0, b: 0 },
    showlegend: false,
    scene: {
      aspectmode: "manual",
      aspectratio: { x: 2.2, y: 2.2, z: 0.5 },
      xaxis: axis([middle[0] - reach, middle[0] + reach], "x / m"),
      yaxis: axis([middle[1] - reach, middle[1] + reach], "y / m"),
      zaxis: axis([-1, 9], "z / m"),
      camera: { eye: { x: -0.75, y: -1.3, z: 0.85 }, center: { x: 0, y: -0.1, z: -0.25 } },
    },
  };
}

function fillKey(place, key) {
  place.replaceChildren();
  if (key.colors) {
    const bar = document.createElement("span");
    bar.className = "ramp";
    bar.style.background = `linear-gradient(to right, ${key.colors.join(",")})`;
    place.append(key.low, bar, key.high);
  }
  for (const [color, name] of key.entries ?? []) {
    const entry = document.createElement("span");
    const patch = document.createElement("i");
    patch.style.background = color;
    entry.append(patch, name);
    place.append(entry);
  }
  if (key.note) place.append(key.note);
}

// ---- the viewer -----------------------------------------------------------------------------

function addControls() {
  const slider = byId("instant"), play = byId("play");
  slider.max = views.instants.length - 1;
  slider.addEventListener("input", () => choose({ instant: Number(slider.value), all: false }));
  byId("all").textContent = `all ${views.all.sweeps} sweeps`;
  byId("all").addEventListener("click", () => choose({ all: !state.all }));
  byId("color").addEventListener("change", (event) => choose({ color: event.target.value }));
  let playing = null;
  play.addEventListener("click", () => {
    playing = playing === null ? setInterval(advance, PLAYED) : clearInterval(playing) ?? null;
    play.setAttribute("aria-pressed", String(playing !== null));
    if (playing !== null) advance();
  });
  const advance = () => choose({ instant: (state.instant + 1) % views.instants.length, all: false });
}

function choose(what) {
  Object.assign(state, what);
  return show();
}

function show() {
  const instant = views.instants[state.instant];
  byId("instant").value = state.instant;
  byId("clock").textContent = `${instant.time.toFixed(1)} s`;
  byId("all").setAttribute("aria-pressed", String(state.all));
  byId("picture").src = instant.picture;
  byId("depth").src = instant.depth;
  byId("labels").src = instant.label;
  const entries = instant.seen.map((n) => [views.colors.labels[n], views.labels[n]]);
  fillKey(byId("labels-key"), { entries });
  fillKey(byId("depth-key"), {
    colors: views.colors.depth,
    low: "0",
    high: String(views.depth_limit),
  });
  const cloud = opened(state.all ? views.all : instant.cloud);
  byId("cloud-about").textContent = state.all
    ? `Shown are ${cloud.count.toLocaleString("en")} points of all sweeps, as the vehicle went.`
    : `Shown is one sweep, ${cloud.count.toLocaleString("en")} points, each seen at its own instant.`;
  return Promise.all([
    state.shown === instant ? null : showFigures(instant),
    Plotly.react("cloud", cloudTraces(cloud, instant.vehicle), cloudLayout(), config()),
  ]);
}

function showFigures(instant) {
  state.shown = instant;
  const map = byId("top-view");
  const last = map.data.length - 1;
  return Promise.all([
    Plotly.restyle(map, { x: [[instant.vehicle[0]]], y: [[instant.vehicle[1]]] }, [last]),
    showRadar(instant.radar),
    showPulse(instant.pulse),
    showSky(instant.used),
  ]);
}

// ---- figures that follow the chosen time ----------------------------------------------------

function showRadar({ map, targets, time }) {
  const all = targets.ahead.map((_, n) => n);
  const texts = all.map((n) =>
    `${targets.range[n]} m, ${targets.azimuth[n]}°, closing at ${targets.speed[n]} m/s<br>` +
    `${targets.rcs[n]} m², entity ${targets.entity[n]}`);
  const kinds = [false, true].map((moves) => all.filter((n) => targets.moves[n] === moves));
  const part = (values) => kinds.map((kind) => kind.map((n) => values[n]));
  const count = all.filter((n) => targets.moves[n]).length;
  byId("radar-about").textContent =
    `At ${time.toFixed(1)} s it reports ${all.length}, of which ${count} move over the ground.`;
  const points = { x: part(targets.left), y: part(targets.ahead), text: part(texts) };
  points.hovertemplate = "%{text}<extra></extra>";
  return Plotly.update("radar", points, { "images[0].source": map }, [0, 1]);
}

function showPulse(pulse) {
  const names = pulse.labels.map((n, k) => views.labels[n] ?? `entity ${pulse.entities[k]}`);
  const ranges = pulse.signal.map((_, n) => pulse.first + n * pulse.step);
  byId("pulse-about").textContent = `At ${pulse.time.toFixed(1)} s: azimuth ${pulse.azimuth}°, ` +
    `elevation ${pulse.elevation}°.`;
  const lines = {
    x: [ranges, pulse.ranges], y: [pulse.signal, pulse.powers], text: [null, names],
    textposition: ["", pulse.ranges.map((_, n) => n % 2 ? "top right" : "top center")],
  };
  const [low, high] = [Math.min(...ranges), Math.max(...ranges)];
  const layout = {
    "xaxis.range": [low, high],
    "yaxis.range": [0, 1.15 * Math.max(...pulse.signal, ...pulse.powers)],
  };
  return Plotly.update("pulse", lines, layout, [0, 1]);
}

function showSky(used) {
  const { names, azimuth, down } = views.sky;
  const kinds = [true, false].map((kind) => names.flatMap((_, n) => used[n] === kind ? [n] : []));
  const part = (values) => kinds.map((kind) => kind.map((n) => values[n]));
  // regular constellations have satellites in the same places
  const sides = { G: "top center", E: "middle right", R: "middle left" };
  const textposition = part(names).map((own) => own.map((name) => sides[name[0]]));
  const points = { r: part(down), theta: part(azimuth), text: part(names), textposition };
  return Plotly.restyle("sky", points, [0, 1]);
}

async function start() {
  await drawFigures();
  addControls();
  await show();
  for (const query of [matchMedia("(prefers-color-scheme: dark)"), narrow]) {
    query.addEventListener("change", async () => {
      await drawFigures();
      state.shown = null;
      await show();
    });
  }
  document.body.dataset.ready = "true";
}

start();
