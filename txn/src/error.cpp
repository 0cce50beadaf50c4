// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/error.hpp"

#include <string>

namespace mortise::txn {
namespace {

struct code_text {
    errc code;
    const char* text;
};

constexpr code_text texts[] = {
    {errc::refused, "a participant refused its try; its answer says why"},
    {errc::no_answer,
     "a participant gave no clear answer to its try: check that it can be reached, then run "
     "the transaction again"},
    {errc::deadline,
     "the time of the transaction was over before all tries had succeeded: run it again, or "
     "allow more time"},
    {errc::withdrawn, "the caller withdrew the transaction before it was decided"},
    {errc::lock_lost,
     "a lock of the transaction was lost before the decision: acquire it and run the "
     "transaction again"},
    {errc::interrupted, "the coordinator ended before it decided the transaction: run it again"},
    {errc::forced, "an operator cancelled the transaction"},
    {errc::no_branches, "a transaction needs at least one branch: add one"},
    {errc::too_many_branches, "a transaction has at most 1,024 branches: use fewer"},
    {errc::unknown_participant, "the coordinator has no participant of that name"},
    {errc::payload_too_large,
     "the payload is longer than coordinator_config::payload_max: send a reference "
     "instead, or raise the limit"},
    {errc::bad_order, "a branch can come only after branches that were added before it"},
    {errc::bad_key, "a key has 1 to 255 bytes"},
    {errc::key_reused, "the key belongs to a transaction with other branches: use another key"},
    {errc::bad_gid, "this is not the id of a transaction: use the text that gid::text returns"},
    {errc::standby,
     "another coordinator decides at present: ask that one, or try again when it is gone"},
    {errc::stepped_down, "another coordinator has taken over: ask it for the outcome"},
    {errc::stopped, "the coordinator was stopped: make a new one"},
    {errc::not_a_log, "the database belongs to another program: name another file for the log"},
    {errc::log_missing,
     "the log is not in its place: check that its disk is mounted; only a new service makes a "
     "new log"},
    {errc::newer_log, "the log was written by a newer version of mortise: use that version"},
    {errc::log_corrupt,
     "a record of the log contradicts itself: restore the log, or look at it with "
     "`mortise txn show`"},
    {errc::foreign_epochs, "the epochs in the log came from another lock store: use that store"},
    {errc::participant_ahead,
     "a participant knows of an epoch or a transaction that the log does not have: the log is "
     "an old copy, or the participant is wrong; `mortise txn show` says what it has seen, and "
     "the transaction waits for a retry, skip or force"},
    {errc::too_many_open,
     "too many transactions are under way, or wait for one of the participants: wait until some "
     "have ended, or raise coordinator_config::open_max or waiting_max"},
    {errc::not_open, "the transaction is over: nothing is left to do"},
    {errc::not_stuck, "no call of that branch is stuck"},
    {errc::late_try, "the try came after its cancel, or after the end of its transaction"},
    {errc::unknown_branch,
     "the participant knows no try of this branch: it has lost it, or never had it"},
    {errc::conflict, "the branch was already finished the other way"},
    {errc::stale_epoch, "a newer coordinator has called before: this one was replaced"},
    {errc::call_failed, "the participant failed, or its answer is not clear"},
    {errc::call_too_late, "the participant did not answer in time"},
    {errc::old_log,
     "the log is an old copy: find the newest one, or continue with this one by `mortise txn "
     "adopt`"},
    {errc::wrong_work,
     "the participant cannot do this branch: give it a closure for its kind of connection, or a "
     "payload if it has work of its own"},
};

bool may_succeed_later(errc code) noexcept {
    switch (code) {
    case errc::no_answer:
    case errc::deadline:
    case errc::lock_lost:
    case errc::interrupted:
    case errc::standby:
    case errc::too_many_open:
    case errc::call_failed:
    case errc::call_too_late:
        return true;
    default:
        return false;
    }
}

bool is_bad_argument(errc code) noexcept {
    return (code >= errc::no_branches && code <= errc::bad_gid) || code == errc::wrong_work;
}

class txn_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise.txn"; }
    std::string message(int value) const override {
        for (const auto& each : texts) {
            if (static_cast<int>(each.code) == value)
                return each.text;
        }
        return "an error of a transaction that is not known";
    }
    bool
    equivalent(int value, const boost::system::error_condition& wanted) const noexcept override {
        if (wanted == condition::retryable)
            return may_succeed_later(static_cast<errc>(value));
        if (wanted == condition::bad_argument)
            return is_bad_argument(static_cast<errc>(value));
        return error_category::equivalent(value, wanted);
    }
};

}  // namespace

const boost::system::error_category& error_category() noexcept {
    static const txn_category category;
    return category;
}

}  // namespace mortise::txn
