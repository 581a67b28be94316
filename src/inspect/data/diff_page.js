// The page of `ptpkg diff`. Its document is docs/json/diff.json.

const CHANGES = ["added", "removed", "changed", "mode", "renamed"];
const changeOf = (file) => (file.new_size_bytes || 0) - (file.old_size_bytes || 0);

function changeText(bytes) {
  return element("span", { class: bytes > 0 ? "plus" : bytes < 0 ? "minus" : "muted" }, bytes ? formatChange(bytes) : "±0");
}

// rows: [{name, old, new}], in bytes; `counts` adds two columns.
function changesTable(caption, head, rows, counts = null) {
  const most = Math.max(1, ...rows.map((row) => Math.abs(row.new - row.old)));
  const number = (text) => ({ text, number: true });
  return simpleTable(caption, [{ text: head }, number("Before"), number("After"), number("Change"), ...(counts ? [{ ...number("Elements"), wide: true }] : []), { text: "", wide: true }], rows.map((row) => {
    const delta = row.new - row.old;
    return [row.name, formatBytes(row.old), formatBytes(row.new), changeText(delta), ...(counts ? [counts(row)] : []),
      element("span", { class: "bar", "aria-hidden": "true" }, element("i", { class: delta > 0 ? "k-grown" : "k-shrunk", style: { width: `${(100 * Math.abs(delta)) / most}%` } }))];
  }));
}

function changeMap(diff) {
  const files = diff.files.filter((file) => changeOf(file)).map((file) => {
    const parts = (file.elf || []).filter((part) => part.old_bytes !== null && part.new_bytes !== null && part.old_bytes !== part.new_bytes);
    const delta = changeOf(file);
    return { path: file.path, kind: delta > 0 ? "grown" : "shrunk", measures: [Math.abs(delta)],
      more: parts.length ? () => parts.map((part) => ({ name: part.part, kind: part.new_bytes > part.old_bytes ? "grown" : "shrunk", measures: [Math.abs(part.new_bytes - part.old_bytes)] })) : null };
  });
  if (!files.length) return [element("p", { class: "muted" }, "No file changed its size.")];
  const root = folderTree("all", files, 1);
  return sizeMap({ root, measures: [{ title: "Size change in bytes", zoomable: true }], kinds: ["grown", "shrunk"],
    amount: (bytes, node) => (node.kind === "grown" ? formatChange(bytes) : formatBytes(node.kind === "shrunk" ? -bytes : bytes)),
    tell: (node) => [node.path || "all", node.kind || "folder", `${formatBytes(node.measures[0])} ${node.kind === "shrunk" ? "less" : node.kind === "grown" ? "more" : "changed"}`].join(" · ") });
}

function sizeChanges(diff) {
  const { folders } = diff.sizes;
  const [sections, device] = [diff.sizes.sections || [], diff.sizes.device_code || []];
  const sides = (row, name) => ({ ...row, name, old: row.old_bytes, new: row.new_bytes });
  const byChange = (left, right) => Math.abs(right.new - right.old) - Math.abs(left.new - left.old);
  const named = folders.map((row) => sides(row, row.name === "." ? "entire artifact" : row.name));
  const [whole, rest] = [named.filter((row) => row.name === "entire artifact"), named.filter((row) => row.name !== "entire artifact").sort(byChange)];
  const most = 30;
  return element("div", { class: "columns two" },
    element("div", {}, element("h3", {}, "By folder"), changesTable(rest.length > most ? `Unpacked; the ${most} that changed most of ${rest.length}` : "Unpacked", "Folder", [...whole, ...rest.slice(0, most)])),
    element("div", {}, sections.length ? [element("h3", {}, "By kind of section"), changesTable("All ELF files", "Kind", sections.map((row) => sides(row, row.kind)).sort(byChange))] : null,
      device.length ? [element("h3", {}, "By GPU architecture"), changesTable("All files", "Architecture",
        device.map((row) => sides(row, row.architecture)).sort((left, right) => byNumber(left.name, right.name)), (row) =>
          (row.old_elements === row.new_elements ? formatCount(row.new_elements) : `${formatCount(row.old_elements)} → ${formatCount(row.new_elements)}`))] : null));
}

function moreText(count) {
  return count ? element("div", { class: "muted" }, `… and ${formatCount(count)} more`) : null;
}

function elfChanges(file) {
  const texts = (list, more) => (list && list.length ? [list.map((text) => element("div", {}, element("code", {}, text || "(empty)"))), moreText(more)] : "–");
  return simpleTable("Differences", [{ text: "Part" }, { text: "Before" }, { text: "After" }, { text: "Change", number: true }], file.elf.map((part) => {
    const sized = part.old_bytes !== null || part.new_bytes !== null;
    return [part.part, sized ? formatBytes(part.old_bytes || 0) : texts(part.old, part.old_more), sized ? formatBytes(part.new_bytes || 0) : texts(part.new, part.new_more),
      sized ? changeText((part.new_bytes || 0) - (part.old_bytes || 0)) : ""];
  }));
}

// A unified diff.
function lineChanges(text) {
  const marks = { "-": "minus", "+": "plus", " ": "", "\\": "muted" };
  const range = (line, lines, own) => {
    const count = lines.filter((one) => one.mark === " " || one.mark === own).length;
    return `${count ? line : line - 1},${count}`;
  };
  return element("pre", {}, text.hunks.map((hunk) => [
    element("div", { class: "muted" }, `@@ -${range(hunk.old_line, hunk.lines, "-")} +${range(hunk.new_line, hunk.lines, "+")} @@`),
    hunk.lines.map((line) => element("div", { class: marks[line.mark] }, line.mark + line.text))]), moreText(text.more_lines));
}

function changeDetails(file) {
  const both = (before, after) => (before === after ? after : `${before || "–"} → ${after || "–"}`);
  return [element("h3", {}, file.path), factList([["Change", file.change], ["Old path", file.old_path], ["Kind", file.kind],
    ["Size", file.old_size_bytes === file.new_size_bytes ? formatBytes(file.new_size_bytes) : `${formatBytes(file.old_size_bytes)} → ${formatBytes(file.new_size_bytes)}`],
    ["Mode", both(file.old_mode, file.new_mode)], ["Link target", both(file.old_target, file.new_target)],
    ["sha256", [file.old_sha256 && `before ${file.old_sha256}`, file.new_sha256 && file.new_sha256 !== file.old_sha256 && `after ${file.new_sha256}`].filter(Boolean)]]),
  file.elf && file.elf.length ? scrollBox("Differences", {}, elfChanges(file)) : null,
  file.text && file.text.hunks.length ? scrollBox("Lines that differ", {}, lineChanges(file.text)) : null];
}

function changedFilesView(diff) {
  const { files } = diff;
  if (!files.length) return [element("p", {}, "All files are equal.")];
  const parts = (file) => (file.elf || []).map((part) => part.part).join(", ");
  const details = element("div", { class: "details" });
  let open = null;
  function show(file) {
    open = file;
    details.replaceChildren(...changeDetails(file).filter(Boolean));
    table.redraw();
  }
  const table = makeTable({ label: "Changed files", sortedBy: 3, descending: true, rowClass: (file) => (file === open ? "open" : null), columns: [
    { title: "File", value: (file) => file.path, cell: (file) => element("button", { type: "button", class: "link", onclick: () => show(file) }, pathCell(file.path)) },
    { title: "Change", width: "6rem", value: (file) => file.change, cell: (file) => file.change },
    { title: "ELF changes", wide: true, value: parts, cell: (file) => element("span", { title: parts(file) }, parts(file)) },
    { title: "Size", width: "6.5rem", number: true, value: (file) => Math.abs(changeOf(file)), cell: (file) => changeText(changeOf(file)) },
  ] });
  const found = CHANGES.filter((change) => files.some((file) => file.change === change));
  const allParts = [...new Set(files.flatMap((file) => (file.elf || []).map((part) => part.part)))];
  const count = element("span", { class: "count", role: "status" });
  let chosen = new Set();
  let text = "";
  let part = "";
  function choose() {
    const seen = files.filter((file) => (!chosen.size || chosen.has(file.change)) && `${file.path} ${file.old_path || ""}`.toLowerCase().includes(text)
      && (!part || (file.elf || []).some((one) => one.part === part)));
    count.textContent = `${formatCount(seen.length)} of ${plural(files.length, "file")}; ${formatCount(diff.unchanged_files)} are equal`;
    table.show(seen);
  }
  choose();
  show(files.reduce((most, file) => (Math.abs(changeOf(file)) > Math.abs(changeOf(most)) ? file : most)));
  const chips = chipRow("Kinds of change", found.map((change) => [change, `${change} ${formatCount(files.filter((file) => file.change === change).length)}`]),
    (set) => { chosen = set; choose(); });
  chips.append(searchBox("Search paths", (value) => { text = value; choose(); }),
    allParts.length ? choiceBox("Differs in", [["", "anything"], ...allParts.map((one) => [one, one])], (value) => { part = value; choose(); }) : "", count);
  return [chips, element("div", { class: "columns aside" }, table.node, details)];
}

function metadataChanges(diff) {
  const listed = (value) => (Array.isArray(value) ? value.map((one) => element("div", {}, one)) : value === null || value === undefined ? "–" : String(value));
  return simpleTable("Changed fields", [{ text: "Field" }, { text: "Before" }, { text: "After" }], diff.metadata.map((row) => {
    if (!Array.isArray(row.old) || !Array.isArray(row.new)) return [row.field, listed(row.old), listed(row.new)];
    // Of two lists, what only one of them says.
    return [row.field, listed(row.old.filter((one) => !row.new.includes(one))), listed(row.new.filter((one) => !row.old.includes(one)))];
  }));
}

function diffPage(diff) {
  const count = (change) => diff.files.filter((file) => file.change === change).length;
  const size = (name, key) => [name, formatBytes(diff.new[key]), element("span", {}, "before ", formatBytes(diff.old[key]), ", ", changeText(diff.new[key] - diff.old[key]))];
  const figures = [size("Artifact", "size_bytes"), size("Unpacked", "unpacked_bytes"),
    ["Changed files", formatCount(diff.files.length), [...CHANGES.filter(count).map((change) => `${formatCount(count(change))} ${change}`), `${formatCount(diff.unchanged_files)} equal`].join(", ")],
    ["Changed ELF files", formatCount(diff.files.filter((file) => file.elf && file.elf.length).length), null]];
  const sections = [{ id: "files", title: "Files", badge: diff.files.length, parts: () => changedFilesView(diff) },
    { id: "size", title: "Size", parts: () => [changeMap(diff), sizeChanges(diff)] }];
  if (diff.metadata.length || diff.packing.length) {
    sections.push({ id: "metadata", title: "Metadata", badge: diff.metadata.length, parts: () => [diff.metadata.length ? metadataChanges(diff) : null,
      diff.packing.length ? element("p", {}, `Equal files differ in packaging only: ${diff.packing.join(", ")}.`) : null] });
  }
  return { title: diff.identical ? "Identical" : baseName(diff.new.subject), verb: "diff",
    note: element("span", {}, "compared with ", element("strong", {}, baseName(diff.old.subject))), figures, sections };
}
