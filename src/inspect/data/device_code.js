// GPU code: files by architectures, SASS and PTX, elements and bytes.

// Rows of one file: what programs load, and what a linker would still link; [{file, part, cells: Map name → {elements, bytes}, wanted}].
function deviceRows(entry) {
  const rows = [];
  for (const part of ["embedded", "relocatable"]) {
    const share = entry[part];
    const cells = new Map([...Object.entries(share.sass), ...Object.entries(share.ptx)]);
    if (cells.size || (part === "embedded" && entry.wanted)) {
      rows.push({ file: entry.file, part, cells, wanted: part === "embedded" || !rows.length ? entry.wanted : null, other: share.other_bytes });
    }
  }
  return rows;
}

function deviceCell(row, name, most) {
  const cell = row.cells.get(name);
  const missing = row.wanted && row.wanted.missing.includes(name);
  const extra = row.wanted && row.wanted.extra.includes(name);
  if (!cell) return element("td", { class: `number ${missing ? "error" : ""}` }, missing ? "missing" : "");
  const percent = Math.round((35 * cell.bytes) / (most || 1));
  return element("td", { class: `number ${percent > 0 ? "shade" : ""}`, style: { "--shade": `color-mix(in srgb, var(--accent) ${percent}%, transparent)` } },
    formatBytes(cell.bytes), element("small", {}, `× ${formatCount(cell.elements)}`),
    extra && element("small", {}, element("span", { class: "state warning" }, "not wanted")), missing && element("small", {}, element("span", { class: "state error" }, "incomplete")));
}

function deviceTable(rows, names) {
  const total = (list, name) => sum(list, (row) => (row.cells.get(name) || { bytes: 0 }).bytes);
  const most = Math.max(1, ...rows.flatMap((row) => names.map((name) => (row.cells.get(name) || { bytes: 0 }).bytes)));
  const sass = names.filter((name) => !name.startsWith("compute_")).length;
  const bytesOf = (row) => sum(names, (name) => total([row], name));
  return scrollBox("GPU code by file and architecture", { class: "grid" }, element("table", {},
    element("caption", {}, "Bytes as they are stored, and × how many elements"),
    element("thead", {},
      element("tr", {}, element("th", { scope: "col" }, "File"),
        names.map((name, index) => element("th", { scope: "col", class: "number" }, name, element("small", {}, index < sass ? "SASS" : "PTX"))),
        element("th", { scope: "col", class: "number" }, "all"))),
    element("tbody", {}, rows.map((row) => element("tr", {},
      element("th", { scope: "row" }, baseName(row.file), element("div", { class: "muted" }, folderName(row.file), row.part === "relocatable" ? " (relocatable)" : "")),
      names.map((name) => deviceCell(row, name, most)), element("td", { class: "number" }, formatBytes(bytesOf(row)))))),
    element("tfoot", {}, element("tr", {}, element("th", { scope: "row" }, "all"),
      names.map((name) => element("td", { class: "number" }, formatBytes(total(rows, name)),
        element("small", {}, `× ${formatCount(sum(rows, (row) => (row.cells.get(name) || { elements: 0 }).elements))}`))),
      element("td", { class: "number" }, formatBytes(sum(rows, bytesOf)))))));
}

function deviceView(entries) {
  const all = entries.flatMap(deviceRows);
  const wanted = all.flatMap((row) => (row.wanted ? [...row.wanted.missing, ...row.wanted.extra] : []));
  const found = [...new Set([...all.flatMap((row) => [...row.cells.keys()]), ...wanted])].sort(byNumber);
  const names = [...found.filter((name) => !name.startsWith("compute_")), ...found.filter((name) => name.startsWith("compute_"))];
  const count = element("span", { class: "count", role: "status" });
  const place = element("div");
  let text = "";
  let architectures = new Set();
  function draw() {
    const columns = architectures.size ? names.filter((name) => architectures.has(name)) : names;
    const rows = all.filter((row) => row.file.toLowerCase().includes(text));
    count.textContent = `${plural(new Set(rows.map((row) => row.file)).size, "file")}, ${plural(columns.length, "architecture")}`;
    place.replaceChildren(deviceTable(rows, columns));
  }
  draw();
  const problems = all.filter((row) => row.wanted && row.wanted.missing.length).length;
  return [problems ? element("p", {}, element("span", { class: "state error" }, plural(problems, "file")), " without all that is wanted.") : null,
    all.some((row) => [...row.cells.keys()].some((name) => name.startsWith("compute_"))) ? null : element("p", { class: "muted" }, "No PTX: a GPU newer than these architectures runs none of this code."),
    chipRow("Architectures", names.map((name) => [name, name]), (chosen) => { architectures = chosen; draw(); }),
    element("div", { class: "controls" }, searchBox("Search files with GPU code", (value) => { text = value; draw(); }), count), place];
}
