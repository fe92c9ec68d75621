/* DRAMsim3 as the memory of a fabric's endpoints. DIR has DRAMsim3 (github.com/umd-memsys/DRAMsim3)
   and the library that it builds. Build this from the root of the repository:

     c++ -std=c++17 -O2 -Wall -Wextra -shared -fPIC -Icrates/sluice-abi/include -IDIR/src \
         examples/memory-dramsim3/dramsim3.cpp -LDIR -ldramsim3 -Wl,-rpath,DIR -o dramsim3.so

   and give it to endpoints of a fabric, with one of DRAMsim3's configurations:

     [[endpoints]]
     name = "memory"
     library = "./dramsim3.so"
     argument = "DIR/configs/DDR4_8Gb_x8_2400.ini"

   DRAMsim3 counts clock cycles. A request enters with the first cycle that begins after it came,
   and is done at the end of the cycle in which DRAMsim3 calls back. Cycles without requests are
   counted before the next one, so that refreshes come when they are due. */

#include <stdlib.h>

#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dramsim3.h"
#include "sluice_memory.h"

namespace {

constexpr int kLine = 64;

struct Request {
  uint32_t id;
  uint64_t addr;
  bool is_write;
  uint64_t from; /* the first cycle that begins no earlier than it came */
};

/* A folder for what DRAMsim3 writes of its epochs, which nobody reads. */
class Scratch {
 public:
  Scratch() : path_(std::filesystem::temp_directory_path() / "dramsim3-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) path_ = ".";
  }
  ~Scratch() {
    std::error_code ignored;
    if (path_ != ".") std::filesystem::remove_all(path_, ignored);
  }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

class Memory {
 public:
  explicit Memory(const char *config)
      : dram_(dramsim3::GetMemorySystem(
            config, scratch_.path(), [this](uint64_t addr) { finish(reads_, addr); },
            [this](uint64_t addr) { finish(writes_, addr); })),
        cycle_ps_(static_cast<uint64_t>(std::llround(dram_->GetTCK() * 1000))) {}

  bool is_of_lines() const {
    return dram_->GetBusBits() / 8 * dram_->GetBurstLength() == kLine && cycle_ps_ > 0;
  }

  void request(uint64_t now, uint32_t id, uint64_t addr, bool is_write) {
    run_to(now);
    waiting_.push_back({id, addr / kLine * kLine, is_write, (now + cycle_ps_ - 1) / cycle_ps_});
    under_way_++;
  }

  /* The end of the next cycle, as long as there is anything to do. */
  uint64_t next_at() const {
    if (!done_.empty()) return cycle_ * cycle_ps_;
    return under_way_ == 0 ? SLUICE_NEVER : (cycle_ + 1) * cycle_ps_;
  }

  void advance(uint64_t now, void (*done)(void *, uint32_t), void *context) {
    run_to(now);
    for (uint32_t id : done_) done(context, id);
    done_.clear();
  }

 private:
  using Waiting = std::unordered_map<uint64_t, std::deque<uint32_t>>;

  void run_to(uint64_t now) {
    while ((cycle_ + 1) * cycle_ps_ <= now) {
      /* DRAMsim3 has queues of a bounded length; what does not fit waits here, in order. */
      while (!waiting_.empty() && waiting_.front().from <= cycle_ &&
             dram_->WillAcceptTransaction(waiting_.front().addr, waiting_.front().is_write)) {
        const Request &next = waiting_.front();
        (next.is_write ? writes_ : reads_)[next.addr].push_back(next.id);
        dram_->AddTransaction(next.addr, next.is_write);
        waiting_.pop_front();
      }
      dram_->ClockTick();
      cycle_++;
    }
  }

  /* DRAMsim3 names a request by its address: of several the first is done first. */
  void finish(Waiting &of, uint64_t addr) {
    auto found = of.find(addr);
    if (found == of.end()) return;
    done_.push_back(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) of.erase(found);
    under_way_--;
  }

  Scratch scratch_;
  std::unique_ptr<dramsim3::MemorySystem> dram_;
  uint64_t cycle_ps_, cycle_ = 0, under_way_ = 0;
  std::deque<Request> waiting_;
  Waiting reads_, writes_;
  std::vector<uint32_t> done_;
};

void *build(const struct sluice_memory_space *space) {
  auto memory = std::make_unique<Memory>(space->argument);
  if (!memory->is_of_lines()) {
    std::fprintf(stderr, "%s: a burst is not %d bytes\n", space->argument, kLine);
    return nullptr;
  }
  return memory.release();
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
    "dramsim3",        "DRAMsim3, cycle by cycle",
    build,             destroy,
    request,           next_at,
    advance,
};
