// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_DETAIL_XA_SESSION_HPP
#define MORTISE_TXN_DETAIL_XA_SESSION_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/db/server_database.hpp"
#include "mortise/txn/branch_work.hpp"
#include "mortise/txn/error.hpp"
#include "mortise/txn/resource_manager.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::txn::detail {

/// The statements with which a kind of server notes branches. Those about one branch have the log,
/// the participant, the number, the term and the branch as parameters. The key of a note is without
/// the participant: whoever ends an orphan does not know whose it was, except by its log, number,
/// term and branch.
struct xa_statements {
    const char* check;   ///< Gives a text if the server cannot prepare transactions: what to do.
    const char* own_id;  ///< Gives the server's number of the connection.
    const char* find;    ///< Fails if the table is not there.
    const char* make;    ///< Makes the table.
    /// Notes the branch as worked, but may do nothing if its transaction has changed nothing; fails
    /// if it is noted already.
    const char* work;
    const char* work_always;  ///< The same, whatever the transaction has done.
    const char* close;        ///< Notes the branch as closed, unless it is noted.
    const char* look;         ///< Gives the note.
    const char* forget;       ///< By log, participant and highest number: deletes a portion.
    const char* list;         ///< Gives the prepared transactions.
    /// Reads one of them; empty if its name is not such as `db::prepared_name` makes.
    std::optional<prepared_transaction> (*listed)(const db::row& in);
    error_code missing;  ///< There is no such table.
    error_code noted;    ///< The key is there already.
    error_code not_new;  ///< A new connection has prepared statements.
};

inline error_code code_of(const std::exception_ptr& failure) {
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (const boost::system::system_error& thrown) {
        return thrown.code();
    } catch (...) {
        return errc::call_failed;
    }
    return {};
}

inline db::bound_sql about(const char* statement, const call& of) {
    return db::bound_sql(
        statement,
        static_cast<std::int64_t>(of.gid.log),
        of.participant,
        static_cast<std::int64_t>(of.gid.number),
        static_cast<std::int64_t>(of.term),
        static_cast<std::int64_t>(of.branch)
    );
}

constexpr std::int64_t forgotten_at_once = 1'000;

/// Reads a name that may be anybody's.
inline std::optional<prepared_transaction> prepared_as(
    const std::string& global,
    const std::string& branch,
    std::optional<std::chrono::milliseconds> age = std::nullopt
) {
    if (!db::prepared_name::is_usable(global, branch))
        return std::nullopt;
    return prepared_transaction(db::prepared_name(global, branch), age);
}

/// Undoes the transaction of a closure that has told its answer already.
class undo_work : public std::exception {};

/// What the closure of a try has come to. It lives in the frame of the one who awaits the closure.
template <class Connection>
struct xa_attempt {
    const std::function<asio::awaitable<reply>(Connection&, const call&)>* work = nullptr;
    connection_work<Connection>* closure = nullptr;  ///< Null: the participant's own work.
    const xa_statements* say = nullptr;
    const call* request = nullptr;
    clock::time_point until = clock::time_point::max();  ///< The time of the transaction.
    reply answer;
    bool noting = false;  ///< The work is done.
    bool late = false;    ///< The time was up when the work was done.
    bool read_only = false;
};

// The closures are classes of plain pointers: g++ 12 destroys lambdas that own something twice.
template <class Connection>
struct xa_trying {
    xa_attempt<Connection>* at;
    asio::awaitable<bool> operator()(Connection& on) const {
        at->noting = false;  // the closure may run again after a conflict
        auto working = at->closure ? at->closure->run(on, at->request->attempt)
                                   : (*at->work)(on, *at->request);
        at->answer = co_await std::move(working);
        at->late = clock::now() >= at->until;
        if (at->answer.type != reply::verdict::done || at->late)
            throw undo_work();
        if (at->read_only) {
            at->answer = reply::done_for_good();
            co_return false;
        }
        at->noting = true;
        const bool alone = at->request->one_phase;
        // An earlier attempt may have changed something and be on its way: its note must stop this
        // one, also if this one has changed nothing.
        const bool always = alone || at->request->attempt > 1;
        auto noting =
            on.async_query(about(always ? at->say->work_always : at->say->work, *at->request));
        const auto noted = co_await std::move(noting);
        if (noted.affected == 0)
            at->answer = reply::done_for_good();
        co_return !alone && noted.affected != 0;
    }
};

template <class Connection>
struct xa_looking {
    const xa_statements* say;
    const call* request;
    bool close;
    branch_note* found;
    asio::awaitable<void> operator()(Connection& on) const {
        // Waits for a transaction that has noted the branch.
        auto closing = on.async_query(about(say->close, *request));
        const auto closed = co_await std::move(closing);
        if (closed.affected != 0 && !close) {
            *found = branch_note::nothing;
            throw undo_work();
        }
        auto looking = on.async_query(about(say->look, *request));
        const auto row = co_await std::move(looking);
        *found = row.first().integer(0) == 1 ? branch_note::worked : branch_note::closed;
    }
};

/// Whether the server itself answers: a pooler makes the numbers of connections up.
template <class Connection>
struct xa_answers_itself {
    const xa_statements* say;
    asio::awaitable<bool> operator()(Connection& on) const {
        auto asking = on.query(say->own_id);
        const auto found = co_await std::move(asking);
        co_return found.first().integer(0) == static_cast<std::int64_t>(on.server_id());
    }
};

/// A database server as a resource manager.
template <class Session, class Connection>
class xa_session final : public resource_manager {
public:
    using work_type = std::function<asio::awaitable<reply>(Connection&, const call&)>;

    xa_session(
        std::shared_ptr<Session> database,
        work_type work,
        const xa_statements& say,
        db::transaction_options options
    )
        : database_(std::move(database)), work_(std::move(work)), say_(say), options_(options) {}

    asio::awaitable<void> check() override {
        auto opening = open();
        co_await std::move(opening);
        auto listing = list();
        const auto listed = co_await std::move(listing);
    }

    bool accepts(const branch_work* work) const noexcept override {
        return work == nullptr ? static_cast<bool>(work_)
                               : dynamic_cast<const connection_work<Connection>*>(work) != nullptr;
    }

    // A transaction that may not write can leave no note.
    bool commits_alone() const noexcept override { return !options_.read_only; }

    asio::awaitable<result<reply>> prepare(db::prepared_name name, call request) override {
        if (!accepts(request.work.get()))
            co_return error_code(errc::wrong_work);
        auto opening = open();
        co_await std::move(opening);
        xa_attempt<Connection> attempt;
        attempt.work = &work_;
        attempt.closure = dynamic_cast<connection_work<Connection>*>(request.work.get());
        attempt.say = &say_;
        attempt.request = &request;
        attempt.read_only = options_.read_only;
        if (request.time_left > std::chrono::milliseconds(0))
            attempt.until = clock::now() + request.time_left;
        const xa_trying<Connection> todo{&attempt};
        auto preparing = database_->async_prepare(
            std::move(name), todo, options_, asio::as_tuple(asio::deferred)
        );
        const auto ended = co_await std::move(preparing);
        const auto& failure = std::get<0>(ended);
        if (attempt.late)
            co_return error_code(errc::call_too_late);
        if (!failure || attempt.answer.type != reply::verdict::done)
            co_return std::move(attempt.answer);
        if (attempt.noting && code_of(failure) == say_.noted)
            co_return error_code(errc::late_try);
        std::rethrow_exception(failure);
    }

    asio::awaitable<result<bool>> finish(db::prepared_name name, db::prepared_end how) override {
        auto ending = database_->async_finish(std::move(name), how, asio::as_tuple(asio::deferred));
        const auto ended = co_await std::move(ending);
        const auto& failure = std::get<0>(ended);
        if (failure)
            std::rethrow_exception(failure);
        co_return std::get<1>(ended);
    }

    asio::awaitable<result<branch_note>> look(call request, bool close) override {
        auto opening = open();
        co_await std::move(opening);
        branch_note found = branch_note::nothing;
        const xa_looking<Connection> todo{&say_, &request, close, &found};
        auto looking = database_->async_run(todo, {}, asio::as_tuple(asio::deferred));
        const auto ended = co_await std::move(looking);
        const auto& failure = std::get<0>(ended);
        if (failure && !is_undone(failure))
            std::rethrow_exception(failure);
        co_return found;
    }

    asio::awaitable<result<std::vector<prepared_transaction>>> list() override {
        auto listing = database_->query(say_.list);
        const auto all = co_await std::move(listing);
        std::vector<prepared_transaction> found;
        for (const auto& row : all.rows) {
            if (auto each = say_.listed(row))
                found.push_back(std::move(*each));
        }
        co_return found;
    }

    asio::awaitable<result<bool>>
    forget(std::uint64_t log, std::string participant, std::uint64_t below) override {
        auto forgetting = database_->query(
            say_.forget,
            static_cast<std::int64_t>(log),
            participant,
            static_cast<std::int64_t>(below),
            forgotten_at_once
        );
        const auto forgotten = co_await std::move(forgetting);
        co_return forgotten.affected >= forgotten_at_once;
    }

private:
    static bool is_undone(const std::exception_ptr& failure) {
        try {
            std::rethrow_exception(failure);
        } catch (const undo_work&) {
            return true;
        } catch (...) {
            return false;
        }
    }

    // A pooler may give each transaction another connection, which keeps no settings of a session.
    asio::awaitable<void> meet_server() {
        const xa_answers_itself<Connection> asked{&say_};
        auto asking = database_->async_run(asked, {}, asio::as_tuple(asio::deferred));
        const auto answered = co_await std::move(asking);
        const auto& failure = std::get<0>(answered);
        const bool pooled = failure ? code_of(failure) == say_.not_new : !std::get<1>(answered);
        if (pooled) {
            throw error(
                mortise::errc::wrong_server,
                "a pooler answers in the server's place",
                "name the server itself"
            );
        }
        if (failure)
            std::rethrow_exception(failure);
    }

    // Checks the server, and makes the table if it is not there.
    asio::awaitable<void> open() {
        if (open_)
            co_return;
        auto meeting = meet_server();
        co_await std::move(meeting);
        auto checking = database_->query(say_.check);
        const auto advice = co_await std::move(checking);
        if (!advice.empty())
            throw error(mortise::errc::wrong_server, "two-phase commit", advice.first().text(0));
        auto finding =
            database_->async_query(db::bound_sql(say_.find), asio::as_tuple(asio::deferred));
        auto found = co_await std::move(finding);
        if (std::get<0>(found) && code_of(std::get<0>(found)) != say_.missing)
            std::rethrow_exception(std::get<0>(found));
        if (std::get<0>(found)) {
            auto making =
                database_->async_query(db::bound_sql(say_.make), asio::as_tuple(asio::deferred));
            const auto ended = co_await std::move(making);  // others may have been quicker
            auto again = database_->query(say_.find);
            const auto there = co_await std::move(again);
        }
        open_ = true;
    }

    const std::shared_ptr<Session> database_;
    const work_type work_;
    const xa_statements say_;
    const db::transaction_options options_;
    std::atomic<bool> open_{false};
};

}  // namespace mortise::txn::detail

#endif
