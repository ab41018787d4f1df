"""Validates records, one on each line of stdin, against the schemas in a folder with jsonschema. Prints the number of each
line that is not valid, and the reason. The arguments are the folder, and the name of a schema if it is not record.json."""

import json
import pathlib
import sys

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

folder = pathlib.Path(sys.argv[1])
schemas = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
for schema in schemas.values():
    Draft202012Validator.check_schema(schema)
registry = Registry().with_resources(
    (name, Resource.from_contents(schema)) for name, schema in schemas.items()
)
chosen = sys.argv[2] if len(sys.argv) > 2 else "record.json"
validator = Draft202012Validator({"$ref": chosen}, registry=registry)

isValid = True
for number, line in enumerate(sys.stdin.buffer, start=1):
    for error in validator.iter_errors(json.loads(line)):
        isValid = False
        print(f"{number}: {error.json_path}: {error.message[:500]!r}")
sys.exit(0 if isValid else 1)
