// The page of `ptpkg matrix status`. Its document is docs/json/matrix.json.

const STATE_CLASS = { passed: "good", failed: "error", stopped: "warning", lost: "warning", running: "info" };
const endOf = (job) => job.started + job.seconds;

// The chain of jobs that decided how long the run took: from the job that ended last, each time to the need that ended last.
function criticalPath(jobs) {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const done = jobs.filter((job) => job.started && job.seconds);
  const last = (list) => list.reduce((most, job) => (most === null || endOf(job) > endOf(most) ? job : most), null);
  const path = [];
  for (let job = last(done); job; job = last(job.needs.map((id) => byId.get(id)).filter((need) => need.started && need.seconds))) path.unshift(job);
  return path;
}

function timeline(jobs, path) {
  const started = jobs.filter((job) => job.started);
  if (!started.length) return element("p", {}, "No job has started.");
  const begin = Math.min(...started.map((job) => job.started));
  const end = Math.max(begin + 1, ...started.map((job) => Math.max(endOf(job), job.started + 1)));
  const share = (seconds) => `${(100 * seconds) / (end - begin)}%`;
  const critical = new Set(path);
  return element("div", { class: "timeline", role: "list", "aria-label": "Timeline" }, started.sort((one, other) => one.started - other.started).map((job) => {
    const seconds = job.seconds || end - job.started;
    const text = `${job.id}: ${job.cached ? "cached" : job.state}, ${formatSeconds(seconds)}, from ${formatSeconds(job.started - begin)}`;
    return element("div", { class: `lane ${critical.has(job) ? "critical" : ""}`, role: "listitem", title: text },
      element("span", { class: "lane-name" }, job.id),
      element("span", { class: "lane-track" },
        element("span", { class: `lane-bar ${job.cached ? "cached" : STATE_CLASS[job.state] || "info"}`, style: { left: share(job.started - begin), width: share(seconds) } })));
  }));
}

function jobsTable(jobs) {
  const table = makeTable({ label: "Jobs", columns: [
    { title: "Job", value: (job) => job.id, cell: (job) => job.id },
    { title: "State", width: "7rem", value: (job) => job.state, cell: (job) => (job.cached ? "cached" : job.state) },
    { title: "Attempts", width: "5.5rem", number: true, value: (job) => job.attempts, cell: (job) => (job.attempts ? formatCount(job.attempts) : "") },
    { title: "Time", width: "6rem", number: true, value: (job) => job.seconds, cell: (job) => (job.seconds ? formatSeconds(job.seconds) : "") },
    { title: "Last run", width: "6rem", number: true, wide: true, value: (job) => job.expected_seconds, cell: (job) => (job.expected_seconds ? formatSeconds(job.expected_seconds) : "") },
    { title: "Worker or reason", wide: true, value: (job) => job.error || job.engine_reason || job.worker, cell: (job) => job.error || job.engine_reason || job.worker },
  ] });
  table.show(jobs);
  return table.node;
}

function matrixPage(report) {
  const { jobs } = report;
  const path = criticalPath(jobs);
  const of = (state) => jobs.filter((job) => job.state === state).length;
  const cached = jobs.filter((job) => job.cached).length;
  const work = sum(jobs, (job) => job.seconds);
  const wall = path.length ? endOf(path[path.length - 1]) - Math.min(...jobs.filter((job) => job.started).map((job) => job.started)) : 0;
  return { title: baseName(report.run), verb: "matrix", note: `${report.engine}, into ${report.output}`, figures: [
    ["Jobs", formatCount(jobs.length), `${formatCount(of("passed"))} passed`],
    ["Not passed", formatCount(of("failed") + of("stopped") + of("lost")), `${formatCount(of("running"))} running, ${formatCount(of("waiting"))} waiting`],
    ["Cache hits", formatShare(cached, of("passed")), plural(cached, "job")],
    ["Time", formatSeconds(wall), `${formatSeconds(work)} of work`],
    ["Left", report.seconds_left === null ? "unknown" : formatSeconds(report.seconds_left), "by the last run"],
  ], sections: [
    { id: "timeline", title: "Timeline", badge: jobs.filter((job) => job.started).length, parts: () => [
      element("p", { class: "muted" }, "Times are those of the workers' clocks. Jobs of the critical path are marked."), timeline(jobs, path)] },
    { id: "critical", title: "Critical path", badge: path.length, parts: () => (path.length ?
      [simpleTable("Critical path", [{ text: "Job" }, { text: "Time", number: true }], path.map((job) => [job.id, formatSeconds(job.seconds)]))] : [element("p", {}, "No job has ended.")]) },
    { id: "jobs", title: "Jobs", badge: jobs.length, parts: () => [jobsTable(jobs)] }] };
}
