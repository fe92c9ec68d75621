/* What examples/gem5 uses of gem5, small enough to be read: events, packets, a port whose other end
   writes down what it gets, and a memory with its bytes. */
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define fatal_if(condition, ...) \
  if (condition) { std::fprintf(stderr, "fatal: %s\n", #condition); std::exit(1); }
#define panic_if fatal_if
#define PARAMS(type) using Params = type##Params

namespace gem5 {

using Tick = uint64_t;
using Addr = uint64_t;
using PortID = int;

inline Tick &clockNow() { static Tick now = 0; return now; }
inline Tick curTick() { return clockNow(); }
namespace sim_clock::as_int { inline Tick ps = 1; }

class EventFunctionWrapper {
 public:
  EventFunctionWrapper(std::function<void()> run, const std::string &) : run(std::move(run)) {}
  bool scheduled() const { return at != ~0ull; }
  const std::function<void()> run;
  Tick at = ~0ull;
};
inline std::list<EventFunctionWrapper *> &events() {
  static std::list<EventFunctionWrapper *> all;
  return all;
}
inline void reschedule(EventFunctionWrapper &event, Tick at, bool) {
  if (!event.scheduled()) events().push_back(&event);
  event.at = at;
}
inline void deschedule(EventFunctionWrapper &event) {
  events().remove(&event);
  event.at = ~0ull;
}

struct Packet {
  Addr addr;
  bool write, answered;
  std::vector<uint8_t> data;
  Tick headerDelay = 0, payloadDelay = 0;
  bool response = false;
  bool isRead() const { return !write; }
  bool isWrite() const { return write; }
  bool needsResponse() const { return answered && !response; }
  bool cacheResponding() const { return false; }
  Addr getAddr() const { return addr; }
  void pushLabel(const std::string &) {}
  void popLabel() {}
  /* A functional write reaches data of packets under way. */
  bool trySatisfyFunctional(Packet *other) {
    if (write && other->addr == addr) other->data = data;
    return false;
  }
};
using PacketPtr = Packet *;

class AddrRange {
 public:
  AddrRange(Addr start, Addr bytes) : start(start), bytes(bytes) {}
  Addr size() const { return bytes; }
  Addr getOffset(Addr addr) const { return addr - start; }
  Addr start, bytes;
};
using AddrRangeList = std::list<AddrRange>;

class Port {
 public:
  virtual ~Port() = default;
};
class ResponsePort : public Port {
 public:
  virtual bool recvTimingReq(PacketPtr) = 0;
  virtual Tick recvAtomic(PacketPtr) = 0;
  virtual void recvFunctional(PacketPtr) = 0;
  virtual AddrRangeList getAddrRanges() const = 0;
  bool isConnected() const { return true; }
  void sendRangeChange() {}
  void sendRetryReq() { onRetry(); }
  std::function<void()> onRetry;
  std::function<void(PacketPtr, Tick)> onResponse;
};
class SimObject;
class RespPacketQueue {
 public:
  RespPacketQueue(SimObject &, ResponsePort &, bool) {}
};
class QueuedResponsePort : public ResponsePort {
 public:
  QueuedResponsePort(const std::string &, RespPacketQueue &) {}
  void schedTimingResp(PacketPtr packet, Tick when) { onResponse(packet, when); }
  bool trySatisfyFunctional(PacketPtr) { return false; }
};

enum class DrainState { Running, Draining, Drained };
class SimObject {
 public:
  virtual ~SimObject() = default;
  const std::string &name() const { return called; }
  virtual void init() {}
  virtual DrainState drain() = 0;
  virtual void resetStats() {}
  DrainState drainState() const { return state; }
  void signalDrainDone() { state = DrainState::Drained; }
  DrainState state = DrainState::Running;

 private:
  std::string called = "memory";
};
struct System {
  unsigned cacheLineSize() const { return 64; }
};

struct OutputStream {
  std::ofstream file;
  std::ostream *stream() { return &file; }
};
struct OutputDirectory {
  OutputStream *create(const std::string &name) { return new OutputStream{std::ofstream(name)}; }
  void close(OutputStream *stream) { delete stream; }
};
inline OutputDirectory simout;
inline std::list<std::function<void()>> &exits() {
  static std::list<std::function<void()>> all;
  return all;
}
inline void registerExitCallback(std::function<void()> run) { exits().push_back(run); }

namespace memory {
struct SluiceMemoryParams {
  std::string fabric;
  uint32_t requester;
  uint64_t seed;
  Tick atomic_latency;
  AddrRange range;
};
class AbstractMemory : public SimObject {
 public:
  explicit AbstractMemory(const SluiceMemoryParams &p) : range(p.range) {}
  virtual Port &getPort(const std::string &, PortID) { std::abort(); }
  AddrRange getAddrRange() const { return range; }
  void functionalAccess(PacketPtr packet) { access(packet); }

 protected:
  void access(PacketPtr packet) {
    if (packet->write) bytes[packet->addr] = packet->data;
    else packet->data = bytes[packet->addr];
    packet->response = packet->answered;
  }
  System *system() const { static System all; return &all; }
  AddrRange range;

 private:
  std::map<Addr, std::vector<uint8_t>> bytes;
};
}  // namespace memory

}  // namespace gem5
