/* A memory of gem5 whose timing is that of a fabric of Sluice's: see SluiceMemory.py. */

#ifndef SLUICE_MEMORY_HH
#define SLUICE_MEMORY_HH

#include <memory>
#include <unordered_map>

#include "mem/abstract_mem.hh"
#include "mem/qport.hh"
#include "params/SluiceMemory.hh"
#include "sluice.h"

namespace gem5::memory {

/* Data is in gem5's own store, and is read and written as a request is accepted. The fabric says
   when the response goes. */
class SluiceMemory : public AbstractMemory {
 public:
  PARAMS(SluiceMemory);
  explicit SluiceMemory(const Params &p);

  Port &getPort(const std::string &name, PortID index) override;
  void init() override;
  DrainState drain() override;
  void resetStats() override;

 private:
  class MemoryPort : public QueuedResponsePort {
   public:
    explicit MemoryPort(SluiceMemory &memory);

   protected:
    Tick recvAtomic(PacketPtr packet) override { return memory.recvAtomic(packet); }
    void recvFunctional(PacketPtr packet) override { memory.recvFunctional(packet); }
    bool recvTimingReq(PacketPtr packet) override { return memory.recvTimingReq(packet); }
    AddrRangeList getAddrRanges() const override { return {memory.getAddrRange()}; }

   private:
    RespPacketQueue queue;
    SluiceMemory &memory;
  };

  /* A request that the fabric has. */
  struct Sent {
    PacketPtr response; /* null if nobody waits for it, as of a write-back */
    Tick delay;         /* of the bus before this memory */
  };

  Tick recvAtomic(PacketPtr packet);
  void recvFunctional(PacketPtr packet);
  bool recvTimingReq(PacketPtr packet);
  void catchUp();
  void happen();
  void done(uint64_t tag);
  void plan();
  void writeStatistics();

  MemoryPort port;
  std::unique_ptr<sluice_simulation, void (*)(sluice_simulation *)> fabric;
  const uint32_t requester;
  const Tick atomicLatency;
  EventFunctionWrapper nextEvent;
  std::unordered_map<uint64_t, Sent> sent;
  uint64_t lastTag = 0;
  bool isWaiting = false; /* somebody was refused, and waits for a retry */
  std::unique_ptr<Packet> pendingDelete; /* a cache needs it until it has our answer */
};

}  // namespace gem5::memory

#endif
