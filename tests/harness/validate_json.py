"""Judges JSON documents by the schemas of a folder.

python validate_json.py FOLDER, with an interpreter that has jsonschema. Each line of stdin is a list: the name of a schema and a list
of documents. The answer is a line too, the list of complaints.
"""

import json
import pathlib
import sys

# jsonschema builds this parser of IRIs when it is imported, for two seconds, and only checks of formats use it.
sys.modules["rfc3987_syntax"] = None

import jsonschema  # noqa: E402
import referencing  # noqa: E402


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    registry = referencing.Registry().with_resources(
        (file, referencing.Resource.from_contents(schema)) for file, schema in schemas.items())
    for line in sys.stdin:
        name, documents = json.loads(line)
        validator = jsonschema.Draft202012Validator({"$ref": f"{name}.json"}, registry=registry)
        complaints = [f"{index}: {error.json_path}: {error.message}"[:2000]
                      for index, document in enumerate(documents) for error in validator.iter_errors(document)]
        print(json.dumps(complaints), flush=True)


if __name__ == "__main__":
    main()
