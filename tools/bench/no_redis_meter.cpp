// SPDX-License-Identifier: BSL-1.0
// Replaces redis_meter.cpp in a program without the Redis store.
#include "bench/redis_meter.hpp"

namespace mortise::tool {

class redis_meter::line {};

redis_meter::~redis_meter() = default;

std::unique_ptr<redis_meter> redis_meter::of(const std::string&) {
    return nullptr;  // the store refuses the URL with a better message
}

double redis_meter::pings_per_s(std::chrono::milliseconds) {
    return 0;
}

std::optional<server_counts> redis_meter::counts() {
    return std::nullopt;
}

void redis_meter::subscribe(const std::string&) {}

echo_count redis_meter::echo_for(const std::string&, std::chrono::milliseconds) {
    return {};
}

void redis_meter::echo_once(const std::string&) {}

void redis_meter::end_echo(const std::string&) {}

void redis_meter::echo_back(const std::string&) {}

}  // namespace mortise::tool
