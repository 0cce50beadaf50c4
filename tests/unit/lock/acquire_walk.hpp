// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_LOCK_ACQUIRE_WALK_HPP
#define MORTISE_TESTS_UNIT_LOCK_ACQUIRE_WALK_HPP

#include "core/acquire_fsm.hpp"
#include "support/choices.hpp"

#include <boost/asio/error.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace mortise::core::test {

/// One acquire and a store that may do whatever stores do: refuse, queue, grant, lose an answer or
/// a push, forget the session, take a grant away. It knows what is really at the store.
class acquire_walk {
public:
    explicit acquire_walk(const mortise::test::choices& source) : source_(source) {
        carry_out(fsm_.session_ready());
    }

    bool used_up() const noexcept { return source_.used_up(); }

    void step() {
        switch (pick(12)) {
        case 0:
            return at_store();
        case 1:
            return answer_next();
        case 2:
            return grant_a_waiter();
        case 3:
            return deliver_push();
        case 4:
            return prove();
        case 5:
            return look();
        case 6:
            return stop(errc::busy);
        case 7:
            return pick(3) == 0 ? stop(boost::asio::error::operation_aborted) : at_store();
        case 8:
            return retry();
        case 9:
            return pick(3) == 0 ? budget_over() : answer_next();
        case 10:
            return pick(4) == 0 ? lose_session() : deliver_push();
        default:
            return pick(4) == 0 ? take_away() : answer_next();
        }
    }

    // Everything works from now on, and the caller no longer wants the lock: the walk must come to
    // its end.
    void come_to_rest() {
        calm_ = true;
        stop(boost::asio::error::operation_aborted);
        for (int i = 0; i < 20 && !fsm_.settled(); ++i) {
            at_store();
            answer_next();
            prove();
            retry();
        }
        ASSERT_TRUE(fsm_.settled());
        // Settled is final: nothing that comes late has an effect.
        const std::size_t finishes = finishes_;
        for (int i = 0; i < 40; ++i)
            step();
        EXPECT_TRUE(fsm_.settled());
        EXPECT_EQ(finishes_, finishes);
        EXPECT_EQ(finishes_, 1u);
    }

    bool granted() const { return finishes_ != 0 && !told_; }
    bool ended_late() const { return late_; }

private:
    enum class row { none, waiting, granted };
    enum class command { request, withdraw };
    struct reply {
        command to = command::request;
        error_code failure;
        answer value;
    };

    unsigned pick(unsigned of) { return source_.pick(of); }

    void carry_out(acquire_fsm::action next) {
        if (fsm_.settled() && next != acquire_fsm::action::none &&
            next != acquire_fsm::action::finish)
            ADD_FAILURE() << "an action after the end";
        switch (next) {
        case acquire_fsm::action::none:
            break;
        case acquire_fsm::action::send_request:
            EXPECT_EQ(requests_, 0u) << "two requests at a time";
            EXPECT_FALSE(fsm_.stopped()) << "a request that nobody wants";
            ++requests_;
            sent_.push_back(command::request);
            break;
        case acquire_fsm::action::ask_again:
            EXPECT_EQ(requests_, 0u) << "two requests at a time";
            EXPECT_FALSE(fsm_.stopped()) << "a request that nobody wants";
            ++requests_;
            sent_.push_back(command::request);
            break;
        case acquire_fsm::action::send_withdraw:
            EXPECT_EQ(withdrawals_, 0u) << "two withdrawals at a time";
            EXPECT_TRUE(fsm_.stopped());
            ++withdrawals_;
            sent_.push_back(command::withdraw);
            break;
        case acquire_fsm::action::try_later:
            resting_ = true;
            break;
        case acquire_fsm::action::finish:
            finish();
            break;
        }
        check();
    }

    void finish() {
        EXPECT_EQ(++finishes_, 1u) << "finished twice";
        told_ = fsm_.outcome();
        if (told_) {
            EXPECT_FALSE(fsm_.token());
            late_ = !fsm_.settled();
            return;
        }
        EXPECT_TRUE(fsm_.settled());
        EXPECT_FALSE(cancelled_) << "success after a cancellation";
        EXPECT_EQ(fsm_.token().value, token_) << "not the grant that the store gave last";
        // From here on the entry belongs to the lease.
        row_ = row::none;
    }

    void check() {
        if (!fsm_.settled())
            return;
        EXPECT_EQ(finishes_, 1u) << "settled before it completed";
        EXPECT_EQ(fsm_.outcome(), told_) << "the outcome changed after it was told";
        if (told_) {
            EXPECT_EQ(row_, row::none) << "something is left at the store";
            for (const auto waiting : sent_)
                EXPECT_NE(waiting, command::request) << "a request is still on its way";
        }
    }

    // The first command reaches the store, or is lost on the way; its answer may be lost as well.
    void at_store() {
        if (sent_.empty())
            return;
        reply then;
        then.to = sent_.front();
        sent_.pop_front();
        const unsigned fate = calm_ ? 9 : pick(10);
        if (fate != 0 && then.to == command::request)
            request_arrives(then);
        else if (fate != 0)
            row_ = row::none;
        if (fate <= 1)
            then.failure = errc::outcome_unknown;
        replies_.push_back(then);
    }

    void request_arrives(reply& then) {
        if (row_ == row::none) {
            const unsigned choice = pick(3);
            if (choice == 2)
                return;  // refused: nothing is kept
            row_ = row::waiting;
            if (choice == 0)
                grant_a_waiter();
        }
        then.value.type = row_ == row::granted ? answer::kind::granted : answer::kind::queued;
        then.value.token.value = row_ == row::granted ? token_ : 0;
    }

    void grant_a_waiter() {
        if (row_ != row::waiting)
            return;
        row_ = row::granted;
        ++token_;
        if (pick(4) != 0)
            push_ = token_;
    }

    void answer_next() {
        if (replies_.empty())
            return;
        const reply next = replies_.front();
        replies_.pop_front();
        if (next.to == command::withdraw) {
            --withdrawals_;
            carry_out(fsm_.withdrawn(next.failure));
            EXPECT_TRUE(next.failure || fsm_.settled()) << "withdrawn, and not at its end";
        } else {
            --requests_;
            if (!next.failure)
                carry_out(fsm_.answered(next.value, sure()));
            else if (calm_ || pick(2) == 0)
                carry_out(fsm_.request_failed(next.failure));
            else
                carry_out(fsm_.connection_lost(next.failure));
        }
    }

    bool sure() { return calm_ || pick(2) == 0; }

    // A push is a hint of the grant that is there: stores verify it.
    void deliver_push() {
        const auto push = std::exchange(push_, std::nullopt);
        fencing_token token;
        token.value = push.value_or(0);
        if (row_ == row::granted && token.value == token_)
            carry_out(fsm_.granted(token, sure()));
    }

    void prove() { carry_out(fsm_.proved()); }

    // Answers come in the order of the calls, so what was asked before is answered before.
    void look() {
        if (!(fsm_.at_store() || fsm_.unheard()) || !sent_.empty())
            return;
        fencing_token token;
        token.value = token_;
        if (row_ == row::none && fsm_.at_store())
            carry_out(fsm_.missing());
        else if (row_ == row::granted && !fsm_.unproved())
            carry_out(fsm_.granted(token, sure()));
    }

    void stop(error_code reason) {
        if (!fsm_.finished() && reason != errc::busy)
            cancelled_ = true;
        carry_out(fsm_.stop(reason));
    }

    void retry() {
        if (std::exchange(resting_, false))
            carry_out(fsm_.retry());
    }

    void budget_over() {
        if (!fsm_.stopped())
            return;
        carry_out(fsm_.budget_over());
        EXPECT_TRUE(fsm_.finished());
    }

    void lose_session() {
        sent_.clear();
        replies_.clear();
        push_.reset();
        requests_ = withdrawals_ = 0;
        resting_ = false;
        row_ = row::none;
        const bool wanted = !fsm_.stopped();
        carry_out(fsm_.session_lost());
        EXPECT_NE(fsm_.settled(), wanted && !granted());
        carry_out(fsm_.session_ready());
    }

    // By force, or by a store that lost its memory. A caller that takes the lock by an answer under
    // way learns of the loss as any holder does, so such moments are left out.
    void take_away() {
        const bool not_taken = row_ == row::granted && (fsm_.unproved() || fsm_.stopped());
        if ((not_taken || row_ == row::waiting) && replies_.empty())
            row_ = row::none;
    }

    mortise::test::choices source_;
    acquire_fsm fsm_;
    row row_ = row::none;
    std::uint64_t token_ = 0;
    std::deque<command> sent_;
    std::deque<reply> replies_;
    std::optional<std::uint64_t> push_;
    std::size_t requests_ = 0;
    std::size_t withdrawals_ = 0;
    std::size_t finishes_ = 0;
    error_code told_;
    bool resting_ = false;
    bool cancelled_ = false;
    bool calm_ = false;
    bool late_ = false;
};

}  // namespace mortise::core::test

#endif
