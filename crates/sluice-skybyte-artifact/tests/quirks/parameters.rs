//! Which values of the departures can be together.

use crate::{artifact, values};
use sluice_skybyte_artifact::{PARAMS, SkyByte};

fn refusal(pairs: &[(&str, &str)]) -> String {
    let refused = SkyByte::new(&values(pairs)).err();
    refused.expect("this is refused").to_string()
}

#[test]
fn by_default_a_host_is_as_hardware_is() {
    assert!(artifact(&[]).is_none());
    for param in PARAMS {
        assert!(!param.meaning.is_empty() && !param.source.is_empty());
    }
    assert!(artifact(&[("os.resume", "wait")]).is_some());
}

/// Lines that are there before flash was read are nobody's to lose or to find at once.
#[test]
fn filled_lines_need_somebody_who_waits() {
    let fill = ("l3.long_delay", "fill");
    let message = refusal(&[fill]);
    let said = "l3.long_delay = fill, os.resume = ask: an access that asks again would find its \
                line at once";
    assert!(message.contains(said), "{message}");
    let wait = ("os.resume", "wait");
    let message = refusal(&[fill, wait, ("migration.policy", "astriflash")]);
    let said = "l3.long_delay = fill, migration.policy = astriflash: astriflash has no line of a \
                page that is on its way; give l3.long_delay drop, or another policy";
    assert!(message.contains(said), "{message}");
    assert!(artifact(&[fill, wait]).is_some());
}
