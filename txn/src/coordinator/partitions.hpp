// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_PARTITIONS_HPP
#define MORTISE_TXN_COORDINATOR_PARTITIONS_HPP

#include "coordinator/coordinator_context.hpp"
#include "log/log_schema.hpp"
#include "log/log_terms.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/lease.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::txn::detail {

/// A part of a log's transactions; one coordinator at a time works on it.
class partition {
public:
    partition(std::uint32_t number, const asio::any_io_executor& on) : id(number), left(on) {}

    /// Whether new transactions may begin in it.
    bool takes() const noexcept { return term && !leaving; }
    /// Whether all that is under way here is decided.
    bool decides_nothing() const noexcept { return beginning == 0 && undecided == 0; }
    /// Whether that term still decides here.
    bool is_in(std::uint64_t term_id) const noexcept { return term && term->id == term_id; }

    const std::uint32_t id;
    std::optional<log::term> term;                    ///< Ours, while we decide.
    coro::event left;                                 ///< Set when we no longer need the lock.
    std::shared_ptr<asio::cancellation_signal> stop;  ///< Stops the coroutine that stands for it.
    std::uint64_t claim = 0;     ///< Counts our leases of its lock, and their ends.
    bool refused = false;        ///< The log did not accept the last epoch.
    bool leaving = false;        ///< It goes to another coordinator once all is decided.
    std::size_t suspicious = 0;  ///< Transactions that say that the log is an old copy.
    std::size_t beginning = 0;   ///< Transactions that wait for their number.
    std::size_t undecided = 0;   ///< Transactions with a number that wait for their decision.
    std::uint64_t recovered_to = 0;
    bool recovering = false;
    bool recovery_done = false;
};

/// Claims partitions of the log: all of them if there are no locks, else those whose locks we hold.
///
/// @par Threads The strand.
class partitions final : coordinator_part {
public:
    partitions(coordinator_core& core, coordinator_context& context) noexcept
        : coordinator_part(core, context) {}

    /// The log is open: claims its partitions.
    void open(const log::log_facts& found);
    /// Gives all partitions up: releases their locks, and stops waiting for others.
    void retire(error_code why);
    /// Gives a partition up, because another coordinator decides there now or soon.
    void step_down(partition& at, error_code why);
    void leave_when_decided(partition& at);
    /// Answers all that wait for the first partition.
    void stop_waiting(error_code why);
    /// Ends every wait in a term, because the context is ending.
    void close() noexcept;

    /// Picks the partition for a new transaction; null if there is none.
    partition* choose();
    /// The partition, if we decide there; else null.
    partition* ours(std::uint32_t id) const;
    const std::vector<std::unique_ptr<partition>>& all() const noexcept { return all_; }
    std::size_t owned() const;
    bool decides_nothing() const;
    /// Whether a coroutine stands for election, or leads: its lock may not be released yet.
    bool standing() const noexcept { return standing_ != 0; }
    /// Whether the first partition may be ours in a moment.
    bool is_opening() const noexcept { return opening_; }
    /// Whether more partitions may be ours in a moment.
    bool is_taking() const;
    /// Returns why nothing can be done just now.
    error_code unusable() const;

private:
    void claim(partition& at, const std::optional<fencing_token>& epoch);
    void claimed(partition& at, error_code failed, const log::term& by);
    void stand(partition& at);
    void end_standing(const std::exception_ptr& failed, std::uint64_t number);
    asio::awaitable<void>
    lead_terms(std::shared_ptr<const void> kept, partition* at, std::uint64_t number);
    asio::awaitable<void> serve(partition& at, const lease& held, std::uint64_t number);
    void leave(partition& at);
    void balance();
    void balance_among(std::size_t coordinators);
    std::string lock_name(const partition& at) const;

    std::vector<std::unique_ptr<partition>> all_;
    std::size_t next_ = 0;      ///< Counts choices, so that partitions take turns.
    std::size_t standing_ = 0;  ///< Coroutines that stand for election, or lead.
    error_code no_term_;        ///< Why no partition is ours, unless another coordinator has it.
    bool opening_ = true;
    unsigned balances_ = 0;
    coordinator_context::timer early_timer_;
    coordinator_context::timer balance_timer_;
};

}  // namespace mortise::txn::detail

#endif
