// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_LOCK_OPERATIONS_HPP
#define MORTISE_STORE_SQLITE_LOCK_OPERATIONS_HPP

#include "store/sqlite/lock_operation.hpp"

#include <utility>

namespace mortise::store_detail {

class request_operation final : public operation_giving<answer> {
public:
    explicit request_operation(lock_request wish) : wish_(std::move(wish)) {}

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;
    request_id granted() const noexcept override;

private:
    lock_request wish_;
};

class withdraw_operation final : public operation_giving<nothing> {
public:
    explicit withdraw_operation(request_id id) noexcept : id_(id) {}

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;

private:
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

class draw_operation final : public operation_giving<token_range> {
public:
    explicit draw_operation(grant held) : held_(std::move(held)) {}

    void apply(core::lock_engine&, core::session_key, const token_domain&) override;

private:
    grant held_;
};

}  // namespace mortise::store_detail

#endif
