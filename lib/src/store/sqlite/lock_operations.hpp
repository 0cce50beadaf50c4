// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_LOCK_OPERATIONS_HPP
#define MORTISE_STORE_SQLITE_LOCK_OPERATIONS_HPP

#include "core/lock_rows.hpp"
#include "mortise/token_domain.hpp"
#include "store/sqlite/outcome.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace mortise::core {
class lock_engine;
}

namespace mortise::store_detail {

/// Something that a session does with one of its locks, in a transaction that it may share with
/// other operations of the same session.
class lock_operation {
public:
    virtual ~lock_operation() = default;

    /// Does the operation. Called again after a rollback: nothing may then remain of what it found
    /// before.
    virtual void
    apply(core::lock_engine& engine, core::session_key session, const token_domain& domain) = 0;

    /// Fails the operation: nothing of it is known to be done.
    virtual void fail(error_code why) noexcept = 0;

    /// Whether its answer calls that request granted.
    virtual bool grants(request_id /*id*/) const noexcept { return false; }

    /// Takes what the transaction found out besides the answer.
    virtual std::vector<notice>& notices() noexcept = 0;

protected:
    lock_operation() = default;
    lock_operation(const lock_operation&) = default;
    lock_operation(lock_operation&&) = default;
    lock_operation& operator=(const lock_operation&) = default;
    lock_operation& operator=(lock_operation&&) = default;
};

/// An operation whose answer is a `T`.
template <class T>
class operation_giving : public lock_operation {
public:
    using value_type = T;

    void fail(error_code why) noexcept override {
        out.code = why;
        out.value = T();
    }
    std::vector<notice>& notices() noexcept override { return out.notices; }

    outcome<T> out;
};

class request_operation final : public operation_giving<answer> {
public:
    explicit request_operation(lock_request request) : request_(std::move(request)) {}

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;
    bool grants(request_id id) const noexcept override;

private:
    lock_request request_;
};

/// Requests for several locks, until one is not granted.
class request_in_order_operation final : public operation_giving<answers_in_order> {
public:
    explicit request_in_order_operation(std::vector<lock_request> requests);

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;
    bool grants(request_id id) const noexcept override;

private:
    std::vector<request_operation> requests_;
};

class withdraw_operation final : public operation_giving<nothing> {
public:
    withdraw_operation(std::string name, request_id id) noexcept
        : name_(std::move(name)), id_(id) {}

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;

private:
    std::string name_;
    request_id id_;
};

/// Answers whether the grant was there.
class release_operation final : public operation_giving<bool> {
public:
    explicit release_operation(grant held) : held_(std::move(held)) {}

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;

private:
    grant held_;
};

/// Releases a grant and asks for its lock anew.
class release_and_request_operation final : public operation_giving<released_and_asked> {
public:
    release_and_request_operation(grant held, lock_request request)
        : release_(std::move(held)), request_(std::move(request)) {}

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;
    bool grants(request_id id) const noexcept override;

private:
    release_operation release_;
    request_operation request_;
};

/// Answers for how long the grant is kept now.
class extend_operation final : public operation_giving<std::chrono::milliseconds> {
public:
    extend_operation(grant held, std::chrono::milliseconds hold_max)
        : held_(std::move(held)), hold_max_(hold_max) {}

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;

private:
    grant held_;
    std::chrono::milliseconds hold_max_;
};

class draw_operation final : public operation_giving<token_range> {
public:
    explicit draw_operation(grant held) : held_(std::move(held)) {}

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;

private:
    grant held_;
};

}  // namespace mortise::store_detail

#endif
