// SPDX-License-Identifier: BSL-1.0
#include "mortise/lease.hpp"

#include "client/claim.hpp"
#include "client/client_core.hpp"
#include "client/held_grant.hpp"
#include "mortise/lease_view.hpp"

#include <boost/asio/system_executor.hpp>

#include <utility>

namespace mortise {

const char* to_string(lease_state state) noexcept {
    switch (state) {
    case lease_state::held:
        return "held";
    case lease_state::unsure:
        return "unsure";
    case lease_state::lost:
        return "lost";
    case lease_state::released:
        break;
    }
    return "released";
}

lease::lease(std::shared_ptr<detail::held_grant> grant) noexcept : grant_(std::move(grant)) {}

lease& lease::operator=(lease&& other) noexcept {
    if (this != &other) {
        let_go();
        grant_ = std::move(other.grant_);
    }
    return *this;
}

lease::~lease() {
    let_go();
}

void lease::let_go() noexcept {
    const auto grant = std::exchange(grant_, nullptr);
    if (!grant)
        return;
    if (const auto core = grant->home().core.lock())
        core->locals.release_late(grant);
}

lease::operator bool() const noexcept {
    return grant_ && grant_->state() != lease_state::released;
}

std::string_view lease::name() const noexcept {
    return grant_ ? std::string_view(grant_->name()) : std::string_view();
}

fencing_token lease::token() const noexcept {
    return grant_ ? grant_->shown_token() : fencing_token();
}

lease_view lease::view() const noexcept {
    return lease_view(grant_);
}

lease_state lease::state() const noexcept {
    return grant_ ? grant_->state() : lease_state::released;
}

error_code lease::check() const noexcept {
    return grant_ ? grant_->check() : error_code(errc::lease_released);
}

clock::time_point lease::valid_until() const noexcept {
    return grant_ ? grant_->deadline() : clock::time_point::min();
}

clock::duration lease::verified_ago() const noexcept {
    const auto sent = grant_ ? grant_->verified() : clock::time_point::min();
    return sent == clock::time_point::min() ? clock::duration::max() : grant_->home().now() - sent;
}

std::uint32_t lease::slot() const noexcept {
    return grant_ ? grant_->of().slot : 0;
}

bool lease::contended() const noexcept {
    const auto core = grant_ ? grant_->home().core.lock() : nullptr;
    return core && core->locals.wanted(*grant_);
}

void lease::require_held(const std::shared_ptr<detail::held_grant>& grant) {
    if (const error_code wrong = grant ? grant->check() : error_code(errc::lease_released))
        throw boost::system::system_error(wrong);
}

namespace detail {

asio::any_io_executor executor_of(const std::shared_ptr<held_grant>& grant) noexcept {
    return grant ? grant->home().executor : asio::any_io_executor(asio::system_executor());
}

void start_release(lease_handler handler, lease held) {
    const auto grant = std::exchange(held.grant_, nullptr);
    const auto core = grant ? grant->home().core.lock() : nullptr;
    if (core)
        core->locals.release(grant, std::move(handler));
    else
        handler.complete(grant ? errc::client_stopped : errc::lease_released);
}

void start_wait_lost(lease_handler handler, std::shared_ptr<held_grant> grant) {
    const auto core = grant ? grant->home().core.lock() : nullptr;
    if (core)
        core->locals.wait_lost(std::move(grant), std::move(handler));
    else
        handler.complete(grant ? errc::client_stopped : errc::lease_released);
}

void start_wait_contended(lease_handler handler, std::shared_ptr<held_grant> grant) {
    const auto core = grant ? grant->home().core.lock() : nullptr;
    if (core)
        core->locals.wait_contended(grant, std::move(handler));
    else
        handler.complete(grant ? errc::client_stopped : errc::lease_released);
}

void start_extend(
    lease_handler handler, std::shared_ptr<held_grant> grant, std::chrono::milliseconds hold_max
) {
    const auto core = grant ? grant->home().core.lock() : nullptr;
    if (core)
        core->locals.extend(std::move(grant), hold_max, std::move(handler));
    else
        handler.complete(grant ? errc::client_stopped : errc::lease_released);
}

}  // namespace detail

std::string_view lease_view::name() const noexcept {
    return grant_ ? std::string_view(grant_->name()) : std::string_view();
}

fencing_token lease_view::token() const noexcept {
    return grant_ ? grant_->shown_token() : fencing_token();
}

std::uint32_t lease_view::slot() const noexcept {
    return grant_ ? grant_->of().slot : 0;
}

error_code lease_view::check() const noexcept {
    return grant_ ? grant_->check() : error_code(errc::lease_released);
}

}  // namespace mortise
