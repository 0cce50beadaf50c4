// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_scripts.hpp"

#include "mortise/detail/text.hpp"
#include "redis_lua.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <vector>

namespace mortise::store_detail {
namespace {

std::string sha1_of(const std::string& text) {
    std::array<unsigned char, SHA_DIGEST_LENGTH> sum{};
    ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), sum.data());
    return detail::hexadecimal(
        std::string_view(reinterpret_cast<const char*>(sum.data()), sum.size())
    );
}

}  // namespace

redis_scripts::redis_scripts() {
    using parts = std::vector<std::string_view>;
    const auto make = [&](redis_script id, const parts& of) {
        script& entry = scripts_[static_cast<std::size_t>(id)];
        for (const auto part : of)
            entry.text += part;
        entry.sha1 = sha1_of(entry.text);
    };
    using namespace redis_lua;
    const auto make_with = [&](parts of, redis_script id, std::string_view last) {
        of.push_back(last);
        make(id, of);
    };
    const parts of_sessions{clock, common, sessions};
    const parts of_server{clock, common, sessions, info, server};
    const parts of_locks{clock, common, sessions, locks};
    const parts of_queues{clock, common, sessions, locks, queue};
    const parts of_visits{clock, common, sessions, info, locks, queue};
    make(redis_script::request, {clock, common, request});
    make(redis_script::release, {clock, common, release});
    make(redis_script::release_request, {clock, common, release_request});
    const parts of_requests{clock, common, sessions, locks, queue, asking};
    make_with(of_requests, redis_script::request_rules, request_rules);
    make_with(of_requests, redis_script::request_in_order, request_in_order);
    make_with(of_queues, redis_script::release_rules, release_rules);
    make_with(of_queues, redis_script::withdraw, withdraw);
    make_with(of_queues, redis_script::extend, extend);
    make_with(of_queues, redis_script::state, state);
    make_with(of_visits, redis_script::expel, expel);
    make_with(of_queues, redis_script::expire, expire);
    make_with(of_queues, redis_script::advance, advance);
    make_with(of_visits, redis_script::break_, break_);
    make_with(of_locks, redis_script::draw, draw);
    make_with(of_server, redis_script::resume, resume);
    make_with(of_server, redis_script::beat, beat);
    make(redis_script::confirm, {clock, common, sessions, info, confirm});
    make_with(of_sessions, redis_script::survey, survey);
    make_with(of_sessions, redis_script::forget, forget);
    make_with(of_sessions, redis_script::end, end);
    make_with(of_sessions, redis_script::list, list);
    make_with(of_sessions, redis_script::watch, watch);
    make(redis_script::names, {clock, common, names});
    make(redis_script::retire, {retire});
    make(redis_script::migrate, {clock, common, migrate});
    make(redis_script::single_key_take, {single_key_common, single_key_take});
    make(redis_script::single_key_free, {single_key_common, single_key_free});
    make(redis_script::single_key_renew, {single_key_common, single_key_renew});
    make(redis_script::single_key_draw, {single_key_common, single_key_draw});
    make(redis_script::single_key_break, {single_key_common, single_key_break});
    make(redis_script::single_key_view, {single_key_common, single_key_view});
    make(redis_script::redlock_open, {clock, redlock_common, info, redlock_open});
    make(redis_script::redlock_beat, {clock, redlock_common, redlock_beat});
    make(redis_script::redlock_ask, {clock, redlock_common, redlock_ask});
    make(redis_script::redlock_free, {clock, redlock_common, redlock_free});
    make(redis_script::redlock_draw, {clock, redlock_common, redlock_draw});
    make(redis_script::redlock_check, {clock, redlock_common, redlock_check});
    make(redis_script::redlock_end, {clock, redlock_common, redlock_end});
    make(redis_script::redlock_expel, {clock, redlock_common, redlock_expel});
    make(redis_script::redlock_counter, {clock, redlock_common, redlock_counter});
    make(redis_script::redlock_restore, {clock, redlock_common, redlock_restore});
    make(redis_script::redlock_view, {clock, redlock_common, redlock_view});
    make(redis_script::redlock_break, {clock, redlock_common, redlock_break});
    make(redis_script::bucket_record, {bucket_record});
}

const redis_scripts& redis_scripts::shared() {
    static const redis_scripts all;
    return all;
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
