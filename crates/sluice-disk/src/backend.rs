//! What QEMU asks of a disk: its features, its size, its queue.

use crate::now_ns;
use crate::request::{Memory, SECTOR, TRIM_PARTS};
use crate::worker::{Queue, Shared, Task};
use std::io;
use std::sync::atomic::Ordering::*;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackend, VringT};
use virtio_bindings::bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX,
};
use virtio_bindings::bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::bindings::virtio_ring::VIRTIO_RING_F_EVENT_IDX;
use virtio_queue::QueueOwnedT;
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

/// Requests that a guest may have in its queue.
pub const QUEUE_SIZE: usize = 128;
/// Buffers of a request, besides its head and its status.
const SEGMENTS: u32 = QUEUE_SIZE as u32 - 2;
/// Sectors that a part of a trim may name.
const TRIM_SECTORS: u32 = 1 << 21;
/// How long a guest that resets its disk waits for what is under way.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
const DRAIN_LOOK: Duration = Duration::from_micros(50);

/// The disk as QEMU sees it.
pub struct Backend {
    bytes: u64,
    tasks: Mutex<Sender<Task>>,
    shared: Arc<Shared>,
    memory: Mutex<Option<GuestMemoryAtomic<Memory>>>,
}

impl Backend {
    pub fn new(bytes: u64, tasks: Sender<Task>, shared: Arc<Shared>) -> Backend {
        Backend {
            bytes,
            tasks: Mutex::new(tasks),
            shared,
            memory: Mutex::new(None),
        }
    }

    /// Hands over all requests that stand in the queue.
    fn take(&self, queue: &Queue) -> io::Result<()> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = memory
            .as_ref()
            .ok_or_else(|| io::Error::other("no memory"))?;
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let taken_ns = now_ns();
        let mut state = queue.get_mut();
        let chains = state.get_queue_mut().iter(memory.memory());
        for chain in chains.map_err(io::Error::other)? {
            self.shared.under_way.fetch_add(1, AcqRel);
            let task = Task {
                chain,
                queue: queue.clone(),
                taken_ns,
            };
            tasks.send(task).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Hands over all requests, those among them that come meanwhile.
    fn take_all(&self, queue: &Queue) -> io::Result<()> {
        loop {
            queue.disable_notification().map_err(io::Error::other)?;
            self.take(queue)?;
            if !queue.enable_notification().map_err(io::Error::other)? {
                return Ok(());
            }
        }
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

    fn update_memory(&self, memory: GuestMemoryAtomic<Memory>) -> io::Result<()> {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
        Ok(())
    }

    fn exit_event(&self, _thread: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok()
    }

    /// A guest that resets its disk may use the memory of its requests for something else.
    fn stop_vring(&self, _queue: u32) -> io::Result<()> {
        let limit = Instant::now() + DRAIN_LIMIT;
        while self.shared.under_way.load(Acquire) > 0 {
            if Instant::now() > limit {
                return Err(io::Error::other("requests are under way"));
            }
            std::thread::sleep(DRAIN_LOOK);
        }
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
        // A guest that spoils its queue gets no answer until it has set up another one. An error
        // here would end the disk for good.
        let _ = self.take_all(queue);
        Ok(())
    }
}
