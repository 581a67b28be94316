// The size map: squarified rectangles (Bruls, Huizing, van Wijk 2000) of folders, files, sections and GPU architectures.

const KIND_CLASS = {
  "elf": "elf", "code": "code", "device code": "device", "read-only data": "rodata", "data": "data", "symbols": "symbols", "debug": "debug",
  "unwind": "unwind", "relocations": "relocations", "static archive": "archive", "archive": "archive", "python": "python", "header": "header",
  "metadata": "text", "text": "text", "grown": "grown", "shrunk": "shrunk",
};
const kindClass = (kind) => `k-${KIND_CLASS[kind] || "other"}`;
const LEAST_SIDE = 3; // pixels
const LEAST_AREA = 100; // what would be smaller is drawn together, so that no map has more than some thousand cells
const MOST_LISTED = 200;

// A tree of {name, path, parent, kind (null: a folder), measures: [numbers], children: [] or null, more(): children made when asked for}.
// files: [{path, kind, measures, more}].
function folderTree(name, files, measureCount) {
  const none = () => new Array(measureCount).fill(0);
  const root = { name, path: "", parent: null, kind: null, measures: none(), children: [] };
  const folders = new Map([["", root]]);
  function folderAt(path) {
    const known = folders.get(path);
    if (known) return known;
    const parent = folderAt(folderName(path));
    const folder = { name: baseName(path), path, parent, kind: null, measures: none(), children: [] };
    parent.children.push(folder);
    folders.set(path, folder);
    return folder;
  }
  for (const file of files) {
    const parent = folderAt(folderName(file.path));
    parent.children.push({ name: baseName(file.path), path: file.path, parent, kind: file.kind, measures: file.measures, children: null,
      more: file.more || null });
    for (let folder = parent; folder; folder = folder.parent) file.measures.forEach((value, index) => { folder.measures[index] += value; });
  }
  return root;
}

function childrenOf(node) {
  if (!node.children && node.more) {
    node.children = node.more().map((child) => ({ children: null, more: null, ...child, parent: node, path: `${node.path} ${child.name}` }));
    node.more = null;
  }
  return node.children || [];
}

// [{node, x, y, width, height}] for nodes sorted by size, largest first, filling the rectangle.
function squarify(nodes, size, { x, y, width, height }) {
  const boxes = [];
  let left = sum(nodes, size);
  let at = 0;
  while (at < nodes.length && width > 0.5 && height > 0.5 && left > 0) {
    const short = Math.min(width, height);
    const scale = (width * height) / left;
    let row = 0;
    let count = 0;
    let worst = Infinity;
    while (at + count < nodes.length) {
      const next = row + size(nodes[at + count]) * scale;
      const thick = next / short;
      const most = (size(nodes[at]) * scale) / thick;
      const least = (size(nodes[at + count]) * scale) / thick;
      const ratio = Math.max(most / thick, thick / most, thick / least);
      if (count && ratio > worst) break;
      [row, worst, count] = [next, ratio, count + 1];
    }
    const thick = row / short;
    let along = 0;
    for (const node of nodes.slice(at, at + count)) {
      const length = (size(node) * scale) / thick;
      boxes.push(width >= height ? { node, x, y: y + along, width: thick, height: length } : { node, x: x + along, y, width: length, height: thick });
      along += length;
      left -= size(node);
    }
    if (width >= height) [x, width] = [x + thick, width - thick];
    else [y, height] = [y + thick, height - thick];
    at += count;
  }
  return boxes;
}

// measures: [{title, zoomable (its files have parts)}]; tell(node, measure): a line on a node; amount(value, node) prints a measure;
// `beside`: what else stands in the column of the contents.
function sizeMap({ root, measures, kinds, tell, amount = formatBytes, beside = [] }) {
  let place = root;
  let measure = 0;
  let boxes = [];
  const size = (node) => node.measures[measure] || 0;
  const parts = (node) => (node.kind && !measures[measure].zoomable ? [] : childrenOf(node)).filter((child) => size(child) > 0);
  const opens = (node) => Boolean(node.kind ? measures[measure].zoomable && (node.children || node.more) : node.children.length);
  const trail = element("ol", { class: "trail" });
  const map = element("div", { class: "map", role: "group", "aria-label": "Size map: arrow keys move, Enter goes in, Escape goes out" });
  const told = element("p", { class: "told" });
  const list = element("div", { class: beside.length ? "short" : null });

  function labelOf(node) {
    return `${node.name}, ${amount(size(node), node)}, ${formatShare(size(node), size(place))} of ${place.name}${opens(node) ? ", opens" : ""}`;
  }

  function point(node, cell) {
    for (const hot of map.querySelectorAll(".hot")) hot.classList.remove("hot");
    if (cell) cell.classList.add("hot");
    told.textContent = shown(tell(node || place, measure));
  }

  function cellOf(node, box, top) {
    const inside = !node.rest && opens(node) && box.width > 56 && box.height > 40;
    const cell = element("div", { class: `cell ${inside ? "group" : `leaf ${kindClass(node.kind)}`}`,
      style: { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` } });
    if (top) fill(cell, { role: "button", tabindex: "-1", "aria-label": labelOf(node) }, []);
    if (box.width > 34 && box.height > 17) cell.append(element("span", {}, node.name));
    if (!inside && box.width > 48 && box.height > 36) cell.append(element("span", { class: "size" }, amount(size(node), node)));
    cell.addEventListener("mouseover", (event) => { event.stopPropagation(); point(node, cell); });
    cell.addEventListener("click", (event) => { event.stopPropagation(); open(opens(node) ? node : node.parent, node); });
    if (inside) layOut(node, { x: 2, y: 18, width: box.width - 6, height: box.height - 22 }, cell, false);
    return cell;
  }

  // Draws the parts of `node` into `into`; those too small to see become one cell.
  function layOut(node, area, into, top) {
    const sorted = parts(node).sort((left, right) => size(right) - size(left));
    const scale = (area.width * area.height) / (sum(sorted, size) || 1);
    let seen = sorted.findIndex((child) => size(child) * scale < LEAST_AREA);
    if (seen < 0) seen = sorted.length;
    const rest = sorted.slice(seen);
    const drawnNodes = sorted.slice(0, seen);
    const restSize = sum(rest, size);
    if (rest.length && restSize * scale >= LEAST_SIDE * LEAST_SIDE) {
      const values = [];
      values[measure] = restSize;
      drawnNodes.push({ name: plural(rest.length, "smaller one"), path: node.path, parent: node, kind: "other", measures: values, children: [], rest: true });
      drawnNodes.sort((left, right) => size(right) - size(left));
    }
    for (const box of squarify(drawnNodes, size, area)) {
      if (box.width < LEAST_SIDE || box.height < LEAST_SIDE) continue;
      const cell = cellOf(box.node, box, top);
      into.append(cell);
      if (top) boxes.push({ ...box, place: box.node, node: cell });
    }
  }

  function drawList() {
    const sorted = parts(place).sort((left, right) => size(right) - size(left));
    const most = sorted.length ? size(sorted[0]) : 1;
    const rows = sorted.slice(0, MOST_LISTED).map((node) => [
      opens(node) ? element("button", { type: "button", class: "link", onclick: () => open(node) }, node.name + (node.kind ? "" : "/")) : node.name,
      amount(size(node), node),
      element("span", { class: "bar", "aria-hidden": "true" }, element("i", { style: { width: `${(100 * size(node)) / most}%` } })),
    ]);
    const caption = `${place.name}: ${plural(sorted.length, "part")}, ${amount(size(place), place)}${sorted.length > MOST_LISTED ? `; the ${MOST_LISTED} largest` : ""}`;
    list.replaceChildren(scrollBox("Contents", { class: "contents" },
      simpleTable(caption, [{ text: "Part" }, { text: measures[measure].title, number: true }, { text: "", wide: true }], rows)));
  }

  function drawTrail() {
    const above = [];
    for (let node = place; node; node = node.parent) above.unshift(node);
    trail.replaceChildren(...above.map((node) => element("li", {}, node === place ? element("span", { "aria-current": "location" }, node.name) :
      element("button", { type: "button", class: "link", onclick: () => open(node) }, node.name))));
  }

  function draw() {
    boxes = [];
    map.replaceChildren();
    layOut(place, { x: 0, y: 0, width: map.clientWidth, height: map.clientHeight }, map, true);
    if (boxes.length) boxes[0].node.setAttribute("tabindex", "0");
  }

  // Goes to `node`; the focus follows when it was in the map, to `from` where that is shown.
  function open(node, from = null) {
    if (!node) return;
    const focused = map.contains(document.activeElement);
    place = node;
    draw();
    drawTrail();
    drawList();
    const there = boxes.find((box) => box.place === from) || boxes[0];
    point(from && from.parent === place ? from : place, from && there && there.place === from ? there.node : null);
    if (focused && there) {
      boxes[0].node.setAttribute("tabindex", "-1");
      there.node.setAttribute("tabindex", "0");
      there.node.focus();
    }
  }

  map.addEventListener("focusin", (event) => {
    const box = boxes.find((one) => one.node === event.target);
    if (box) point(box.place, box.node);
  });
  map.addEventListener("keydown", (event) => {
    const box = boxes.find((one) => one.node === event.target);
    if ((event.key === "Enter" || event.key === " ") && box) {
      event.preventDefault();
      if (!box.place.rest && opens(box.place)) open(box.place);
    } else if ((event.key === "Escape" || event.key === "Backspace") && place.parent) {
      event.preventDefault();
      open(place.parent, place);
    }
  });
  moveByArrows(map, () => boxes);
  drawTrail();
  drawList();
  point(root, null);
  whenSeen(map, draw);

  const choice = measures.length > 1 && element("fieldset", {}, element("legend", {}, "Measure"), measures.map(({ title }, index) =>
    element("label", { class: "choice" }, element("input", { type: "radio", name: "measure", checked: index === 0, onchange: () => {
      measure = index;
      while (place.parent && place.kind && !measures[measure].zoomable) place = place.parent;
      open(place);
    } }), title)));
  return [element("div", { class: "controls" }, element("nav", { "aria-label": "Place in the size map" }, trail), choice),
    element("div", { class: "columns aside" },
      element("div", {}, map, told, element("ul", { class: "legend" }, kinds.map((kind) =>
        element("li", {}, element("span", { class: `swatch ${kindClass(kind)}` }), kind)))),
      element("div", {}, list, beside))];
}
