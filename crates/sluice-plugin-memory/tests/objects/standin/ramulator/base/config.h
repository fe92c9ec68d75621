/* What examples/memory-ramulator2 uses of Ramulator 2's configurations. A text is a cycle in
   nanoseconds, and `throws` behind it makes the memory fail after 1000 cycles. */
#pragma once
#include <map>
#include <string>

namespace Ramulator {

class ConfigNode {
   public:
    using Map = std::map<std::string, ConfigNode>;
    ConfigNode(const char *text) : text_(text) {}
    ConfigNode(int number) : text_(std::to_string(number)) {}
    ConfigNode(Map map) : map_(std::move(map)) {}
    bool is_map() const { return text_ != "scalar"; }
    void set(const std::string &key, ConfigNode value) { map_.insert_or_assign(key, value); }
    ConfigNode operator[](const std::string &key) const { return map_.at(key); }
    const std::string &text() const { return text_; }

   private:
    std::string text_;
    Map map_;
};

namespace Config {
inline ConfigNode parse_config_string(const std::string &text) { return text.c_str(); }
}  // namespace Config

}  // namespace Ramulator
