// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_REPLY_JUDGE_HPP
#define MORTISE_TXN_COORDINATOR_REPLY_JUDGE_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/running.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/txn/reply.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::txn::detail {

/// Decides what the answer of a participant means for its transaction: the next step, a repetition
/// after a pause, or a stuck branch.
///
/// A participant may also have seen what the log does not know: then the log may be an old copy.
/// The word of a participant stops no more than it must. Its own branch is stuck, nothing new is
/// begun with it, and other transactions go on. That is safe: each of those is judged by its own
/// participants, who answer the same if they know its number from another transaction.
///
/// @par Threads The strand.
class reply_judge final : coordinator_part {
public:
    reply_judge(coordinator_core& core, coordinator_context& context);

    void judge(
        const running_ptr& transaction,
        branch_number number,
        const result<reply>& got,
        const std::string& text
    );

    /// Ends a try that was not sent.
    void give_up_try(const running_ptr& transaction, branch_number number);

private:
    void judge_try(
        const running_ptr& transaction,
        branch_number number,
        const result<reply>& got,
        const std::string& text
    );
    void
    judge_finish(const running_ptr& transaction, branch_number number, const result<reply>& got);
    void repeat_after(const running_ptr& transaction, branch_number number, clock::duration pause);
    void leave_stuck(const running_ptr& transaction, branch_number number);

    bool contradicts_log(const running& transaction, branch_number number, const result<reply>& got)
        const;
    void doubt(const running_ptr& transaction, branch_number number, const result<reply>& got);
    void suspect(const running_ptr& transaction, branch_number number);

    clock::duration pause_after(std::uint32_t attempts);
    clock::duration pause_asked_for(std::chrono::milliseconds asked, std::uint32_t times) const;

    coro::jitter jitter_;
};

}  // namespace mortise::txn::detail

#endif
