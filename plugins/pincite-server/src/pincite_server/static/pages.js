// Enhancements of the pages. Everything here also works without scripts.
"use strict";

const announce = (text) => { document.getElementById("said").textContent = text; };

// Fetch a job's progress again after each event, and every 3 seconds in case events do not arrive.
// If the connection breaks, the browser reconnects and resumes after the last event.
function follow(job) {
  const refresh = () => {
    const progress = document.getElementById("progress");
    if (progress) htmx.trigger(progress, "job-refresh");
  };
  let last = 0, timer;
  const schedule = () => {  // at most three times a second, and always after the last event
    clearTimeout(timer);
    const wait = Math.max(0, 350 - (Date.now() - last));
    timer = setTimeout(() => { last = Date.now(); refresh(); }, wait);
  };
  const events = new EventSource(job.dataset.events);
  for (const kind of ["queued", "started", "article", "fetching", "judged", "asking", "readings", "sentence", "draft", "reading", "waiting", "note", "message"])
    events.addEventListener(kind, schedule);
  events.addEventListener("ended", () => { events.close(); location.reload(); });
  setInterval(refresh, 3000);
}

async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    announce(button.dataset.copied || "✓");
    const before = button.textContent;
    button.textContent = "✓ " + before;
    setTimeout(() => { button.textContent = before; }, 1500);
  } catch {
    const text = button.parentElement.querySelector("pre");
    if (text) getSelection().selectAllChildren(text);
  }
}

// On narrow screens, fold the boxes above the findings.
const narrow = matchMedia("(max-width: 40rem)");

function enhance(root) {
  if (narrow.matches) for (const box of root.querySelectorAll(".above > details")) box.open = false;
  for (const button of root.querySelectorAll("button.copy[hidden]")) button.hidden = false;
  for (const each of root.querySelectorAll("[data-script=only]")) each.hidden = false;
  for (const each of root.querySelectorAll("[data-script=none]")) each.hidden = true;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (button) copy(button);
});
// Scroll the text of a source to the marked quote, but not the page.
function scrollToQuote(root) {
  for (const box of root.querySelectorAll(".text[tabindex]")) {
    const mark = box.querySelector("mark, .near");
    if (mark) box.scrollTop = mark.offsetTop - box.clientHeight / 3;
  }
}

// Mark the open finding in the list and in the article, and scroll the list to it.
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
  scrollToQuote(finding);
}

// A board that was requested at another threshold may arrive after another finding was opened: then
// open that finding again.
document.addEventListener("click", (event) => {
  const link = event.target.closest("#board a[data-claim]"), field = openClaim();
  if (link && field) field.value = link.dataset.claim;
});

function reopen(board) {
  const wanted = openClaim()?.value, shown = board.querySelector("#finding")?.dataset.claim;
  if (!wanted || wanted === shown) return false;
  const link = board.querySelector(`.worst a[data-claim="${CSS.escape(wanted)}"]`);
  if (link) link.click();
  return link !== null;
}

// If the reader has moved on before a finding arrived, the next one is already marked.
function isOutdated(finding) {
  const wanted = openClaim()?.value;
  if (!wanted || wanted === finding.dataset.claim) return false;
  scrollToQuote(finding);
  return true;
}

function step(by) {
  const links = [...document.querySelectorAll(".worst a")];
  const at = links.findIndex((link) => link.getAttribute("aria-current"));
  const next = links[Math.max(0, Math.min(links.length - 1, at + by))];
  if (!next || next === links[at]) return;
  mark(next.dataset.claim);  // at once: the next key may come before the server's answer
  next.click();
  announce(next.textContent.replace(/\s+/g, " ").trim());
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
  const { id, type, value, nextElementSibling } = event.target;
  if (type === "range") nextElementSibling.value = id === "threshold" ? `${Math.round(100 * value)} %` : value;
});
// A reference's text is shown on hover or focus; Escape hides it until the next one.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.body.classList.add("hush");
});
for (const kind of ["focusin", "pointerover"]) document.addEventListener(kind, (event) => {
  if (!event.target.closest(".cited")) document.body.classList.remove("hush");
});
document.addEventListener("htmx:load", (event) => enhance(event.detail.elt.parentElement || event.detail.elt));
document.addEventListener("htmx:afterSettle", (event) => {
  const finding = document.getElementById("finding"), swapped = event.detail.elt;
  if (!finding || !swapped.matches("#finding, #board")) return;
  if (swapped.id === "board" ? !reopen(swapped) : !isOutdated(finding)) opened(finding);
});
enhance(document);
const shown = document.getElementById("finding");
if (shown) opened(shown);
const on = document.getElementById("keys-on");
if (on) on.checked = localStorage.getItem("pincite-keys") !== "off";
const job = document.querySelector("[data-events]");
if (job && !job.dataset.ended) follow(job);

// Sources can be dropped on their box: files, zip files and whole folders. A browser gives a form no
// folders, so what was dropped is kept here with its paths, and sent along with the form.
function acceptDrops(form) {
  const box = form.querySelector(".drop"), summary = box.querySelector("[data-dropped]");
  const count = summary.querySelector("[data-count]"), list = summary.querySelector("ul");
  const SHOWN = 8, MOST = 1000;  // names in the list; files that the server takes at once
  let dropped = [];

  const megabytes = () => {
    let bytes = dropped.reduce((sum, each) => sum + each.file.size, 0);
    for (const input of form.querySelectorAll("input[type=file]"))
      for (const file of input.files) bytes += file.size;
    return bytes / 1e6;
  };
  const show = () => {
    summary.hidden = !dropped.length;
    count.textContent = dropped.length === 1 ? count.dataset.one : count.dataset.many.replace("{n}", dropped.length);
    const names = dropped.slice(0, SHOWN).map((each) => each.path);
    if (dropped.length > SHOWN) names.push("…");
    list.replaceChildren(...names.map((name) => Object.assign(document.createElement("li"), { textContent: name })));
    box.querySelector("[data-too-large]").hidden = megabytes() <= Number(form.dataset.most);
    if (dropped.length) announce(count.textContent);
  };
  const readEntry = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((found, failed) => entry.file(found, failed));
      return [{ file, path: entry.fullPath.replace(/^\//, "") }];
    }
    const reader = entry.createReader(), found = [];
    for (;;) {  // a reader gives a folder's entries in batches
      const batch = await new Promise((read, failed) => reader.readEntries(read, failed));
      if (!batch.length || found.length > MOST) return found;
      for (const each of batch) found.push(...await readEntry(each));
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
      dropped.push(...(each instanceof File ? [{ file: each, path: each.name }] : await readEntry(each)));
    show();
  });
  form.addEventListener("change", show);
  summary.querySelector("[data-forget]").addEventListener("click", () => { dropped = []; show(); });
  form.addEventListener("formdata", (event) => {
    for (const { file, path } of dropped) event.formData.append(form.dataset.drop, file, path);
  });
}
const drop = document.querySelector("form[data-drop]");
if (drop) acceptDrops(drop);
