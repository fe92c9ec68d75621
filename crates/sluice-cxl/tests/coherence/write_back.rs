//! What an agent wants done for a line that comes back.

use sluice_cxl::coherence::{
    Blocks, Dcoh, DcohAction, DcohSetup, M2s, Message, State, ToDevice, ToHost, Victim, Want,
};
use sluice_params::Registered;

fn agent() -> Dcoh {
    Dcoh::new(&DcohSetup {
        hosts: 2,
        entries: 2,
        ways: 2,
        trackers: 4,
        requests_max: 8,
        victim: Victim::named("fifo").unwrap(),
        blocks: Blocks {
            lines_max: 1,
            aligned: true,
            extends: false,
        },
    })
}

fn says(peer: u32, what: ToDevice, line: u64, tag: u16) -> M2s {
    Message {
        what,
        peer,
        line,
        tag,
        data: 7,
    }
}

/// The completion of a write-back waits for the write that it stands behind. The read of a request
/// that got the line's entry came between, and the completion did not wait.
#[test]
fn a_completion_stands_behind_its_write() {
    let (mut agent, mut out) = (agent(), Vec::new());
    for (tag, line) in [(0, 10), (1, 20)] {
        agent.receive(
            says(0, ToDevice::Read(Want::Any), line, tag),
            line,
            &mut out,
        );
        let [DcohAction::Read { tracker, .. }] = out[..] else {
            panic!("{out:?}");
        };
        out.clear();
        agent.data(tracker, 0, &mut out);
        out.clear();
    }
    // No entry is free: the first line is to leave, and the other comes back by itself.
    agent.receive(says(1, ToDevice::Read(Want::Any), 30, 0), 30, &mut out);
    let [DcohAction::Send(snoop)] = out[..] else {
        panic!("{out:?}");
    };
    assert!(matches!(snoop.what, ToHost::Snoop { .. }) && snoop.line == 10);
    out.clear();
    agent.receive(
        says(0, ToDevice::WriteBack(State::Invalid), 20, 2),
        20,
        &mut out,
    );
    let [
        DcohAction::Write { line: 20, data: 7 },
        DcohAction::Send(done),
        read,
    ] = out[..]
    else {
        panic!("{out:?}");
    };
    assert_eq!(
        (done.what, done.line, done.tag),
        (ToHost::Done(State::Invalid), 20, 2)
    );
    assert!(
        matches!(
            read,
            DcohAction::Read {
                line: 30,
                host: 1,
                ..
            }
        ),
        "{read:?}"
    );
}
