// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_OPEN_TRANSACTIONS_HPP
#define MORTISE_TXN_COORDINATOR_OPEN_TRANSACTIONS_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/ends_during_reads.hpp"
#include "coordinator/running.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace mortise::txn::detail {

/// The transactions that are under way, counted by what they wait for: those that wait long must
/// not take the places of others.
///
/// | count | of the open ones | limits |
/// | --- | --- | --- |
/// | in work | not stuck | new transactions, by `open_max` |
/// | stuck | left to people | themselves, by `stuck_max` |
/// | resumed, waiting | taken up from the log, not stuck | what the recovery takes up at all |
/// | resumed, fast | taken up from the log, not slow | what the recovery takes up at once |
///
/// @par Threads The strand.
class open_transactions {
public:
    using table = std::map<std::uint64_t, running_ptr>;

    explicit open_transactions(coordinator_context& context) noexcept : context_(context) {}

    void add(const running_ptr& transaction);
    /// Takes it out, also out of all counts.
    void remove(running& transaction);
    table take_all();
    std::vector<running_ptr> take_all_in(const partition& home);

    /// Returns the transaction, or null.
    running_ptr find(std::uint64_t number) const;
    bool contains(std::uint64_t number) const { return table_.contains(number); }
    /// Whether this very object is open: after a new opening of the log, another one may have its
    /// number.
    bool holds(const running& transaction) const;
    const table& all() const noexcept { return table_; }

    void mark_stuck(running& transaction, bool stuck);
    /// @return whether that changed a count.
    bool mark_slow(running& transaction);
    /// A participant of the transaction has seen something that the log does not know.
    void mark_suspicious(running& transaction);

    std::size_t in_work() const noexcept { return table_.size() - stuck_; }
    std::size_t stuck() const noexcept { return stuck_; }
    std::size_t resumed_waiting() const noexcept { return resumed_ - resumed_stuck_; }
    std::size_t resumed_fast() const noexcept { return resumed_ - slow_; }

    /// Begins a read of the log, whose answer may be older than an end that is noted meanwhile.
    std::shared_ptr<const ends_during_reads::read> begin_read() const { return ends_.begin(); }
    void note_end(std::uint64_t number) { ends_.add(number); }

private:
    void uncount(running& transaction);

    coordinator_context& context_;
    table table_;
    ends_during_reads ends_;
    std::size_t resumed_ = 0;        ///< Open ones that were taken up from the log.
    std::size_t slow_ = 0;           ///< Resumed ones that take long.
    std::size_t stuck_ = 0;          ///< Open ones that are stuck.
    std::size_t resumed_stuck_ = 0;  ///< Resumed ones that are stuck.
};

}  // namespace mortise::txn::detail

#endif
