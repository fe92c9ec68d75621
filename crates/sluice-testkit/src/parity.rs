//! Live against simulated: a program with one thread must trap on the same pages in both.
//!
//! A live record begins with what the program did before it reached the memory under test (its
//! loader, its arguments, its allocator). These pages are taken from the record as they are and go
//! through the simulated device first, so that both devices are in the same state when the
//! accesses that are known begin.

use sluice_driver::{Access, Options, Visibility, run};
use sluice_model::{Device, DeviceConfig};
use sluice_units::PAGE_BYTES;
use thiserror::Error;

/// Where live and simulated runs part.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Difference {
    /// They trap on other pages.
    #[error(
        "trap {at} of {traps} differs: live {live:?}, simulated {simulated:?} (buffer from page \
         {first_page})"
    )]
    Trap {
        /// The first trap that differs.
        at: usize,
        /// How many traps the simulated run has.
        traps: usize,
        /// The live traps around it.
        live: Vec<u64>,
        /// The simulated traps around it.
        simulated: Vec<u64>,
        /// Where the buffer begins.
        first_page: u64,
    },
    /// The live run goes on trapping on the buffer.
    #[error("live trapped on page {page} after the last of {traps} traps")]
    Extra {
        /// The page of the first trap that the simulated run does not have.
        page: u64,
        /// How many traps the simulated run has.
        traps: usize,
    },
}

/// A record of trapped pages, cut where a buffer is touched for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Pages trapped on before.
    pub before: &'a [u64],
    /// The page at which the buffer begins.
    pub first_page: u64,
    /// Pages of the buffer.
    pub pages: u64,
    /// Pages trapped on from then on.
    pub traps: &'a [u64],
}

impl<'a> Record<'a> {
    /// Finds a buffer of `pages` pages that the program first touches in address order: the first
    /// run of so many neighbours. Pages just before the buffer may have been trapped on just
    /// before it, so the run is counted from its end.
    pub fn cut(traps: &'a [u64], pages: u64) -> Option<Record<'a>> {
        let ends = |at: usize| traps.get(at + 1) != Some(&(traps[at] + 1));
        let mut start = 0;
        for at in 0..traps.len() {
            if ends(at) {
                if (at + 1 - start) as u64 >= pages {
                    let cut = at + 1 - pages as usize;
                    let (before, traps) = traps.split_at(cut);
                    let first_page = traps[0];
                    return Some(Record {
                        before,
                        first_page,
                        pages,
                        traps,
                    });
                }
                start = at + 1;
            }
        }
        None
    }

    /// Whether a page belongs to the buffer.
    pub fn holds(&self, page: u64) -> bool {
        page.wrapping_sub(self.first_page) < self.pages
    }

    /// Compares with the simulator: `accesses` are the program's to its buffer, from address 0.
    ///
    /// What follows the last simulated trap is the program's end, outside the buffer.
    ///
    /// # Errors
    /// The first difference, with its neighbours.
    pub fn compare(
        &self,
        config: &DeviceConfig,
        seed: u64,
        accesses: impl Iterator<Item = Access>,
    ) -> Result<Simulated, Difference> {
        let device = Device::new(config, seed).expect("a checked configuration");
        self.compare_on(device, accesses)
    }

    /// The same on a device that nobody has used, whose policies may be from outside.
    ///
    /// # Errors
    /// As for [`Record::compare`].
    pub fn compare_on(
        &self,
        device: Device,
        accesses: impl Iterator<Item = Access>,
    ) -> Result<Simulated, Difference> {
        let simulated = self.simulate(device, accesses);
        let expected = &simulated.traps;
        let same = expected.iter().zip(self.traps).take_while(|(a, b)| a == b);
        let at = same.count();
        if at < expected.len() {
            let near = |traps: &[u64]| {
                let from = at.saturating_sub(3).min(traps.len());
                traps[from..traps.len().min(at + 4)].to_vec()
            };
            return Err(Difference::Trap {
                at,
                traps: expected.len(),
                live: near(self.traps),
                simulated: near(expected),
                first_page: self.first_page,
            });
        }
        match self.traps[at..].iter().find(|page| self.holds(**page)) {
            Some(page) => Err(Difference::Extra {
                page: *page,
                traps: at,
            }),
            None => Ok(simulated),
        }
    }

    fn simulate(&self, mut device: Device, accesses: impl Iterator<Item = Access>) -> Simulated {
        let before = self.before.iter().map(|page| Access {
            addr: page * PAGE_BYTES,
            write: false,
        });
        let base = self.first_page * PAGE_BYTES;
        let accesses = accesses.map(move |access| Access {
            addr: base + access.addr,
            ..access
        });
        let options = Options {
            visibility: Visibility::Misses,
            keep_traps: true,
            ..Options::default()
        };
        let result = run(&mut device, vec![before.chain(accesses)], options);
        let result = result.expect("a run shorter than the clock");
        let skipped = self.before.len();
        assert_eq!(
            result.traps[..skipped],
            *self.before,
            "more pages than the cache holds came before the buffer"
        );
        Simulated {
            traps: result.traps[skipped..].to_vec(),
            evictions: device.stats().evictions,
            dirty_evictions: device.stats().dirty_evictions,
        }
    }
}

/// What the simulator says of the same accesses.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Pages trapped on, from the buffer's first on.
    pub traps: Vec<u64>,
    /// Pages that left the cache.
    pub evictions: u64,
    /// Pages that left and had been written.
    pub dirty_evictions: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_is_the_end_of_the_first_long_run() {
        let traps = [0, 9, 3, 4, 5, 6, 7, 3, 1];
        let record = Record::cut(&traps, 4).unwrap();
        assert_eq!((record.before, record.first_page), (&traps[..3], 4));
        assert!(record.holds(7) && !record.holds(3) && !record.holds(8));
        assert!(Record::cut(&traps, 6).is_none());
    }

    fn sweep(passes: u64) -> impl Iterator<Item = Access> {
        (0..passes * 8).map(|i| Access {
            addr: i % 8 * PAGE_BYTES,
            write: false,
        })
    }

    fn config() -> DeviceConfig {
        let mut raw = DeviceConfig::builder();
        raw.set("device.capacity", "4MiB").unwrap();
        raw.set("cache.capacity", "16KiB").unwrap();
        DeviceConfig::new(&raw).unwrap()
    }

    #[test]
    fn equal_records_pass_and_a_changed_one_is_told() {
        let mut traps = vec![70, 71];
        (0..3).for_each(|_| traps.extend(20..28));
        traps.push(70);
        let compare = |traps: &[u64]| {
            let record = Record::cut(traps, 8).unwrap();
            record.compare(&config(), 1, sweep(3)).map(|s| s.traps)
        };
        assert_eq!(compare(&traps).unwrap(), traps[2..26]);
        let mut swapped = traps.clone();
        swapped.swap(14, 15);
        let told = compare(&swapped).unwrap_err().to_string();
        assert!(told.starts_with("trap 12 of 24 differs"), "{told}");
        let short = compare(&traps[..25]).unwrap_err().to_string();
        assert!(short.starts_with("trap 23 of 24"), "{short}");
        traps.push(21);
        let extra = Difference::Extra {
            page: 21,
            traps: 24,
        };
        assert_eq!(compare(&traps).unwrap_err(), extra);
    }
}
