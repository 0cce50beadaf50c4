// SPDX-License-Identifier: BSL-1.0
#include "mortise/fence/redis.hpp"

#include "redis_lua.hpp"

#include <utility>

namespace mortise {
namespace {

constexpr std::string_view stale = "MORTISESTALE";
constexpr std::string_view foreign = "MORTISEDOMAIN";

// Pads to the digits of the largest token, so that texts compare as their numbers do.
std::string fixed_width(std::uint64_t value) {
    constexpr std::size_t width = 19;
    const std::string digits = std::to_string(value);
    return std::string(width - digits.size(), '0') + digits;
}

}  // namespace

redis_fence::redis_fence(std::string key) : key_(std::move(key)) {
    if (key_.empty())
        throw error(errc::bad_config, "key = \"\"", "give the fence a key of its own");
}

std::vector<std::string>
redis_fence::call(const fencing_token& held, std::vector<std::string> keys) const {
    if (!held)
        throw error(errc::no_token, "", "pass the token of a lease");
    std::vector<std::string> words{"EVAL", std::string(store_detail::redis_lua::fence)};
    words.push_back(std::to_string(1 + keys.size()));
    words.push_back(key_);
    for (auto& key : keys)
        words.push_back(std::move(key));
    words.push_back(fixed_width(held.value));
    words.emplace_back(held.domain.name());
    return words;
}

std::vector<std::string> redis_fence::raise(const fencing_token& held) const {
    return call(held, {});
}

std::vector<std::string> redis_fence::admit(
    const fencing_token& held,
    const std::vector<std::string>& command,
    const std::vector<std::string>& keys
) const {
    if (command.empty())
        throw error(errc::bad_config, "command", "give the command that writes");
    auto words = call(held, keys);
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

error_code redis_fence::judge(std::string_view error_text) noexcept {
    // Servers before 7 put a dash before an error that a script makes, and some clients keep it.
    if (error_text.starts_with('-'))
        error_text.remove_prefix(1);
    if (error_text.starts_with(stale))
        return errc::stale_token;
    if (error_text.starts_with(foreign))
        return errc::foreign_domain;
    return {};
}

}  // namespace mortise
