// Reads the document, and shows the page of its verb.

async function readDocument() {
  const packed = Uint8Array.from(atob(document.getElementById("document").textContent.trim()), (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

// The section that is read now is marked in the list of sections.
function markSections(links) {
  const inSight = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) inSight.add(entry.target.id);
      else inSight.delete(entry.target.id);
    }
    const first = links.findIndex(([id]) => inSight.has(id));
    links.forEach(([, link], index) => link.setAttribute("aria-current", String(index === first)));
  }, { rootMargin: "-25% 0px -60% 0px" });
  for (const [id] of links) observer.observe(document.getElementById(id));
}

function showPage({ title, verb, note, figures, sections }, chooser) {
  document.title = shown(`${title} – ptpkg ${verb}`);
  document.getElementById("head").replaceChildren(element("p", { class: "kicker" }, `ptpkg ${verb}`), element("h1", {}, title), element("p", { class: "muted" }, note), chooser || "",
    element("dl", { class: "figures" }, figures.map(([name, value, about]) => element("div", { class: "figure" }, element("dt", {}, name), element("dd", {}, value),
      about && element("dd", { class: "note" }, about)))));
  const links = sections.map(({ id, title: name, badge }) => [id, element("a", { href: `#${id}` }, name,
    badge === undefined ? null : element("span", { class: "badge" }, ` ${formatCount(badge)}`))]);
  document.getElementById("sections").replaceChildren(element("ul", {}, links.map(([, link]) => element("li", {}, link))));
  document.getElementById("main").replaceChildren(...sections.map(({ id, title: name, parts }) =>
    element("section", { id, "aria-labelledby": `${id}-title` }, element("h2", { id: `${id}-title` }, name), parts())));
  markSections(links);
  // What a link to a section asked for was not there when the page was read.
  const asked = sections.find(({ id }) => `#${id}` === location.hash);
  if (asked) document.getElementById(asked.id).scrollIntoView();
}

function showDocument(read) {
  if (!Array.isArray(read)) return showPage(read.jobs ? matrixPage(read) : read.slices ? slicePage(read) : diffPage(read));
  const show = (index) => {
    const chooser = read.length > 1 && choiceBox("Artifact", read.map((artifact, at) => [at, baseName(artifact.subject)]), (value) => show(Number(value)));
    if (chooser) chooser.querySelector("select").value = String(index);
    showPage(inspectPage(read[index]), chooser);
  };
  return show(0);
}

try {
  showDocument(await readDocument());
  document.documentElement.dataset.state = "shown";
} catch (error) {
  document.getElementById("loading")?.replaceChildren(`This page could not be shown: ${error.message}`);
  document.documentElement.dataset.state = "failed";
  throw error;
}
