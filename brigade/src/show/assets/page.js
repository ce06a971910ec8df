"use strict";
// Filtering, highlighting and sorting. The page can be read without it.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const cases = all("[data-case]");

  // Other cases are dimmed in plots and left out of tables; a section in which no case is left
  // is hidden with its prose.
  const filter = document.getElementById("filter");
  filter.closest(".tools").hidden = false;
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    const has = (text) => text.toLowerCase().includes(wanted);
    const named = cases.filter((of) => has(of.dataset.case) || has(of.querySelector("small")?.textContent ?? ""));
    const found = new Set(named.map((of) => of.dataset.case));
    for (const of of cases) of.classList.toggle("away", !found.has(of.dataset.case));
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

  // Sorting by name, or by a column in which every figure has its unit.
  const units = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, B: 1, KiB: 1024, MiB: 1048576 };
  const figureOf = (text) => {
    const found = /^(-?[\d.]+(?:e\d+)?)\s*(ns|µs|ms|s|B|KiB|MiB)(?![a-z])/.exec(text);
    return found ? parseFloat(found[1]) * units[found[2]] : NaN;
  };
  for (const table of all("table")) {
    const body = table.tBodies[0];
    all("thead th", table).forEach((heading, column) => {
      const cell = (row) => row.cells[column].textContent.trim();
      const isFigures = [...body.rows].every((row) => !Number.isNaN(figureOf(cell(row))));
      if (body.rows.length < 3 || (column > 0 && !isFigures)) return;
      const compare = (a, b) =>
        isFigures ? figureOf(cell(a)) - figureOf(cell(b)) : cell(a).localeCompare(cell(b));
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort(compare);
        body.append(...(down ? rows.reverse() : rows));
      });
    });
  }
  document.documentElement.dataset.ready = "yes";
})();
