// The map: points on a canvas, a lasso over it, and what it holds asked of the server. The list of regions says the same.

const place = document.getElementById("map");
const [ground, above] = [...place.querySelectorAll("canvas")];
const by = document.getElementById("by");
const HUES = 12;
const NEAR = 9; // pixels around a press
const ROUND = 3.5; // pixels from which a point is a disc: a square is drawn sooner, and smaller ones look the same
let points = null;
let chosen = null; // whether each point is picked; null if none is
let view = { x: 0, y: 0, size: 1 }; // of the unit square, what is at the left and on top, and how much is seen

const colour = (name) => getComputedStyle(place).getPropertyValue(name).trim();
const box = () => place.getBoundingClientRect();
const across = (at) => ((points.x[at] / points.scale - view.x) / view.size) * 0.94 * box().width + 0.03 * box().width;
const down = (at) => ((1 - points.y[at] / points.scale - view.y) / view.size) * 0.94 * box().height + 0.03 * box().height;

function hues(list) {
  if (!list.ordered) return list.names.map((_, number) => colour(`--hue-${number % HUES}`));
  const steps = Math.max(list.names.length - 1, 1);
  const share = (number) => Math.round((100 * number) / steps);
  return list.names.map((_, number) => `color-mix(in oklab, ${colour("--new")} ${share(number)}%, ${colour("--old")})`);
}

function sized(canvas) {
  const { width, height } = box();
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

function draw() {
  if (!points) return;
  const pen = sized(ground);
  const { width, height } = box();
  const list = points.by[by.value];
  const size = Math.max(2, Math.min(5, 260 / Math.sqrt(points.x.length))) / Math.sqrt(view.size);
  const [wide, high, left, top] = [(0.94 * width) / view.size / points.scale, (0.94 * height) / view.size / points.scale, 0.03 * width, 0.03 * height];
  for (const picked of chosen ? [false, true] : [true]) {
    pen.globalAlpha = picked ? 0.85 : 0.13;
    hues(list).forEach((hue, number) => {
      pen.fillStyle = hue;
      for (let at = 0; at < list.of.length; at++) {
        if (list.of[at] !== number || (chosen && chosen[at] !== picked)) continue;
        const x = left + points.x[at] * wide - (view.x / view.size) * 0.94 * width;
        const y = top + (points.scale - points.y[at]) * high - (view.y / view.size) * 0.94 * height;
        if (size < ROUND) {
          pen.fillRect(x - size / 2, y - size / 2, size, size);
          continue;
        }
        pen.beginPath();
        pen.arc(x, y, size / 2, 0, 2 * Math.PI);
        pen.fill();
      }
    });
  }
  pen.globalAlpha = 1;
  if (by.value === "region") named(pen, width, height);
}

function named(pen, width, height) {
  const taken = [];
  pen.font = `600 12px ${getComputedStyle(document.body).fontFamily}`;
  pen.textAlign = "center";
  pen.lineJoin = "round";
  pen.lineWidth = 4;
  for (const { name, at } of points.regions) {
    const half = pen.measureText(name).width / 2 + 4;
    const x = Math.min(Math.max(((at[0] - view.x) / view.size) * 0.94 * width + 0.03 * width, half), width - half);
    const y = ((1 - at[1] - view.y) / view.size) * 0.94 * height + 0.03 * height;
    if (y < 12 || y > height - 6 || taken.some((one) => Math.abs(one.y - y) < 16 && Math.abs(one.x - x) < one.half + half)) continue;
    taken.push({ x, y, half });
    pen.strokeStyle = colour("--sheet");
    pen.strokeText(name, x, y);
    pen.fillStyle = colour("--ink");
    pen.fillText(name, x, y);
  }
}

function legend() {
  const list = points.by[by.value];
  const counts = new Array(list.names.length).fill(0);
  for (const number of list.of) counts[number]++;
  const colours = hues(list);
  const lines = list.names.map((name, number) => {
    const line = document.createElement("li");
    const spot = document.createElement("i");
    spot.style.background = colours[number];
    line.append(spot, `${name || "without words"} ${counts[number].toLocaleString("en")}`);
    return line;
  });
  document.getElementById("legend").replaceChildren(...(by.value === "region" ? [] : lines));
}

// Picking: drag for a lasso, press for what is near, Shift and drag to move what is seen.
let path = [];
let moved = null;

function where(event) {
  const { left, top } = box();
  return [event.clientX - left, event.clientY - top];
}

function inside([x, y]) {
  let within = false;
  for (let one = 0, other = path.length - 1; one < path.length; other = one++) {
    const [[ax, ay], [bx, by]] = [path[one], path[other]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
  }
  return within;
}

function picked() {
  const [x, y] = path[0];
  const press = path.every(([a, b]) => Math.hypot(a - x, b - y) < 4);
  const found = [];
  for (let at = 0; at < points.x.length; at++) {
    const spot = [across(at), down(at)];
    if (press ? Math.hypot(spot[0] - x, spot[1] - y) < NEAR : inside(spot)) found.push(at);
  }
  return found;
}

place.addEventListener("pointerdown", (event) => {
  if (!points || event.button !== 0) return;
  place.setPointerCapture(event.pointerId);
  if (event.shiftKey) moved = { at: where(event), view: { ...view } };
  else path = [where(event)];
});

place.addEventListener("pointermove", (event) => {
  if (moved) {
    const [x, y] = where(event);
    view.x = moved.view.x - ((x - moved.at[0]) / (0.94 * box().width)) * view.size;
    view.y = moved.view.y - ((y - moved.at[1]) / (0.94 * box().height)) * view.size;
    requestAnimationFrame(draw);
  } else if (path.length) {
    path.push(where(event));
    const pen = sized(above);
    pen.strokeStyle = colour("--mark");
    pen.fillStyle = colour("--mark");
    pen.lineWidth = 1.5;
    pen.beginPath();
    path.forEach(([x, y]) => pen.lineTo(x, y));
    pen.closePath();
    pen.stroke();
    pen.globalAlpha = 0.08;
    pen.fill();
    pen.globalAlpha = 1;
  }
});

place.addEventListener("pointerup", () => {
  if (path.length) {
    const found = picked();
    show(found);
    history.replaceState(history.state, "", "/see");
    htmx.ajax("POST", "/see/picked", { target: "#picked", values: { at: found.join(",") } });
  }
  path = [];
  moved = null;
});

place.addEventListener("pointercancel", () => {
  path = [];
  moved = null;
  sized(above);
});

function show(found) {
  chosen = null;
  if (found.length) {
    chosen = new Array(points.x.length).fill(false);
    for (const at of found) chosen[at] = true;
  } else {
    sized(above);
  }
  draw();
}

// What the list says is picked is picked here too.
function follow() {
  const region = document.querySelector("#picked [data-region]")?.dataset.region;
  for (const link of document.querySelectorAll(".regions a")) {
    const its = new URL(link.href).searchParams.get("region");
    if (its === region) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  if (region === undefined || !points) return;
  sized(above);
  show([...points.by.region.of.keys()].filter((at) => points.by.region.of[at] === Number(region)));
}

function zoom(times, [x, y] = [0.5, 0.5]) {
  const size = times ? Math.min(1, Math.max(0.02, view.size / times)) : 1;
  view = size === 1 ? { x: 0, y: 0, size } : { x: view.x + x * (view.size - size), y: view.y + y * (view.size - size), size };
  sized(above);
  draw();
}

place.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const [x, y] = where(event);
  zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, [x / box().width, y / box().height]);
}, { passive: false });
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-zoom]");
  if (button) zoom(Number(button.dataset.zoom));
});
document.addEventListener("htmx:afterSettle", follow);
by.addEventListener("change", () => { legend(); draw(); });
window.addEventListener("resize", () => { sized(above); draw(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { legend(); draw(); });

fetch("/see/points").then((answer) => answer.json()).then((found) => {
  points = found;
  legend();
  draw();
  follow();
  place.dataset.drawn = points.x.length;
});
