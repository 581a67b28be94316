"""Reads a JSON list from stdin and judges each item by FOLDER/NAME.json; prints a complaint a line.

python validate_json.py FOLDER NAME, with an interpreter that has jsonschema. Exit 1 with complaints.
"""

import json
import pathlib
import sys

# jsonschema builds this parser of IRIs when it is imported, for two seconds, and only checks of formats use it.
sys.modules["rfc3987_syntax"] = None

import jsonschema  # noqa: E402
import referencing  # noqa: E402


def main() -> int:
    folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    registry = referencing.Registry().with_resources(
        (file, referencing.Resource.from_contents(schema)) for file, schema in schemas.items())
    validator = jsonschema.Draft202012Validator({"$ref": f"{name}.json"}, registry=registry)
    found = 0
    for index, document in enumerate(json.load(sys.stdin)):
        for error in validator.iter_errors(document):
            print(f"{index}: {error.json_path}: {error.message}"[:2000])
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
