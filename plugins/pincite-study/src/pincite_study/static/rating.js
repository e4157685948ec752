// A statement of a study: keys 1 to 5 choose, and the time that it is visible is measured.
"use strict";
(() => {
  const form = document.getElementById("rating");
  if (!form) return;
  let visible = 0, since = document.hidden ? null : performance.now();
  const stop = () => { if (since !== null) { visible += performance.now() - since; since = null; } };
  const go = () => { if (since === null) since = performance.now(); };
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : go()));
  form.addEventListener("submit", () => {
    stop(); go();
    form.elements.seconds.value = (visible / 1000).toFixed(1);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !/^[1-5]$/.test(event.key)) return;
    if (event.target.closest("textarea, select, input:not([type=radio])")) return;
    const choice = form.elements.answer[Number(event.key) - 1];
    choice.checked = true;
    choice.focus();
    event.preventDefault();
  });
})();
