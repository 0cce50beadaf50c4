// SPDX-License-Identifier: BSL-1.0
#include "sql_model/sim_gateway.hpp"

namespace mortise::sql_model {

using store_detail::sql_actor;
using store_detail::sql_beat;
using store_detail::sql_entries;
using store_detail::sql_left;
using store_detail::sql_lock;
using store_detail::sql_lock_change;
using store_detail::sql_proof;
using store_detail::sql_stamp;
using store_detail::sql_taken;

store_traits sim_gateway::traits() const noexcept {
    store_traits traits;
    traits.remote = true;
    traits.scheme = "sql";
    traits.strength = token_strength::strict;
    traits.push = traits.fair = traits.server_clock = true;
    traits.shared = traits.permits = traits.hold_max = traits.extend = true;
    traits.counts = false;
    traits.ttl_min = std::chrono::milliseconds(10);
    traits.ttl_max = std::chrono::hours(24);
    return traits;
}

void sim_gateway::start(
    [[maybe_unused]] asio::any_io_executor strand,
    [[maybe_unused]] std::shared_ptr<coro::time_source> time,
    push_function pushed,
    [[maybe_unused]] std::function<void()> closed
) {
    pushed_ = std::move(pushed);
}

// The network may deliver a message twice, which TCP does not: the second one finds the answer.
template <class R>
asio::awaitable<result<R>> sim_gateway::ask(work<R> transaction) {
    const auto answered = std::make_shared<std::optional<result<R>>>();
    std::function<result<R>()> there = [base = base_, transaction, answered] {
        if (!*answered) {
            ++base->counts().transactions;
            answered->emplace(transaction(*base));
        }
        return **answered;
    };
    return sim::rpc<R>(self_, base_->host(), std::move(there), call_max_);
}

asio::awaitable<error_code>
sim_gateway::acknowledged(std::function<error_code(sim_database&)> change) {
    const auto kept = shared_from_this();
    work<nothing> there = [change = std::move(change)](sim_database& at) {
        const error_code failed = change(at);
        return failed ? result<nothing>(failed) : result<nothing>(nothing());
    };
    auto asking = ask<nothing>(std::move(there));
    const auto reply = co_await std::move(asking);
    co_return reply ? error_code() : reply.error();
}

// Each push is a message of its own.
sql_tables::notify_function sim_gateway::listener() {
    return [weak = weak_from_this(), &client = self_, &host = base_->host()](const auto& push) {
        sim::detail::send(host, client, [weak, push] {
            const auto self = weak.lock();
            if (self && self->pushed_)
                self->pushed_(push);
        });
    };
}

asio::awaitable<result<sql_proof>> sim_gateway::prove(session_start start) {
    return ask<sql_proof>([start = std::move(start), deliver = listener()](sim_database& at) {
        auto proof = at.tables().prove(at.now(), start);
        if (proof)
            at.listen(proof->key, deliver);
        return proof;
    });
}

asio::awaitable<result<sql_beat>> sim_gateway::beat(sql_actor actor) {
    return ask<sql_beat>([actor](sim_database& at) { return at.tables().beat(at.now(), actor); });
}

asio::awaitable<result<bool>> sim_gateway::mark_dead(session_key key) {
    return ask<bool>([key](sim_database& at) { return at.tables().mark_dead(at.now(), key); });
}

asio::awaitable<error_code> sim_gateway::end(sql_actor actor) {
    return acknowledged([actor](sim_database& at) { return at.tables().end(actor); });
}

asio::awaitable<error_code> sim_gateway::forget(session_key key) {
    return acknowledged([key](sim_database& at) { return at.tables().forget(key); });
}

asio::awaitable<result<sql_taken>>
sim_gateway::take(sql_actor actor, std::string name, request_id id, bool join, sql_stamp stamp) {
    return ask<sql_taken>([=, name = std::move(name)](sim_database& at) -> result<sql_taken> {
        if (at.short_ways_closed())
            return sql_taken();
        return at.tables().take(at.now(), actor, name, id, join, stamp);
    });
}

asio::awaitable<result<bool>> sim_gateway::release(
    sql_actor actor, std::string name, request_id id, std::uint64_t base, sql_stamp stamp
) {
    return ask<bool>([=, name = std::move(name)](sim_database& at) -> result<bool> {
        if (at.short_ways_closed())
            return false;
        return at.tables().release(at.now(), actor, name, id, base, stamp);
    });
}

asio::awaitable<result<bool>> sim_gateway::pass_on(
    sql_actor actor, std::string name, request_id id, std::uint64_t base, sql_stamp stamp
) {
    return ask<bool>([=, name = std::move(name)](sim_database& at) -> result<bool> {
        if (at.short_ways_closed())
            return false;
        return at.tables().pass_on(at.now(), actor, name, id, base, stamp);
    });
}

asio::awaitable<result<sql_left>> sim_gateway::withdraw(
    sql_actor actor, std::string name, request_id id, std::uint64_t ordinal, sql_stamp stamp
) {
    return ask<sql_left>([=, name = std::move(name)](sim_database& at) -> result<sql_left> {
        if (at.short_ways_closed())
            return sql_left();
        return at.tables().withdraw(at.now(), actor, name, id, ordinal, stamp);
    });
}

asio::awaitable<result<sql_lock>>
sim_gateway::load(sql_actor actor, std::string name, store_detail::row_lock mode) {
    if (mode == store_detail::row_lock::taken)
        return load_locked(actor, std::move(name));
    return ask<sql_lock>([actor, name = std::move(name)](sim_database& at) {
        return at.tables().load(at.now(), actor, name, 0);
    });
}

// A second one of the same lock ends the connection of the first one.
asio::awaitable<result<sql_lock>> sim_gateway::load_locked(sql_actor actor, std::string name) {
    const auto kept = shared_from_this();
    const auto mine = row_loads_[name] = ++row_load_;
    auto asking = ask<sql_lock>([actor, name, locker = locker_](sim_database& at) {
        ++at.counts().row_locks;
        return at.tables().load(at.now(), actor, name, locker);
    });
    auto loaded = co_await std::move(asking);
    if (row_loads_.at(name) != mine)
        co_return error_code(errc::outcome_unknown);
    co_return loaded;
}

asio::awaitable<result<bool>> sim_gateway::store(sql_lock_change change) {
    return ask<bool>(
        [change = std::move(change), locker = locker_](sim_database& at) -> result<bool> {
            auto& losing = at.counts().writes_to_lose;
            if (losing != 0) {
                --losing;
                return false;
            }
            return at.tables().store(at.now(), change, locker);
        }
    );
}

asio::awaitable<result<sql_entries>> sim_gateway::entries(session_key key, std::size_t limit) {
    return ask<sql_entries>([key, limit](sim_database& at) {
        return at.tables().entries(at.now(), key, limit);
    });
}

asio::awaitable<result<std::vector<sql_lock>>>
sim_gateway::list(std::string after, std::size_t limit) {
    return ask<std::vector<sql_lock>>([after = std::move(after), limit](sim_database& at) {
        return at.tables().list(at.now(), after, limit);
    });
}

asio::awaitable<result<std::vector<break_record>>>
sim_gateway::breaks(std::string name, std::size_t limit) {
    return ask<std::vector<break_record>>([name = std::move(name), limit](sim_database& at) {
        return at.tables().breaks(name, limit);
    });
}

asio::awaitable<error_code> sim_gateway::watch(sql_actor actor) {
    return acknowledged([actor](sim_database& at) { return at.tables().watch(at.now(), actor); });
}

asio::awaitable<result<std::vector<store_finding>>> sim_gateway::examine() {
    return ask<std::vector<store_finding>>([](sim_database& at) { return at.tables().examine(); });
}

}  // namespace mortise::sql_model
