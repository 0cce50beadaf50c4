// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_COORDINATOR_CORE_HPP
#define MORTISE_TXN_COORDINATOR_COORDINATOR_CORE_HPP

#include "coordinator/calls.hpp"
#include "coordinator/coordinator_context.hpp"
#include "coordinator/log_session.hpp"
#include "coordinator/open_transactions.hpp"
#include "coordinator/operator_desk.hpp"
#include "coordinator/outcome_desk.hpp"
#include "coordinator/participant_lanes.hpp"
#include "coordinator/partitions.hpp"
#include "coordinator/prepared_watch.hpp"
#include "coordinator/recovery.hpp"
#include "coordinator/reply_judge.hpp"
#include "coordinator/runs.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/wait_service.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <vector>

namespace mortise::txn::detail {

/// The parts of a `coordinator`, and the order in which they end.
///
/// | part | owns |
/// | --- | --- |
/// | `log` | the open log, and its next opening after a failure |
/// | `partitions` | the partitions, their terms, and the elections for them |
/// | `open` | the transactions that are under way, and their numbers by what they wait for |
/// | `admission` | the transactions that have not begun yet |
/// | `runs` | nothing: takes transactions through their stages |
/// | `lanes` | a lane for each participant: who answers, which calls wait, who waits for it |
/// | `calls` | the numbers of the calls, and what participants learn of ends with them |
/// | `replies` | nothing but the pauses: decides what the answer of a participant means |
/// | `recovery` | how far the log was read for transactions to take up and to forget |
/// | `outcomes` | those who wait for the outcome or the end of a transaction |
/// | `operators` | nothing: shows the log to operators, and carries out their orders |
/// | `prepared` | what it has seen of the branches that are prepared at databases |
/// | `orders` | the bell that tells of orders which were left in the log |
///
/// Parts call each other through this object, which keeps all of them alive: see
/// `coordinator_context::keep`.
///
/// @par Threads The strand, except for the members marked "Any thread".
class coordinator_core final : public std::enable_shared_from_this<coordinator_core>,
                               public coro::detail::shutdown_hook {
public:
    using stop_handler = coro::detail::completion<void(error_code)>;

    coordinator_core(asio::any_io_executor executor, coordinator_config config);
    ~coordinator_core() override;

    /// Call once, after construction, because it needs `shared_from_this`.
    void attach();

    // Any thread.
    void stop(stop_handler handler);
    void close() noexcept;

    /// Ends the stop, if one was begun and nothing is left to decide.
    void end_stop();
    /// As `end_stop`, after the present handler.
    void end_stop_later();

    coordinator_context context;
    log_session log;
    detail::partitions partitions;
    open_transactions open;
    participant_lanes lanes;
    detail::calls calls;
    reply_judge replies;
    detail::admission admission;
    detail::runs runs;
    detail::recovery recovery;
    outcome_desk outcomes;
    operator_desk operators;
    prepared_watch prepared;
    left_orders orders;

private:
    void shut_down() noexcept override;
    void begin_stop();
    void close_now();

    std::vector<stop_handler> stoppers_;
    coordinator_context::timer stop_timer_;
    bool log_stopping_ = false;
    bool stop_overdue_ = false;  ///< The log has not taken all decisions in time.
};

}  // namespace mortise::txn::detail

#endif
