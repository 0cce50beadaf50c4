// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_ENDS_DURING_READS_HPP
#define MORTISE_TXN_COORDINATOR_ENDS_DURING_READS_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace mortise::txn::detail {

/// Remembers transactions that ended while the log was being read.
///
/// A read shows the log as it was when the read began. Before its answer is processed, a
/// transaction that it shows as open may have been taken up otherwise, finished and forgotten here.
/// If it were taken up again, it would call participants that have forgotten it, too.
///
/// @par Threads One strand.
class ends_during_reads {
    struct state {
        std::uint64_t count = 0;             ///< The number of ends so far.
        std::multiset<std::uint64_t> begun;  ///< For each read, the count at its beginning.
        std::map<std::uint64_t, std::uint64_t> ended;  ///< Numbers, with the count at their ends.
    };

public:
    /// One read of the log; keep it until the answer has been processed.
    class read {
    public:
        explicit read(std::shared_ptr<state> of)
            : of_(std::move(of)), since_(of_->begun.insert(of_->count)) {}
        ~read() {
            of_->begun.erase(since_);
            if (of_->begun.empty())
                of_->ended.clear();
            else if (of_->ended.size() > kept)
                std::erase_if(of_->ended, [oldest = *of_->begun.begin()](const auto& each) {
                    return each.second <= oldest;
                });
        }
        read(const read&) = delete;
        read& operator=(const read&) = delete;

        /// Whether the transaction has ended since this read began.
        bool is_stale(std::uint64_t number) const {
            const auto found = of_->ended.find(number);
            return found != of_->ended.end() && found->second > *since_;
        }

    private:
        static constexpr std::size_t kept = 1'024;

        const std::shared_ptr<state> of_;
        const std::multiset<std::uint64_t>::iterator since_;
    };

    std::shared_ptr<const read> begin() const { return std::make_shared<const read>(state_); }

    void add(std::uint64_t number) {
        if (!state_->begun.empty())
            state_->ended[number] = ++state_->count;
    }

private:
    const std::shared_ptr<state> state_ = std::make_shared<state>();
};

}  // namespace mortise::txn::detail

#endif
