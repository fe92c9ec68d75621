// Loaded bandwidth: every requester of a fabric keeps as many reads under way as it can, and sends
// the next one when one is done. Build it from the root of the repository, after `make build`:
//
//   c++ -std=c++17 -O2 -Wall -Wextra -Icrates/sluice-capi/include
//       examples/library-cpp/closed_loop.cpp -Ltarget/release -lsluice -Wl,-rpath,target/release
//       -o closed_loop
//
// and give it a fabric whose requesters have pattern = "external":  ./closed_loop FABRIC.toml

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice.h"

namespace {

// A simulation that ends with its owner.
class Fabric {
 public:
  explicit Fabric(const char *path) {
    char *error = nullptr;
    simulation_.reset(sluice_open(path, 1, &error));
    if (simulation_) return;
    const std::string message = error;
    sluice_free_text(error);
    throw std::runtime_error(message);
  }

  sluice_simulation *get() const { return simulation_.get(); }

  void check(int status) const {
    if (status != SLUICE_OK) throw std::runtime_error(sluice_error(get()));
  }

 private:
  struct Delete {
    void operator()(sluice_simulation *simulation) const { sluice_delete(simulation); }
  };
  std::unique_ptr<sluice_simulation, Delete> simulation_;
};

// Reads line after line of all memory, from every requester.
class Load {
 public:
  explicit Load(const Fabric &fabric)
      : simulation_(fabric.get()), next_(sluice_requesters(simulation_)) {
    sluice_call_when_done(simulation_, &Load::on_done, this);
    for (uint32_t requester = 0; requester < next_.size(); requester++) fill(requester);
  }

  uint64_t done() const { return done_; }

 private:
  static void on_done(void *context, const sluice_completion *completion) {
    auto *load = static_cast<Load *>(context);
    load->done_++;
    load->fill(completion->requester);
  }

  void fill(uint32_t requester) {
    const uint64_t bytes = sluice_memory_bytes(simulation_, requester);
    while (sluice_can_send(simulation_, requester)) {
      const uint64_t line = next_[requester]++ * next_.size() + requester;
      if (sluice_send(simulation_, requester, line * 64 % bytes, false, line) != SLUICE_OK) return;
    }
  }

  sluice_simulation *simulation_;
  std::vector<uint64_t> next_;
  uint64_t done_ = 0;
};

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: closed_loop FABRIC.toml\n");
    return 2;
  }
  try {
    const Fabric fabric(argv[1]);
    Load load(fabric);
    // A host would advance by its own clock; here it is 100 us in steps of 1 us.
    for (uint64_t us = 1; us <= 100; us++) {
      if (us == 11) sluice_restart_statistics(fabric.get());
      fabric.check(sluice_advance(fabric.get(), us * 1000000));
    }
    char *statistics = sluice_statistics(fabric.get());
    std::printf("%s\n", statistics ? statistics : sluice_error(fabric.get()));
    sluice_free_text(statistics);
    return load.done() > 0 ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
