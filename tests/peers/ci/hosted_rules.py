"""Rules for files of CI services and Kubernetes that no schema has: names that must exist, their order, and the services' limits. Each function
returns a line for each rule that a document breaks.

Sources: GitHub's "Workflow syntax" and "Usage limits", names that actions/upload-artifact refuses, GitLab's "CI/CD YAML reference" and "Application
limits", Kubernetes' "Jobs" and "Object names".
"""

import re

GITHUB_MATRIX, GITHUB_FILE_BYTES, GITHUB_OUTPUT_BYTES = 256, 500_000, 1 << 20
GITLAB_NEEDS, GITLAB_MATRIX, GITLAB_NAME, GITLAB_FILE_BYTES = 50, 200, 255, 2_000_000
GITLAB_GLOBAL = {"after_script", "before_script", "cache", "default", "image", "include", "services", "spec", "stages", "variables", "workflow"}
KUBERNETES_NAME = 63
FROM_OUTPUT = re.compile(r"\$\{\{ fromJSON\(needs\.([\w-]+)\.outputs\.(\w+)\) \}\}")


def listed(value) -> list:
    return value if isinstance(value, list) else [value]


def entries_of(job: dict, lists: dict[str, list[dict]]) -> list[dict] | None:
    """The entries of a job's matrix; None for a job without one. `lists`: entries by the output that holds them."""
    matrix = job.get("strategy", {}).get("matrix")
    if isinstance(matrix, str):
        return lists.get(FROM_OUTPUT.fullmatch(matrix)[2], [])
    return None if matrix is None else matrix["include"]


def github_problems(workflow: dict, lists: dict[str, list[dict]]) -> list[str]:
    found, earlier, artifacts = [], set(), set()
    for key, job in workflow["jobs"].items():
        needs = listed(job.get("needs", []))
        found += [f"'{key}' needs '{need}', which is not an earlier job" for need in needs if need not in earlier]
        earlier.add(key)
        matrix, entries = job.get("strategy", {}).get("matrix"), entries_of(job, lists)
        if isinstance(matrix, str):
            producer, output = FROM_OUTPUT.fullmatch(matrix).groups()
            if producer not in needs or output not in workflow["jobs"].get(producer, {}).get("outputs", {}):
                found.append(f"'{key}' reads the output '{output}', which '{producer}' does not hand to it")
        if entries is not None and not 1 <= len(entries) <= GITHUB_MATRIX:
            found.append(f"the matrix of '{key}' has {len(entries)} jobs")
        for step in job["steps"]:
            # Logs are kept after failures only, and have names with the attempt.
            if not step.get("uses", "").startswith("actions/upload-artifact@") or "if" in step:
                continue
            for entry in entries or [{}]:
                name = step["with"]["name"].replace("${{ matrix.id }}", entry.get("id", "?"))
                if name in artifacts or not re.fullmatch(r'[^":<>|*?\r\n\\/]+', name):
                    found.append(f"two artifacts have the name '{name}', or GitHub refuses it")
                artifacts.add(name)
    return found


def gitlab_jobs(pipeline: dict) -> dict[str, dict]:
    return {name: job for name, job in pipeline.items() if name not in GITLAB_GLOBAL and not name.startswith(".")}


def gitlab_problems(pipeline: dict) -> list[str]:
    stages, jobs, found = [".pre", *pipeline["stages"], ".post"], gitlab_jobs(pipeline), []
    for name, job in jobs.items():
        found += [f"'{name}' extends '{base}', which does not exist" for base in listed(job.get("extends", [])) if base not in pipeline]
        stage, needs, rows = job.get("stage", "test"), job.get("needs", []), job.get("parallel", {}).get("matrix", [])
        if stage not in stages:
            found.append(f"'{name}' is in the stage '{stage}', which does not exist")
            continue
        if len(name) > GITLAB_NAME or len(needs) > GITLAB_NEEDS or len(rows) > GITLAB_MATRIX:
            found.append(f"'{name}': {len(name)} characters, {len(needs)} needs, {len(rows)} rows")
        # A job of another pipeline is not in this file.
        for need in (need if isinstance(need, str) else need["job"] for need in needs if isinstance(need, str) or "pipeline" not in need):
            if need not in jobs or stages.index(jobs[need]["stage"]) >= stages.index(stage):
                found.append(f"'{name}' needs '{need}', which is not a job of an earlier stage")
    return found


def kubernetes_problems(documents: dict[str, dict], indexes: dict[str, str], script: str, jobs: list[dict]) -> list[str]:
    """`documents`, `indexes`: of Jobs and index files, by the stem of their file. `script`: run.sh. `jobs`: of run.json."""
    found, known, levels, mapped = [], {job["id"]: job for job in jobs}, {}, []
    for stem, document in documents.items():
        spec = document["spec"]
        container, = spec["template"]["spec"]["containers"]
        lines = [line.split() for line in indexes.get(stem, "").splitlines()]
        if [line[0] for line in lines] != [str(index) for index in range(spec["completions"])]:
            found.append(f"{stem}: {spec['completions']} completions, but the index has {len(lines)} lines")
        ids = [line[1] for line in lines]
        mapped += ids
        found += [f"{stem}: no job '{one}'" for one in ids if one not in known]
        levels[stem] = {known[one]["level"] for one in ids if one in known}
        if document["metadata"]["name"] != stem or len(f"{stem}-{spec['completions'] - 1}") > KUBERNETES_NAME or not re.fullmatch("[a-z0-9][-a-z0-9]*[a-z0-9]", stem):
            found.append(f"{stem}: not the name of a Job whose pods have host names")
        variables = {one["name"]: one["value"] for one in container["env"]}
        if not variables["PTPKG_INDEX"].endswith(f"/kubernetes/{stem}.index"):
            found.append(f"{stem}: reads the index {variables['PTPKG_INDEX']}")
        requests = container["resources"]["requests"]
        for one in (known[one]["resources"] for one in ids if one in known):
            enough = requests["cpu"] == one["cores"] and 0 <= int(requests["memory"].removesuffix("Mi")) * 2**20 - one["memory_bytes"] < 2**20
            gpus = requests.get("nvidia.com/gpu", 0) == container["resources"]["limits"].get("nvidia.com/gpu", 0) == one["gpus"]
            # Later than the limit that the job keeps itself.
            deadline = spec["template"]["spec"].get("activeDeadlineSeconds", 0) == (60 * one["minutes"] + 1800 if one["minutes"] else 0)
            if not (enough and gpus and deadline):
                found.append(f"{stem}: other resources than {one}")
    if sorted(mapped) != sorted(known):
        found.append("the index files do not have each job once")
    calls = [line.split()[1:] for line in script.splitlines() if line.startswith("level ")]
    if sorted(name for call in calls for name in call) != sorted(documents):
        found.append("run.sh does not apply each Job once")
    elif [set().union(*(levels[name] for name in call)) for call in calls] != [{level} for level in range(len(calls))]:
        found.append("run.sh does not apply the levels in their order")
    return found
