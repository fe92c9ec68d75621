// C++: objects, strings and exceptions on memory that does not fit into the cache.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct alignas(256) Aligned {
    uint64_t value;
};

static uint64_t work(uint64_t seed) {
    std::map<std::string, std::unique_ptr<std::string>> all;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 30000; i++) {
        uint64_t key = (i * 7919 + seed) % 9973;
        std::string name = "key " + std::to_string(key);
        try {
            auto &held = all[name];
            if (held)
                throw std::runtime_error(*held);
            char letter = static_cast<char>('a' + key % 26);
            held = std::make_unique<std::string>(200 + key % 300, letter);
        } catch (const std::runtime_error &error) {
            std::string text = error.what();
            sum += text.size() + static_cast<unsigned char>(text.back());
            all.erase(name);
        }
        std::unique_ptr<Aligned> aligned(new Aligned{i});
        if (reinterpret_cast<uintptr_t>(aligned.get()) % 256 != 0)
            throw std::logic_error("not aligned");
    }
    for (const auto &[name, held] : all)
        sum = sum * 31 + name.size() + (held ? held->size() : 0);
    return sum;
}

int main() {
    std::vector<uint64_t> sums(4);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < sums.size(); i++)
        threads.emplace_back([&sums, i] { sums[i] = work(i); });
    for (auto &thread : threads)
        thread.join();
    try {
        volatile std::size_t huge = SIZE_MAX / 2;
        ::operator delete(::operator new(huge));
        return 1;
    } catch (const std::bad_alloc &) {
    }
    for (uint64_t sum : sums)
        std::printf("%llu\n", static_cast<unsigned long long>(sum));
    return 0;
}
