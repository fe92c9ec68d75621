/* What examples/memory-dramsim3 uses of DRAMsim3, with a memory that is easy to foretell: four
   requests at once, each of them 40 cycles. Its configuration is the cycle in nanoseconds. */
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

namespace dramsim3 {

class MemorySystem {
   public:
    MemorySystem(double tck, std::function<void(uint64_t)> read,
                 std::function<void(uint64_t)> write)
        : tck_(tck), done_{read, write} {}
    double GetTCK() const { return tck_; }
    int GetBusBits() const { return tck_ < 0 ? 32 : 64; }
    int GetBurstLength() const { return 8; }
    bool WillAcceptTransaction(uint64_t, bool) const { return under_way_.size() < 4; }
    bool AddTransaction(uint64_t addr, bool is_write) {
        under_way_.push_back({clock_ + 40, addr, is_write});
        return true;
    }
    void ClockTick() {
        clock_++;
        while (!under_way_.empty() && under_way_.front().due <= clock_) {
            const Transaction first = under_way_.front();
            under_way_.pop_front();
            done_[first.is_write](first.addr);
        }
    }

   private:
    struct Transaction {
        uint64_t due, addr;
        bool is_write;
    };
    double tck_;
    uint64_t clock_ = 0;
    std::function<void(uint64_t)> done_[2];
    std::deque<Transaction> under_way_;
};

inline MemorySystem *GetMemorySystem(const std::string &config, const std::string &,
                                     std::function<void(uint64_t)> read,
                                     std::function<void(uint64_t)> write) {
    return new MemorySystem(std::stod(config), read, write);
}

}  // namespace dramsim3
