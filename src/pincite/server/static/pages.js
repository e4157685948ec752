// What the pages can do more where scripts run. Everything here has a way without them.
"use strict";

const said = (text) => { document.getElementById("said").textContent = text; };

// A job's page hears of each event and fetches its progress anew; if the line breaks, the browser
// comes back by itself with the last event's id. Where there are no events, it asks every 3 seconds.
function follow(job) {
  const moved = () => {
    const progress = document.getElementById("progress");
    if (progress) htmx.trigger(progress, "job-moved");
  };
  let last = 0, late;
  const soon = () => {  // at most three times a second, and always for the last one
    clearTimeout(late);
    const wait = Math.max(0, 350 - (Date.now() - last));
    late = setTimeout(() => { last = Date.now(); moved(); }, wait);
  };
  const events = new EventSource(job.dataset.events);
  for (const kind of ["queued", "started", "article", "fetching", "judged", "asking", "readings", "sentence", "note", "message"])
    events.addEventListener(kind, soon);
  events.addEventListener("ended", () => { events.close(); location.reload(); });
  setInterval(moved, 3000);
}

async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    said(button.dataset.copied || "✓");
    const before = button.textContent;
    button.textContent = "✓ " + before;
    setTimeout(() => { button.textContent = before; }, 1500);
  } catch {
    const text = button.parentElement.querySelector("pre");
    if (text) getSelection().selectAllChildren(text);
  }
}

function enliven(root) {
  for (const button of root.querySelectorAll("button.copy[hidden]")) button.hidden = false;
  for (const each of root.querySelectorAll("[data-script=only]")) each.hidden = false;
  for (const each of root.querySelectorAll("[data-script=none]")) each.hidden = true;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (button) copy(button);
});
document.addEventListener("htmx:load", (event) => enliven(event.detail.elt.parentElement || event.detail.elt));
enliven(document);
const job = document.querySelector("[data-events]");
if (job && !job.dataset.ended) follow(job);
