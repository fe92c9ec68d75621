//! What an object of version 2 is called with, and that one of version 1 is still accepted.

use crate::policy::config;
use crate::rig::evictions;
use libloading::os::unix::Library;
use sluice_abi::{PolicyEvent, SLUICE_COMMAND, SLUICE_DEMAND, SLUICE_NO_THREAD, SLUICE_PREFETCH};
use sluice_model::{Command, Device, Op, Request};
use sluice_testkit::objects::{object, root};
use sluice_testkit::traces;
use sluice_units::{Lpn, PAGE_BYTES, Ps};

#[test]
fn lru_of_version_1_is_lru() {
    let folder = tempfile::tempdir().unwrap();
    let source = "crates/sluice-plugin/tests/objects/v1/lru.c";
    let path = object(folder.path(), &root().join(source), &[]);
    for trace in traces::all() {
        let mut built_in = Device::new(&config("lru", 240, 8), 1).unwrap();
        let mut own = sluice_plugin::device(&config(&path, 240, 8), 1).unwrap();
        let expected = evictions(&mut built_in, &trace.pages, |_| false);
        assert_eq!(evictions(&mut own, &trace.pages, |_| false), expected);
        assert_eq!(own.stats(), built_in.stats());
    }
}

/// FIFO that notes all calls with their arguments, and wants to be called each 100 us.
const NOTES: &str = r#"
#include "sluice_policy.h"
struct sluice_policy_event events[256];
uint32_t count, kinds[256], ticks;
uint64_t ticked[256];
static uint32_t held[2], first;
static void note(const struct sluice_policy_event *e, uint32_t kind) {
  events[count] = *e; kinds[count++] = kind;
}
static void *build(const struct sluice_policy_space *s) {
  return s->page_bytes == 4096 && s->ways == 2 ? &first : 0;
}
static void destroy(void *s) { (void)s; }
static void miss(void *s, const struct sluice_policy_event *e) { (void)s; note(e, 0); }
static void insert(void *s, const struct sluice_policy_event *e) {
  (void)s; note(e, 1); held[e->slot] = ++first;
}
static void hit(void *s, const struct sluice_policy_event *e) { (void)s; note(e, 2); }
static uint32_t victim(void *s, const struct sluice_policy_event *e,
                       const struct sluice_policy_slots *ask) {
  (void)s;
  uint32_t slot = held[0] < held[1] ? 0 : 1;
  note(e, ask->is_dirty(ask->context, slot) ? 103 : 3);
  return ask->may_leave(ask->context, slot) ? slot : SLUICE_NO_SLOT;
}
static void gone(void *s, const struct sluice_policy_event *e) { (void)s; note(e, 4); }
static uint64_t tick(void *s, uint64_t now) {
  (void)s; ticked[ticks++] = now; return now + 100000000;
}
const struct sluice_policy sluice_policy = { .abi = SLUICE_POLICY_ABI, .size = sizeof sluice_policy,
  .build = build, .destroy = destroy, .miss = miss, .insert = insert, .hit = hit, .victim = victim,
  .remove = gone, .tick = tick };
"#;

/// [kind, page, thread, trigger, store, dirty] of each event, when, and the times of the ticks.
type Noted = (Vec<[u32; 6]>, Vec<u64>, Vec<u64>);

/// What the object has noted: the loader gives the same one for the same path.
fn noted(path: &str) -> Noted {
    // SAFETY: the object is loaded already, and its variables are what the text declares.
    unsafe {
        let library = Library::new(path).unwrap();
        let count = **library.get::<*const u32>("count").unwrap() as usize;
        let ticks = **library.get::<*const u32>("ticks").unwrap() as usize;
        let events = *library.get::<*const PolicyEvent>("events").unwrap();
        let kinds = *library.get::<*const u32>("kinds").unwrap();
        let ticked = *library.get::<*const u64>("ticked").unwrap();
        let rows = (0..count).map(|index| {
            let (e, kind) = (*events.add(index), *kinds.add(index));
            let flags = [e.trigger.into(), e.store.into(), e.dirty.into()];
            [kind, e.lpn, e.thread, flags[0], flags[1], flags[2]]
        });
        let times = (0..count).map(|index| (*events.add(index)).now);
        let ticked = (0..ticks).map(|index| *ticked.add(index));
        (rows.collect(), times.collect(), ticked.collect())
    }
}

#[test]
fn an_object_is_told_who_what_when_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("notes.c");
    std::fs::write(&source, NOTES).unwrap();
    let path = object(folder.path(), &source, &[]);
    let set = [
        ("cache.policy", &*path),
        ("prefetch.policy", "nextn"),
        ("prefetch.degree", "1"),
    ];
    let mut device = crate::rig::device(2, &set);
    let access = |device: &mut Device, us: u64, page: u64, op: Op| {
        let addr = page * PAGE_BYTES;
        device.access(Ps::from_us(us), Request { addr, op }, &mut ());
    };
    // The first access is of no known thread; threads are numbered as they come.
    access(&mut device, 0, 10, Op::Write);
    device.by(Some(77));
    access(&mut device, 150, 10, Op::Read);
    device.by(Some(5));
    access(&mut device, 160, 11, Op::Write);
    device.by(Some(77));
    device
        .command(Ps::from_us(170), Command::Prefetch(Lpn(40)), &mut ())
        .unwrap();
    device.discard(Ps::from_us(900), Lpn(40));
    let [demand, prefetch, command] =
        [SLUICE_DEMAND, SLUICE_PREFETCH, SLUICE_COMMAND].map(u32::from);
    let nobody = SLUICE_NO_THREAD;
    let (rows, times, ticked) = noted(&path);
    let expected = [
        // A store brings page 10 in, and the prefetcher page 11.
        [0, 10, nobody, demand, 1, 0],
        [1, 10, nobody, demand, 1, 1],
        [0, 11, nobody, prefetch, 0, 0],
        [1, 11, nobody, prefetch, 0, 0],
        // A load of a page that is dirty, and a store to one that was not.
        [2, 0, 0, demand, 0, 1],
        [2, 0, 1, demand, 1, 1],
        // A hint: page 10 leaves, which is dirty.
        [0, 40, 0, command, 0, 0],
        [103, 0, 0, command, 0, 0],
        [1, 40, 0, command, 0, 0],
        // The host discards it.
        [4, 0, 0, command, 0, 0],
    ];
    assert_eq!(rows, expected);
    let us = |us: u64| us * 1_000_000;
    assert!(
        times.is_sorted() && times[4] == us(150) && times[9] == us(900),
        "{times:?}"
    );
    assert_eq!(ticked, [times[0], us(150), us(900)]);
}
