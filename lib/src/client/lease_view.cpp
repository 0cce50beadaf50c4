// SPDX-License-Identifier: BSL-1.0
#include "mortise/lease_view.hpp"

#include "client/claim.hpp"
#include "client/held_grant.hpp"

namespace mortise {

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
