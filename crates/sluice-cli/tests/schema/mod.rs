//! Whether what the commands print is valid by the published schemas. The validator knows what they
//! use of JSON Schema, and nothing else.

use serde_json::Value;
use std::path::Path;

/// What a program says of itself, and what became of a command: their schemas are beside them.
const OWN: [(&str, &str); 3] = [
    ("sluice.workload/1", "../sluice-workload/result.schema.json"),
    ("sluice.store-check/1", "../sluice-store/result.schema.json"),
    ("sluice.ctl/1", "../sluice-ctl/result.schema.json"),
];

/// The object of a result, which is valid by the schema of its kind.
///
/// # Panics
/// If it is not, or is no object at all.
pub fn checked(text: &[u8]) -> Value {
    let result: Value = serde_json::from_slice(text)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(text)));
    let schema = result["schema"].as_str().unwrap_or_default();
    if let Some(counters) = result.get("counters") {
        check_by("counters", counters);
    }
    if let Some((_, path)) = OWN.iter().find(|(name, _)| *name == schema) {
        check_by_file(path, &result);
        return result;
    }
    let name = match (schema, result["kind"].as_str()) {
        ("sluice.run/1", Some("run" | "vm")) => "run",
        ("sluice.run/1", Some(kind)) => kind,
        (other, _) => other
            .strip_prefix("sluice.")
            .and_then(|other| other.strip_suffix("/1"))
            .unwrap_or_else(|| panic!("no schema: {result:#}")),
    };
    check_by(name, &result);
    result
}

/// Insists that a value is valid by a published schema.
pub fn check_by(name: &str, value: &Value) {
    check_by_file(&format!("../../docs/reference/schema/{name}.json"), value);
}

fn check_by_file(path: &str, value: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let schema = std::fs::read(&path).expect("a schema");
    let schema = serde_json::from_slice(&schema).expect("JSON");
    let (found, name) = (problems(&schema, value), path.display());
    assert!(found.is_empty(), "{name}: {}\n{value:#}", found.join("\n"));
}

/// What is wrong with a value by a schema: a line for each place, none if it is valid.
///
/// # Panics
/// If the schema has a keyword that this validator does not know: it would be ignored.
fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        // `true` takes everything.
        assert_eq!(schema, &Value::Bool(true), "{at}: a schema");
        return;
    };
    for (keyword, given) in keywords {
        match keyword.as_str() {
            "$ref" => check(root, referred(root, given), value, at, found),
            "type" if !types(given).any(|name| is_of(value, name)) => {
                found.push(format!("{at}: {value} is not {given}"));
            }
            "enum" if !list(given).contains(value) => {
                found.push(format!("{at}: {value} is none of {given}"));
            }
            "const" if given != value => found.push(format!("{at}: {value} is not {given}")),
            "anyOf" | "oneOf" => check_any(root, given, value, at, found),
            "items" => {
                let from = keywords
                    .get("prefixItems")
                    .map_or(0, |given| list(given).len());
                for (index, item) in array(value).iter().enumerate().skip(from) {
                    check(root, given, item, &format!("{at}/{index}"), found);
                }
            }
            "prefixItems" => {
                for (index, (item, of)) in array(value).iter().zip(list(given)).enumerate() {
                    check(root, of, item, &format!("{at}/{index}"), found);
                }
            }
            "minItems" if value.is_array() && (array(value).len() as u64) < number(given) => {
                found.push(format!("{at}: fewer than {given} items"));
            }
            "maxItems" if array(value).len() as u64 > number(given) => {
                found.push(format!("{at}: more than {given} items"));
            }
            "minimum" if value.as_f64() < given.as_f64() && value.is_number() => {
                found.push(format!("{at}: {value} is below {given}"));
            }
            "maximum" if value.as_f64() > given.as_f64() => {
                found.push(format!("{at}: {value} is above {given}"));
            }
            "required" => {
                let missing = list(given).iter().filter(|name| {
                    value.is_object() && value.get(name.as_str().expect("a name")).is_none()
                });
                found.extend(missing.map(|name| format!("{at}: no {name}")));
            }
            "properties" | "additionalProperties" => {}
            "type" | "enum" | "const" | "minItems" | "maxItems" | "minimum" | "maximum" => {}
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => {}
            other => panic!("{at}: a keyword that is not known: {other}"),
        }
    }
    check_fields(root, schema, value, at, found);
}

fn check_any(root: &Value, schemas: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let tried = list(schemas).iter().map(|one| {
        let mut wrong = Vec::new();
        check(root, one, value, at, &mut wrong);
        wrong
    });
    let least = tried.min_by_key(Vec::len).unwrap_or_default();
    found.extend(least);
}

fn check_fields(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let known = &schema["properties"];
    for (name, inner) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        match (known.get(name), schema.get("additionalProperties")) {
            (Some(of), _) => check(root, of, inner, &at, found),
            (None, Some(Value::Bool(false))) => found.push(format!("{at}: no such field")),
            (None, Some(of)) => check(root, of, inner, &at, found),
            (None, None) => {}
        }
    }
}

fn referred<'a>(root: &'a Value, place: &Value) -> &'a Value {
    let place = place.as_str().and_then(|place| place.strip_prefix('#'));
    root.pointer(place.expect("a place in this schema"))
        .expect("it is there")
}

fn types(given: &Value) -> impl Iterator<Item = &str> {
    let one = given.as_str().into_iter();
    one.chain(array(given).iter().filter_map(Value::as_str))
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type: {other}"),
    }
}

fn list(given: &Value) -> &[Value] {
    given.as_array().expect("a list")
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(given: &Value) -> u64 {
    given.as_u64().expect("a whole number")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_is_found() {
        let schema = json!({
            "$defs": { "count": { "type": "integer", "minimum": 0 } },
            "type": "object",
            "properties": {
                "hits": { "$ref": "#/$defs/count" },
                "ratio": { "type": ["number", "null"] },
                "kind": { "oneOf": [{ "const": "a" }, { "enum": ["b", "c"] }] },
                "pair": {
                    "type": "array",
                    "prefixItems": [{ "type": "integer" }, { "type": "string" }],
                    "minItems": 2,
                    "maxItems": 2,
                },
            },
            "required": ["hits"],
            "additionalProperties": false,
        });
        let good = json!({"hits": 1, "ratio": null, "kind": "c", "pair": [1, "x"]});
        assert_eq!(problems(&schema, &good), [""; 0]);
        for (wrong, where_) in [
            (json!({}), "no \"hits\""),
            (json!({"hits": -1}), "/hits: -1 is below 0"),
            (json!({"hits": 1.5}), "/hits: 1.5 is not"),
            (json!({"hits": 1, "hit": 1}), "/hit: no such field"),
            (json!({"hits": 1, "ratio": "x"}), "/ratio: \"x\" is not"),
            (json!({"hits": 1, "kind": "d"}), "/kind: \"d\" is"),
            (json!({"hits": 1, "pair": [1]}), "/pair: fewer than 2"),
            (json!({"hits": 1, "pair": [1, 2]}), "/pair/1: 2 is not"),
        ] {
            let found = problems(&schema, &wrong).join("\n");
            assert!(found.contains(where_), "{wrong}: {found}");
        }
    }
}
