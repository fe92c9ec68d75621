//! The published schemas are those of the structs. `make docs` writes them anew: this test with
//! `SLUICE_WRITE_SCHEMAS=1`.

use sluice_results::schemas;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schema")
}

#[test]
fn schemas_are_those_of_the_structs() {
    let writes = std::env::var_os("SLUICE_WRITE_SCHEMAS").is_some();
    for kind in schemas() {
        let path = folder().join(format!("{}.json", kind.name));
        let schema = serde_json::to_value((kind.schema)()).expect("a schema");
        let text = format!("{schema:#}\n");
        if writes {
            std::fs::create_dir_all(folder()).expect("a folder");
            std::fs::write(&path, &text).expect("a file");
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let name = path.display();
        assert!(known == text, "{name} is stale; `make docs` writes it anew");
    }
}

#[test]
fn there_is_no_schema_of_nothing() {
    let names: Vec<&str> = schemas().iter().map(|kind| kind.name).collect();
    for entry in std::fs::read_dir(folder()).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".json"));
        assert!(names.contains(&name.expect("a schema")), "{name:?}");
    }
}

/// The reference has a meaning for each field.
#[test]
fn every_field_says_what_it_is() {
    for kind in schemas() {
        let schema = serde_json::to_value((kind.schema)()).expect("a schema");
        let parts = schema["$defs"].as_object().into_iter().flatten();
        for (name, part) in parts.chain([(&kind.name.to_owned(), &schema)]) {
            for (field, of) in part["properties"].as_object().into_iter().flatten() {
                let meaning = of["description"].as_str().unwrap_or_default();
                assert!(
                    meaning.ends_with(['.', ':']),
                    "{}: {name}.{field}",
                    kind.name
                );
            }
        }
    }
}
