//! Random overwrites before the first request, by count.
//!
//! A uniformly random overwrite makes a page of a line stale with a chance in proportion to the
//! line's valid pages, whichever logical page it is. So the lines and the victim policy go through
//! the same process with counts alone: collecting a line is a few additions, and which page is
//! where is drawn afterwards, in one go (see [`super::fresh`]).

use super::geometry::Geometry;
use super::lines::{Lines, Writer};
use sluice_units::Rng;

/// How much, and how collection keeps up.
pub(super) struct Rules {
    /// Pages that are written beforehand.
    pub writes: u64,
    pub threshold: u32,
    pub streams: u32,
    pub by_heat: bool,
}

/// Overwrites random pages of a device on which every page is written.
///
/// A pool at a time, whose state then stays in the processor's cache: each write goes to the pool
/// whose page it makes stale. Device-wide, pools take turns at being written and lose pages at
/// random; what that adds, a pool being a little fuller than another, is left out.
pub(super) fn overwrite(lines: &mut Lines, geometry: &Geometry, rules: &Rules, rng: &mut Rng) {
    let (each, rest) = (
        rules.writes / u64::from(geometry.pools),
        rules.writes % u64::from(geometry.pools),
    );
    let written = (0..geometry.pools).filter(|pool| geometry.home_pages(*pool) > 0);
    for pool in written {
        for _ in 0..each + u64::from(u64::from(pool) < rest) {
            overwrite_one(lines, geometry, rules, pool, rng);
        }
    }
    lines.forget_wear();
}

fn overwrite_one(lines: &mut Lines, geometry: &Geometry, rules: &Rules, pool: u32, rng: &mut Rng) {
    let old = line_of_random_page(lines, geometry, pool, rng);
    let stream = match rules.by_heat {
        true => (lines.stream(old) + 1).min(rules.streams - 1),
        false => 0,
    };
    lines.make_stale(old);
    if lines.is_full(pool, Writer::Host(stream)) {
        collect(lines, pool, rules);
    }
    let place = lines.append(pool, Writer::Host(stream), 1);
    place.expect("collection keeps a line free");
}

/// A line of the pool, each with a chance in proportion to its valid pages: places are drawn until
/// one falls into the valid share of its line.
fn line_of_random_page(lines: &Lines, geometry: &Geometry, pool: u32, rng: &mut Rng) -> u32 {
    let places = u64::from(geometry.pool_pages());
    loop {
        // The high half of a draw, scaled: its bias, below 2^-32 a place, cannot be seen.
        let place = (((rng.next_u64() >> 32) * places) >> 32) as u32;
        let (line, page) = (place / geometry.line_pages, place % geometry.line_pages);
        let line = pool * geometry.lines_per_pool + line;
        if page < lines.valid(line) {
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
        while lines.valid_of_full(victim) > 0 {
            let count = lines.valid_of_full(victim).min(lines.left(pool, writer));
            let place = lines.append(pool, writer, count);
            place.expect("a victim's pages fit into a free line");
            lines.moved(victim, count);
        }
        lines.free(victim);
    }
}
