//! Fabrics whose shared objects cannot be used.

use super::{said, sluice};

/// A check called them valid, and a run refused them.
#[test]
fn a_fabric_is_not_valid_without_the_objects_that_it_names() {
    let folder = tempfile::tempdir().expect("room");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("room");
    };
    for key in ["cache", "prefetch"] {
        let text = format!("base = \"cylon\"\n[{key}]\npolicy = \"./absent.so\"\n");
        write(&format!("{key}.toml"), &text);
    }
    for (endpoint, says) in [
        ("device = \"cache.toml\"", "absent.so"),
        ("device = \"prefetch.toml\"", "absent.so"),
        ("library = \"./absent.so\"", "`memory`: library"),
        ("device = \"cylon\"", ""),
    ] {
        let text = format!(
            "[[requesters]]\nname = \"host\"\ncount = 1\n[[endpoints]]\nname = \"memory\"\n\
             count = 1\n{endpoint}\n"
        );
        write("own.toml", &text);
        let check = sluice(folder.path(), "fabric check own.toml");
        let run = sluice(
            folder.path(),
            "fabric run own.toml --requests 10 --warmup 0",
        );
        let (checked, ran) = (said(&check), said(&run));
        let is_right = says.is_empty();
        assert_eq!(check.status.success(), is_right, "{endpoint}: {checked}");
        assert_eq!(run.status.success(), is_right, "{endpoint}: {ran}");
        assert!(
            is_right || checked == ran && checked.contains(says),
            "{checked}{ran}"
        );
    }
}
