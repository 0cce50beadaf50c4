// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/node_answers.hpp"

#include "store/hex_id.hpp"
#include "store/redis/words.hpp"

#include <utility>

namespace mortise::store_detail {
namespace {

std::uint64_t number_in(const redis_value& value, bool& failed) {
    words number(value.text);
    const auto found = number.number();
    failed = failed || number.failed() || !number.at_end();
    return found;
}

order_key order_in(words& text) {
    order_key key;
    key.at = text.number();
    key.owner = text.next();
    key.id = text.number();
    return key;
}

bool is_gone(const redis_value& reply) noexcept {
    return !reply.items.empty() && reply.items[0].text == "x";
}

// Reads "ID PID HOST\nLABEL".
void read_facts(std::string_view text, party_view& view) {
    words facts(text);
    view.session = parse_hex_id(facts.next()).value_or(session_id());
    view.pid = static_cast<std::int64_t>(facts.number());
    const auto rest = facts.rest();
    const auto end = rest.find('\n');
    view.host = rest.substr(0, end);
    if (end != std::string_view::npos)
        view.label = rest.substr(end + 1);
}

// Reads "OWNER REQUEST SESSION", and of a vote also " BASE ORDER SINCE".
bool read_party(std::string_view text, party_at_node& party, bool has_vote) {
    words place(text);
    party.owner = place.next();
    party.request = place.number();
    place.next();
    if (has_vote) {
        party.base = place.base();
        place.number();
        party.since = place.number();
    }
    return !place.failed();
}

}  // namespace

result<node_state> parse_node_state(const redis_value& reply) {
    if (is_gone(reply))
        return error_code(errc::session_lost);
    if (reply.items.size() == 2 && reply.items[0].text == "n")
        return error_code(errc::bad_config);
    if (reply.items.size() == 2 && reply.items[0].text == "f")
        return error_code(errc::newer_format);
    if (reply.items.size() == 1 && reply.items[0].text == "q")
        return error_code(errc::not_a_store);
    if (reply.items.size() == 1 && reply.items[0].text == "t")
        return error_code(errc::wrong_server);
    if (reply.items.size() < 6 || reply.items[0].text != "o")
        return error_code(errc::store_corrupt);
    bool failed = false;
    node_state state;
    state.start = reply.items[1].text;
    state.closed = std::chrono::microseconds(number_in(reply.items[2], failed));
    state.knows_counters = reply.items[3].text == "1";
    state.news = number_in(reply.items[4], failed);
    state.time = number_in(reply.items[5], failed);
    if (reply.items.size() > 6 && !reply.items[6].text.empty())
        state.next_deadline = std::chrono::microseconds(number_in(reply.items[6], failed));
    for (std::size_t at = 7; at < reply.items.size(); ++at)
        state.dead.push_back(reply.items[at].text);
    if (failed)
        return error_code(errc::store_corrupt);
    return state;
}

result<timed_answer> parse_ballot_answer(const redis_value& reply) {
    using kind = ballot_answer::kind;
    if (is_gone(reply))
        return error_code(errc::session_lost);
    if (reply.items.size() != 4 || reply.items[0].text.size() != 1)
        return error_code(errc::store_corrupt);
    bool failed = false;
    timed_answer timed;
    timed.answer.news = number_in(reply.items[2], failed);
    timed.time = number_in(reply.items[3], failed);
    words text(reply.items[1].text);
    switch (reply.items[0].text.front()) {
    case 'v':
        timed.answer.type = kind::voted;
        timed.answer.contended = text.number() != 0;
        if (timed.answer.contended && !text.at_end())
            timed.answer.other = order_in(text);
        break;
    case 'l':
        timed.answer.type = kind::low;
        timed.answer.counter = text.number();
        failed = timed.answer.counter > latest_guess;
        break;
    case 'b':
        timed.answer.type = kind::taken;
        timed.answer.other = order_in(text);
        break;
    case 'a':
        timed.answer.type = kind::behind;
        timed.answer.other = order_in(text);
        break;
    case 'c':
        timed.answer.type = kind::closed;
        break;
    default:
        failed = true;
    }
    if (failed || text.failed())
        return error_code(errc::store_corrupt);
    return timed;
}

result<bool> parse_freed(const redis_value& reply) {
    if (is_gone(reply))
        return error_code(errc::session_lost);
    if (reply.items.size() != 4)
        return error_code(errc::store_corrupt);
    return reply.items[0].text == "1";
}

result<node_counters> parse_counters(const redis_value& reply) {
    if (reply.items.size() != 4)
        return error_code(errc::store_corrupt);
    bool failed = false;
    node_counters counters;
    counters.known = reply.items[0].text == "1";
    counters.top = number_in(reply.items[1], failed);
    counters.time = number_in(reply.items[2], failed);
    counters.longest = number_in(reply.items[3], failed);
    if (failed || counters.top > latest_guess || counters.time > latest_guess)
        return error_code(errc::store_corrupt);
    return counters;
}

result<checked_votes> parse_checked(const redis_value& reply, std::size_t count) {
    if (is_gone(reply))
        return error_code(errc::session_lost);
    if (reply.items.size() != count + 2)
        return error_code(errc::store_corrupt);
    bool failed = false;
    checked_votes checked;
    checked.news = number_in(reply.items[1], failed);
    for (std::size_t at = 2; at < reply.items.size(); ++at) {
        const auto& text = reply.items[at].text;
        failed = failed || (text != "0" && text != "1" && text != "2");
        checked.votes.push_back(
            text == "0"   ? checked_votes::vote::missing
            : text == "2" ? checked_votes::vote::contended
                          : checked_votes::vote::there
        );
    }
    if (failed)
        return error_code(errc::store_corrupt);
    return checked;
}

std::optional<node_message> parse_node_message(std::string_view text) {
    words all(text);
    node_message message;
    message.news = all.number();
    const auto kind = all.next();
    message.request = all.number();
    if (kind == "c") {
        message.type = node_message::kind::challenged;
        message.other = order_in(all);
    } else if (kind == "t") {
        message.type = node_message::kind::tried;
    } else if (kind == "k") {
        message.type = node_message::kind::broken;
        message.base = all.base();
    } else if (kind != "f") {
        return std::nullopt;
    }
    if (all.failed() || !all.at_end())
        return std::nullopt;
    return message;
}

std::string facts_text(const session_start& start) {
    return start.id.text() + ' ' + std::to_string(start.pid) + ' ' + start.host + '\n' +
           start.label;
}

result<std::vector<lock_at_node>> parse_locks_at_node(const redis_value& reply, std::size_t count) {
    if (reply.items.size() != 4 * count + 1)
        return error_code(errc::store_corrupt);
    bool failed = false;
    const auto time = number_in(reply.items[0], failed);
    std::vector<lock_at_node> locks(count);
    const auto add = [&](lock_at_node& lock, const redis_value* from, bool has_vote) {
        party_at_node party;
        failed = failed || !read_party(from[0].text, party, has_vote);
        const redis_value* const facts = has_vote ? from + 1 : from + 2;
        if (!has_vote)
            party.since = number_in(from[1], failed);
        read_facts(facts[0].text, party.view);
        party.view.left = std::chrono::microseconds(number_in(facts[1], failed));
        if (party.since < time)
            party.view.age = std::chrono::microseconds(time - party.since);
        lock.parties.push_back(std::move(party));
    };
    for (std::size_t at = 0; at < count; ++at) {
        const redis_value* const from = &reply.items[1 + 4 * at];
        if (!from[0].text.empty())
            add(locks[at], from, true);
        const auto& waiters = from[3].items;
        for (std::size_t i = 0; i + 3 < waiters.size(); i += 4)
            add(locks[at], &waiters[i], false);
    }
    if (failed)
        return error_code(errc::store_corrupt);
    return locks;
}

}  // namespace mortise::store_detail
