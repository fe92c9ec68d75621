//! Where misses are: by range of the device's pages, and over time.

use crate::process::{image_path, owner_of};
use rustix::fs::{SeekFrom, seek};
use sluice_abi::{HEAT_PAGES, StatsBlock, heat_at, heat_len};
use sluice_region::open_regular;
use std::fmt::Write;
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Rows and columns of a heat map, at most: more cannot be seen.
const SIDE: usize = 256;
/// Ranges that are read, at most: those of a tebibyte. The file may be another user's.
const MOST: usize = 1 << 22;
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// The misses of a program image since its start, by ranges of [`HEAT_PAGES`] pages: the number of
/// a range with its misses, in order, those with none left out.
pub type Heat = Vec<(u64, u32)>;

/// Reads it, while the image runs or after. Nothing of an image that is not ready.
pub fn read_heat(dir: &Path, pid: u64, image: u64) -> Heat {
    let open = || open_regular(&image_path(dir, pid, image), false, Some(owner_of(dir)?)).ok();
    let mut heat = Heat::new();
    if let Some(file) = open() {
        // The pages read before an error are right.
        let _ = read(&file, &mut heat);
    }
    heat
}

/// Reads the parts of the file that were written; most of a large device has none.
fn read(file: &File, heat: &mut Heat) -> std::io::Result<()> {
    const WORD: u64 = size_of::<u32>() as u64;
    let mut word = [0; 8];
    file.read_exact_at(&mut word, offset_of!(StatsBlock, pages) as u64)?;
    let pages = u64::from_ne_bytes(word).min(u32::MAX.into());
    let start = heat_at(pages) as u64;
    let end = start + heat_len(pages) as u64 * WORD;
    let mut at = start;
    while at < end && heat.len() < MOST {
        // It ends by an error where nothing more was written.
        at = seek(file, SeekFrom::Data(at))?
            .next_multiple_of(WORD)
            .max(start);
        let until = seek(file, SeekFrom::Hole(at))?.min(end);
        while at < until && heat.len() < MOST {
            let mut bytes = vec![0; PIECE.min((until - at) as usize)];
            file.read_exact_at(&mut bytes, at)?;
            for (nth, word) in bytes.as_chunks().0.iter().enumerate() {
                let misses = u32::from_ne_bytes(*word);
                if misses > 0 {
                    heat.push(((at - start) / WORD + nth as u64, misses));
                }
            }
            at += bytes.len() as u64;
        }
    }
    Ok(())
}

/// What came after an earlier reading of the same image.
pub fn heat_since(now: &Heat, before: &Heat) -> Heat {
    let mut before = before.iter().peekable();
    let grown = now.iter().filter_map(|(range, misses)| {
        while before.next_if(|(earlier, _)| earlier < range).is_some() {}
        let then = before
            .next_if(|(same, _)| same == range)
            .map_or(0, |(_, n)| *n);
        let grown = misses.wrapping_sub(then);
        (grown > 0).then_some((*range, grown))
    });
    grown.collect()
}

/// Misses by range of pages and time, as fine as can be seen.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// The last reading, and of which image.
    last: (u64, Heat),
    /// The end of each column, s.
    ends: Vec<f64>,
    /// Misses by column and row.
    cells: Vec<Vec<u64>>,
    /// Ranges in a row.
    ranges: u64,
    /// Samples in a column, and in the last one so far.
    samples: (usize, usize),
}

impl Default for HeatMap {
    fn default() -> HeatMap {
        HeatMap {
            last: Default::default(),
            ends: Vec::new(),
            cells: Vec::new(),
            ranges: 1,
            samples: (1, 0),
        }
    }
}

impl HeatMap {
    /// Adds what an image has missed since the last sample.
    pub fn sample(&mut self, seconds: f64, dir: &Path, pid: u64, image: u64) {
        self.add(seconds, image, read_heat(dir, pid, image));
    }

    fn add(&mut self, seconds: f64, image: u64, now: Heat) {
        if self.last.0 != image {
            self.last = (image, Heat::new());
        }
        let grown = heat_since(&now, &self.last.1);
        self.last.1 = now;
        if self.samples.1 == 0 {
            self.begin_column(seconds);
        }
        if let Some(end) = self.ends.last_mut() {
            *end = seconds;
        }
        self.samples.1 = (self.samples.1 + 1) % self.samples.0;
        for (range, misses) in grown {
            while range / self.ranges >= SIDE as u64 {
                self.coarsen_rows();
            }
            let row = (range / self.ranges) as usize;
            if let Some(column) = self.cells.last_mut() {
                if column.len() <= row {
                    column.resize(row + 1, 0);
                }
                column[row] += u64::from(misses);
            }
        }
    }

    fn begin_column(&mut self, seconds: f64) {
        if self.ends.len() == SIDE {
            self.ends = self.ends.chunks(2).map(|pair| pair[1]).collect();
            let pairs = self.cells.chunks(2);
            self.cells = pairs.map(|pair| sum(&pair[0], &pair[1])).collect();
            self.samples.0 *= 2;
        }
        self.ends.push(seconds);
        self.cells.push(Vec::new());
    }

    fn coarsen_rows(&mut self) {
        self.ranges *= 2;
        for column in &mut self.cells {
            *column = column.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    /// The cells that have misses as CSV, by time.
    pub fn to_csv(&self) -> String {
        let mut text = String::from("from_s,to_s,first_page,pages,misses\n");
        let pages = self.ranges * HEAT_PAGES;
        let mut from = 0.;
        for (end, column) in self.ends.iter().zip(&self.cells) {
            for (row, misses) in column.iter().enumerate().filter(|(_, misses)| **misses > 0) {
                let first = row as u64 * pages;
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{from:.3},{end:.3},{first},{pages},{misses}");
            }
            from = *end;
        }
        text
    }
}

fn sum(a: &[u64], b: &[u64]) -> Vec<u64> {
    let at = |of: &[u64], row| of.get(row).copied().unwrap_or(0);
    let rows = 0..a.len().max(b.len());
    rows.map(|row| at(a, row) + at(b, row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_has_grown_is_the_difference() {
        let before = vec![(1, 5), (3, 7), (9, 1)];
        let now = vec![(0, 2), (1, 5), (3, 8), (4, 1), (9, 4)];
        assert_eq!(heat_since(&now, &before), [(0, 2), (3, 1), (4, 1), (9, 3)]);
        assert_eq!(heat_since(&now, &Heat::new()), now);
    }

    /// However long a run takes and however much it uses, the map stays as large as can be seen,
    /// and no miss is lost or in another place.
    #[test]
    fn a_map_has_all_misses_in_cells_that_cover_them() {
        let mut map = HeatMap::default();
        let mut truth = BTreeMap::new();
        for sample in 0..3_000_u64 {
            let range = sample * 7 % 5_000;
            map.add(sample as f64 / 10., sample, vec![(range, 3)]);
            truth.insert(sample, range);
        }
        assert!(map.ends.len() <= SIDE && map.cells.iter().all(|column| column.len() <= SIDE));
        let (mut all, mut from) = (0, -1.);
        for (end, column) in map.ends.iter().zip(&map.cells) {
            let mut expected = BTreeMap::<u64, u64>::new();
            for (sample, range) in &truth {
                let at = *sample as f64 / 10.;
                if at > from && at <= *end {
                    *expected.entry(range / map.ranges).or_default() += 3;
                }
            }
            for (row, misses) in column.iter().enumerate() {
                let wanted = expected.get(&(row as u64)).copied().unwrap_or(0);
                assert_eq!(*misses, wanted, "row {row} until {end}");
                all += misses;
            }
            from = *end;
        }
        assert_eq!(all, 9_000);
    }
}
