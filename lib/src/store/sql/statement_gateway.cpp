// SPDX-License-Identifier: BSL-1.0
#include "store/sql/statement_gateway.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <chrono>
#include <utility>

namespace mortise::store_detail {
namespace {

// Of a connection that is no session's: its calls may wait for a row lock.
constexpr std::chrono::milliseconds usual_ttl(6'000);

// Whoever opens a connection waits for a server that is busy with others as for one that is away.
error_code of_opening(const error_code& failed) {
    return failed == errc::database_busy ? error_code(errc::store_unavailable) : failed;
}

}  // namespace

statement_gateway::statement_gateway(std::unique_ptr<sql_server> server)
    : server_(std::move(server)) {}

void statement_gateway::start(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    push_function pushed,
    std::function<void()> closed
) {
    strand_ = std::move(strand);
    time_ = std::move(time);
    pushed_ = std::move(pushed);
    closed_ = std::move(closed);
}

std::string statement_gateway::explain() const {
    const std::lock_guard guard(failure_mutex_);
    return failure_;
}

void statement_gateway::remember(std::string text) {
    const std::lock_guard guard(failure_mutex_);
    failure_ = std::move(text);
}

statement_gateway::line_ptr statement_gateway::make_line(sql_use use) {
    const auto added = std::make_shared<line>();
    const std::weak_ptr weak_line(added);
    const auto weak = weak_from_this();
    sql_wire_events events;
    events.pushed = [weak, weak_line](const sql_push& push) {
        const auto self = weak.lock();
        if (self && self->session_ && self->session_ == weak_line.lock())
            self->pushed_(push);
    };
    events.closed = [weak, weak_line] {
        if (const auto self = weak.lock())
            self->ended(weak_line);
    };
    events.remembered = [weak](std::string text) {
        if (const auto self = weak.lock())
            self->remember(std::move(text));
    };
    added->wire = server_->make_wire(use, strand_, time_, std::move(events));
    added->passing = use == sql_use::passing;
    const auto silent = [weak, weak_line] {
        const auto self = weak.lock();
        const auto mine = weak_line.lock();
        if (!self || !mine)
            return;
        self->remember("the server did not answer in time");
        self->hang_up(mine);
        self->ended(weak_line);
    };
    // Heartbeats tell of a quiet connection.
    added->answers.attach(strand_, time_, added, silent, [] {});
    added->answers.set_ttl(usual_ttl);
    return added;
}

asio::awaitable<error_code> statement_gateway::open(line_ptr on) {
    const auto kept = shared_from_this();
    auto opening = on->wire->open();
    const error_code failed = co_await std::move(opening);
    on->open = !failed;
    if (failed)
        hang_up(on);
    co_return of_opening(failed);
}

void statement_gateway::hang_up(const line_ptr& on) noexcept {
    on->open = false;
    on->answers.clear();
    on->wire->close();
}

void statement_gateway::ended(const std::weak_ptr<line>& on) {
    const auto mine = on.lock();
    if (!mine)
        return;
    hang_up(mine);
    if (mine == session_)
        closed_();
}

asio::awaitable<error_code> statement_gateway::connect() {
    close();
    session_ = make_line(sql_use::session);
    return open(session_);
}

void statement_gateway::close() noexcept {
    auto locks = std::exchange(row_locks_, {});
    for (const auto& [name, each] : locks)
        hang_up(each);
    if (const auto mine = std::exchange(session_, nullptr))
        hang_up(mine);
}

asio::awaitable<result<sql_results>> statement_gateway::send(line_ptr on, sql_message message) {
    const auto kept = shared_from_this();
    if (!on || !on->open)
        co_return error_code(errc::store_unavailable);
    on->answers.sent();
    auto sending = on->wire->send(std::move(message));
    auto found = co_await std::move(sending);
    on->answers.answered();
    if (!found && found.error() == errc::outcome_unknown)
        hang_up(on);
    co_return found;
}

template <class R>
asio::awaitable<result<R>>
statement_gateway::ask(line_ptr on, sql_message message, reader<R> read) {
    auto sending = send(std::move(on), std::move(message));
    const auto found = co_await std::move(sending);
    if (!found)
        co_return found.error();
    try {
        co_return read(*found);
    } catch (const error& wrong) {
        remember(wrong.what());
    }
    co_return error_code(errc::store_corrupt);
}

// The connection of the session, or one for a single call.
asio::awaitable<statement_gateway::line_ptr> statement_gateway::any_line(error_code& failed) {
    if (session_ && session_->open)
        co_return session_;
    auto passing = make_line(sql_use::passing);
    auto opening = open(passing);
    failed = co_await std::move(opening);
    co_return passing;
}

template <class R>
asio::awaitable<result<R>> statement_gateway::ask_passing(sql_message message, reader<R> read) {
    const auto kept = shared_from_this();
    error_code failed;
    auto choosing = any_line(failed);
    const auto on = co_await std::move(choosing);
    if (failed)
        co_return failed;
    auto asking = ask<R>(on, std::move(message), std::move(read));
    auto reply = co_await std::move(asking);
    if (on->passing)
        hang_up(on);
    co_return reply;
}

// A short way, or a compared write: that nothing was done for others means that it misses.
template <class R>
asio::awaitable<result<R>>
statement_gateway::ask_briefly(sql_message message, reader<R> read, R missed) {
    auto asking = ask<R>(session_, std::move(message), std::move(read));
    auto reply = co_await std::move(asking);
    if (!reply && reply.error() == errc::database_busy)
        co_return missed;
    co_return reply;
}

asio::awaitable<error_code> statement_gateway::tell(sql_message message, bool needs_row) {
    auto asking = needs_row ? ask<bool>(session_, std::move(message), &read_done)
                            : ask_passing<bool>(std::move(message), [](const sql_results&) {
                                  return result<bool>(true);
                              });
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    co_return *reply ? error_code() : error_code(errc::session_lost);
}

asio::awaitable<result<sql_proof>> statement_gateway::prove(session_start start) {
    const auto kept = shared_from_this();
    const auto on = session_;
    if (!on)
        co_return error_code(errc::store_unavailable);
    on->answers.set_ttl(start.ttl);
    auto asking = ask<sql_proof>(on, server_->prove(start), &read_proof);
    auto proof = co_await std::move(asking);
    if (!proof)
        co_return of_opening(proof.error());
    auto hearing = on->wire->hear(proof->key);
    if (const error_code failed = co_await std::move(hearing))
        co_return of_opening(failed);
    co_return proof;
}

asio::awaitable<result<sql_beat>> statement_gateway::beat(sql_actor actor) {
    return ask<sql_beat>(session_, server_->beat(actor), &read_beat);
}

asio::awaitable<result<bool>> statement_gateway::mark_dead(core::session_key key) {
    return ask_passing<bool>(server_->mark_dead(key), &read_dead);
}

asio::awaitable<error_code> statement_gateway::end(sql_actor actor) {
    return tell(server_->end(actor), false);
}

asio::awaitable<error_code> statement_gateway::forget(core::session_key key) {
    return tell(server_->forget(key), false);
}

asio::awaitable<error_code> statement_gateway::watch(sql_actor actor) {
    return tell(server_->watch(actor), true);
}

asio::awaitable<result<sql_taken>> statement_gateway::take(
    sql_actor actor, std::string name, request_id id, bool join, sql_stamp stamp
) {
    constexpr std::size_t names_max = 1'024;
    const auto kept = shared_from_this();
    if (join && server_->takes_apart() && !crowded_.contains(name)) {
        auto trying = ask_briefly<sql_taken>(
            server_->take(actor, name, id, false, stamp), &read_taken, sql_taken()
        );
        const auto taken = co_await std::move(trying);
        if (!taken || taken->apt)
            co_return taken;
        if (crowded_.size() == names_max)
            crowded_.clear();
        crowded_.insert(name);
    }
    auto message = server_->take(actor, name, id, join, stamp);
    // Who was the first that waited is likely to be so again, and tells the holder in the same
    // message.
    const bool tells = first_.contains(name);
    if (tells) {
        const auto word = server_->tell_holder(actor, name, id);
        message.steps.insert(message.steps.end(), word.steps.begin(), word.steps.end());
    }
    auto asking = ask_briefly<sql_taken>(std::move(message), &read_taken, sql_taken());
    auto taken = co_await std::move(asking);
    if (taken && taken->granted)
        crowded_.erase(name);
    if (taken && taken->tells && !tells)
        asio::co_spawn(
            strand_, send(session_, server_->tell_holder(actor, name, id)), asio::detached
        );
    if (!taken || !taken->tells)
        first_.erase(name);
    else if (first_.size() < names_max)
        first_.insert(name);
    co_return taken;
}

asio::awaitable<result<bool>> statement_gateway::release(
    sql_actor actor, std::string name, request_id id, std::uint64_t base, sql_stamp stamp
) {
    return ask_briefly<bool>(server_->release(actor, name, id, base, stamp), &read_done, false);
}

asio::awaitable<result<bool>> statement_gateway::pass_on(
    sql_actor actor, std::string name, request_id id, std::uint64_t base, sql_stamp stamp
) {
    return ask_briefly<bool>(server_->pass_on(actor, name, id, base, stamp), &read_done, false);
}

asio::awaitable<result<sql_left>> statement_gateway::withdraw(
    sql_actor actor, std::string name, request_id id, std::uint64_t ordinal, sql_stamp stamp
) {
    return ask_briefly<sql_left>(
        server_->withdraw(actor, name, id, ordinal, stamp), &read_left, sql_left()
    );
}

asio::awaitable<result<sql_lock>>
statement_gateway::load(sql_actor actor, std::string name, row_lock mode) {
    if (mode == row_lock::taken)
        return load_locked(actor, std::move(name));
    auto message = server_->load(actor, name, mode);
    reader<sql_lock> read = [actor](const sql_results& found) { return read_lock(found, actor); };
    if (actor.key != 0)
        return ask<sql_lock>(session_, std::move(message), std::move(read));
    return ask_passing<sql_lock>(std::move(message), std::move(read));
}

// Who loads again without a write has given the earlier transaction up.
asio::awaitable<result<sql_lock>>
statement_gateway::load_locked(sql_actor actor, std::string name) {
    const auto kept = shared_from_this();
    const auto earlier = row_locks_.extract(name);
    if (!earlier.empty())
        hang_up(earlier.mapped());
    const auto on = make_line(sql_use::row_lock);
    row_locks_[name] = on;
    auto opening = open(on);
    result<sql_lock> loaded = co_await std::move(opening);
    if (on->open) {
        reader<sql_lock> read = [actor](const sql_results& found) {
            return read_lock(found, actor);
        };
        auto asking =
            ask<sql_lock>(on, server_->load(actor, name, row_lock::taken), std::move(read));
        loaded = co_await std::move(asking);
    }
    if (!loaded)
        give_up_row(name, on);
    co_return loaded;
}

void statement_gateway::give_up_row(const std::string& name, const line_ptr& on) noexcept {
    hang_up(on);
    const auto known = row_locks_.find(name);
    if (known != row_locks_.end() && known->second == on)
        row_locks_.erase(known);
}

asio::awaitable<result<bool>> statement_gateway::store(sql_lock_change change) {
    const auto kept = shared_from_this();
    if (const auto locked = row_locks_.find(change.name); locked != row_locks_.end()) {
        const auto on = locked->second;
        auto asking = ask<bool>(on, server_->store(change, row_lock::taken), &read_written);
        auto reply = co_await std::move(asking);
        give_up_row(change.name, on);
        co_return reply;
    }
    auto message = server_->store(change, row_lock::none);
    auto asking = change.actor.key != 0 ? ask<bool>(session_, std::move(message), &read_written)
                                        : ask_passing<bool>(std::move(message), &read_written);
    auto reply = co_await std::move(asking);
    if (!reply && reply.error() == errc::database_busy)
        co_return false;
    co_return reply;
}

asio::awaitable<result<sql_entries>>
statement_gateway::entries(core::session_key key, std::size_t limit) {
    return ask_passing<sql_entries>(server_->entries(key, limit), &read_entries);
}

asio::awaitable<result<std::vector<sql_lock>>>
statement_gateway::list(std::string after, std::size_t limit) {
    return ask_passing<std::vector<sql_lock>>(server_->list(after, limit), &read_locks);
}

asio::awaitable<result<std::vector<break_record>>>
statement_gateway::breaks(std::string name, std::size_t limit) {
    return ask_passing<std::vector<break_record>>(server_->breaks(name, limit), &read_breaks);
}

asio::awaitable<result<std::vector<store_finding>>> statement_gateway::examine() {
    reader<std::vector<store_finding>> read = [this](const sql_results& found) {
        return result<std::vector<store_finding>>(server_->findings(found));
    };
    return ask_passing<std::vector<store_finding>>(server_->examine(), std::move(read));
}

std::shared_ptr<sql_gateway> make_statement_gateway(std::unique_ptr<sql_server> server) {
    return std::make_shared<statement_gateway>(std::move(server));
}

std::unique_ptr<mortise::store> make_sql_store(std::unique_ptr<sql_server> server) {
    constexpr coro::backoff_options reconnecting{
        std::chrono::milliseconds(10), std::chrono::milliseconds(1'000), 2};
    return make_sql_store(
        make_statement_gateway(std::move(server)),
        drawn_pauses(reconnecting, random_id::draw().low),
        true
    );
}

}  // namespace mortise::store_detail
