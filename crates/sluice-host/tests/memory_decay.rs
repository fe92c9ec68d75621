//! Counts of accesses that are halved as time goes on, against a plain count.

use sluice_host::{Adaptive, Memory, Migration};
use sluice_testkit::host_rig::memory;
use sluice_units::{Ps, Rng};

const DECAY: Ps = Ps::from_us(100);
const THRESHOLD: u32 = 6;

fn decaying() -> Memory {
    let given = Adaptive {
        pages: 2,
        threshold: THRESHOLD,
        decay: DECAY,
        buffer: 2,
        interrupt: Ps::from_us(5),
        line: Ps::from_ns(50),
        huge: 1,
        spare: 0,
        remote_pages: 0,
        remote_latency: Ps::ZERO,
        ways: 0,
    };
    memory(Migration::Adaptive(given), &[])
}

/// A page at random times: it is hot when its accesses, each halved at every end of a period
/// since, are as many as the threshold.
#[test]
fn counts_are_halved_at_each_end_of_a_period() {
    let mut rng = Rng::stream(3, "decay");
    let (mut later, mut longest) = (0, 0);
    for trial in 0..300 {
        let mut memory = decaying();
        // The device does not have the page: this is not counted.
        let mut now = DECAY * rng.below(5) + Ps(rng.below(DECAY.0));
        memory.read(now, 0, false);
        now += Ps::from_us(10);
        let (mut count, mut period) = (0u64, now.0 / DECAY.0);
        let mut accesses = 0;
        loop {
            for _ in period..now.0 / DECAY.0 {
                count /= 2;
            }
            period = now.0 / DECAY.0;
            count += 1;
            accesses += 1;
            memory.read(now, 0, false);
            let is_hot = count >= u64::from(THRESHOLD);
            let promotes = memory.next_event().is_some();
            assert_eq!(
                promotes, is_hot,
                "trial {trial}, access {accesses} at {now}"
            );
            if is_hot {
                break;
            }
            // Mostly soon, sometimes some periods later, and now and then at an end exactly.
            now += match rng.below(20) {
                0 => DECAY * rng.below(70),
                1..4 => Ps(DECAY.0 - now.0 % DECAY.0),
                _ => Ps(rng.below(DECAY.0 / 3)),
            };
        }
        later += u32::from(accesses > THRESHOLD);
        longest = longest.max(accesses);
    }
    assert!(later > 100 && longest > 12, "{later} {longest}");
}
