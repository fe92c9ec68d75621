#include "sluice_memory.hh"

#include <algorithm>

#include "base/output.hh"
#include "sim/core.hh"
#include "sim/system.hh"

namespace gem5::memory {

SluiceMemory::MemoryPort::MemoryPort(SluiceMemory &memory)
    : QueuedResponsePort(memory.name() + ".port", queue), queue(memory, *this, true),
      memory(memory) {}

SluiceMemory::SluiceMemory(const Params &p)
    : AbstractMemory(p), port(*this), fabric(nullptr, sluice_delete), requester(p.requester),
      atomicLatency(p.atomic_latency), nextEvent([this] { happen(); }, name()) {
  char *error = nullptr;
  fatal_if(sluice_abi() != SLUICE_ABI, "%s: libsluice has ABI %d, sluice.h has %d", name(),
           sluice_abi(), SLUICE_ABI);
  fabric.reset(sluice_open(p.fabric.c_str(), p.seed, &error));
  fatal_if(!fabric, "%s: %s", name(), error);
  fatal_if(requester >= sluice_requesters(fabric.get()), "%s: %s has no requester %d", name(),
           p.fabric, requester);
  auto on_done = [](void *self, const sluice_completion *completion) {
    static_cast<SluiceMemory *>(self)->done(completion->tag);
  };
  sluice_call_when_done(fabric.get(), on_done, this);
  registerExitCallback([this] { writeStatistics(); });
}

void SluiceMemory::init() {
  AbstractMemory::init();
  const uint64_t reach = sluice_memory_bytes(fabric.get(), requester);
  fatal_if(!port.isConnected(), "%s: its port is not connected", name());
  fatal_if(range.size() > reach, "%s: the fabric has %d bytes for its requester, range has %d",
           name(), reach, range.size());
  fatal_if(system()->cacheLineSize() > 64, "%s: cache lines of more than 64 bytes", name());
  fatal_if(sim_clock::as_int::ps != 1, "%s: a tick of gem5 must be a picosecond", name());
  port.sendRangeChange();
}

Port &SluiceMemory::getPort(const std::string &name, PortID index) {
  return name == "port" ? port : AbstractMemory::getPort(name, index);
}

Tick SluiceMemory::recvAtomic(PacketPtr packet) {
  access(packet);
  return atomicLatency;
}

void SluiceMemory::recvFunctional(PacketPtr packet) {
  packet->pushLabel(name());
  functionalAccess(packet);
  /* Responses under way have data as well. */
  for (auto &[tag, one] : sent) {
    if (one.response != nullptr) packet->trySatisfyFunctional(one.response);
  }
  port.trySatisfyFunctional(packet);
  packet->popLabel();
}

bool SluiceMemory::recvTimingReq(PacketPtr packet) {
  panic_if(packet->cacheResponding(), "%s: a cache responds already", name());
  /* Some CPUs send again before the retry. */
  if (isWaiting) return false;
  const bool isWrite = packet->isWrite();
  const bool isForMemory = packet->isRead() || isWrite;
  catchUp();
  isWaiting = isForMemory && !sluice_can_send(fabric.get(), requester);
  if (isWaiting) return false;

  const bool needsResponse = packet->needsResponse();
  const Addr offset = range.getOffset(packet->getAddr());
  const Tick delay = packet->headerDelay + packet->payloadDelay;
  packet->headerDelay = packet->payloadDelay = 0;
  access(packet);
  if (!needsResponse) pendingDelete.reset(packet);
  if (isForMemory) {
    sent[++lastTag] = {needsResponse ? packet : nullptr, delay};
    const int32_t status = sluice_send(fabric.get(), requester, offset, isWrite, lastTag);
    fatal_if(status != SLUICE_OK, "%s: %s", name(), sluice_error(fabric.get()));
  } else if (needsResponse) {
    port.schedTimingResp(packet, curTick() + delay);
  }
  plan();
  return true;
}

/* Moves the fabric to the present. */
void SluiceMemory::catchUp() {
  const int32_t status = sluice_advance(fabric.get(), curTick());
  fatal_if(status != SLUICE_OK, "%s: %s", name(), sluice_error(fabric.get()));
}

/* Something happens in the fabric. A requester that was refused sends again when there is room. */
void SluiceMemory::happen() {
  catchUp();
  plan();
  if (isWaiting && sluice_can_send(fabric.get(), requester)) {
    isWaiting = false;
    port.sendRetryReq();
  }
}

/* The next look at the fabric is when something happens there. */
void SluiceMemory::plan() {
  const uint64_t next = sluice_next_event(fabric.get());
  if (next != SLUICE_NO_EVENT) {
    reschedule(nextEvent, std::max<Tick>(next, curTick()), true);
  } else if (nextEvent.scheduled()) {
    deschedule(nextEvent);
  }
}

void SluiceMemory::done(uint64_t tag) {
  const Sent one = sent.at(tag);
  sent.erase(tag);
  if (one.response != nullptr) port.schedTimingResp(one.response, curTick() + one.delay);
  if (sent.empty() && drainState() == DrainState::Draining) signalDrainDone();
}

DrainState SluiceMemory::drain() {
  return sent.empty() ? DrainState::Drained : DrainState::Draining;
}

void SluiceMemory::resetStats() {
  AbstractMemory::resetStats();
  catchUp();
  sluice_restart_statistics(fabric.get());
}

void SluiceMemory::writeStatistics() {
  catchUp();
  if (char *text = sluice_statistics(fabric.get())) {
    OutputStream *file = simout.create(name() + ".json");
    *file->stream() << text << std::endl;
    simout.close(file);
    sluice_free_text(text);
  }
}

}  // namespace gem5::memory
