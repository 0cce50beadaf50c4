// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_DECISION_LOG_HPP
#define MORTISE_TXN_LOG_DECISION_LOG_HPP

#include "log/durable_decision.hpp"
#include "log/log_entries.hpp"
#include "log/log_schema.hpp"
#include "log/log_terms.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/coordinator_config.hpp"
#include "mortise/txn/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::txn::log {

/// Records how far a log has come, in a file beside it (`LOG-mark`). A log that has come less far
/// is an old copy. The mark is raised after each commit that anybody hears of, and is not synced.
/// After a power failure it may be behind the log, which does no harm, but never ahead of it.
///
/// @par Threads Any thread.
class log_mark {
public:
    /// Opens the mark, or creates it. @throws error if that fails.
    explicit log_mark(const std::filesystem::path& log);
    ~log_mark();
    log_mark(const log_mark&) = delete;
    log_mark& operator=(const log_mark&) = delete;

    /// Assigns the mark to a log, and clears what another log has left in it.
    void adopt(std::uint64_t log);

    /// The number of forced changes of a partition, as far as the mark knows.
    std::uint64_t changes(std::uint32_t partition) const noexcept;
    /// The highest number of a transaction, as far as the mark knows.
    std::uint64_t number() const noexcept;

    // A failure does no harm, except that some old copies are not recognised.
    void raise_changes(std::uint32_t partition, std::uint64_t to) noexcept;
    void raise_number(std::uint64_t to) noexcept;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::uint64_t read(std::size_t place) const noexcept;
    bool write(std::size_t place, std::uint64_t value) noexcept;

    std::filesystem::path path_;
    int file_ = -1;
};

namespace asio = boost::asio;

/// The log of a coordinator. Writes that must be durable before anything else is done are forced;
/// writes that only save work are not.
///
/// @par Threads Any thread. Handlers run on the executor that they are bound to.
class decision_log {
public:
    /// Opens the database, which is I/O.
    /// @throws error if that fails.
    decision_log(const asio::any_io_executor& executor, const coordinator_config& given);

    /// Creates the log if there is none: `void(error_code, log_facts)`.
    template <class Handler>
    void prepare(std::uint32_t partitions, Handler then) {
        session_.async_run(
            [fresh = log_facts{random_term(), partitions}, mark = mark_](db::connection& on) {
                return prepare_by(*mark, on, fresh);
            },
            db::durability::force,
            std::move(then)
        );
    }

    /// Accepts an old copy as the log, for an operator who knows what was lost. Numbers and epochs
    /// continue above those that the mark has seen. `void(error_code)`
    template <class Handler>
    void adopt_old_copy(Handler then) {
        auto adopting = [mark = mark_](db::connection& on) { adopt_by(*mark, on); };
        session_.async_run(std::move(adopting), db::durability::force, std::move(then));
    }

    /// Begins the next term of a partition: `void(error_code, term)`.
    template <class Handler>
    void take_over(
        std::uint64_t log,
        std::uint32_t partition,
        const std::optional<fencing_token>& epoch,
        Handler then
    ) {
        session_.async_run(
            [=, id = random_term()](db::connection& on) {
                return log_terms::take_over(on, log, partition, epoch, id);
            },
            db::durability::force,
            marking(
                std::move(then),
                [mark = mark_](const term& term) {
                    mark->raise_changes(term.partition, term.change);
                }
            )
        );
    }

    /// Begins a transaction, or joins the earlier one with its key: `void(error_code, begun)`. A
    /// lazy one finds no number if none is reserved.
    template <class Handler>
    void begin(
        const term& by,
        std::optional<std::string> key,
        std::string plan,
        begin_way how,
        Handler then
    ) {
        session_.async_run(
            [by, how, key = std::move(key), plan = std::move(plan)](db::connection& on) {
                return log_entries::begin(on, by, key, plan, how);
            },
            how == begin_way::lazy ? db::durability::lazy : db::durability::force,
            marking(
                std::move(then),
                [mark = mark_, at = by.partition, how](const begun& entry) {
                    // A mark that knows of a lazy one would be ahead of the log if that is lost.
                    if (entry.joined || how == begin_way::lazy)
                        return;
                    mark->raise_number(std::max(entry.number, entry.reserved));
                    mark->raise_changes(at, entry.change);
                }
            )
        );
    }

    /// Decides a transaction: `void(error_code, std::optional<durable_decision>)`, after the
    /// commit.
    template <class Handler>
    void decide(
        const term& by,
        std::uint64_t number,
        bool confirm,
        int why,
        std::string text,
        std::string progress,
        Handler then
    ) {
        const auto change = std::make_shared<std::uint64_t>(0);
        session_.async_run(
            [=, text = std::move(text), progress = std::move(progress)](db::connection& on
            ) -> result<std::optional<durable_decision>> {
                const auto result =
                    log_entries::decide(on, by, number, confirm, why, text, progress);
                if (!result)
                    return result.error();
                *change = *result;
                return std::optional(durable_decision(txn::gid{by.log, number}, confirm));
            },
            db::durability::force,
            marking(
                std::move(then),
                [mark = mark_, at = by.partition, change](const std::optional<durable_decision>&) {
                    mark->raise_changes(at, *change);
                }
            )
        );
    }

    /// Notes how a transaction was decided whose only branch knows that for itself, which makes the
    /// decision durable: `void(error_code, std::optional<durable_decision>)`. Not forced.
    template <class Handler>
    void note_decision(
        const term& by, std::uint64_t number, bool confirm, int why, std::string text, Handler then
    ) {
        session_.async_run(
            [=, text = std::move(text)](db::connection& on
            ) -> result<std::optional<durable_decision>> {
                if (const auto failed =
                        log_entries::note_decision(on, by, number, confirm, why, text))
                    return failed;
                return std::optional(durable_decision(txn::gid{by.log, number}, confirm));
            },
            db::durability::lazy,
            std::move(then)
        );
    }

    /// Returns the proof for a transaction that was found decided in the log.
    static durable_decision proof_of(const term& by, const logged& found);

    /// Writes progress: `void(error_code)`. Not forced: work whose record is lost is done again.
    template <class Handler>
    void note_progress(
        const term& by, std::uint64_t number, std::string progress, bool ended, Handler then
    ) {
        session_.async_run(
            [=, progress = std::move(progress)](db::connection& on) -> result<void> {
                if (const auto failed = log_entries::note_progress(on, by, number, progress, ended))
                    return failed;
                return {};
            },
            db::durability::lazy,
            std::move(then)
        );
    }

    /// Runs any read: `void(error_code, T)` for a closure that returns a `T`.
    template <class Question, class Handler>
    void ask(Question question, Handler then) {
        session_.async_read(std::move(question), std::move(then));
    }

    /// Runs any change.
    template <class Change, class Handler>
    void change(Change change, db::durability how, Handler then) {
        session_.async_run(std::move(change), how, std::move(then));
    }

    /// Runs a forced change that decides: it returns the number of the partition's change, or zero
    /// if it has not decided. `void(error_code)`
    template <class Change, class Handler>
    void change_counted(std::uint32_t partition, Change change, Handler then) {
        const auto counted = std::make_shared<std::uint64_t>(0);
        auto changing = [change = std::move(change),
                         counted](db::connection& on) mutable -> result<void> {
            const result<std::uint64_t> result = change(on);
            if (!result)
                return result.error();
            *counted = *result;
            return {};
        };
        auto where = asio::get_associated_executor(then);
        session_.async_run(
            std::move(changing),
            db::durability::force,
            asio::bind_executor(
                std::move(where),
                [then = std::move(then), mark = mark_, partition, counted](error_code failed
                ) mutable {
                    if (!failed && *counted != 0)
                        mark->raise_changes(partition, *counted);
                    then(failed);
                }
            )
        );
    }

    db::sqlite_stats stats() const noexcept { return session_.stats(); }

    /// Whether a commit has failed: the log must be opened anew.
    bool poisoned() const noexcept { return session_.poisoned(); }

    template <class Handler>
    void stop(Handler then) {
        session_.async_stop(std::move(then));
    }

private:
    static std::uint64_t random_term();
    static log_facts prepare_by(log_mark& mark, db::connection& on, const log_facts& fresh);
    static void adopt_by(log_mark& mark, db::connection& on);

    /// Raises the mark before the handler hears of the commit.
    template <class Handler, class Raise>
    static auto marking(Handler then, Raise raise) {
        auto where = asio::get_associated_executor(then);
        return asio::bind_executor(
            std::move(where),
            [then = std::move(then),
             raise = std::move(raise)](error_code failed, auto&& value) mutable {
                if (!failed)
                    raise(value);
                then(failed, std::forward<decltype(value)>(value));
            }
        );
    }

    db::sqlite session_;
    std::shared_ptr<log_mark> mark_;
};

}  // namespace mortise::txn::log

#endif
