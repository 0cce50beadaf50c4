// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_PREPARED_WATCH_HPP
#define MORTISE_TXN_COORDINATOR_PREPARED_WATCH_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/running.hpp"
#include "mortise/txn/participant.hpp"
#include "mortise/txn/prepared_branch.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace mortise::txn::detail {

/// Looks at the branches that are prepared at databases, one participant after the other: ends
/// orphans, which no transaction needs, and reports those that have been prepared for long.
///
/// Each coordinator that owns a partition does it for the whole log: the database is read before
/// the log, so whatever another coordinator begins meanwhile is found there.
///
/// @par Threads The strand.
class prepared_watch final : coordinator_part {
public:
    prepared_watch(coordinator_core& core, coordinator_context& context);

    /// Looks at once, because a partition was taken over, and then at growing intervals.
    void begin();
    /// Ends the call that is under way.
    void stop() noexcept;

private:
    struct place {
        std::string name;
        std::shared_ptr<participant> client;
        std::uint64_t listed = 0;  ///< The last look in which it has answered.
        bool failed = false;       ///< It was reported that it does not answer.
    };
    /// The number of its transaction, the term, and the branch.
    using branch_key = std::tuple<std::uint64_t, std::uint64_t, branch_number>;
    /// A branch that was found prepared.
    struct finding {
        prepared_branch branch;
        prepared_standing at = prepared_standing::unknown;
        clock::time_point first;  ///< When it was found for the first time.
        clock::duration age{0};
        std::size_t place = 0;
        std::uint64_t look = 0;  ///< The last one that has found it.
        bool reported_long = false;
        bool left = false;  ///< People have to end it.
    };

    void plan(clock::time_point when);
    void plan_next();
    void look();
    void look_at_next();
    template <class T, class Then>
    void call_client(asio::awaitable<result<T>> call, Then then);
    std::vector<finding> note(const std::vector<prepared_branch>& listed);
    void judge(std::vector<finding> found);
    std::vector<finding> orphans_of(const std::vector<finding>& judged);
    void end_orphans(const std::shared_ptr<const std::vector<finding>>& orphans, std::size_t next);
    void end_look();
    void count();
    void report_failure(error_code why);
    void report(txn_event::kind kind, const finding& of) const;

    std::vector<place> places_;
    std::map<branch_key, finding> known_;
    std::uint64_t looks_ = 0;
    std::size_t at_ = 0;  ///< The place that is looked at.
    bool looking_ = false;
    bool again_ = false;  ///< A partition was taken over during the look.
    clock::duration pause_{0};
    clock::time_point overdue_at_;  ///< When the next orphan will be overdue.
    coordinator_context::timer timer_;
    coordinator_context::timer call_timer_;
    std::uint64_t flights_ = 0;
    std::uint64_t flight_ = 0;  ///< The call that is under way; answers to others are void.
    std::shared_ptr<call_stop> call_;
};

}  // namespace mortise::txn::detail

#endif
