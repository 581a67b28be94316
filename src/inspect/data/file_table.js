// A table of any length: only the rows in sight are in the document.

const ROW_PIXELS = 28;
const ROWS_AROUND = 12;

// columns: [{title, width, number, wide (left out in narrow windows), value(row) to sort by, cell(row) to show}].
// Returns {node, show(rows)}; rows stay sorted as the reader chose.
function makeTable({ label, columns, sortedBy = 0, descending = false, rowClass = () => null, opened = null }) {
  let rows = [];
  let first = -1;
  let last = -1;
  let sorting = { column: sortedBy, descending };
  const body = element("tbody");
  const cellClass = (column) => [column.number ? "number" : "", column.wide ? "wide" : ""].join(" ").trim() || null;
  const heads = columns.map((column, index) => element("th", { scope: "col", class: cellClass(column), style: column.width ? { width: column.width } : {} },
    element("button", { type: "button", onclick: () => sortBy(index) }, column.title)));
  const table = element("table", { "aria-label": label }, element("thead", {}, element("tr", { "aria-rowindex": "1" }, heads)), body);
  const box = scrollBox(label, { class: "virtual" }, table);

  function space(count) {
    return element("tr", { class: "space", "aria-hidden": "true", style: { height: `${count * ROW_PIXELS}px` } }, element("td"));
  }

  function draw(always) {
    const from = Math.max(0, Math.floor(box.scrollTop / ROW_PIXELS) - ROWS_AROUND);
    const to = Math.min(rows.length, Math.ceil((box.scrollTop + (box.clientHeight || 600)) / ROW_PIXELS) + ROWS_AROUND);
    if (!always && from === first && to === last) return;
    [first, last] = [from, to];
    const seen = [];
    for (let index = from; index < to; index += 1) {
      const row = rows[index];
      seen.push(element("tr", { "aria-rowindex": index + 2, class: rowClass(row), onclick: opened && (() => opened(row)) }, columns.map((column) =>
        element("td", { class: cellClass(column) }, column.cell(row)))));
    }
    body.replaceChildren(space(from), ...seen, space(rows.length - to));
  }

  function sortRows() {
    const { value } = columns[sorting.column];
    const keyed = rows.map((row) => [value(row), row]);
    keyed.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0) * (sorting.descending ? -1 : 1));
    rows = keyed.map(([, row]) => row);
    heads.forEach((head, index) => {
      if (index === sorting.column) head.setAttribute("aria-sort", sorting.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.firstChild.textContent = columns[index].title + (index === sorting.column ? (sorting.descending ? " ▾" : " ▴") : "");
    });
  }

  function sortBy(index) {
    const again = index === sorting.column;
    sorting = { column: index, descending: again ? !sorting.descending : Boolean(columns[index].number) };
    sortRows();
    box.scrollTop = 0;
    draw(true);
  }

  box.addEventListener("scroll", () => draw(false), { passive: true });
  whenSeen(box, () => draw(true));
  return {
    node: box,
    show(list) {
      rows = list.slice();
      sortRows();
      table.setAttribute("aria-rowcount", rows.length + 1);
      // A short list needs no empty room below it.
      box.style.setProperty("height", rows.length < 18 ? "auto" : "");
      box.scrollTop = 0;
      draw(true);
    },
    redraw: () => draw(true),
  };
}

// A path as its last name and, quieter, its folder: what matters stays in sight when the cell is narrow.
function pathCell(path) {
  return element("span", { title: path }, baseName(path), " ", element("span", { class: "folder" }, folderName(path)));
}

// The files of an artifact: text and kind choose, heads sort.
function filesView(files) {
  const kinds = [...new Set(files.map((file) => file.kind))].sort();
  const packed = files.some((file) => file.stored_bytes !== null);
  const columns = [
    { title: "File", value: (file) => file.path, cell: (file) => pathCell(file.path) },
    { title: "Kind", width: "7rem", wide: true, value: (file) => file.kind, cell: (file) => file.kind },
    { title: "Size", width: "7rem", number: true, value: (file) => file.size_bytes, cell: (file) => formatBytes(file.size_bytes) },
  ];
  if (packed) {
    columns.push({ title: "Packed", width: "7rem", number: true, wide: true, value: (file) => file.stored_bytes, cell: (file) => formatBytes(file.stored_bytes) },
      { title: "Ratio", width: "6rem", number: true, wide: true, value: (file) => file.stored_bytes / (file.size_bytes || 1),
        cell: (file) => formatShare(file.stored_bytes, file.size_bytes) });
  }
  columns.push({ title: "Mode", width: "6rem", wide: true, value: (file) => file.mode || "", cell: (file) => element("code", {}, file.mode || "–") });
  const table = makeTable({ label: "Files", columns, sortedBy: 2, descending: true });
  const lower = new Map(files.map((file) => [file, file.path.toLowerCase()]));
  const count = element("span", { class: "count", role: "status" });
  let text = "";
  let kind = "";
  function choose() {
    const chosen = files.filter((file) => (!kind || file.kind === kind) && lower.get(file).includes(text));
    count.textContent = `${formatCount(chosen.length)} of ${plural(files.length, "file")}, ${formatBytes(sum(chosen, (file) => file.size_bytes))}`;
    table.show(chosen);
  }
  choose();
  return [element("div", { class: "controls" },
    searchBox("Search paths", (value) => { text = value; choose(); }),
    choiceBox("Kind", [["", "all"], ...kinds.map((one) => [one, one])], (value) => { kind = value; choose(); }), count), table.node];
}
