"""The schemas of configs/schema, closed: in a test a member without a row is a mistake."""

import json
import os

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def close(schema):
    """Refuses members that are not among the properties, wherever properties are listed."""
    if isinstance(schema, list):
        return [close(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: close(item) for name, item in schema.items()}
    listed = schema.get("properties")
    if isinstance(listed, dict) and "type" in schema and "oneOf" not in schema:
        closed.setdefault("additionalProperties", False)
    return closed


def load(name):
    with open(os.path.join(ROOT, "configs/schema", name + ".json"), encoding="utf-8") as text:
        schema = json.load(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(close(schema))


def told(error):
    """An error and, of a choice between kinds of lines, what is wrong with the kind it is."""
    of_other_kinds = {e.schema_path[0] for e in error.context if list(e.path) == ["kind"]}
    inner = [e for e in error.context if e.schema_path[0] not in of_other_kinds]
    if inner:
        return [line for e in inner for line in told(e)]
    return ["/".join(map(str, error.absolute_path)) + ": " + error.message[:200]]


def errors(validator, value):
    """What is wrong, one line each."""
    return [line for error in validator.iter_errors(value) for line in told(error)]


def errors_of_run(folder):
    """All that is wrong with a run folder's ledger.jsonl and .json files."""
    found = []
    for name in ("run", "findings", "matrix"):
        path = os.path.join(folder, name + ".json")
        if name != "run" and not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as text:
            found += [name + ".json " + e for e in errors(load(name), json.load(text))]
    validator = load("ledger")
    with open(os.path.join(folder, "ledger.jsonl"), encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.endswith("\n"):
                found += ["line %d %s" % (number, e) for e in errors(validator, json.loads(line))]
    return found
