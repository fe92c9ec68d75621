//! Random overwrites before the first request, by count.
//!
//! A uniformly random overwrite makes a page of a line stale with a chance in proportion to the
//! line's valid pages, whichever logical page it is. So the lines and the victim policy go through
//! the same process with counts alone: collecting a line is a few additions, and which page is
//! where is drawn afterwards, in one go (see [`super::fresh`]).

use super::geometry::Geometry;
use super::lines::{Lines, Writer};
use super::turn::Turn;
use sluice_units::Rng;

/// How much, and how collection keeps up.
pub(super) struct Rules {
    /// Pages written.
    pub writes: u64,
    pub threshold: u32,
    pub streams: u32,
    pub by_heat: bool,
}

/// Overwrites random pages of a device on which every page is written.
pub(super) fn overwrite(
    lines: &mut Lines,
    geometry: &Geometry,
    rules: &Rules,
    turn: &mut Turn,
    rng: &mut Rng,
) {
    for _ in 0..rules.writes {
        let old = line_of_random_page(lines, geometry, rng);
        let stream = match rules.by_heat {
            true => (lines.stream(old) + 1).min(rules.streams - 1),
            false => 0,
        };
        lines.make_stale(old);
        let pool = turn.pick(geometry, lines);
        if lines.is_full(pool, Writer::Host(stream)) {
            collect(lines, pool, rules);
        }
        let place = lines.append(pool, Writer::Host(stream), 1);
        place.expect("collection keeps a line free");
    }
    lines.forget_wear();
}

/// A line, each with a chance in proportion to its valid pages: places are drawn until one falls
/// into the valid share of its line.
fn line_of_random_page(lines: &Lines, geometry: &Geometry, rng: &mut Rng) -> u32 {
    let places = u64::from(geometry.places());
    loop {
        // The high half of a draw, scaled: its bias, below 2^-32 a place, cannot be seen.
        let place = (((rng.next_u64() >> 32) * places) >> 32) as u32;
        let line = geometry.line_of(place);
        if place - line * geometry.line_pages < lines.valid(line) {
            return line;
        }
    }
}

fn collect(lines: &mut Lines, pool: u32, rules: &Rules) {
    while lines.free_lines(pool) <= rules.threshold {
        let Some(victim) = lines.take_victim(pool) else {
            return;
        };
        let stream = lines.stream(victim);
        let writer = Writer::Gc(if rules.by_heat {
            stream.saturating_sub(1)
        } else {
            stream
        });
        while lines.valid(victim) > 0 {
            let count = lines.valid(victim).min(lines.left(pool, writer));
            let place = lines.append(pool, writer, count);
            place.expect("a victim's pages fit into a free line");
            lines.moved(victim, count);
        }
        lines.free(victim);
    }
}
