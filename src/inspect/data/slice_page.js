// The page of `ptpkg slice`. Its document is docs/json/slice.json.

const FORMS = ["compact", "in place", "unchanged"];
const formOf = (file) => file.form || "unchanged";
const forGpus = (slice) => (slice.gpus.length ? slice.gpus.join("+") : "any");
const codeBytes = (file) => sum(Object.values(file.code), (bytes) => bytes);
const gapsOf = (file) => sum(Object.values(file.gaps), (containers) => containers);

// [{name, order (to sort by), to, size, files}].
function namedSlices(slices) {
  const order = (gpus) => gpus.map((gpu) => gpu.padStart(6)).join() || "~";
  return slices.map((slice) => ({ ...slice, name: forGpus(slice), order: order(slice.gpus) }));
}

function slicesTable(report, slices) {
  const whole = { name: "original", order: "", to: report.from, size: report.size, files: report.files.map((file) => ({ ...file, form: null, gaps: {} })) };
  const left = (slice) => slice.files.filter((file) => !file.form).length;
  const gaps = (slice) => sum(slice.files, gapsOf);
  const code = (slice) => sum(slice.files, codeBytes);
  const number = (title, value, show, more) => ({ title, number: true, value, cell: (row) => show(value(row), row), ...more });
  const table = makeTable({ label: "Slices", columns: [
    { title: "For GPU", width: "7rem", value: (row) => row.order, cell: (row) => row.name },
    { title: "File", wide: true, value: (row) => baseName(row.to), cell: (row) => element("span", { title: row.to }, baseName(row.to)) },
    number("Size", (row) => row.size || 0, (bytes, row) => formatBytes(row.size), { width: "6rem" }),
    number("Share of original", (row) => row.size || 0, (bytes, row) => (row.size === null ? "–" : formatShare(bytes, report.size)), { width: "7.5rem", wide: true }),
    number("GPU code", code, formatBytes, { width: "6rem" }),
    number("Unchanged files", left, (count, row) => (row === whole ? "" : formatCount(count)), { width: "6.5rem", wide: true }),
    number("Gaps", gaps, (count) => (count ? formatCount(count) : ""), { width: "5rem", wide: true }),
  ] });
  table.show([whole, ...slices]);
  return [table.node, element("p", { class: "muted" },
    "GPU code: as it is stored, of all files.", element("span", { class: "wide" },
      " Unchanged files: those with GPU code that no slice changes. Gaps: containers without code for the GPU, which stay whole."))];
}

function slicesByArchitecture(report, slices) {
  const names = sortedArchitectures(report.files.flatMap((file) => Object.keys(file.code)));
  const row = (title, files) => ({ title, wanted: null, cells: new Map(names.map((name) => [name, { bytes: sum(files, (file) => file.code[name] || 0) }])) });
  return [element("h3", {}, "By architecture"),
    deviceTable([row("original", report.files), ...slices.map((slice) => row(slice.name, slice.files))], names,
      { head: "For GPU", label: "GPU code by slice and architecture", caption: "Bytes of all files as they are stored", totals: false })];
}

// What one slice keeps of each file and architecture.
function keptView(report, slices) {
  const names = sortedArchitectures(report.files.flatMap((file) => Object.keys(file.code)));
  let slice = slices[0];
  const rows = () => report.files.map((before, index) => ({ file: before.path, part: "embedded", wanted: null, sums: true,
    cells: new Map(Object.entries(before.code).map(([name, was]) => [name, { was, bytes: slice.files[index].code[name] || 0 }])) }));
  const told = (cells) => {
    const [now, was] = [sum(cells, (cell) => cell.bytes), sum(cells, (cell) => cell.was)];
    return !was ? "" : now === was ? "all" : `of ${formatBytes(was)}`;
  };
  const chooser = slices.length > 1 ? choiceBox("For GPU", slices.map((one, index) => [index, one.name]), (value) => { slice = slices[Number(value)]; grid.draw(); }) : null;
  const grid = deviceGrid({ rows, names, beside: chooser, label: "GPU code that stays, by file and architecture",
    caption: "Bytes that stay, and of how many", told });
  return grid.nodes;
}

function sliceDetails({ slice, before, after }) {
  const gaps = Object.entries(after.gaps).map(([gpu, count]) => `${plural(count, "container")} without code for ${gpu}`);
  const names = sortedArchitectures(Object.keys(before.code));
  return [element("h3", {}, before.path),
    factList([["For GPU", slice.name], ["Size", before.size === after.size ? formatBytes(after.size) : `${formatBytes(before.size)} → ${formatBytes(after.size)}`],
      ["GPU code", codeBytes(before) === codeBytes(after) ? formatBytes(codeBytes(after)) : `${formatBytes(codeBytes(before))} → ${formatBytes(codeBytes(after))}`],
      ["Form", formOf(after)], ["Unchanged because", after.kept_because], ["Not compact because", after.not_compact], ["Containers kept whole", gaps]]),
    scrollBox("GPU code of the file", {}, changesTable("GPU code of the file", "Architecture", names.map((name) => ({ name, old: before.code[name], new: after.code[name] || 0 }))))];
}

function slicedFilesView(report, slices) {
  const rows = slices.flatMap((slice) => slice.files.map((after, index) => ({ slice, before: report.files[index], after })));
  const changeOfRow = (row) => row.after.size - row.before.size;
  const details = element("div", { class: "details" });
  let open = null;
  function show(row) {
    open = row;
    details.replaceChildren(...sliceDetails(row));
    table.redraw();
  }
  const table = makeTable({ label: "Files with GPU code", sortedBy: 5, rowClass: (row) => (row === open ? "open" : null), columns: [
    { title: "File", value: (row) => row.before.path, cell: (row) => element("button", { type: "button", class: "link", onclick: () => show(row) }, pathCell(row.before.path)) },
    { title: "For GPU", width: "6rem", value: (row) => row.slice.order, cell: (row) => row.slice.name },
    { title: "Form", width: "6rem", wide: true, value: (row) => formOf(row.after), cell: (row) => formOf(row.after) },
    { title: "Before", width: "6rem", number: true, wide: true, value: (row) => row.before.size, cell: (row) => formatBytes(row.before.size) },
    { title: "After", width: "6rem", number: true, value: (row) => row.after.size, cell: (row) => formatBytes(row.after.size) },
    { title: "Change", width: "6.5rem", number: true, wide: true, value: changeOfRow, cell: (row) => changeText(changeOfRow(row)) },
  ] });
  const count = element("span", { class: "count", role: "status" });
  let chosen = new Set();
  let text = "";
  let of = "";
  function choose() {
    const seen = rows.filter((row) => (!chosen.size || chosen.has(formOf(row.after))) && row.before.path.toLowerCase().includes(text)
      && (of === "" || row.slice === slices[Number(of)]));
    count.textContent = `${formatCount(seen.length)} of ${plural(rows.length, "file")}`;
    table.show(seen);
  }
  choose();
  show(rows.reduce((most, row) => (changeOfRow(row) < changeOfRow(most) ? row : most)));
  const chips = chipRow("Forms", FORMS.map((form) => [form, rows.filter((row) => formOf(row.after) === form).length]).filter(([, found]) => found)
    .map(([form, found]) => [form, `${form} ${formatCount(found)}`]), (set) => { chosen = set; choose(); });
  chips.append(searchBox("Search paths", (value) => { text = value; choose(); }),
    slices.length > 1 ? choiceBox("For GPU", [["", "all slices"], ...slices.map((slice, index) => [index, slice.name])], (value) => { of = value; choose(); }) : "", count);
  return [chips, element("div", { class: "columns aside" }, table.node, details)];
}

// Why files are not sliced, not in the form that was asked for, or not down to what one GPU needs; the same of several slices once.
function reasonsOf(report) {
  const found = new Map();
  function add(severity, id, path, message, slice) {
    const key = JSON.stringify([severity, id, path, message]);
    if (!found.has(key)) found.set(key, { severity, id, file: path, message, slices: [] });
    found.get(key).slices.push(forGpus(slice));
  }
  for (const slice of report.slices) {
    for (const file of slice.files) {
      if (file.kept_because) add("info", "unchanged", file.path, file.kept_because, slice);
      if (file.not_compact) add("info", "not compact", file.path, file.not_compact, slice);
      for (const [gpu, count] of Object.entries(file.gaps)) add("warning", "kept whole", file.path, `${plural(count, "container")} without code for ${gpu}`, slice);
    }
  }
  return [...found.values()].map(({ slices, ...reason }) => ({ ...reason,
    fix: slices.length === report.slices.length ? null : `${slices.length === 1 ? "In the slice" : "In the slices"} for ${slices.join(", ")}` }));
}

function sliceFigures(report) {
  const { slices, files } = report;
  const sizes = slices.map((slice) => slice.size);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const planned = sizes.includes(null);
  const range = least === most ? formatBytes(least) : `${formatBytes(least)} to ${formatBytes(most)}`;
  const kept = files.filter((file) => file.kept_because).length;
  const before = sum(files, codeBytes);
  const after = slices.map((slice) => sum(slice.files, codeBytes));
  const gaps = sum(slices, (slice) => sum(slice.files, gapsOf));
  return [["Artifact", formatBytes(report.size), "original"],
    [slices.length === 1 ? "Slice" : plural(slices.length, "slice"), planned ? "not written" : range, planned ? "this was a dry run" : `${slices.length === 1 ? "" : "smallest: "}${formatShare(least, report.size)} of the original`],
    ["GPU code", formatBytes(before), Math.min(...after) === Math.max(...after) ? `${formatBytes(after[0])} stay` : `${formatBytes(Math.min(...after))} to ${formatBytes(Math.max(...after))} stay`],
    ["Files with GPU code", formatCount(files.length), kept ? `${formatCount(kept)} never changed` : null],
    ["Gaps", gaps ? plural(gaps, "container") : "none", gaps ? "kept whole, without code for a GPU" : "each container has code for its GPU"]];
}

function slicePage(report) {
  const slices = namedSlices(report.slices);
  const all = report.fallback ? [...slices, ...namedSlices([report.fallback])] : slices;
  const reasons = reasonsOf(report);
  return { title: baseName(report.from), verb: "slice", note: `for ${report.slices.map(forGpus).join("; for ")}`, figures: sliceFigures(report), sections: [
    { id: "slices", title: "Slices", badge: slices.length, parts: () => [slicesTable(report, all), slicesByArchitecture(report, all)] },
    { id: "device-code", title: "GPU code", badge: report.files.length, parts: () => keptView(report, slices) },
    { id: "files", title: "Files", badge: slices.length * report.files.length, parts: () => slicedFilesView(report, slices) },
    { id: "reasons", title: "Reasons", badge: reasons.length, parts: () => (reasons.length ?
      [element("p", { class: "muted" }, "Why files stay as they were, are not compact, or keep containers that their GPUs have nothing of."), ...findingsView(reasons, "reason")] :
      [element("p", {}, "None: each container keeps only the code that its GPUs need.")]) }] };
}
