// Who needs whom: files of the artifact and the libraries around it in layers, each left of what it needs (Sugiyama, Tagawa, Toda 1981).

const NODE_HEIGHT = 26;
const NODE_GAP = 8;
const MOST_NODES = 80; // more are drawn around one file only, unless the reader wants them all
const MOST_DRAWN = 400; // then those with the most neighbours
const OUTSIDE = ["missing", "dependency", "allowed", "system"];

// nodes: Map of key → {key, label, state ("file" or one of OUTSIDE), elf, problem}; edges: [{from, to, need, state}].
function libraryGraph(elves) {
  const nodes = new Map();
  const edges = [];
  for (const elf of elves) nodes.set(elf.file, { key: elf.file, label: baseName(elf.file), state: "file", elf, problem: elf.needed.some((need) => need.state === "missing") });
  for (const elf of elves) {
    for (const need of elf.needed) {
      for (const { path } of need.files) if (nodes.has(path)) edges.push({ from: elf.file, to: path, need, state: need.state });
      if (need.files.length && need.state !== "missing") continue;
      const key = ` ${need.state} ${need.name}`;
      if (!nodes.has(key)) nodes.set(key, { key, label: need.name, state: need.state, elf: null, problem: need.state === "missing" });
      edges.push({ from: elf.file, to: key, need, state: need.state });
    }
  }
  return { nodes, edges };
}

// The layer of each key: as many edges as lead to it on the longest way; an edge that closes a circle does not count.
function layersOf(keys, nexts) {
  const layer = new Map(keys.map((key) => [key, 0]));
  const state = new Map();
  const order = [];
  const back = new Set();
  for (const start of keys) {
    const stack = [[start, 0]];
    while (stack.length) {
      const top = stack[stack.length - 1];
      const [key] = top;
      if (state.get(key) === 2) { stack.pop(); continue; }
      state.set(key, 1);
      const next = nexts(key)[top[1]];
      top[1] += 1;
      if (next === undefined) {
        state.set(key, 2);
        order.push(key);
        stack.pop();
      } else if (state.get(next) === 1) {
        back.add(`${key}\n${next}`);
      } else if (!state.has(next)) {
        stack.push([next, 0]);
      }
    }
  }
  for (const key of order.reverse()) {
    for (const next of nexts(key)) if (!back.has(`${key}\n${next}`)) layer.set(next, Math.max(layer.get(next), layer.get(key) + 1));
  }
  return layer;
}

// Places for the keys, and for each edge the points that it passes: {items: Map key → {column, y}, ways: [[{column, y}]], columns, height}.
function layOutGraph(keys, edges) {
  const nexts = new Map(keys.map((key) => [key, []]));
  for (const { from, to } of edges) if (!nexts.get(from).includes(to)) nexts.get(from).push(to);
  const layer = layersOf(keys, (key) => nexts.get(key));
  const columns = [];
  const put = (item, column) => { (columns[column] = columns[column] || []).push(item); };
  const items = new Map(keys.map((key) => [key, { key, column: layer.get(key), height: NODE_HEIGHT, before: [], after: [] }]));
  for (const item of items.values()) put(item, item.column);
  // A bend in each column that a line passes, so that it does not cross the boxes there; lines to the same file share it.
  const bends = new Map();
  const bendAt = (column, to) => {
    const name = `${column} ${to}`;
    if (!bends.has(name)) {
      bends.set(name, { key: null, column, height: 4, before: [], after: [] });
      put(bends.get(name), column);
    }
    return bends.get(name);
  };
  const ways = edges.map(({ from, to }) => {
    const way = [items.get(from)];
    for (let column = layer.get(from) + 1; column < layer.get(to); column += 1) way.push(bendAt(column, to));
    way.push(items.get(to));
    for (let index = 1; index < way.length; index += 1) {
      way[index - 1].after.push(way[index]);
      way[index].before.push(way[index - 1]);
    }
    return way;
  });
  for (let column = 0; column < columns.length; column += 1) columns[column] = columns[column] || [];
  const spread = (column) => {
    let y = NODE_GAP;
    for (const item of column) {
      item.y = y;
      y += item.height + NODE_GAP;
    }
    return y;
  };
  const heights = columns.map(spread);
  const mean = (list, otherwise) => (list.length ? sum(list, (item) => item.y + item.height / 2) / list.length : otherwise);
  for (let round = 0; round < 8; round += 1) {
    const forward = round % 2 === 0;
    for (const column of forward ? columns : columns.slice().reverse()) {
      const wish = new Map(column.map((item) => [item, mean(forward ? item.before : item.after, item.y)]));
      column.sort((left, right) => wish.get(left) - wish.get(right));
      spread(column);
    }
  }
  const height = Math.max(...heights, 0);
  columns.forEach((column, index) => column.forEach((item) => { item.y += (height - heights[index]) / 2; }));
  return { items, ways, columns: columns.length, height };
}

function pathOfWay(way, left, nodeWidth) {
  const middle = (item) => item.y + item.height / 2;
  let text = "";
  for (let index = 1; index < way.length; index += 1) {
    const [from, to] = [way[index - 1], way[index]];
    const x1 = left(from.column) + nodeWidth;
    const x2 = left(to.column);
    const bend = Math.max(20, Math.abs(x2 - x1) / 2);
    text += `${index === 1 ? `M${x1} ${middle(from)}` : ""}C${x1 + bend} ${middle(from)} ${x2 - bend} ${middle(to)} ${x2} ${middle(to)}`;
    if (index < way.length - 1) text += `L${x2 + nodeWidth} ${middle(to)}`;
  }
  return text;
}

function shortened(text, pixels) {
  const most = Math.max(6, Math.floor(pixels / 7.2)); // DejaVu Sans at 12 pixels
  // The end of "libtorch_python.cpython-311.so" tells less than its beginning.
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

const stateMark = (state) => element("span", { class: `state ${state === "missing" ? "error" : ""}` }, state);

function searchPathList(search_path) {
  if (!search_path) return "none";
  return element("div", {}, search_path.tag, element("ul", {}, search_path.entries.map((entry) =>
    element("li", {}, element("code", {}, entry.text || "(empty)"), " ", entry.kind === "in tree" ? null : stateMark(entry.kind)))));
}

function fileDetails(node, edges, choose) {
  const link = (key, label) => element("button", { type: "button", class: "link", onclick: () => choose(key) }, label);
  const users = edges.filter((edge) => edge.to === node.key);
  const neededBy = [...new Set(users.map((edge) => edge.from))].map((key) => link(key, baseName(key)));
  if (!node.elf) {
    return [element("h3", {}, node.label), element("p", {}, "Not in the artifact: ", stateMark(node.state)),
      ...[...new Set(users.map((edge) => edge.need.problem).filter(Boolean))].map((text) => element("p", {}, text)), factList([["Needed by", neededBy]])];
  }
  const { elf } = node;
  const needs = elf.needed.map((need) => [
    need.name, stateMark(need.state),
    need.files.length ? need.files.map((file) => element("div", {}, link(file.path, file.path), element("div", { class: "muted" }, file.rule))) : need.problem || "",
  ]);
  return [element("h3", {}, elf.file), element("div", { class: "columns two" },
    factList([["Search path", searchPathList(elf.search_path)], ["SONAME", elf.soname], ["Build id", elf.build_id && element("code", {}, elf.build_id)],
      ["Interpreter", elf.interpreter], ["Machine", elf.machine], ["Size", elf.size_bytes === undefined ? null : formatBytes(elf.size_bytes)],
      ["Symbol table", elf.stripped ? "stripped" : "not stripped"], ["Needed by", neededBy], ["Damaged", elf.damage]]),
    needs.length ? element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "What it needs" },
      simpleTable(`Needs ${needs.length}`, [{ text: "Name" }, { text: "State" }, { text: "Found by" }], needs)) : element("p", { class: "muted" }, "Needs nothing."))];
}

function libraryView(elves) {
  const graph = libraryGraph(elves);
  const files = [...graph.nodes.values()].filter((node) => node.elf);
  const visible = new Set(OUTSIDE.filter((state) => state !== "system"));
  let around = files.length > MOST_NODES;
  let chosen = (files.find((node) => node.problem) || files[0]).key;
  let boxes = [];
  const box = element("div", { class: "graph scroll", role: "group", "aria-label": "Graph of libraries: arrow keys move, Enter chooses", tabindex: "-1" });
  const details = element("div", { class: "details" });
  const told = element("p", { class: "muted", role: "status" });

  function light(key) {
    box.classList.toggle("lit", key !== null);
    for (const on of box.querySelectorAll(".on")) on.classList.remove("on");
    if (key === null) return;
    const near = new Set([key]);
    for (const line of box.querySelectorAll(".edge")) {
      if (line.dataset.from !== key && line.dataset.to !== key) continue;
      line.classList.add("on");
      near.add(line.dataset.from).add(line.dataset.to);
    }
    for (const one of boxes) one.node.classList.toggle("on", near.has(one.key));
  }

  function choose(key) {
    const inside = box.contains(document.activeElement);
    chosen = key;
    details.replaceChildren(...fileDetails(graph.nodes.get(key), graph.edges, choose));
    if (around) draw();
    select.value = key;
    for (const one of boxes) one.node.setAttribute("aria-pressed", String(one.key === key));
    const there = boxes.find((one) => one.key === key);
    if (inside && there) there.node.focus();
  }

  function mostNeighbours(keys) {
    if (keys.length <= MOST_DRAWN) return keys;
    const degrees = new Map(keys.map((key) => [key, key === chosen ? Infinity : graph.nodes.get(key).problem ? 1e9 : 0]));
    for (const { from, to } of graph.edges) for (const key of [from, to]) if (degrees.has(key)) degrees.set(key, degrees.get(key) + 1);
    return keys.sort((left, right) => degrees.get(right) - degrees.get(left)).slice(0, MOST_DRAWN);
  }

  // Which are drawn, the chosen one always, and how many are left out.
  function chosenNodes() {
    const all = [...graph.nodes.values()].filter((node) => node.elf || visible.has(node.state) || node.key === chosen).map((node) => node.key);
    if (!around) {
      const keys = mostNeighbours(all);
      return { keys, left: all.length - keys.length };
    }
    const near = new Set([chosen]);
    for (const { from, to } of graph.edges) {
      if (from === chosen) near.add(to);
      if (to === chosen) near.add(from);
    }
    const rank = (key) => (key === chosen ? 0 : graph.nodes.get(key).problem ? 1 : 2);
    const keys = all.filter((key) => near.has(key)).sort((left, right) => rank(left) - rank(right));
    return { keys: keys.slice(0, MOST_NODES), left: Math.max(0, keys.length - MOST_NODES) };
  }

  function nodeOf(key, item, x, width) {
    const node = graph.nodes.get(key);
    const users = new Set(graph.edges.filter((edge) => edge.to === key).map((edge) => edge.from)).size;
    const label = `${node.label}: ${node.elf ? `needs ${node.elf.needed.length}` : node.state}, needed by ${users}${node.elf && node.problem ? ", a library is missing" : ""}`;
    return drawn("g", { class: `node ${node.elf ? "" : "outside"} ${node.problem ? "problem" : ""}`, role: "button", tabindex: "-1", "aria-label": label,
      "aria-pressed": String(key === chosen), onmouseenter: () => light(key), onmouseleave: () => light(null), onfocus: () => light(key), onblur: () => light(null),
      onclick: () => choose(key),
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(key);
      } },
    drawn("title", {}, node.elf ? node.key : label),
    drawn("rect", { x, y: item.y, width, height: NODE_HEIGHT, rx: 5 }),
    drawn("text", { x: x + 8, y: item.y + 17 }, shortened((node.problem ? "! " : "") + node.label, width - 14)));
  }

  function draw() {
    const { keys, left: leftOut } = chosenNodes();
    const inside = new Set(keys);
    const edges = graph.edges.filter((edge) => inside.has(edge.from) && inside.has(edge.to));
    const laid = layOutGraph(keys, edges);
    const gap = 60;
    const width = Math.max(130, Math.min(230, (box.clientWidth - 2) / laid.columns - gap));
    const left = (column) => 8 + column * (width + gap);
    const whole = left(laid.columns - 1) + width + 10;
    boxes = keys.map((key) => {
      const item = laid.items.get(key);
      return { key, node: nodeOf(key, item, left(item.column), width), x: left(item.column), y: item.y, width, height: NODE_HEIGHT };
    });
    const lines = laid.ways.map((way, index) => drawn("path", { class: `edge ${edges[index].state}`, d: pathOfWay(way, left, width),
      "data-from": edges[index].from, "data-to": edges[index].to }));
    box.replaceChildren(drawn("svg", { width: whole, height: laid.height, role: "presentation" }, lines, boxes.map((one) => one.node)));
    const first = boxes.find((one) => one.key === chosen) || boxes[0];
    if (first) {
      first.node.setAttribute("tabindex", "0");
      box.scrollLeft = first.x + width / 2 - box.clientWidth / 2;
    }
    told.textContent = `${plural(files.length, "ELF file")} in the artifact, ${plural(graph.edges.filter((edge) => edge.state === "missing").length, "missing library", "missing libraries")}` +
      `${around ? "; drawn: the chosen file and its neighbours" : leftOut ? `; drawn: the ${MOST_DRAWN} with the most neighbours` : ""}` +
      `${leftOut ? `; ${formatCount(leftOut)} more are left out` : ""}`;
  }

  const select = element("select", { onchange: (event) => choose(event.target.value) },
    [...graph.nodes.values()].sort((left, right) => (left.label < right.label ? -1 : 1)).map((node) => element("option", { value: node.key }, node.elf ? node.key : node.label)));
  const states = OUTSIDE.filter((state) => [...graph.nodes.values()].some((node) => node.state === state && !node.elf));
  moveByArrows(box, () => boxes);
  whenSeen(box, draw);
  choose(chosen);
  return [element("div", { class: "controls" }, element("label", { class: "choice" }, "File", select),
    states.length ? element("fieldset", {}, element("legend", {}, "Also show"), states.map((state) => element("label", { class: "choice" },
      element("input", { type: "checkbox", checked: visible.has(state), onchange: (event) => {
        if (event.target.checked) visible.add(state);
        else visible.delete(state);
        draw();
      } }), `${state} libraries`))) : null,
    element("label", { class: "choice" }, element("input", { type: "checkbox", checked: around, onchange: (event) => { around = event.target.checked; draw(); } }),
      "only neighbours of the chosen file")),
  told, box, details];
}
