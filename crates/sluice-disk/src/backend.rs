//! What QEMU asks of a disk: its features, its size, its queue.

use crate::intake::{Intake, QUEUE_SIZE};
use crate::request::{Memory, SECTOR, TRIM_PARTS};
use crate::vring::Queue;
use std::io;
use std::sync::Arc;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::VhostUserBackend;
use virtio_bindings::bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX,
};
use virtio_bindings::bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::bindings::virtio_ring::VIRTIO_RING_F_EVENT_IDX;
use vm_memory::GuestMemoryAtomic;
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

/// Buffers of a request, besides its head and its status.
const SEGMENTS: u32 = QUEUE_SIZE as u32 - 2;
/// Sectors that a part of a trim may name.
const TRIM_SECTORS: u32 = 1 << 21;

/// The disk as QEMU sees it.
pub struct Backend {
    bytes: u64,
    intake: Arc<Intake>,
}

impl Backend {
    pub fn new(bytes: u64, intake: Arc<Intake>) -> Backend {
        Backend { bytes, intake }
    }

    /// The configuration that a guest reads (virtio 1.2, section 5.2.4).
    fn config(&self) -> Vec<u8> {
        let trims = [TRIM_SECTORS, TRIM_PARTS, (crate::BLOCK / SECTOR) as u32];
        let mut bytes = Vec::new();
        bytes.extend((self.bytes / SECTOR).to_le_bytes());
        // The largest segment, which nobody asked for, and how many there can be.
        bytes.extend(0u32.to_le_bytes());
        bytes.extend(SEGMENTS.to_le_bytes());
        // Geometry.
        bytes.extend([0; 4]);
        bytes.extend((crate::BLOCK as u32).to_le_bytes());
        // Topology, cache mode, a reserved byte, and the number of queues.
        bytes.extend([0; 8 + 2]);
        bytes.extend(1u16.to_le_bytes());
        bytes.extend(trims.iter().flat_map(|word| word.to_le_bytes()));
        // Nothing of the rest is there.
        bytes.resize(96, 0);
        bytes
    }
}

impl VhostUserBackend for Backend {
    type Bitmap = ();
    type Vring = Queue;

    fn num_queues(&self) -> usize {
        1
    }

    fn max_queue_size(&self) -> usize {
        QUEUE_SIZE
    }

    fn features(&self) -> u64 {
        let bits = [
            VIRTIO_F_VERSION_1,
            VIRTIO_RING_F_EVENT_IDX,
            VIRTIO_BLK_F_SEG_MAX,
            VIRTIO_BLK_F_BLK_SIZE,
            VIRTIO_BLK_F_FLUSH,
            VIRTIO_BLK_F_DISCARD,
        ];
        let own = bits.iter().fold(0, |all, bit| all | 1u64 << bit);
        own | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::REPLY_ACK
    }

    /// The queue has learned it by itself.
    fn set_event_idx(&self, _enabled: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        let config = self.config();
        let (from, to) = (
            offset as usize,
            (offset as usize).saturating_add(size as usize),
        );
        config.get(from..to).map(<[u8]>::to_vec).unwrap_or_default()
    }

    /// The queue has it already.
    fn update_memory(&self, _memory: GuestMemoryAtomic<Memory>) -> io::Result<()> {
        Ok(())
    }

    fn exit_event(&self, _thread: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok()
    }

    /// The ring takes no request any more. An error here would end the disk for good.
    fn stop_vring(&self, _queue: u32) -> io::Result<()> {
        self.intake.stop();
        Ok(())
    }

    fn handle_event(
        &self,
        _event: u16,
        _set: EventSet,
        queues: &[Queue],
        _thread: usize,
    ) -> io::Result<()> {
        let [queue] = queues else {
            return Err(io::Error::other("a disk has one queue"));
        };
        self.intake.look(queue);
        Ok(())
    }
}
