// Keys, dialogs, choosing several, and whether the server is there. Pages work by links and forms; this adds to them.
"use strict";

const one = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];
const typing = (target) => target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select") !== null;

// Keys: an element with data-key="g r" is pressed, or focused if it takes text, by g and then r.
let first = "";

function press(element) {
  if (element.matches("input:not([type=checkbox]), textarea")) {
    element.focus();
    element.select();
  } else {
    element.click();
  }
}

function walk(step) {
  const rows = all("[data-row]");
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)];
  row?.querySelector("[data-open]")?.focus();
}

const KEYS = {
  j: () => walk(1),
  k: () => walk(-1),
  x: () => document.activeElement.closest("[data-row]")?.querySelector("input[type=checkbox]")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
  if (typing(event.target)) {
    if (event.key !== "Escape") return;
    event.preventDefault(); // a search field would lose its text
    event.target.blur();
    return;
  }
  const keys = first ? `${first} ${event.key}` : event.key;
  const element = all("[data-key]").find((found) => found.dataset.key === keys && found.checkVisibility());
  const begins = all("[data-key]").some((found) => found.dataset.key.startsWith(`${event.key} `));
  first = !first && begins ? event.key : "";
  if (element) press(element);
  else if (event.key in KEYS && !first) KEYS[event.key]();
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  const closer = event.target.closest("[data-closes]");
  if (closer) closer.closest("dialog").close();
});

// Forms: what is empty does not come into the address; what is chosen in a form that says so is sent at once.
document.addEventListener("formdata", (event) => {
  if (event.target.method !== "get") return;
  for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
});
document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form?.hasAttribute("data-submits") && event.target.matches("[type=checkbox], [type=radio], select")) form.requestSubmit();
  chosen();
});

// A list completes the last of several values between commas.
document.addEventListener("input", (event) => {
  const field = event.target;
  if (!field.hasAttribute("data-several") || !field.list) return;
  const before = field.value.slice(0, field.value.lastIndexOf(",") + 1);
  for (const option of field.list.options) {
    option.dataset.value ??= option.value;
    option.value = (before ? `${before} ` : "") + option.dataset.value;
  }
});

// What a hit was found by comes as a template while somebody types: most are never opened, and the list stands sooner.
document.addEventListener("toggle", (event) => {
  const kept = event.target.querySelector(":scope > template");
  kept?.replaceWith(kept.content);
}, true);

// What is open where there is room begins closed on a narrow screen.
if (window.matchMedia("(max-width: 56rem)").matches) all("[data-wide]").forEach((details) => details.removeAttribute("open"));

// Several at once: a bar appears with how many are chosen.
function chosen() {
  const bar = one("[data-chosen]");
  if (!bar) return;
  const count = all("[data-row] > input[type=checkbox]:checked").length;
  bar.hidden = count === 0;
  bar.querySelector("[data-count]").textContent = count;
}
document.addEventListener("htmx:afterSwap", chosen);

// The server: it may end, and come back with another token.
const RESTARTED = "The server was restarted. Open the address that it printed.";
const GONE = "The server does not answer. Start it again with memory ui; what you typed is still here.";

function lost(text) {
  const place = document.getElementById("lost");
  if (place.textContent !== text) place.textContent = text;
  place.hidden = text === "";
}

async function look() {
  if (document.hidden) return;
  try {
    const answer = await fetch("/alive", { cache: "no-store" });
    lost(answer.status === 403 ? RESTARTED : "");
  } catch {
    lost(GONE);
  }
}
setInterval(look, 4000);
document.addEventListener("htmx:sendError", look);
document.addEventListener("htmx:responseError", look);
