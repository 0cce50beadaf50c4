// SPDX-License-Identifier: BSL-1.0
// Whatever a server answers: it is refused with a code that the operation may give, or understood,
// and then each number is within its limits.
#include "fuzz/some_redis_values.hpp"
#include "fuzz/target.hpp"
#include "store/redis/redis_answers.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::fuzz::redis_answers_target {
namespace {

using store_detail::redis_value;

redis_value text_of(std::string text) {
    redis_value value;
    value.type = redis_value::kind::text;
    value.text = std::move(text);
    return value;
}

redis_value array_of(std::vector<redis_value> items) {
    redis_value value;
    value.type = redis_value::kind::array;
    value.items = std::move(items);
    return value;
}

std::string some_number(input& in) {
    static const vocabulary known(
        "0 1 2 3 7 1 2 65535 65536 4294967295 9007199254740991 9007199254740992 "
        "18446744073709551615"
    );
    return known.pick(in, 4);
}

std::string some_domain(input& in) {
    static const vocabulary known(
        "shop shop#1 a-name-of-25-characters-x a-domain-of-31-characters-xxxxx"
    );
    return known.pick(in, 4);
}

// Words, each # of which is some number.
std::string some_text(input& in, std::string_view shape) {
    std::string text;
    for (const char each : shape) {
        if (each == '#')
            text += some_number(in);
        else
            text += each;
    }
    return text;
}

std::string some_entry(input& in) {
    static const std::string_view shapes[] = {
        "w x - # name", "w p# # # name", "g x - # # 0 name", "g p# # # # # name", "g s # # # # "};
    return some_text(in, shapes[in.pick(std::size(shapes))]);
}

redis_value some_session(input& in) {
    std::vector<redis_value> items;
    items.push_back(text_of("o"));
    items.push_back(text_of("0123456789abcdeffedcba9876543210ffffffff"));
    items.push_back(text_of(some_domain(in)));
    for (unsigned i = 0; i < 3; ++i)
        items.push_back(text_of(some_number(in)));
    return array_of(std::move(items));
}

// Two entries of a session.
redis_value some_states(input& in) {
    std::vector<redis_value> items;
    items.push_back(text_of(some_text(in, "o #")));
    for (unsigned i = 0; i < 2; ++i) {
        items.push_back(text_of(in.flag() ? "1" : "0"));
        items.push_back(text_of(in.pick(4) == 0 ? std::string() : some_entry(in)));
    }
    return array_of(std::move(items));
}

redis_value some_survey(input& in) {
    std::vector<redis_value> items;
    items.push_back(text_of(some_text(in, "o #")));
    items.push_back(text_of(some_number(in)));
    for (auto left = in.pick(4); left != 0; --left) {
        items.push_back(text_of(some_number(in)));
        items.push_back(text_of(some_text(in, in.flag() ? "p#@# name" : "x name")));
    }
    return array_of(std::move(items));
}

redis_value some_beat(input& in) {
    std::vector<redis_value> items;
    items.push_back(text_of(some_text(in, "o - # # # 1 # # #")));
    for (unsigned i = 0; i < 3; ++i) {
        items.push_back(array_of({}));
        for (auto left = in.pick(3); left != 0; --left)
            items.back().items.push_back(text_of(some_text(in, "session:#:name")));
    }
    return array_of(std::move(items));
}

redis_value some_locks(input& in) {
    std::vector<redis_value> parties;
    for (auto left = in.pick(4); left != 0; --left) {
        parties.push_back(array_of(
            {text_of("0123456789abcdeffedcba9876543210"), text_of("host"), text_of("label")}
        ));
        parties.back().items.push_back(text_of(some_number(in)));
        parties.back().items.push_back(text_of(some_entry(in)));
        parties.back().items.push_back(text_of(some_number(in)));
    }
    std::vector<redis_value> items;
    items.push_back(text_of(some_number(in)));
    items.push_back(text_of(some_domain(in)));
    redis_value count;
    count.type = redis_value::kind::number;
    count.number = in.edge<std::int64_t>();
    items.push_back(array_of({text_of("name"), count, array_of(std::move(parties))}));
    return array_of(std::move(items));
}

redis_value some_breaks(input& in) {
    std::string text;
    for (auto left = 1 + in.pick(12); left != 0; --left) {
        const std::string field = some_number(in);
        text += std::to_string(field.size()) + ':' + field;
    }
    return array_of({text_of(std::move(text))});
}

redis_value some_answer(input& in) {
    switch (in.pick(9)) {
    case 0:
        return some_session(in);
    case 1:
        return some_states(in);
    case 2:
        return some_locks(in);
    case 3:
        return some_breaks(in);
    case 4:
        return text_of(some_text(in, "g # # #"));
    case 5:
        return text_of(some_text(in, in.flag() ? "d # #" : "q # #"));
    case 6:
        return some_beat(in);
    case 7:
        return some_survey(in);
    default:
        return some_redis_value(in);
    }
}

void check_code(const error_code& code, std::initializer_list<errc> allowed) {
    MORTISE_ASSERT(
        code == errc::store_corrupt ||
        std::any_of(allowed.begin(), allowed.end(), [&](errc each) { return code == each; })
    );
}

void check_token(const fencing_token& token, std::uint32_t slot, const token_domain& domain) {
    MORTISE_ASSERT(token.base() < fencing_token::base_end && slot <= lock_mode::capacity_max);
    MORTISE_ASSERT(token.domain.slot_in(domain) == slot);
}

void check_entries(const std::vector<session_entry>& entries, const token_domain& domain) {
    for (const auto& each : entries) {
        MORTISE_ASSERT(!each.name.empty() && each.age >= clock::duration::zero());
        if (each.granted)
            check_token(each.token, each.slot, domain);
        else
            MORTISE_ASSERT(!each.token);
    }
}

void check_session(const redis_value& reply, const token_domain& domain) {
    const auto session = store_detail::parse_resumed(reply);
    if (session) {
        MORTISE_ASSERT(session->domain.name().size() <= token_domain::store_size_max);
    } else {
        check_code(
            session.error(),
            {errc::session_lost, errc::newer_format, errc::bad_config, errc::store_unavailable}
        );
    }
    const auto states = store_detail::parse_states(reply, {7, 8}, domain);
    if (states)
        check_entries(*states, domain);
    else
        check_code(states.error(), {errc::session_lost});
    const auto survey = store_detail::parse_survey(reply);
    if (!survey)
        check_code(survey.error(), {errc::session_lost});
    const auto beat = store_detail::parse_beat(reply);
    if (!beat)
        check_code(beat.error(), {errc::session_lost, errc::store_replaced});
    else if (beat->value.next_deadline)
        MORTISE_ASSERT(*beat->value.next_deadline >= clock::duration::zero());
    if (const auto ended = store_detail::parse_ended(reply))
        check_code(ended, {});
    if (const auto done = store_detail::parse_done(reply))
        check_code(done, {errc::session_lost});
}

void check_locks(const redis_value& reply, const token_domain& domain) {
    const auto granted = store_detail::parse_answer(reply, domain);
    if (!granted)
        check_code(granted.error(), {errc::session_lost, errc::capacity_differs});
    else if (granted->type == answer::kind::granted)
        check_token(granted->token, granted->slot, domain);
    else
        MORTISE_ASSERT(!granted->token && granted->slot == 0);
    if (const auto answers = store_detail::parse_answers(reply, 4, domain))
        MORTISE_ASSERT(!answers->empty() && answers->size() <= 4);
    else
        check_code(answers.error(), {errc::session_lost});
    const auto released = store_detail::parse_released(reply);
    if (!released)
        check_code(released.error(), {errc::session_lost});
    const auto drawn = store_detail::parse_drawn(reply, domain);
    if (!drawn)
        check_code(drawn.error(), {errc::session_lost, errc::lease_lost, errc::unsupported});
    else
        MORTISE_ASSERT(
            drawn->count != 0 && drawn->first.value + (drawn->count - 1) >= drawn->count
        );
}

void check_views(const redis_value& reply, const token_domain& domain) {
    if (const auto names = store_detail::parse_names(reply); !names)
        check_code(names.error(), {});
    const auto locks = store_detail::parse_locks(reply);
    if (!locks)
        check_code(locks.error(), {});
    else
        for (const auto& lock : *locks) {
            for (const auto& each : lock.holders)
                MORTISE_ASSERT(each.token && each.age >= clock::duration::zero());
            for (const auto& each : lock.waiters)
                MORTISE_ASSERT(!each.token && each.age >= clock::duration::zero());
        }
    const auto broken = store_detail::parse_broken(reply);
    if (!broken)
        check_code(broken.error(), {});
    const auto breaks = store_detail::parse_breaks(reply, {}, domain);
    if (!breaks)
        check_code(breaks.error(), {});
    else
        for (const auto& each : *breaks)
            MORTISE_ASSERT(each.token.domain.slot_in(domain));
}

}  // namespace

MORTISE_FUZZ_TARGET(redis_answers) {
    const auto domain = *token_domain::parse(in.flag() ? "a-name-of-25-characters-x" : "shop");
    const auto reply = some_answer(in);
    check_session(reply, domain);
    check_locks(reply, domain);
    check_views(reply, domain);
}

}  // namespace mortise::fuzz::redis_answers_target
