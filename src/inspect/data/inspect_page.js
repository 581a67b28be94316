// The page of `ptpkg inspect`: one artifact at a time. Its document is docs/json/inspect.json.

const SECTION_KINDS = ["code", "read-only data", "data", "device code", "symbols", "debug", "unwind", "relocations", "other"];
const MOST_FINDINGS = 100;
const FILES_AT_ONCE = 4;
const MOST_FILES = 500; // of one finding

// The parts of an ELF file for the size map: sections, and in those of GPU code what there is for each architecture.
function elfParts(elf, device) {
  return () => {
    const parts = elf.sections.filter((section) => section.size_bytes > 0).map((section) => {
      const share = device && section.kind === "device code" && (section.name.includes("rel") ? device.relocatable : device.embedded);
      const amounts = share ? [...Object.entries(share.sass), ...Object.entries(share.ptx)] : [];
      const known = sum(amounts, ([, amount]) => amount.bytes);
      // Where two sections share containers, the amounts say nothing about one of them.
      if (!known || known > section.size_bytes) return { name: section.name, kind: section.kind, measures: [section.size_bytes] };
      const inside = amounts.map(([name, amount]) => ({ name, kind: section.kind, measures: [amount.bytes] }));
      if (known < section.size_bytes) inside.push({ name: "containers", kind: "other", measures: [section.size_bytes - known] });
      return { name: section.name, kind: section.kind, measures: [section.size_bytes], more: () => inside };
    });
    const left = elf.size_bytes - sum(parts, (part) => part.measures[0]);
    if (left > 0) parts.push({ name: "headers and padding", kind: "other", measures: [left] });
    return parts;
  };
}

function sizeView(artifact) {
  const elves = new Map((artifact.elf || []).map((elf) => [elf.file, elf]));
  const devices = new Map((artifact.device_code || []).map((device) => [device.file, device]));
  const packed = artifact.files.some((file) => file.stored_bytes !== null);
  const files = artifact.files.map((file) => {
    const elf = elves.get(file.path);
    return { path: file.path, kind: file.kind, measures: packed ? [file.size_bytes, file.stored_bytes || 0] : [file.size_bytes],
      more: elf && elf.sections.length ? elfParts(elf, devices.get(file.path)) : null };
  });
  const root = folderTree(baseName(artifact.subject), files, packed ? 2 : 1);
  const kinds = [...new Set([...files.map((file) => file.kind), ...(artifact.elf || []).flatMap((elf) => elf.sections.map((section) => section.kind))])];
  const measures = [{ title: "Unpacked", zoomable: true }];
  if (packed) measures.push({ title: "Packed", zoomable: false });
  return sizeMap({ root, measures, kinds, beside: totalsView(artifact), tell: (node, measure) => [node.path || node.name, node.kind || "folder",
    ...node.measures.map((value, index) => (value === undefined ? null : `${formatBytes(value)} ${measures[index].title.toLowerCase()}`)),
    `${formatShare(node.measures[measure], root.measures[measure])} of all`].filter(Boolean).join(" · ") });
}

function totalsView(artifact) {
  const byKind = new Map();
  for (const file of artifact.files) {
    const total = byKind.get(file.kind) || { count: 0, bytes: 0 };
    byKind.set(file.kind, { count: total.count + 1, bytes: total.bytes + file.size_bytes });
  }
  const bySection = new Map();
  for (const elf of artifact.elf || []) {
    for (const section of elf.sections) bySection.set(section.kind, (bySection.get(section.kind) || 0) + section.size_bytes);
  }
  const share = (bytes, whole) => element("span", { class: "bar", "aria-hidden": "true" }, element("i", { style: { width: `${(100 * bytes) / (whole || 1)}%` } }));
  const swatch = (kind) => [element("span", { class: `swatch ${kindClass(kind)}`, "aria-hidden": "true" }), kind];
  const kinds = [...byKind].sort(([, left], [, right]) => right.bytes - left.bytes);
  const sections = SECTION_KINDS.filter((kind) => bySection.get(kind)).map((kind) => [kind, bySection.get(kind)]).sort(([, left], [, right]) => right - left);
  const bytes = { text: "Bytes", number: true };
  return [
    element("h3", {}, "By kind of file"), simpleTable("Unpacked", [{ text: "Kind" }, { text: "Files", number: true }, bytes, { text: "", wide: true }],
      kinds.map(([kind, total]) => [swatch(kind), formatCount(total.count), formatBytes(total.bytes), share(total.bytes, artifact.unpacked_bytes)])),
    sections.length ? [element("h3", {}, "By kind of section"), simpleTable("Of all ELF files", [{ text: "Kind" }, bytes, { text: "", wide: true }],
      sections.map(([kind, total]) => [swatch(kind), formatBytes(total), share(total, artifact.unpacked_bytes)]))] : null];
}

// Findings that say the same of several files, as one: [{…finding, files}], errors first.
function groupedFindings(findings, severities) {
  const groups = new Map();
  for (const severity of severities) {
    for (const finding of findings) {
      if (finding.severity !== severity) continue;
      const key = JSON.stringify([severity, finding.id, finding.message, finding.fix]);
      if (!groups.has(key)) groups.set(key, { ...finding, files: [] });
      if (finding.file) groups.get(key).files.push(finding.file);
    }
  }
  return [...groups.values()].map((group) => ({ ...group, text: [group.id, group.message, group.fix, ...group.files].join(" ").toLowerCase() }));
}

function findingFiles(files, holder) {
  const lines = (list) => list.map((file) => element("div", { class: "muted" }, file));
  if (files.length <= FILES_AT_ONCE) return lines(files.length ? files : ["entire artifact"]);
  const rest = files.length > MOST_FILES ? `and ${formatCount(files.length - MOST_FILES)} more` : null;
  return [element("details", { ontoggle: (event) => {
    if (event.target.childElementCount === 1) event.target.append(...lines(files.slice(0, MOST_FILES)), rest || "");
  } }, element("summary", { class: "muted" }, plural(files.length, holder)))];
}

// `noun`: what one of them is called; `holder`: what has them.
function findingsView(findings, noun = "finding", holder = "file") {
  if (!findings.length) return [element("p", {}, "None.")];
  const severities = ["error", "warning", "info"].filter((one) => findings.some((finding) => finding.severity === one));
  const list = element("ul", { class: "findings" });
  const count = element("span", { class: "count", role: "status" });
  const more = element("button", { type: "button", class: "chip", onclick: () => { most += 10 * MOST_FINDINGS; draw(); } });
  let chosen = new Set();
  let text = "";
  let most = MOST_FINDINGS;
  const groups = groupedFindings(findings, severities);
  function draw() {
    const seen = groups.filter((one) => (!chosen.size || chosen.has(one.severity)) && one.text.includes(text));
    count.textContent = `${formatCount(sum(seen, (one) => one.files.length || 1))} of ${plural(findings.length, noun)}`;
    more.hidden = seen.length <= most;
    more.textContent = `Show more: ${formatCount(seen.length - most)} are left`;
    list.replaceChildren(...seen.slice(0, most).map((one) => element("li", {}, element("span", { class: `state ${one.severity}` }, one.severity),
      element("div", {}, element("strong", {}, one.id), findingFiles(one.files, holder)),
      element("div", {}, one.message, one.fix ? element("div", { class: "fix" }, one.fix) : null))));
  }
  draw();
  const chips = chipRow("Severities", severities.map((one) => [one, `${one} ${formatCount(findings.filter((finding) => finding.severity === one).length)}`]),
    (set) => { chosen = set; draw(); });
  chips.append(searchBox(`Search ${noun}s`, (value) => { text = value; draw(); }), count);
  return [chips, list, more];
}

function floorView(elves) {
  const rows = elves.filter((elf) => elf.floor);
  const glibc = (elf) => (elf.floor.glibc || "").split(".").reduce((number, part) => number * 1000 + Number(part), 0);
  const setBy = (elf) => elf.floor.set_by.map((one) => `${one.version} of ${one.library}`).join(", ");
  const table = makeTable({ label: "What each ELF file needs of the system", sortedBy: 1, descending: true, columns: [
    { title: "File", value: (elf) => elf.file, cell: (elf) => pathCell(elf.file) },
    { title: "glibc", width: "5rem", number: true, value: glibc, cell: (elf) => elf.floor.glibc || "–" },
    { title: "Lowest tag", width: "13rem", wide: true, value: (elf) => elf.floor.policy || "", cell: (elf) => elf.floor.policy || "none" },
    { title: "Set by", wide: true, value: setBy, cell: (elf) => element("span", { title: elf.floor.symbols.join(", ") }, setBy(elf) || "–",
      elf.floor.symbols.length ? element("span", { class: "folder" }, ` ${elf.floor.symbols.join(", ")}`) : null) },
    { title: "Processor", width: "8rem", wide: true, value: (elf) => elf.isa || "", cell: (elf) => elf.isa || "–" },
  ] });
  table.show(rows);
  return table.node;
}

function stagesView(stages) {
  let end = 0;
  const placed = stages.map((stage) => {
    const begin = stage.begin_s === null ? end : stage.begin_s;
    end = Math.max(end, begin + stage.duration_s);
    return { ...stage, begin };
  });
  const told = stages.some((stage) => stage.begin_s === null) ? "The manifest tells no beginnings: the stages are drawn one behind the other." : null;
  return [told && element("p", { class: "muted" }, told), element("ol", { class: "time" }, placed.map((stage) => element("li", { title: stage.reason || null },
    element("span", {}, stage.name, stage.subject ? element("span", { class: "muted" }, ` ${stage.subject}`) : null),
    element("span", { class: "lane", "aria-hidden": "true" }, stage.ran === false ? null :
      element("i", { style: { left: `${(100 * stage.begin) / (end || 1)}%`, width: `${(100 * stage.duration_s) / (end || 1)}%` } })),
    element("span", {}, stage.ran === false ? `not run: ${stage.reason}` : formatSeconds(stage.duration_s)))))];
}

function metadataView(artifact) {
  const { metadata } = artifact;
  return element("div", { class: "columns two" },
    factList([["File", artifact.subject], ["Summary", metadata.summary], ["Name", metadata.name], ["Version", metadata.version], ["Build", metadata.build],
      ["Subdir", metadata.subdir], ["Tags", metadata.tags], ["Licence", metadata.license], ["Licence files", metadata.license_files], ["Made by", metadata.generator]]),
    factList([["Python", metadata.requires_python], ["Requires", metadata.requires], ["Constrains", metadata.constrains], ["Extras", metadata.extras.join(", ")],
      ["Entry points", metadata.entry_points]]));
}

function inspectFigures(artifact) {
  const { floor, findings } = artifact;
  const count = (severity) => findings.filter((finding) => finding.severity === severity).length;
  const figures = [["Artifact", formatBytes(artifact.size_bytes), artifact.format],
    ["Unpacked", formatBytes(artifact.unpacked_bytes), `packed to ${formatShare(artifact.size_bytes, artifact.unpacked_bytes)}`],
    ["Files", formatCount(artifact.files.length), artifact.elf ? `${formatCount(artifact.elf.length)} of them ELF` : null]];
  if (artifact.device_code && artifact.device_code.length) {
    const names = new Set(artifact.device_code.flatMap((entry) => [...entry.sass, ...entry.ptx]));
    figures.push(["GPU architectures", formatCount(names.size), [...names].sort(byNumber).join(" ")]);
  }
  if (floor) figures.push(["Needs", floor.glibc ? `glibc ${floor.glibc}` : "no glibc", [floor.policy, floor.file && `set by ${baseName(floor.file)}`].filter(Boolean).join(", ")]);
  if (findings) {
    figures.push(["Findings", count("error") ? plural(count("error"), "error") : "no errors", `${plural(count("warning"), "warning")}, ${formatCount(count("info"))} for information`]);
  }
  return figures;
}

function inspectPage(artifact) {
  const { metadata } = artifact;
  const sections = [];
  if (artifact.findings) sections.push({ id: "findings", title: "Findings", badge: artifact.findings.length, parts: () => findingsView(artifact.findings) });
  sections.push({ id: "size", title: "Size", parts: () => sizeView(artifact) });
  if (artifact.elf && artifact.elf.length) {
    sections.push({ id: "libraries", title: "Libraries", badge: artifact.elf.length, parts: () =>
      [libraryView(artifact.elf), element("h3", {}, "What each ELF file needs of the system"), floorView(artifact.elf)] });
  }
  if (artifact.device_code && artifact.device_code.length) {
    sections.push({ id: "device-code", title: "GPU code", badge: artifact.device_code.length, parts: () => deviceView(artifact.device_code) });
  }
  sections.push({ id: "files", title: "Files", badge: artifact.files.length, parts: () => filesView(artifact.files) });
  sections.push({ id: "metadata", title: "Metadata", parts: () => [metadataView(artifact)] });
  if (artifact.stages && artifact.stages.length) sections.push({ id: "build", title: "Build", parts: () => stagesView(artifact.stages) });
  return { title: [metadata.name, metadata.version].filter(Boolean).join(" ") || baseName(artifact.subject), verb: "inspect",
    note: artifact.quick ? `${baseName(artifact.subject)} · the directory and the metadata alone were read` : baseName(artifact.subject), figures: inspectFigures(artifact), sections };
}
