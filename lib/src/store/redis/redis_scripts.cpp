// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_scripts.hpp"

#include "mortise/detail/text.hpp"
#include "redis_lua.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <initializer_list>

namespace mortise::store_detail {
namespace {

std::string sha1_of(const std::string& text) {
    std::array<unsigned char, SHA_DIGEST_LENGTH> sum{};
    ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), sum.data());
    return detail::hexadecimal(
        std::string_view(reinterpret_cast<const char*>(sum.data()), sum.size())
    );
}

void put_prefix(std::string& text, std::string_view part, std::string_view prefix) {
    constexpr std::string_view mark = "{P}";
    for (;;) {
        const auto found = part.find(mark);
        text += part.substr(0, found);
        if (found == std::string_view::npos)
            return;
        text += prefix;
        part.remove_prefix(found + mark.size());
    }
}

}  // namespace

redis_scripts::redis_scripts(std::string_view prefix) {
    using parts = std::initializer_list<std::string_view>;
    const auto make = [&](redis_script id, parts of) {
        script& entry = scripts_[static_cast<std::size_t>(id)];
        for (const auto part : of)
            put_prefix(entry.text, part, prefix);
        entry.sha1 = sha1_of(entry.text);
    };
    using namespace redis_lua;
    make(redis_script::resume, {common, queue, view, info, server, resume});
    make(redis_script::end, {common, queue, bury, end});
    make(redis_script::request, {common, request_free, request_behind, queue, request});
    make(redis_script::withdraw, {common, queue, withdraw});
    make(redis_script::release, {common, release_alone, release_next, queue, release});
    make(redis_script::draw, {common, queue, draw});
    make(redis_script::beat, {common, queue, bury, info, server, beat});
    make(redis_script::confirm, {common, info, confirm});
    make(redis_script::look, {common, queue, view, look});
    make(redis_script::names, {common, queue, names});
    make(redis_script::list, {common, list});
    make(redis_script::break_, {common, queue, break_});
    make(redis_script::watch, {common, watch});
    make(redis_script::single_key_take, {single_key_common, single_key_take});
    make(redis_script::single_key_free, {single_key_common, single_key_free});
    make(redis_script::single_key_renew, {single_key_common, single_key_renew});
    make(redis_script::single_key_draw, {single_key_common, single_key_draw});
    make(redis_script::single_key_break, {single_key_common, single_key_break});
    make(redis_script::single_key_view, {single_key_common, single_key_view});
}

std::vector<redis_script> redis_scripts::range(redis_script first, redis_script last) {
    std::vector<redis_script> all;
    for (auto at = static_cast<unsigned>(first); at <= static_cast<unsigned>(last); ++at)
        all.push_back(static_cast<redis_script>(at));
    return all;
}

bool redis_scripts::prefix_allowed(std::string_view prefix) noexcept {
    return std::all_of(prefix.begin(), prefix.end(), [](char c) {
        return c > ' ' && c <= '~' && std::string_view("'\"\\{}").find(c) == std::string_view::npos;
    });
}

}  // namespace mortise::store_detail
