/* What examples/memory-ramulator2 uses of Ramulator 2, with a memory that is easy to foretell: four
   requests at once, each of them 40 cycles. */
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <stdexcept>

#include "ramulator/base/config.h"

namespace Ramulator {

using Addr_t = int64_t;

struct Request {
    struct Type {
        enum : int { Read = 0, Write = 1 };
    };
    Addr_t addr;
};

class IFrontEnd;

class IMemorySystem {
   public:
    explicit IMemorySystem(const std::string &text)
        : tck_(std::stof(text)), throws_(text.find("throws") != std::string::npos) {
        if (tck_ == 0) throw std::runtime_error("a cycle takes no time");
    }
    void connect_frontend(IFrontEnd *) {}
    float get_tCK() const { return tck_; }
    int get_tx_bytes() const { return tck_ < 0 ? 32 : 64; }
    bool send(int type, Addr_t addr, std::function<void(Request &)> callback, int bytes) {
        if (under_way_.size() == 4) return false;
        if (bytes != 64 || (type == Request::Type::Read) != !!callback) {
            throw std::runtime_error("a request of another form");
        }
        under_way_.push_back({clock_ + 40, {addr}, callback});
        return true;
    }
    void tick() {
        if (++clock_ == 1000 && throws_) throw std::runtime_error("cycle 1000");
        while (!under_way_.empty() && under_way_.front().due <= clock_) {
            Transaction first = under_way_.front();
            under_way_.pop_front();
            if (first.callback) first.callback(first.request);
        }
    }

   private:
    struct Transaction {
        uint64_t due;
        Request request;
        std::function<void(Request &)> callback;
    };
    float tck_;
    bool throws_;
    uint64_t clock_ = 0;
    std::deque<Transaction> under_way_;
};

class IFrontEnd {
   public:
    void connect_memory_system(IMemorySystem *memory) { memory_ = memory; }
    bool receive_external_requests(int type, Addr_t addr, int,
                                   std::function<void(Request &)> callback, int bytes) {
        return memory_->send(type, addr, callback, bytes);
    }

   private:
    IMemorySystem *memory_ = nullptr;
};

struct Factory {
    static IFrontEnd *create_frontend(const ConfigNode &config) {
        if (config["frontend"]["impl"].text() != "External") throw std::logic_error("front end");
        return new IFrontEnd;
    }
    static IMemorySystem *create_memory_system(const ConfigNode &config) {
        return new IMemorySystem(config.text());
    }
};

}  // namespace Ramulator
