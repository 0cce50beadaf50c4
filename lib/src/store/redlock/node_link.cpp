// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/node_link.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::store_detail {

node_link::node_link(
    std::size_t index, node_settings settings, link_settings link, redis_wire_factory wires
)
    : redis_link(std::move(link), std::move(wires)),
      index_(index),
      node_(settings),
      keys_(prefix()) {}

void node_link::bind(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    node_events& events,
    std::weak_ptr<void> owner
) {
    told_ = &events;
    owner_ = std::move(owner);
    redis_link::attach(std::move(strand), *this, std::move(time));
}

// A session that is gone is never revived: each one has an id of its own.
asio::awaitable<error_code> node_link::begin(session_start start) {
    const auto kept = shared_from_this();
    const auto number = ++beginnings_;
    beginning_ = true;
    client_ = start;
    start.id = random_id::draw();
    start.generation = 1;
    auto opening = open(std::move(start));
    const auto reply = co_await std::move(opening);
    if (number == beginnings_)
        beginning_ = false;
    co_return reply ? error_code() : reply.error();
}

void node_link::end_here() noexcept {
    has_session_ = beginning_ = false;
    ++beginnings_;
    end_session();
}

void node_link::note_gone() {
    if (!std::exchange(has_session_, false))
        return;
    end_session();
    if (const auto kept = owner_.lock())
        told_->node_lost(index_);
}

error_code node_link::refuse_repeated() {
    return remember({errc::bad_config, "another address in the list leads to this server, too"});
}

asio::awaitable<redis_failure> node_link::prepare(wire_ptr wire) {
    return wire->subscribe(keys_.inbox(session_name()));
}

asio::awaitable<result<resumed>> node_link::prove() {
    const auto sent = now();
    std::vector<std::string> arguments;
    arguments.push_back(session_name());
    arguments.push_back(generation());
    arguments.push_back(std::to_string(session().ttl.count()));
    arguments.push_back(facts_text(client_));
    arguments.push_back(std::to_string(node_.nodes));
    arguments.push_back(std::to_string(settings().longest_ttl.count()));
    arguments.push_back(strength() == token_strength::strict ? "1" : "0");
    arguments.push_back(random_id::draw().text());
    // A client that had a session there knows that the node is not new.
    arguments.push_back(node_.assume_new && !had_session_ ? "1" : "0");
    auto opening = evaluate(
        newest_wire(),
        script_call(redis_script::redlock_open, keys_.with_facts(), std::move(arguments))
    );
    const auto raw = co_await std::move(opening);
    if (!raw)
        co_return raw.error();
    auto state = parse_node_state(*raw);
    if (!state && state.error() == errc::bad_config)
        co_return remember(
            {errc::bad_config,
             "the store there has " + raw->items[1].text + " nodes, and " +
                 std::to_string(node_.nodes) + " are listed here"}
        );
    if (!state && state.error() == errc::not_a_store)
        co_return remember({errc::not_a_store, "a store of another kind has this prefix"});
    if (!state && state.error() == errc::wrong_server)
        co_return remember({errc::wrong_server, "its clock is ahead by decades: set it"});
    if (!state)
        co_return state.error();
    proof_sent_ = sent;
    is_new_ = session().generation == 1;
    note_state(std::move(*state));
    write_accepted();
    resumed reply;
    reply.sent = sent;
    co_return reply;
}

void node_link::opening_ended(bool in_use) {
    redis_link::opening_ended(in_use);
    if (!in_use)
        return;
    has_session_ = had_session_ = true;
    if (is_new_)
        news_ = 0;
    if (const auto kept = owner_.lock())
        told_->node_opened(index_, is_new_, proof_sent_);
}

void node_link::dropped() noexcept {
    if (const auto kept = owner_.lock())
        told_->node_dropped(index_);
}

void node_link::on_message(const std::string& text) {
    const auto message = parse_node_message(text);
    if (const auto kept = owner_.lock(); kept && message)
        told_->node_told(index_, *message);
}

void node_link::on_store_event(const store_event& event) noexcept {
    if (event.type == store_event::kind::session_lost)
        return note_gone();
    const auto kept = owner_.lock();
    if (kept && event.type == store_event::kind::unsure)
        told_->node_unsure(index_);  // A database was flushed, perhaps another one.
}

asio::awaitable<result<redis_value>> node_link::act_for_session(
    redis_script script, node_keys::list keys, std::vector<std::string> more
) {
    std::vector<std::string> arguments;
    arguments.push_back(session_name());
    arguments.push_back(generation());
    std::move(more.begin(), more.end(), std::back_inserter(arguments));
    return act(script_call(script, std::move(keys), std::move(arguments)));
}

void node_link::note_state(node_state state) {
    state_ = std::move(state);
    state_at_ = now();
    note_time(state_.time);
}

clock::duration node_link::closed_for() const noexcept {
    return std::max(clock::duration::zero(), state_.closed - (now() - state_at_));
}

bool node_link::votes() const noexcept {
    return has_session_ && state_.knows_counters && closed_for() == clock::duration::zero();
}

void node_link::note_time(std::uint64_t time) noexcept {
    time_ = time < latest_guess ? time : 0;
    time_at_ = now();
}

std::uint64_t node_link::estimated_time() const noexcept {
    if (time_ == 0)
        return 0;
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now() - time_at_);
    return time_ + static_cast<std::uint64_t>(since.count());
}

bool node_link::note_news(std::uint64_t news) noexcept {
    const bool gap = news > news_ + 1;
    news_ = std::max(news_, news);
    return gap;
}

}  // namespace mortise::store_detail
