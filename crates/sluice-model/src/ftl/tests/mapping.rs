//! DFTL: what a look-up costs, to the picosecond, and how often one does.

use super::*;

/// Two translation pages of 1,024 entries, and room for one of them. A read takes 40 us and a
/// program 200 us.
fn one_of_two() -> Rig<Nand> {
    Rig::new(&small(&[
        ("ftl.mapping", "dftl"),
        ("ftl.mapping_cache", "4KiB"),
    ]))
}

fn us(time: Ps) -> u64 {
    assert_eq!(time, Ps::from_us(time.as_us()));
    time.as_us()
}

/// The wait of a read on an idle device.
fn idle_read(rig: &mut Rig<Nand>, lpn: u32) -> u64 {
    rig.now += Ps::from_ms(10);
    let served = rig.read(lpn);
    let wait = served.done_at - rig.now;
    assert_eq!(wait, served.queue + served.gc + served.service);
    us(wait)
}

#[test]
fn a_look_up_in_flash_is_one_read_more() {
    let mut rig = one_of_two();
    assert_eq!(
        idle_read(&mut rig, 0),
        80,
        "the map's page, then the data's"
    );
    assert_eq!(idle_read(&mut rig, 1_023), 40, "the same page of the map");
    assert_eq!(
        idle_read(&mut rig, 1_024),
        80,
        "the other one; the first is let go"
    );
    assert_eq!(idle_read(&mut rig, 0), 80);
    let stats = rig.stats;
    assert_eq!((stats.translation_hits, stats.translation_misses), (1, 3));
    assert_eq!(
        (
            stats.translation_reads,
            stats.flash_reads,
            stats.flash_programs
        ),
        (3, 7, 0)
    );
}

/// A changed page of the map is written back when it has to go: the first such program goes to
/// the first die, where the page that is wanted is too.
#[test]
fn a_changed_page_of_the_map_is_written_back() {
    let mut rig = one_of_two();
    idle_read(&mut rig, 1_024);
    rig.write(1_025).unwrap();
    rig.write(1_026).unwrap();
    assert_eq!(
        (rig.stats.translation_programs, rig.stats.flash_programs),
        (0, 2)
    );
    assert_eq!(idle_read(&mut rig, 4), 200 + 40 + 40);
    assert_eq!(
        (rig.stats.translation_programs, rig.stats.flash_programs),
        (1, 3)
    );
    assert_eq!(rig.stats.host_programs, 2);
    assert_eq!(idle_read(&mut rig, 1_027), 80, "nothing was changed since");
    assert_eq!(rig.stats.translation_programs, 1);
    rig.ftl.check();
}

/// A discarded page changes its entry too, and a page without a place costs the look-up alone.
#[test]
fn a_discarded_page_costs_its_look_up() {
    let mut rig = one_of_two();
    rig.trim(5);
    assert_eq!(idle_read(&mut rig, 5), 0, "the entry is in memory");
    idle_read(&mut rig, 2_000);
    assert_eq!(rig.stats.translation_programs, 1);
    assert_eq!(idle_read(&mut rig, 5), 40);
}

/// A scan misses once for each page of the map; random reads miss as a naive LRU does.
#[test]
fn misses_are_those_of_a_naive_lru() {
    let pairs = [
        ("device.capacity", "16MiB"),
        ("device.page", "512B"),
        ("ftl.mapping", "dftl"),
        ("ftl.mapping_cache", "20KiB"),
    ];
    let mut rig = Rig::new(&small(&pairs));
    let (pages, per_page, slots) = (32_768, 128, 40);
    for lpn in 0..pages {
        rig.read(lpn);
    }
    assert_eq!(rig.stats.translation_misses, u64::from(pages / per_page));
    assert_eq!(rig.stats.flash_reads, u64::from(pages + pages / per_page));
    let mut recent: Vec<u32> = (0..pages / per_page).rev().take(slots).collect();
    let mut misses = rig.stats.translation_misses;
    let mut rng = Rng::stream(4, "look-ups");
    for _ in 0..20_000 {
        let lpn = (rng.below(u64::from(pages)) * rng.below(100) / 100) as u32;
        rig.read(lpn);
        let found = recent.iter().position(|page| *page == lpn / per_page);
        misses += u64::from(found.is_none());
        recent.remove(found.unwrap_or(slots - 1));
        recent.insert(0, lpn / per_page);
        assert_eq!(rig.stats.translation_misses, misses, "L{lpn}");
    }
    assert!(misses > 2_000, "the cache must be too small: {misses}");
}
