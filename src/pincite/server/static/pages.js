// What the pages can do more where scripts run. Everything here has a way without them.
"use strict";

const said = (text) => { document.getElementById("said").textContent = text; };

// A job's page fetches its progress again after each event; if the connection breaks, the browser
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
  for (const kind of ["queued", "started", "article", "fetching", "judged", "asking", "readings", "sentence", "draft", "reading", "unread", "waiting", "note", "message"])
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

// On narrow screens the findings come first: the boxes about all of them are folded.
const narrow = matchMedia("(max-width: 40rem)");

function enliven(root) {
  if (narrow.matches) for (const box of root.querySelectorAll(".above > details")) box.open = false;
  for (const button of root.querySelectorAll("button.copy[hidden]")) button.hidden = false;
  for (const each of root.querySelectorAll("[data-script=only]")) each.hidden = false;
  for (const each of root.querySelectorAll("[data-script=none]")) each.hidden = true;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (button) copy(button);
});
// The source beside a finding opens at the marked quote; the page itself does not move.
function atTheQuote(root) {
  for (const box of root.querySelectorAll(".text[tabindex]")) {
    const mark = box.querySelector("mark, .near");
    if (mark) box.scrollTop = mark.offsetTop - box.clientHeight / 3;
  }
}

// List and article show which finding is open; the list scrolls to it.
function mark(claim) {
  for (const link of document.querySelectorAll("a[data-claim]"))
    if (link.dataset.claim === claim) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  const row = document.querySelector(".worst a[aria-current]");
  if (!row) return;
  const list = row.closest("ol");
  const top = row.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top + row.offsetHeight > list.scrollTop + list.clientHeight)
    list.scrollTop = top - list.clientHeight / 3;
}

const openClaim = () => document.querySelector(".threshold [name=claim]");

function opened(finding) {
  const claim = finding.dataset.claim, field = openClaim();
  mark(claim);
  if (field) field.value = claim;
  atTheQuote(finding);
}

// Who opens a finding while the board is on its way at another threshold gets that finding all the
// same: the board that comes shows the one that was open when it was asked for.
document.addEventListener("click", (event) => {
  const link = event.target.closest("#board a[data-claim]"), field = openClaim();
  if (link && field) field.value = link.dataset.claim;
});

function overtaken(board) {
  const wanted = openClaim()?.value, shown = board.querySelector("#finding")?.dataset.claim;
  if (!wanted || wanted === shown) return false;
  const link = board.querySelector(`.worst a[data-claim="${CSS.escape(wanted)}"]`);
  if (link) link.click();
  return link !== null;
}

// Who goes on before a finding has settled has marked the next one already.
function outrun(finding) {
  const wanted = openClaim()?.value;
  if (!wanted || wanted === finding.dataset.claim) return false;
  atTheQuote(finding);
  return true;
}

function step(by) {
  const links = [...document.querySelectorAll(".worst a")];
  const at = links.findIndex((link) => link.getAttribute("aria-current"));
  const next = links[Math.max(0, Math.min(links.length - 1, at + by))];
  if (!next || next === links[at]) return;
  mark(next.dataset.claim);  // at once: the next key may come before the server's answer
  next.click();
  said(next.textContent.replace(/\s+/g, " ").trim());
  const claim = document.querySelector(`.article a[data-claim="${CSS.escape(next.dataset.claim)}"]`);
  if (claim) claim.scrollIntoView({ block: "center" });
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  o: () => { const link = document.querySelector("#finding .name a"); if (link) window.open(link.href, "_blank", "noopener,noreferrer"); },
  1: () => document.querySelector("#finding .feedback [value=right]")?.click(),
  2: () => document.querySelector("#finding .feedback [value=wrong]")?.click(),
  3: () => { const more = document.querySelector("#finding .feedback details"); if (more) { more.open = true; more.querySelector("select").focus(); } },
  c: () => (document.querySelector("#finding .copy-out button.copy") ?? document.querySelector("#finding button.copy"))?.click(),
  "?": () => document.getElementById("keys")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !document.getElementById("finding")) return;
  if (event.target.closest("textarea, select, input:not([type=range]):not([type=checkbox]), dialog")) return;
  if (event.key !== "?" && localStorage.getItem("pincite-keys") === "off") return;
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});
document.addEventListener("change", (event) => {
  if (event.target.id === "keys-on") localStorage.setItem("pincite-keys", event.target.checked ? "on" : "off");
});
document.addEventListener("input", (event) => {
  if (event.target.id === "threshold") event.target.nextElementSibling.value = `${Math.round(100 * event.target.value)} %`;
});
// A reference's text opens while one points at it; Escape closes it until one points elsewhere.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.body.classList.add("hush");
});
for (const kind of ["focusin", "pointerover"]) document.addEventListener(kind, (event) => {
  if (!event.target.closest(".cited")) document.body.classList.remove("hush");
});
document.addEventListener("htmx:load", (event) => enliven(event.detail.elt.parentElement || event.detail.elt));
document.addEventListener("htmx:afterSettle", (event) => {
  const finding = document.getElementById("finding"), swapped = event.detail.elt;
  if (!finding || !swapped.matches("#finding, #board")) return;
  if (swapped.id === "board" ? !overtaken(swapped) : !outrun(finding)) opened(finding);
});
enliven(document);
const shown = document.getElementById("finding");
if (shown) opened(shown);
const on = document.getElementById("keys-on");
if (on) on.checked = localStorage.getItem("pincite-keys") !== "off";
const job = document.querySelector("[data-events]");
if (job && !job.dataset.ended) follow(job);

// Sources can be dropped on their box: files, zip files and whole folders. A browser gives a form no
// folders, so what was dropped is kept here with its paths, and sent along with the form.
function takesDrops(form) {
  const box = form.querySelector(".drop"), told = box.querySelector("[data-dropped]");
  const count = told.querySelector("[data-count]"), list = told.querySelector("ul");
  const SHOWN = 8, MOST = 1000;  // names in the list; files that the server takes at once
  let dropped = [];

  const megabytes = () => {
    let bytes = dropped.reduce((sum, each) => sum + each.file.size, 0);
    for (const input of form.querySelectorAll("input[type=file]"))
      for (const file of input.files) bytes += file.size;
    return bytes / 1e6;
  };
  const show = () => {
    told.hidden = !dropped.length;
    count.textContent = dropped.length === 1 ? count.dataset.one : count.dataset.many.replace("{n}", dropped.length);
    const names = dropped.slice(0, SHOWN).map((each) => each.path);
    if (dropped.length > SHOWN) names.push("…");
    list.replaceChildren(...names.map((name) => Object.assign(document.createElement("li"), { textContent: name })));
    box.querySelector("[data-too-large]").hidden = megabytes() <= Number(form.dataset.most);
    if (dropped.length) said(count.textContent);
  };
  const walked = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((found, failed) => entry.file(found, failed));
      return [{ file, path: entry.fullPath.replace(/^\//, "") }];
    }
    const reader = entry.createReader(), found = [];
    for (;;) {  // a reader gives a folder's entries in batches
      const batch = await new Promise((read, failed) => reader.readEntries(read, failed));
      if (!batch.length || found.length > MOST) return found;
      for (const each of batch) found.push(...await walked(each));
    }
  };
  for (const kind of ["dragenter", "dragover"]) box.addEventListener(kind, (event) => {
    event.preventDefault();
    box.classList.add("over");
  });
  for (const kind of ["dragleave", "drop"]) box.addEventListener(kind, (event) => {
    if (kind === "drop" || !box.contains(event.relatedTarget)) box.classList.remove("over");
  });
  box.addEventListener("drop", async (event) => {
    event.preventDefault();
    const items = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    // Entries must be asked for before anything is waited for: then the items are gone.
    const found = items.map((item) => item.webkitGetAsEntry?.() || item.getAsFile());
    for (const each of found.filter(Boolean))
      dropped.push(...(each instanceof File ? [{ file: each, path: each.name }] : await walked(each)));
    show();
  });
  form.addEventListener("change", show);
  told.querySelector("[data-forget]").addEventListener("click", () => { dropped = []; show(); });
  form.addEventListener("formdata", (event) => {
    for (const { file, path } of dropped) event.formData.append(form.dataset.drop, file, path);
  });
}
const drop = document.querySelector("form[data-drop]");
if (drop) takesDrops(drop);
