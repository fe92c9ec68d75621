//! A prefetcher in C that breaks its contract: refused in one line, or counted.

use crate::rig::{config, device, evictions};
use sluice_model::{Device, DeviceError};
use sluice_testkit::{objects, traces};
use std::path::Path;

const WRONG: &str = r#"
#include <stddef.h>
#include "sluice_prefetcher.h"
static int state;
static void *build(const struct sluice_prefetcher_space *s) { (void)s; return BUILT; }
static void destroy(void *s) { (void)s; }
static void on_access(void *s, const struct sluice_prefetcher_access *a,
                      const struct sluice_prefetcher_picks *p) {
  (void)s; (void)state;
  for (uint64_t n = 0, end = PICKS; n < end; n++) p->pick(p->context, FIRST + n);
  (void)a;
}
const struct sluice_prefetcher NAME = { .abi = ABI, .size = SIZE, .build = build,
  .destroy = destroy, .access = ACCESS };
"#;

/// What is right of it: it picks nothing.
const RIGHT: [&str; 7] = [
    "BUILT=&state",
    "PICKS=0",
    "FIRST=a->lpn+1",
    "NAME=sluice_prefetcher",
    "ABI=SLUICE_PREFETCHER_ABI",
    "SIZE=sizeof(struct sluice_prefetcher)",
    "ACCESS=on_access",
];

fn wrong(folder: &Path, defines: &[&str]) -> String {
    let mut right = RIGHT.to_vec();
    let name = |text: &str| text.split('=').next().unwrap().to_owned();
    let (last, others) = defines.split_last().unwrap();
    for define in others {
        right.retain(|text| name(text) != name(define));
        right.push(define);
    }
    objects::wrong(folder, WRONG, &right, last)
}

fn set(path: &str) -> [(&str, &str); 2] {
    [("prefetch.policy", path), ("prefetch.degree", "3")]
}

fn refusal(path: &str) -> String {
    let config = config(64, &set(path));
    let error = sluice_plugin::check(&config)
        .and_then(|()| sluice_plugin::device(&config, 1).map(drop))
        .unwrap_err();
    assert!(matches!(error, DeviceError::Plugin { .. }));
    let text = error.to_string();
    assert!(text.contains(path) && text.contains("prefetch.policy") && !text.contains('\n'));
    assert!(text.contains("expected one of none, nextn, "), "{text}");
    text
}

#[test]
fn what_is_no_prefetcher_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (define, says) in [
        ("ABI=7", "is of prefetcher ABI 7, this Sluice takes 1;"),
        ("SIZE=40", "says it has 40 bytes instead of"),
        (
            "ACCESS=NULL",
            "`sluice_prefetcher.access` is a null pointer",
        ),
        ("NAME=slice_prefetcher", "defines no `sluice_prefetcher`"),
        ("BUILT=NULL", "its build function failed"),
    ] {
        let text = refusal(&wrong(folder.path(), &[define]));
        assert!(text.contains(says), "{define}: {text}");
    }
    assert!(refusal("./no/such.so").contains("No such file"));
}

/// What an object has made is its own to give back.
#[test]
fn a_prefetcher_that_goes_is_destroyed_once() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let text = objects::with_mark(WRONG, &mark);
    let path = objects::wrong(folder.path(), &text, &RIGHT, RIGHT[0]);
    let device = device(64, &set(&path));
    assert!(!mark.exists());
    drop(device);
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "x");
}

/// A pure model loads nothing, and does not go on without.
#[test]
fn a_device_without_its_prefetcher_is_refused() {
    let config = config(64, &set("./some.so"));
    let text = Device::new(&config, 1).err().unwrap().to_string();
    assert!(text.contains("does not load shared objects"), "{text}");
    let of_degree_0 = crate::rig::config(64, &[]).raw().clone();
    let mut raw = of_degree_0;
    raw.set("prefetch.policy", "./some.so").unwrap();
    let text = sluice_model::DeviceConfig::new(&raw)
        .unwrap_err()
        .to_string();
    assert!(text.contains("degree 0 does nothing"), "{text}");
}

/// Whatever the object picks, the device is what it would be with those picks that it may have.
#[test]
fn nonsense_is_refused_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let pages = &traces::all()[0].pages;
    let mut nextn = device(
        64,
        &[("prefetch.policy", "nextn"), ("prefetch.degree", "3")],
    );
    let mut none = device(64, &[]);
    let expected = evictions(&mut none, pages, |_| false);
    for first in ["0xffffffffffffffffu-n", "2000u", "0x100000000u"] {
        let define = format!("FIRST={first}");
        let path = wrong(folder.path(), &["PICKS=2u", &define]);
        let mut device = device(64, &set(&path));
        assert_eq!(
            evictions(&mut device, pages, |_| false),
            expected,
            "{first}"
        );
        assert_eq!(device.stats().prefetch_refused, 2 * none.stats().misses);
        assert_eq!(device.stats().prefetch_issued, 0);
    }
    // Far too many: the first three count.
    evictions(&mut nextn, pages, |_| false);
    let path = wrong(folder.path(), &["PICKS=(a->outcome==SLUICE_MISS?1000u:0u)"]);
    let mut device = device(64, &set(&path));
    evictions(&mut device, pages, |_| false);
    assert_eq!(device.stats().misses, nextn.stats().misses);
    assert_eq!(device.stats().prefetch_used, nextn.stats().prefetch_used);
    assert!(device.stats().prefetch_refused >= 997 * device.stats().misses);
}
