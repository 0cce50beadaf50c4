// SPDX-License-Identifier: BSL-1.0
#include "store/redis/replica_quorum.hpp"

#include "store/redis/known_scripts.hpp"
#include "store/redis/stored_entry.hpp"
#include "store/redis/words.hpp"

#include <utility>

namespace mortise::store_detail {

namespace {

// @param counted the answer to WAIT; it is about an older write unless `written` says "o".
quorum_answer answer_of(const redis_value& written, const redis_value& counted, unsigned replicas) {
    if (written.type == redis_value::kind::error)
        return quorum_answer(meaning_of_refusal(written.text));
    words reader(written.text);
    const auto letter = reader.next();
    quorum_answer outcome;
    if (letter != "o") {
        outcome.code = errc::outcome_unknown;
        outcome.elsewhere = letter == "x";
        return outcome;
    }
    if (counted.type != redis_value::kind::number || counted.number < replicas) {
        outcome.code = errc::not_enough_replicas;
        return outcome;
    }
    while (!reader.at_end())
        outcome.missing.push_back(reader.number());
    return outcome;
}

}  // namespace

replica_quorum::replica_quorum(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    unsigned replicas,
    redis_scripts::script script,
    redis_wire_factory wires
)
    : strand_(std::move(strand)),
      time_(std::move(time)),
      replicas_(replicas),
      script_(std::move(script)),
      wires_(std::move(wires)),
      rounds_(strand_, quorum_answer(errc::store_unavailable), [this](const round& of) {
          return ask(of);
      }) {}

void replica_quorum::close() noexcept {
    rounds_.end_next();
    if (const auto wire = std::exchange(wire_, nullptr))
        wire->close();
}

asio::awaitable<quorum_answer>
replica_quorum::reach(written_state state, std::chrono::milliseconds limit) {
    const auto kept = shared_from_this();
    const auto mine = rounds_.join();
    round& all = mine->work;
    all.state.keys = std::move(state.keys);
    all.state.session = std::move(state.session);
    all.state.grants.insert(all.state.grants.end(), state.grants.begin(), state.grants.end());
    all.limit = limit;
    auto waiting = rounds_.wait(kept, mine);
    co_await std::move(waiting);
    co_return mine->outcome;
}

// A server that answers others on the same connection is busy, and not silent.
void replica_quorum::watch(
    alarm& by,
    const std::weak_ptr<redis_wire>& wire,
    clock::time_point due,
    clock::duration patience
) {
    by.set(*time_, strand_, due, [this, &by, wire, patience] {
        const auto still = wire.lock();
        if (!still)
            return;
        const auto sign = still->last_sign();
        const auto quiet = sign ? time_->now() - *sign : patience;
        if (quiet < patience)
            watch(by, wire, time_->now() + (patience - quiet), patience);
        else
            still->abandon(patience);
    });
}

// A server may have closed a connection that was idle, which is seen when it is used: another one
// is tried then, once, if there is time left.
asio::awaitable<quorum_answer> replica_quorum::ask(const round& of) {
    const auto patience = 2 * of.limit;
    const auto late = coro::saturating_add(time_->now(), patience);
    for (;;) {
        const bool used = wire_ != nullptr;
        if (!used) {
            wire_ = wires_(strand_);
            open_ = known_ = false;
        }
        const auto wire = wire_;
        alarm silent;
        watch(silent, wire, late, patience);
        auto reaching = reach_on(*wire, of.state, of.limit);
        auto outcome = co_await std::move(reaching);
        if (!outcome.code || outcome.code == errc::not_enough_replicas)
            co_return outcome;
        wire->close();  // The next round opens another.
        if (wire_ != wire)
            co_return outcome;
        wire_ = nullptr;
        if (!used || outcome.code != errc::store_unavailable || time_->now() >= late)
            co_return outcome;
    }
}

redis_command replica_quorum::confirmation(const written_state& state, bool known) const {
    redis_command command;
    command.push_back(known ? "EVALSHA" : "EVAL");
    command.push_back(known ? script_.sha1 : script_.text);
    command.push_back(std::to_string(state.keys.size() + 2 * state.grants.size()));
    command.insert(command.end(), state.keys.begin(), state.keys.end());
    for (const auto& each : state.grants) {
        command.push_back(each.lock);
        command.push_back(each.crowd);
    }
    command.push_back(state.session);
    for (const auto& each : state.grants) {
        std::string text = std::to_string(each.id) + ' ' + std::to_string(each.base);
        if (each.hold_max)
            text += ' ' + hold_text(*each.hold_max);
        command.push_back(std::move(text));
    }
    return command;
}

asio::awaitable<quorum_answer> replica_quorum::reach_on(
    redis_wire& wire, const written_state& state, std::chrono::milliseconds limit
) {
    if (!std::exchange(open_, true)) {
        auto opening = wire.open(deaf_);
        const auto failure = co_await std::move(opening);
        if (failure.code)
            co_return quorum_answer(failure.code);
    }
    for (;;) {
        const bool known = std::exchange(known_, true);
        auto writing = wire.write_and_wait(confirmation(state, known), replicas_, limit);
        const auto replies = co_await std::move(writing);
        if (!replies)
            co_return quorum_answer(errc::store_unavailable);
        if (known && is_unknown_script(replies->front())) {
            known_ = false;  // The server was told to forget its scripts.
            continue;
        }
        co_return answer_of(replies->front(), replies->back(), replicas_);
    }
}

}  // namespace mortise::store_detail
