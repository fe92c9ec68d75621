//! Messages are packed and unpacked on the path of every simulated request.

use sluice_cxl::{DevLoad, Direction, Drs, DrsOp, FlitMode, Message, Meta, Packer, Unpacker};
use sluice_testkit::alloc::CountingAlloc;

#[global_allocator]
static ALLOC: CountingAlloc = CountingAlloc;

#[test]
fn packing_flits_allocates_nothing() {
    let message = Message::Drs(Drs {
        opcode: DrsOp::MemData,
        meta: Meta::NONE,
        tag: 1,
        poison: false,
        load: DevLoad::Light,
        ld_id: 0,
        dpid: 0,
        data: [3; 64],
    });
    for &mode in FlitMode::ALL {
        let mut packer = Packer::new(mode, Direction::S2m, 16);
        let mut unpacker = Unpacker::new(mode, Direction::S2m);
        let (before, mut come) = (ALLOC.counts(), 0);
        for _ in 0..1000 {
            while packer.push(&message).is_ok() {}
            let flit = packer.next_flit().unwrap();
            unpacker.take(&flit, &mut |_| come += 1).unwrap();
        }
        assert_eq!(ALLOC.counts(), before, "{mode:?} allocates");
        assert!(come > 800, "not busy: {come}");
    }
}
