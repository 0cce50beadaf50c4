// SPDX-License-Identifier: BSL-1.0
#include "client/acquire_op.hpp"

#include "client/client_core.hpp"

namespace mortise::detail {

void acquire_op::on_cancel(asio::cancellation_type) {
    // All three types mean the same: nothing is held, nothing is left.
    if (const auto core = owner_.lock())
        core->cancel(*this);
}

asio::cancellation_slot acquire_op::slot() const noexcept {
    return std::visit([](const auto& each) { return each.slot(); }, handler);
}

void acquire_op::complete(error_code code, lease held) {
    if (auto* acquire = std::get_if<acquire_handler>(&handler)) {
        auto taken = std::move(*acquire);
        taken.complete(code, std::move(held));
        return;
    }
    auto taken = std::move(std::get<try_handler>(handler));
    std::optional<lease> result;
    if (!code)
        result.emplace(std::move(held));
    taken.complete(code == errc::busy ? error_code() : code, std::move(result));
}

}  // namespace mortise::detail
