// GPU code: files by architectures, SASS and PTX, AMD's code and SPIR-V, elements and bytes.

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

function architectureKind(name) {
  if (name === "other") return "";
  if (name.startsWith("gfx")) return "AMD";
  return name.startsWith("amdgcn") ? "SPIR-V" : name.startsWith("compute_") ? "PTX" : "SASS";
}

// Machine code before PTX, what has no architecture at the end.
function sortedArchitectures(names) {
  const kinds = ["SASS", "PTX", "AMD", "SPIR-V", ""];
  return [...new Set(names)].sort((left, right) => kinds.indexOf(architectureKind(left)) - kinds.indexOf(architectureKind(right)) || byNumber(left, right));
}

const amountText = (bytes) => (bytes ? formatBytes(bytes) : "–");
const elementCount = (cells) => `× ${formatCount(sum(cells, (cell) => cell.elements))}`;

function deviceCell(row, name, { most, told }) {
  const cell = row.cells.get(name);
  const missing = row.wanted && row.wanted.missing.includes(name);
  const extra = row.wanted && row.wanted.extra.includes(name);
  if (!cell) return element("td", { class: `number ${missing ? "error" : ""}` }, missing ? "missing" : "");
  const percent = Math.round((35 * cell.bytes) / (most || 1));
  return element("td", { class: `number ${percent > 0 ? "shade" : ""}`, style: { "--shade": `color-mix(in srgb, var(--accent) ${percent}%, transparent)` } },
    amountText(cell.bytes), told && element("small", {}, told([cell])),
    extra && element("small", {}, element("span", { class: "state warning" }, "not wanted")), missing && element("small", {}, element("span", { class: "state error" }, "incomplete")));
}

// rows: [{file, part or title: in its place, cells: Map name → {bytes, …}, wanted or null}]; told(cells): what stands below the bytes of some
// cells; totals: whether a last row adds them up.
function deviceTable(rows, names, { head = "File", label, caption, told = null, totals = true }) {
  const cellsOf = (list, name) => list.map((row) => row.cells.get(name)).filter(Boolean);
  const total = (list, name) => sum(cellsOf(list, name), (cell) => cell.bytes);
  const most = Math.max(1, ...rows.flatMap((row) => names.map((name) => total([row], name))));
  const bytesOf = (row) => sum(names, (name) => total([row], name));
  const below = (cells) => told && element("small", {}, told(cells));
  const allOf = (list) => names.flatMap((name) => cellsOf(list, name));
  return scrollBox(label, { class: "grid" }, element("table", {},
    element("caption", {}, caption),
    element("thead", {},
      element("tr", {}, element("th", { scope: "col" }, head),
        names.map((name) => element("th", { scope: "col", class: "number" }, name, element("small", {}, architectureKind(name)))),
        element("th", { scope: "col", class: "number" }, "all"))),
    element("tbody", {}, rows.map((row) => element("tr", {},
      element("th", { scope: "row" }, row.title || [baseName(row.file), element("div", { class: "muted" }, folderName(row.file), row.part === "relocatable" ? " (relocatable)" : "")]),
      names.map((name) => deviceCell(row, name, { most, told })), element("td", { class: "number" }, formatBytes(bytesOf(row)), row.sums && below(allOf([row])))))),
    totals ? element("tfoot", {}, element("tr", {}, element("th", { scope: "row" }, "all"),
      names.map((name) => element("td", { class: "number" }, amountText(total(rows, name)), below(cellsOf(rows, name)))),
      element("td", { class: "number" }, formatBytes(sum(rows, bytesOf)), rows.some((row) => row.sums) && below(allOf(rows))))) : null));
}

// The table below a choice of architectures and a search; rows() are asked for with each draw(). Returns {nodes, draw}.
function deviceGrid({ rows, names, beside = null, ...options }) {
  const count = element("span", { class: "count", role: "status" });
  const place = element("div");
  let text = "";
  let architectures = new Set();
  function draw() {
    const columns = architectures.size ? names.filter((name) => architectures.has(name)) : names;
    const seen = rows().filter((row) => row.file.toLowerCase().includes(text));
    count.textContent = `${plural(new Set(seen.map((row) => row.file)).size, "file")}, ${plural(columns.length, "architecture")}`;
    place.replaceChildren(deviceTable(seen, columns, options));
  }
  draw();
  return { draw, nodes: [chipRow("Architectures", names.map((name) => [name, name]), (chosen) => { architectures = chosen; draw(); }),
    element("div", { class: "controls" }, beside, searchBox("Search files with GPU code", (value) => { text = value; draw(); }), count), place] };
}

function deviceView(entries) {
  const all = entries.flatMap(deviceRows);
  const wanted = all.flatMap((row) => (row.wanted ? [...row.wanted.missing, ...row.wanted.extra] : []));
  const names = sortedArchitectures([...all.flatMap((row) => [...row.cells.keys()]), ...wanted]);
  const problems = all.filter((row) => row.wanted && row.wanted.missing.length).length;
  return [problems ? element("p", {}, element("span", { class: "state error" }, plural(problems, "file")), " without all that is wanted.") : null,
    all.some((row) => [...row.cells.keys()].some((name) => name.startsWith("compute_"))) || !names.some((name) => name.startsWith("sm_")) ? null : element("p", { class: "muted" }, "No PTX: a GPU newer than these architectures runs none of this code."),
    deviceGrid({ rows: () => all, names, label: "GPU code by file and architecture", caption: "Bytes as they are stored, and × how many elements", told: elementCount }).nodes];
}
