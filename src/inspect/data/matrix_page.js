// The page of `ptpkg matrix status`. Its document is docs/json/matrix.json.

const STATE_CLASS = { passed: "good", failed: "error", stopped: "warning", lost: "warning" };
const STATE_WORDS = { passed: "passed in", failed: "failed after", stopped: "stopped after", running: "running for" };

// The jobs that have started, by their start: each with its `duration`, and seconds `from` the first start `to` its end.
// A running job ends when the page was made.
function startedJobs({ jobs, time }) {
  const first = jobs.reduce((least, job) => (job.started ? Math.min(least, job.started) : least), Infinity);
  const placed = new Map();
  for (const job of jobs) {
    if (!job.started) continue;
    let from = job.started - first;
    // Starts are whole seconds, rounded down: a need can seem to end after them. Needs come first in the list.
    for (const id of job.needs) if (placed.get(id)?.to < from + 1) from = Math.max(from, placed.get(id).to);
    const duration = job.state === "running" ? Math.max(0, time - first - from) : job.seconds;
    placed.set(job.id, { ...job, from, duration, to: from + duration });
  }
  return [...placed.values()].sort((one, other) => one.from - other.from);
}

// The chain of jobs that decides how long the run takes: from the job that ended last, each time to the need that ended last.
function criticalPath(started) {
  const byId = new Map(started.map((job) => [job.id, job]));
  const last = (list) => list.reduce((most, job) => (job && job.duration && (most === null || job.to > most.to) ? job : most), null);
  const path = [];
  for (let job = last(started); job; job = last(job.needs.map((id) => byId.get(id)))) path.unshift(job);
  return path;
}

function timeText(job) {
  if (job.cached) return "cached";
  return STATE_WORDS[job.state] && job.duration ? `${STATE_WORDS[job.state]} ${formatSeconds(job.duration)}` : job.state;
}

function timeline(started, path, end) {
  if (!started.length) return element("p", {}, "No job has started.");
  const critical = new Set(path);
  const share = (seconds) => `${(100 * seconds) / (end || 1)}%`;
  return element("ol", { class: "time", "aria-label": "Timeline" }, started.map((job) => element("li", { class: critical.has(job) ? "critical" : null },
    element("span", {}, job.id),
    element("span", { class: "lane", "aria-hidden": "true" },
      element("i", { class: job.cached ? "cached" : STATE_CLASS[job.state], style: { left: share(job.from), width: share(job.duration) } })),
    element("span", {}, timeText(job)))));
}

function jobsTable(jobs, started) {
  const byId = new Map(started.map((job) => [job.id, job]));
  const from = (job) => byId.get(job.id)?.from ?? -1;
  const duration = (job) => byId.get(job.id)?.duration || 0;
  const reason = (job) => job.error || job.engine_reason || job.worker;
  const whole = (text) => element("span", { title: text }, text);
  const table = makeTable({ label: "Jobs", columns: [
    { title: "Job", value: (job) => job.id, cell: (job) => whole(job.id) },
    { title: "State", width: "6.5rem", value: (job) => job.state, cell: (job) => (job.cached ? "cached" : job.state) },
    { title: "Attempts", width: "6.5rem", number: true, wide: true, value: (job) => job.attempts, cell: (job) => (job.attempts ? formatCount(job.attempts) : "") },
    { title: "Start", width: "6rem", number: true, wide: true, value: from, cell: (job) => (from(job) < 0 ? "" : formatSeconds(from(job))) },
    { title: "Time", width: "6rem", number: true, value: duration, cell: (job) => (duration(job) ? formatSeconds(duration(job)) : "") },
    { title: "Last run", width: "6.5rem", number: true, wide: true, value: (job) => job.expected_seconds, cell: (job) => (job.expected_seconds ? formatSeconds(job.expected_seconds) : "") },
    { title: "Worker or reason", wide: true, value: reason, cell: (job) => whole(reason(job)) },
  ] });
  table.show(jobs);
  return table.node;
}

// Jobs that ended without a result, as findings.
function failures(jobs) {
  return jobs.filter((job) => ["failed", "stopped", "lost"].includes(job.state)).map((job) => ({ severity: STATE_CLASS[job.state], id: job.state, file: job.id,
    message: job.error || `worker: ${job.worker}`, fix: null }));
}

function matrixPage(report) {
  const { jobs } = report;
  const started = startedJobs(report);
  const path = criticalPath(started);
  const failed = failures(jobs);
  const end = started.reduce((most, job) => Math.max(most, job.to), 0);
  const of = (state) => jobs.filter((job) => job.state === state).length;
  const counts = (...states) => states.filter(of).map((state) => `${formatCount(of(state))} ${state}`).join(", ");
  const over = !of("running") && !of("waiting");
  const cached = jobs.filter((job) => job.cached).length;
  return { title: baseName(report.run), verb: "matrix", note: `${report.engine}, into ${report.output}${report.cancelled ? ", cancelled" : ""}`, figures: [
    ["Jobs", formatCount(jobs.length), counts("passed", "running", "waiting", "not started")],
    ["Failures", formatCount(failed.length), counts("failed", "stopped", "lost")],
    ["Cache hits", formatShare(cached, of("passed")), `${formatCount(cached)} of ${formatCount(of("passed"))} that passed`],
    ["Time", formatSeconds(end), `${formatSeconds(sum(started, (job) => job.duration))} of work`],
    ...(over ? [] : [["Left", report.seconds_left === null ? "unknown" : formatSeconds(report.seconds_left),
      report.seconds_left === null ? "no times of an earlier run" : "by the last run"]]),
  ], sections: [
    ...(failed.length ? [{ id: "failures", title: "Failures", badge: failed.length, parts: () => findingsView(failed, "job", "job") }] : []),
    { id: "timeline", title: "Timeline", badge: started.length, parts: () => [
      element("p", { class: "muted" }, "By the workers' clocks. Jobs of the critical path are framed."), timeline(started, path, end)] },
    { id: "critical", title: "Critical path", badge: path.length, parts: () => (path.length ?
      [simpleTable("Each job ended last among those that the next one needs", [{ text: "Job" }, { text: "Start", number: true }, { text: "Time", number: true }],
        path.map((job) => [job.id, formatSeconds(job.from), formatSeconds(job.duration)]))] : [element("p", {}, "No job has ended.")]) },
    { id: "jobs", title: "Jobs", badge: jobs.length, parts: () => [jobsTable(jobs, started)] }] };
}
