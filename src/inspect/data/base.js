// What all views share: elements, numbers, names as they may be shown, focus among boxes.

// Characters that would change how the text around them reads: controls, invisible ones, those that turn its direction.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

function shown(text) {
  return String(text).replace(UNSEEN, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [property, set] of Object.entries(value)) node.style.setProperty(property, set);
    else node.setAttribute(name, value === true ? "" : name === "aria-label" || name === "title" ? shown(value) : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : shown(child));
  }
  return node;
}

// An element; texts among the children become text nodes, so nothing of an artifact is ever read as markup.
function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function formatCount(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function formatBytes(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = Math.abs(bytes);
  // 999,950 would print as 1000.0 kB.
  while (unit < units.length - 1 && value >= (unit ? 999.95 : 1000)) {
    value /= 1000;
    unit += 1;
  }
  return `${bytes < 0 ? "−" : ""}${unit ? value.toFixed(1) : value} ${units[unit]}`;
}

function formatChange(bytes) {
  return bytes > 0 ? "+" + formatBytes(bytes) : formatBytes(bytes);
}

function formatShare(part, whole) {
  return whole ? `${((100 * part) / whole).toFixed(1)} %` : "–";
}

function formatSeconds(seconds) {
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const all = Math.round(seconds);
  const minutes = Math.floor(all / 60) % 60;
  return all < 3600 ? `${minutes} min ${all % 60} s` : `${Math.floor(all / 3600)} h ${minutes} min`;
}

function plural(count, one, many = one + "s") {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

function folderName(path) {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function sum(list, value) {
  return list.reduce((total, one) => total + value(one), 0);
}

// "sm_90a" after "sm_90", "sm_100" after both.
function byNumber(left, right) {
  const number = (text) => Number((/\d+/.exec(text) || [0])[0]);
  return number(left) - number(right) || (left < right ? -1 : left > right ? 1 : 0);
}

// Whatever is in `boxes` ([{node, x, y, width, height}]): the one that an arrow key leads to from `from`, or null.
function boxBeside(boxes, from, key) {
  const middle = (box) => [box.x + box.width / 2, box.y + box.height / 2];
  const [x, y] = middle(from);
  const along = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  let best = null;
  let least = Infinity;
  for (const box of boxes) {
    const [dx, dy] = [middle(box)[0] - x, middle(box)[1] - y];
    const ahead = dx * along[0] + dy * along[1];
    const aside = Math.abs(dx * along[1]) + Math.abs(dy * along[0]);
    if (box === from || ahead <= 0.5) continue;
    if (ahead + 2 * aside < least) {
      least = ahead + 2 * aside;
      best = box;
    }
  }
  return best;
}

// Arrow keys move the focus among boxes() inside `area`; one of them at a time is in the order of Tab.
function moveByArrows(area, boxes) {
  area.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    const from = boxes().find((box) => box.node === event.target);
    if (!from) return;
    event.preventDefault();
    const next = boxBeside(boxes(), from, event.key);
    if (!next) return;
    from.node.setAttribute("tabindex", "-1");
    next.node.setAttribute("tabindex", "0");
    next.node.focus();
  });
}

// Calls `draw` when `node` first comes near the window, and again when its width changes.
function whenSeen(node, draw) {
  let width = 0;
  const resized = new ResizeObserver(() => {
    if (node.clientWidth === width || !node.clientWidth) return;
    width = node.clientWidth;
    draw();
  });
  const near = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    resized.observe(node);
  }, { rootMargin: "600px" });
  near.observe(node);
}

function searchBox(label, changed) {
  return element("input", { type: "search", placeholder: label, "aria-label": label, oninput: (event) => changed(event.target.value.toLowerCase()) });
}

function choiceBox(label, options, changed) {
  return element("label", { class: "choice" }, label,
    element("select", { onchange: (event) => changed(event.target.value) },
      options.map(([value, text]) => element("option", { value }, text))));
}

// Buttons that are in or out: [[value, text]]; `changed` gets the set of those that are in, empty when none is chosen.
function chipRow(label, options, changed) {
  const chosen = new Set();
  return element("div", { class: "controls", role: "group", "aria-label": label }, options.map(([value, text]) =>
    element("button", { type: "button", class: "chip", "aria-pressed": "false", "data-value": value, onclick: (event) => {
      const on = !chosen.delete(value);
      if (on) chosen.add(value);
      event.currentTarget.setAttribute("aria-pressed", String(on));
      changed(chosen);
    } }, text)));
}

// A list of which the first are shown, and the others when asked for.
function longList(list) {
  const items = (some) => element("ul", {}, some.map((one) => element("li", {}, one)));
  if (list.length <= 30) return items(list);
  return element("div", {}, items(list.slice(0, 20)), element("details", {}, element("summary", { class: "muted" }, `and ${formatCount(list.length - 20)} more`), items(list.slice(20))));
}

// [[name, value]]: values may be text, elements, or lists of these; empty ones are left out.
function factList(pairs) {
  const list = element("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length)) continue;
    list.append(element("dt", {}, name),
      element("dd", {}, Array.isArray(value) ? longList(value) : value));
  }
  return list;
}

// heads: [{text (empty: of a column of bars), number, wide (left out in narrow windows)}]; the first cell of a row names it.
function simpleTable(caption, heads, rows) {
  const kind = (head) => [head.number ? "number" : "", head.wide ? "wide" : ""].join(" ").trim() || null;
  return element("table", {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, heads.map((head) => element(head.text ? "th" : "td", { scope: head.text ? "col" : null, class: kind(head) }, head.text)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell, index) =>
      element(index ? "td" : "th", { scope: index ? null : "row", class: kind(heads[index]) }, cell))))));
}

// A box that scrolls by itself, reached by the keyboard.
function scrollBox(label, attributes, ...children) {
  return element("div", { role: "region", tabindex: "0", "aria-label": label, ...attributes, class: `scroll ${attributes.class || ""}` }, children);
}
