/* Drives examples/gem5 as a bus of gem5 does: sends until it is refused, again after a retry, and
   runs events in the order of time. Prints when each request came back, beside when the fabric
   itself says so. */
#include <cinttypes>

#include "sluice_memory.hh"

using namespace gem5;

constexpr Addr kStart = 1ull << 30;
constexpr int kRequests = 200;
constexpr Tick kEnd = 1'000'000'000'000, kIdle = 2'000'000'000;

struct Bus {
  ResponsePort &port;
  std::vector<Packet> packets;
  std::vector<Tick> sent, back;
  int next = 0, retries = 0;

  explicit Bus(ResponsePort &port) : port(port), sent(kRequests), back(kRequests) {
    for (uint8_t n = 0; n < kRequests; n++) {
      const Addr addr = kStart + (n * 7919 % 64) * 4096;
      /* Every fifth is a write-back, which nobody waits for. */
      packets.push_back({addr, n % 3 == 0, n % 15 != 0, {n}});
      packets.back().headerDelay = 100;
    }
    port.onResponse = [this](PacketPtr packet, Tick when) {
      back[packet - packets.data()] = when;
    };
    port.onRetry = [this] {
      retries++;
      send();
    };
  }
  void send() {
    for (; next < kRequests; next++) {
      /* Its last holder deletes a write-back. */
      Packet *packet = &packets[next];
      if (!packet->answered) packet = new Packet(*packet);
      if (!port.recvTimingReq(packet)) {
        if (!packet->answered) delete packet;
        return;
      }
      sent[next] = curTick();
    }
  }
};

static void run(Tick until) {
  for (;;) {
    EventFunctionWrapper *first = nullptr;
    for (auto *event : events()) {
      if (first == nullptr || event->at < first->at) first = event;
    }
    if (first == nullptr || first->at > until) return;
    clockNow() = first->at;
    deschedule(*first);
    first->run();
  }
}

int main(int, char **arguments) {
  const memory::SluiceMemoryParams params{arguments[1], 0, 7, 123, {kStart, 1ull << 20}};
  memory::SluiceMemory memory(params);
  memory.init();
  auto &port = dynamic_cast<ResponsePort &>(memory.getPort("port", 0));
  Bus bus(port);
  clockNow() = 1'000'000;
  bus.send();
  memory.state = memory.drain();
  std::printf("draining %d\n", memory.state == DrainState::Draining);
  run(~0ull - 1);
  std::printf("drained %d retries %d\n", memory.state == DrainState::Drained, bus.retries > 0);

  /* Each read has what was written before it in the order of acceptance, or nothing. */
  std::map<Addr, std::vector<uint8_t>> bytes;
  int wrong = 0;
  for (const Packet &packet : bus.packets) {
    if (packet.write) bytes[packet.addr] = packet.data;
    else wrong += packet.data != bytes[packet.addr];
  }
  Packet atomic{kStart, true, true, {77}}, functional{kStart, false, true, {}};
  const Tick latency = port.recvAtomic(&atomic);
  port.recvFunctional(&functional);
  std::printf("wrong %d atomic %" PRIu64 " functional %d\n", wrong, latency, functional.data[0]);

  /* The same requests at the same times, from the fabric itself. */
  sluice_simulation *fabric = sluice_open(arguments[1], 7, nullptr);
  std::vector<uint64_t> done(kRequests);
  auto on_done = [](void *all, const sluice_completion *completion) {
    (*static_cast<std::vector<uint64_t> *>(all))[completion->tag] = completion->at_ps;
  };
  sluice_call_when_done(fabric, on_done, &done);
  for (int n = 0; n < kRequests; n++) {
    const Packet &packet = bus.packets[n];
    sluice_advance(fabric, bus.sent[n]);
    wrong += sluice_send(fabric, 0, packet.addr - kStart, packet.write, n) != SLUICE_OK;
  }
  while (sluice_in_flight(fabric) > 0) sluice_advance(fabric, sluice_next_event(fabric));
  for (int n = 0; n < kRequests; n++) {
    const Tick due = bus.packets[n].answered ? done[n] + 100 : 0;
    wrong += bus.back[n] != due || due == 1;
  }
  std::printf("wrong %d\n", wrong);

  /* What is counted lasts from one tick to another, whether or not anything happens then. */
  clockNow() = kEnd;
  for (auto &run : exits()) run();
  std::rename("memory.json", "whole.json");
  clockNow() += kIdle;
  memory.resetStats();
  clockNow() += kIdle;
  for (auto &run : exits()) run();
  sluice_delete(fabric);
}
