// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_SCRIPTED_PARTICIPANT_HPP
#define MORTISE_TESTS_UNIT_TXN_SCRIPTED_PARTICIPANT_HPP

#include "mortise/txn/participant.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// Notes every call, and answers as the test wishes. Any thread.
class scripted_participant final : public txn::participant {
public:
    using answer_function = std::function<result<txn::reply>(const txn::call&)>;

    asio::awaitable<result<txn::reply>> carry_out(txn::call call) override {
        note(call);
        while (holds(call.type))
            co_await pause();
        co_return answer(call);
    }
    asio::awaitable<result<std::vector<txn::prepared_branch>>> list_prepared(std::uint64_t log
    ) override;
    bool prepares() const noexcept override { return prepares_; }
    bool commits_alone() const noexcept override { return commits_alone_; }

    /// It is one that prepares. Before a coordinator knows it.
    void prepare_nothing() { prepares_ = true; }
    void commit_alone() { commits_alone_ = prepares_ = true; }
    /// These are prepared from now on. Each ends with its cancel.
    void prepare(std::vector<txn::prepared_branch> all) {
        const std::lock_guard guard(mutex_);
        prepared_ = std::move(all);
    }
    /// Lists do not come while that is so.
    void hold_lists(bool on) {
        const std::lock_guard guard(mutex_);
        lists_held_ = on;
    }
    /// How many lists were asked for, and how many of them were cancelled.
    std::size_t looks() const {
        const std::lock_guard guard(mutex_);
        return looks_;
    }
    std::size_t lists_cancelled() const {
        const std::lock_guard guard(mutex_);
        return lists_cancelled_;
    }

    void answer_by(answer_function answer) {
        const std::lock_guard guard(mutex_);
        answer_ = std::move(answer);
    }

    /// Such calls do not end while that is so.
    void hold(txn::operation operation, bool on) {
        const std::lock_guard guard(mutex_);
        if (on)
            held_.insert(operation);
        else
            held_.erase(operation);
    }
    std::size_t calls_at_once() const noexcept override { return at_once_; }
    /// Before a coordinator knows it.
    void limit(std::size_t calls) { at_once_ = calls; }

    void hold_tries(bool on) { hold(txn::operation::try_, on); }

    std::vector<txn::call> calls() const {
        const std::lock_guard guard(mutex_);
        return calls_;
    }

    /// `try`, `confirm`, ... in their order.
    std::string operations() const {
        std::string all;
        for (const auto& each : calls())
            all += (all.empty() ? "" : " ") + std::string(to_string(each.type));
        return all;
    }

private:
    static asio::awaitable<void> pause();
    void note(const txn::call& call) {
        const std::lock_guard guard(mutex_);
        calls_.push_back(call);
    }
    result<txn::reply> answer(const txn::call& call) {
        const std::lock_guard guard(mutex_);
        auto got = answer_ ? answer_(call) : result<txn::reply>(txn::reply::done());
        if (got && call.type == txn::operation::cancel) {
            std::erase_if(prepared_, [&call](const auto& each) {
                return each.gid == call.gid && each.term == call.term && each.branch == call.branch;
            });
        }
        return got;
    }
    bool holds(txn::operation operation) const {
        const std::lock_guard guard(mutex_);
        return held_.contains(operation);
    }

    mutable std::mutex mutex_;
    std::vector<txn::call> calls_;
    answer_function answer_;
    std::set<txn::operation> held_;
    std::size_t at_once_ = 256;
    bool prepares_ = false;
    bool commits_alone_ = false;
    std::vector<txn::prepared_branch> prepared_;
    bool lists_held_ = false;
    std::size_t looks_ = 0;
    std::size_t lists_cancelled_ = 0;
};

}  // namespace mortise::test

#endif
