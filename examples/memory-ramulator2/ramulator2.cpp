/* Ramulator 2 as the memory of a fabric's endpoints. DIR has Ramulator 2
   (github.com/CMU-SAFARI/ramulator2, version 2.1) and the library that it builds. Build this from
   the root of the repository:

     c++ -std=c++20 -O2 -Wall -Wextra -shared -fPIC -Icrates/sluice-abi/include -isystem DIR/src \
         examples/memory-ramulator2/ramulator2.cpp -LDIR -lramulator -Wl,-rpath,DIR \
         -o ramulator2.so

   and give it to endpoints of a fabric, with a configuration that Ramulator 2 has exported
   (ddr4.py, beside this file, is one):

     [[endpoints]]
     name = "memory"
     library = "./ramulator2.so"
     argument = "ddr4.yaml"

   Sluice is the front end, so what the file says of one is not read. Ramulator 2 counts clock
   cycles. A request enters with the first cycle that begins after it came. A read is done at the
   end of the cycle in which Ramulator 2 calls back, and a write one cycle after a controller has
   taken it, because reads find it there. Addresses beyond Ramulator 2's own capacity begin at 0
   again. Cycles without requests are counted before the next one, so that refreshes come when they
   are due. */

#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ramulator/base/config.h"
#include "ramulator/frontend/i_frontend.h"
#include "sluice_memory.h"

namespace {

using Ramulator::ConfigNode;
using Ramulator::Factory;

constexpr int kLine = 64;

struct Waiting {
  uint32_t id;
  uint64_t addr;
  bool is_write;
  uint64_t from; /* the first cycle that begins no earlier than it came */
};

/* Its text, because Ramulator 2 ends the program if it cannot read a file itself. */
ConfigNode configuration(const std::string &path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || text.empty()) {
    throw std::runtime_error("no such file, or an empty one; give what Ramulator 2 has exported");
  }
  ConfigNode config = Ramulator::Config::parse_config_string(text);
  if (!config.is_map()) throw std::runtime_error("not what Ramulator 2 has exported");
  config.set("frontend", ConfigNode::Map{{"impl", "External"}, {"clock_ratio", 1}});
  return config;
}

class Memory {
 public:
  explicit Memory(const std::string &path) {
    const ConfigNode config = configuration(path);
    front_.reset(Factory::create_frontend(config));
    dram_.reset(Factory::create_memory_system(config));
    front_->connect_memory_system(dram_.get());
    dram_->connect_frontend(front_.get());
    cycle_ps_ = static_cast<uint64_t>(std::llround(dram_->get_tCK() * 1000));
    if (dram_->get_tx_bytes() != kLine || cycle_ps_ == 0) {
      throw std::runtime_error("a burst has " + std::to_string(dram_->get_tx_bytes()) +
                               " bytes instead of 64");
    }
  }

  void request(uint64_t now, uint32_t id, uint64_t addr, bool is_write) {
    run_to(now);
    waiting_.push_back({id, addr / kLine * kLine, is_write, (now + cycle_ps_ - 1) / cycle_ps_});
    under_way_++;
  }

  /* The end of the next cycle, as long as there is anything to do. */
  uint64_t next_at() const {
    if (!done_.empty()) return cycle_ * cycle_ps_;
    return under_way_ == 0 || failed_ ? SLUICE_NEVER : (cycle_ + 1) * cycle_ps_;
  }

  void advance(uint64_t now, void (*done)(void *, uint32_t), void *context) {
    run_to(now);
    for (uint32_t id : done_) done(context, id);
    done_.clear();
  }

 private:
  /* After an exception nothing is done any more, and the fabric says so. */
  void run_to(uint64_t now) try {
    while (!failed_ && (cycle_ + 1) * cycle_ps_ <= now) {
      /* Ramulator 2 has queues of a bounded length; what does not fit waits here, in order. */
      while (!waiting_.empty() && waiting_.front().from <= cycle_ && send(waiting_.front())) {
        waiting_.pop_front();
      }
      dram_->tick();
      cycle_++;
    }
  } catch (const std::exception &error) {
    failed_ = true;
    std::fprintf(stderr, "Ramulator 2 failed: %s\n", error.what());
  }

  bool send(const Waiting &next) {
    using Type = Ramulator::Request::Type;
    std::function<void(Ramulator::Request &)> on_read;
    if (!next.is_write) on_read = [this, id = next.id](Ramulator::Request &) { finish(id); };
    const bool taken = front_->receive_external_requests(
        next.is_write ? Type::Write : Type::Read, static_cast<Ramulator::Addr_t>(next.addr), 0,
        on_read, kLine);
    if (taken && next.is_write) finish(next.id);
    return taken;
  }

  void finish(uint32_t id) {
    done_.push_back(id);
    under_way_--;
  }

  std::unique_ptr<Ramulator::IFrontEnd> front_;
  std::unique_ptr<Ramulator::IMemorySystem> dram_;
  uint64_t cycle_ps_ = 0, cycle_ = 0, under_way_ = 0;
  bool failed_ = false;
  std::deque<Waiting> waiting_;
  std::vector<uint32_t> done_;
};

void *build(const struct sluice_memory_space *space) {
  try {
    return new Memory(space->argument);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "Ramulator 2 cannot take `%s`: %s\n", space->argument, error.what());
    return nullptr;
  }
}

void destroy(void *state) { delete static_cast<Memory *>(state); }

uint64_t request(void *state, uint64_t now, uint32_t id, uint64_t addr, bool is_write) {
  static_cast<Memory *>(state)->request(now, id, addr, is_write);
  return SLUICE_NEVER;
}

uint64_t next_at(void *state) { return static_cast<Memory *>(state)->next_at(); }

void advance(void *state, uint64_t now, void (*done)(void *context, uint32_t id), void *context) {
  static_cast<Memory *>(state)->advance(now, done, context);
}

}  // namespace

extern "C" const struct sluice_memory sluice_memory = {
    SLUICE_MEMORY_ABI, sizeof(struct sluice_memory),
    "ramulator2",      "Ramulator 2, cycle by cycle",
    build,             destroy,
    request,           next_at,
    advance,
};
