//! STREAM: four loops over three arrays of doubles.
//!
//! After McCalpin, "Memory bandwidth and machine balance in current high performance computers",
//! 1995: copy `c = a`, scale `b = 3 c`, add `c = a + b` and triad `a = b + 3 c`. A round is all
//! four, one after the other. The threads share the arrays out in equal parts. The loops have the
//! instructions that a compiler makes for SSE2: 16 bytes at a time.

use super::share::{Frame, Phased, Shared};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Mismatch, Recorder};

use sluice_params::{Kind, Param};
use sluice_units::Bytes;
use std::ops::Range;

const ARRAYS: u64 = 3;
const DOUBLE: u64 = 8;
/// Doubles in a vector register.
const VECTOR: u64 = 2;
const SCALAR: f64 = 3.0;
/// What the arrays hold at first.
const START: [f64; 3] = [1.0, 2.0, 0.0];
/// Vectors in a stretch.
const PIECE: u64 = 1024;
/// A loop's counter, comparison and branch.
const LOOP: u32 = 3;

const PARAMS: &[Param] = &[Param {
    key: "bytes",
    kind: Kind::Size,
    default: "8MB",
    meaning: "bytes of the three arrays together",
    source: "CXL-SSD-Sim section III-B: 8 MB; more would not fit its cache of 16 MB",
}];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "stream",
    meaning: "STREAM's copy, scale, add and triad over three arrays of doubles",
    source: "McCalpin 1995; CXL-SSD-Sim section III-B",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes,
    params: PARAMS,
    make,
};

/// One of the four loops: what it reads, where it writes, and how.
struct Loop {
    from: &'static [usize],
    to: usize,
    /// Instructions between loads and store.
    arithmetic: u32,
    compute: fn(&[f64; 3]) -> f64,
}

const LOOPS: [Loop; 4] = [
    Loop {
        from: &[0],
        to: 2,
        arithmetic: 0,
        compute: |v| v[0],
    },
    Loop {
        from: &[2],
        to: 1,
        arithmetic: 1,
        compute: |v| SCALAR * v[2],
    },
    Loop {
        from: &[0, 1],
        to: 2,
        arithmetic: 1,
        compute: |v| v[0] + v[1],
    },
    Loop {
        from: &[1, 2],
        to: 0,
        arithmetic: 2,
        compute: |v| v[1] + SCALAR * v[2],
    },
];
const NAMES: [&str; 4] = ["copy", "scale", "add", "triad"];

struct Stream {
    frame: Frame,
    footprint: Bytes,
    places: [Array; 3],
    arrays: [Vec<f64>; 3],
    /// Vectors of an array.
    vectors: u64,
    phase: usize,
}

fn make(options: &KernelOptions) -> Box<dyn Kernel> {
    Box::new(stream(options))
}

fn stream(options: &KernelOptions) -> Shared<Stream> {
    let bytes = options.bytes();
    let vectors = (bytes / (ARRAYS * VECTOR * DOUBLE)).max(1);
    let mut arena = Arena::default();
    let places = START.map(|_| arena.array(vectors * VECTOR, DOUBLE));
    let mut stream = Stream {
        frame: Frame::new(options, 0, 0),
        footprint: arena.footprint(),
        places,
        arrays: START.map(|start| vec![start; (vectors * VECTOR) as usize]),
        vectors,
        phase: 0,
    };
    stream.begin();
    Shared(stream)
}

impl Stream {
    /// A loop begins: each thread has its part of the arrays.
    fn begin(&mut self) {
        let (vectors, threads) = (self.vectors, u64::from(self.frame.options.threads));
        let first = |thread: u64| vectors * thread / threads;
        self.frame
            .share
            .begin_own(|thread| first(thread)..first(thread + 1));
    }

    fn vector(&mut self, number: u64, rec: &mut Recorder) {
        let Loop {
            from,
            to,
            arithmetic,
            compute,
        } = &LOOPS[self.phase];
        for array in *from {
            rec.load(self.places[*array].at(number * VECTOR));
        }
        rec.work(*arithmetic);
        for place in (number * VECTOR) as usize..((number + 1) * VECTOR) as usize {
            let values = [0, 1, 2].map(|array| self.arrays[array][place]);
            self.arrays[*to][place] = compute(&values);
        }
        rec.store(self.places[*to].at(number * VECTOR));
        rec.work(LOOP);
    }
}

impl Phased for Stream {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn phases(&self) -> &'static [&'static str] {
        &NAMES
    }

    fn phase(&self) -> usize {
        self.phase
    }

    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn stretch(&self) -> u64 {
        PIECE
    }

    fn work(&mut self, _: u32, items: Range<u64>, rec: &mut Recorder) {
        items.for_each(|number| self.vector(number, rec));
    }

    fn advance(&mut self) {
        self.phase = (self.phase + 1) % LOOPS.len();
        if self.phase == 0 {
            self.frame.end_round();
        }
        self.begin();
    }

    /// As STREAM checks itself: every element of an array has had the same done to it, so that one
    /// number stands for each array. Loops in which threads are under way are not compared.
    fn check(&self) -> Result<(), Mismatch> {
        let mut values = START;
        let whole = LOOPS.iter().cycle();
        let done = self.frame.rounds as usize * LOOPS.len() + self.phase;
        for step in whole.clone().take(done) {
            values[step.to] = (step.compute)(&values);
        }
        let under_way = whole.clone().nth(done).map(|step| step.to);
        for array in
            (0..values.len()).filter(|array| self.frame.share.ended || Some(*array) != under_way)
        {
            let due = values[array];
            let wrong = self.arrays[array].iter().position(|is| *is != due);
            if let Some(place) = wrong {
                let is = self.arrays[array][place];
                let name = ["a", "b", "c"][array];
                return Err(Mismatch::new(format!("{name}[{place}]"), is, due));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{options, run};
    use super::*;
    use sluice_params::RawConfig;

    fn of(threads: u32, bytes: &str, rounds: u64) -> KernelOptions {
        let mut given = RawConfig::of(PARAMS);
        given.set("bytes", bytes).expect("a size");
        KernelOptions {
            given,
            ..options(threads, 1, rounds)
        }
    }

    #[test]
    fn threads_share_out_the_same_work() {
        let mut told = Vec::new();
        for threads in [1, 3, 8] {
            let mut kernel = make(&of(threads, "96kB", 3));
            let run = run(kernel.as_mut(), 2);
            assert_eq!(kernel.check(), Ok(()));
            assert_eq!(kernel.rounds(), 3);
            told.push((run.instructions, run.loads, run.stores));
        }
        // 2,000 vectors: six loads, four stores, 4 + 4 x 3 others in a round.
        let round = [26, 6, 4].map(|each| each * 2_000 * 3);
        assert!(told.iter().all(|t| [t.0, t.1, t.2] == round), "{told:?}");
    }

    #[test]
    fn a_wrong_element_is_seen() {
        let mut kernel = stream(&of(2, "96kB", 2));
        run(&mut kernel, 1);
        assert_eq!(kernel.0.arrays[0][0], 225.0);
        kernel.0.arrays[1][77] += 1.0;
        let said = kernel.check().unwrap_err();
        assert!(said.what == "b[77]", "{said}");
    }

    #[test]
    fn its_memory_is_what_was_asked_for() {
        let kernel = make(&of(1, "8MB", 0));
        let Bytes(footprint) = kernel.footprint();
        assert!((8_000_000..8_000_000 + 3 * 4096).contains(&footprint));
        let kernel = make(&KernelOptions {
            scale: 16,
            ..of(1, "8MB", 0)
        });
        assert!((500_000..500_000 + 3 * 4096).contains(&kernel.footprint().0));
    }
}
