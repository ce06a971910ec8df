"use strict";
// Filtering and highlighting. The page can be read without it.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const cases = all("[data-case]");

  // Other cases are dimmed in plots and left out of tables; a section in which no case is left
  // is hidden with its prose.
  const filter = document.getElementById("filter");
  filter.closest(".tools").hidden = false;
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    const has = (name) => name.toLowerCase().includes(wanted);
    for (const of of cases) of.classList.toggle("away", !has(of.dataset.case));
    for (const section of all("section")) {
      section.hidden = wanted !== "" && !section.querySelector("[data-case]:not(.away)");
      const link = all("nav a").find((a) => a.hash === `#${section.querySelector("h2").id}`);
      link.parentElement.hidden = section.hidden;
    }
  });

  // The case under the pointer, wherever it is.
  let lit = "";
  document.addEventListener("pointerover", (event) => {
    const name = event.target.closest("[data-case]")?.dataset.case ?? "";
    if (name === lit) return;
    lit = name;
    for (const of of cases) of.classList.toggle("lit", name !== "" && of.dataset.case === name);
  });

  document.documentElement.dataset.ready = "yes";
})();
