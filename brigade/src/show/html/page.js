"use strict";
// Sorting, filtering and highlighting. The page says everything without it.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const nameOf = (element) => element.dataset.case || "";
  for (const row of all("tbody tr")) row.dataset.case = row.cells[0].textContent;

  // Filtering: what is of other cases is dimmed in pictures and left out of tables.
  const filter = document.getElementById("filter");
  filter.closest(".tools").hidden = false;
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const element of all("[data-case]")) {
      element.classList.toggle("away", !nameOf(element).toLowerCase().includes(wanted));
    }
  });

  // Highlighting: what is of the case under the pointer.
  let lit = "";
  document.addEventListener("pointerover", (event) => {
    const over = event.target.closest("[data-case]");
    const name = over ? nameOf(over) : "";
    if (name === lit) return;
    lit = name;
    for (const element of all("[data-case]")) {
      element.classList.toggle("lit", name !== "" && nameOf(element) === name);
    }
  });

  // Sorting: by the figure of a cell in its unit, or by its text.
  const units = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, B: 1, KiB: 1024, MiB: 1048576 };
  const figureOf = (text) => {
    const found = /^(-?[\d.]+(?:e\d+)?)\s*(ns|µs|ms|s|B|KiB|MiB)?\b/.exec(text);
    return found ? parseFloat(found[1]) * (units[found[2]] || 1) : NaN;
  };
  const compare = (a, b) => {
    const [first, second] = [figureOf(a), figureOf(b)];
    if (Number.isNaN(first) || Number.isNaN(second)) return a.localeCompare(b);
    return first - second;
  };
  for (const table of all("table.sorts")) {
    const body = table.tBodies[0];
    all("thead th", table).forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const cell = (row) => row.cells[column].textContent.trim();
        const rows = [...body.rows].sort((a, b) => compare(cell(a), cell(b)));
        body.append(...(down ? rows.reverse() : rows));
      });
    });
  }
  document.documentElement.dataset.ready = "yes";
})();
