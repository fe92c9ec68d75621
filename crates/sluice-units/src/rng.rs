//! Seeded random streams, one for each component.

use crate::hash::Fnv;

/// The draw of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) that follows this state: what a
/// number becomes if it is to look drawn, and another for each.
#[inline]
pub const fn splitmix(state: u64) -> u64 {
    finish(state.wrapping_add(SPLITMIX_STEP))
}

/// What splitmix64 adds to its state for each draw.
pub const SPLITMIX_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of splitmix64: a bijection that spreads every bit, but for 0, which it keeps.
#[inline]
pub const fn finish(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The seed of the component of this number under a run's seed, where several are alike: threads,
/// devices, hosts. Number 0 keeps the run's seed, so one alone is what it is without a number.
///
/// Runs of neighbouring seeds share no component's seed, which a sum or an exclusive or of the two
/// small numbers would have. A step of 2^64 divided by the golden ratio keeps them apart.
#[inline]
pub const fn seed_of(seed: u64, number: u64) -> u64 {
    seed.wrapping_add(number.wrapping_mul(SPLITMIX_STEP))
}

/// xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64.
///
/// A component takes its own stream by name, so a new component does not change another's draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The stream called `name` under `seed`.
    ///
    /// The name enters as its FNV-1a hash, so the stream is a function of the two alone.
    pub fn stream(seed: u64, name: &str) -> Rng {
        Rng::from_splitmix(seed ^ Fnv::of(name.as_bytes()))
    }

    /// A generator whose state is four draws of splitmix64 from `seed`.
    pub fn from_splitmix(seed: u64) -> Rng {
        let draw = |n: u64| splitmix(seed.wrapping_add(n.wrapping_mul(SPLITMIX_STEP)));
        Rng {
            state: [0, 1, 2, 3].map(draw),
        }
    }

    /// All that decides what comes next.
    pub fn state_mut(&mut self) -> &mut [u64; 4] {
        &mut self.state
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number in `0..n`, without bias (Lemire's multiply and reject).
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "Rng::below needs at least one choice");
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            // The threshold is below n, and costs a division: most draws need none.
            if wide as u64 >= n || wide as u64 >= n.wrapping_neg() % n {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Puts `items` into a uniformly random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }
}
