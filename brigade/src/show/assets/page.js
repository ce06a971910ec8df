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
    const has = (name) => (name ?? "").toLowerCase().includes(wanted);
    const isWanted = ({ dataset }) => has(dataset.case) || has(dataset.name);
    for (const of of cases) of.classList.toggle("away", !isWanted(of));
    for (const section of all("section")) {
      section.hidden = wanted !== "" && !section.querySelector("[data-case]:not(.away)");
      const link = all("nav a").find((a) => a.hash === `#${section.querySelector("h2").id}`);
      link.parentElement.hidden = section.hidden;
    }
  });

  // The case under the pointer, wherever it is. Some tables have names instead of command lines.
  let lit = null;
  document.addEventListener("pointerover", (event) => {
    const pointed = event.target.closest("[data-case]");
    if (pointed === lit) return;
    lit = pointed;
    const isSame = ({ dataset }) => [dataset.case, dataset.name].includes(lit.dataset.case)
      || dataset.case === lit.dataset.name;
    for (const of of cases) of.classList.toggle("lit", lit !== null && isSame(of));
  });

  document.documentElement.dataset.ready = "yes";
})();
