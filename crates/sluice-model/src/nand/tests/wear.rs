//! What use does to the cells.

use super::settings;
use crate::layout::Block;
use crate::nand::{BadBlock, Flash, Nand, Origin};
use sluice_units::{Ppn, Ps};

fn nand(pairs: &[(&str, &str)], seed: u64) -> Nand {
    Nand::new(&settings(pairs), seed)
}

/// Sensing time of a page, in reads, long after everything else.
fn senses(nand: &mut Nand, ppn: u32) -> u64 {
    let served = nand.read(Ps::from_ms(1), Ppn(ppn), Origin::Host).unwrap();
    assert_eq!((served.service.0 - 7) % 20, 0);
    (served.service.0 - 7) / 20
}

fn erase(nand: &mut Nand, block: u32, times: u32) {
    for _ in 0..times {
        nand.erase(Ps::ZERO, Block(block), Origin::Gc).unwrap();
    }
}

#[test]
fn each_so_many_erases_add_a_retry() {
    let mut nand = nand(&[("nand.retry_erases", "10"), ("nand.retries_max", "3")], 1);
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(senses(&mut nand, 0));
        erase(&mut nand, 0, 10);
    }
    assert_eq!(seen, [1, 2, 3, 4, 4]);
    assert_eq!(nand.cells.retries(), 1 + 2 + 3 + 3);
    assert_eq!(senses(&mut nand, 16), 1, "another block is new");
}

/// Between two whole retries a share of the pages needs one more, by the seed.
#[test]
fn a_fraction_of_a_retry_falls_on_that_share_of_the_pages() {
    let pairs = [("nand.retry_erases", "100"), ("nand.pages_per_block", "64")];
    let retried = |seed| {
        let mut nand = nand(&pairs, seed);
        let mut pages = Vec::new();
        for block in 0..8 {
            erase(&mut nand, block, 25);
            pages.extend((block * 64..(block + 1) * 64).map(|ppn| senses(&mut nand, ppn) == 2));
        }
        pages
    };
    let pages = retried(1);
    let count = pages.iter().filter(|retried| **retried).count();
    // 512 draws of probability 1/4: 128 expected, 9.8 standard deviation; five of them.
    assert!((79..=177).contains(&count), "{count} of 512");
    assert_eq!(pages, retried(1));
    assert_ne!(pages, retried(2));
}

#[test]
fn reads_of_a_block_disturb_it_until_it_is_erased() {
    let pairs = [("nand.retry_reads", "5"), ("nand.retry_latency", "40ps")];
    let mut nand = nand(&pairs, 1);
    let all: Vec<u64> = (0..6).map(|_| senses(&mut nand, 3)).collect();
    assert_eq!(
        (all[0], all[5]),
        (1, 1 + 2),
        "a retry takes two reads' time"
    );
    erase(&mut nand, 0, 1);
    assert_eq!(senses(&mut nand, 3), 1);
}

#[test]
fn an_erase_past_the_endurance_fails() {
    let mut nand = nand(&[("nand.endurance", "3")], 1);
    erase(&mut nand, 0, 3);
    assert_eq!(nand.erase(Ps::ZERO, Block(0), Origin::Gc), Err(BadBlock));
    assert_eq!(nand.erase(Ps::ZERO, Block(1), Origin::Gc), Ok(()));
}

/// Every block stands between 80 and 120 erases, and not all the same.
#[test]
fn blocks_differ_within_the_spread() {
    let pairs = [("nand.endurance", "100"), ("nand.endurance_spread", "20%")];
    let mut nand = nand(&pairs, 1);
    let stood: Vec<u32> = (0..32)
        .map(|block| {
            let stands = |_: &u32| nand.erase(Ps::ZERO, Block(block), Origin::Gc).is_ok();
            (0..200).take_while(stands).count() as u32
        })
        .collect();
    assert!(
        stood.iter().all(|count| (80..=120).contains(count)),
        "{stood:?}"
    );
    assert!(
        stood.iter().max().unwrap() - stood.iter().min().unwrap() > 20,
        "{stood:?}"
    );
}

#[test]
fn one_program_in_so_many_fails() {
    let mut nand = nand(&[("nand.program_failure", "8")], 1);
    let failed = (0..512)
        .filter(|ppn| nand.program(Ps::ZERO, Ppn(*ppn), Origin::Host).is_err())
        .count();
    // 64 expected, 7.5 standard deviation; five of them.
    assert!((27..=101).contains(&failed), "{failed} of 512");
}
