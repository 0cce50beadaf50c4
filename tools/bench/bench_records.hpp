// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_RECORDS_HPP
#define MORTISE_TOOLS_BENCH_BENCH_RECORDS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace mortise::tool {

/// Records as a relay sends them. Each has one of a thousand keys, and a payload of the given size
/// that begins with the record's number. Its header is as long as the one with a message's id.
class bench_records {
public:
    bench_records(std::string to, std::size_t payload) : topic_(std::move(to)), size_(payload) {}

    const std::string& topic() const noexcept { return topic_; }
    static std::string key(std::uint64_t number) { return "key-" + std::to_string(number % 1'000); }
    std::string payload(std::uint64_t number) const {
        std::string made = std::to_string(number) + ' ';
        made.resize(std::max(size_, made.size()), 'x');
        return made;
    }

private:
    std::string topic_;
    std::size_t size_;
};

}  // namespace mortise::tool

#endif
