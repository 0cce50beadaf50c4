// SPDX-License-Identifier: BSL-1.0
#include "client/client_session.hpp"

#include "client/client_core.hpp"

#include <algorithm>
#include <utility>

namespace mortise::detail {

client_session& client_sessions::at(proof_number number) {
    if (const auto found = by_number_.find(number); found != by_number_.end())
        return *found->second;
    auto fresh = std::make_unique<client_session>(core_, context_, number);
    const std::lock_guard guard(mutex_);
    return *by_number_.emplace(number, std::move(fresh)).first->second;
}

client_session& client_sessions::of(claim& claim) {
    if (claim.session == nullptr)
        claim.session = &at(context_.number_of(claim.lock_name()));
    return *claim.session;
}

client_session* client_sessions::owner_of(request_id id) const {
    for (const auto& [number, session] : by_number_) {
        if (session->claims.asking().contains(id) || session->claims.granted().contains(id))
            return session.get();
    }
    return nullptr;
}

bool client_sessions::may_exist() const noexcept {
    return std::any_of(by_number_.begin(), by_number_.end(), [](const auto& each) {
        return each.second->keeper.may_exist();
    });
}

clock::time_point client_sessions::next_deadline() const {
    auto next = clock::time_point::max();
    for (const auto& [number, session] : by_number_)
        next = std::min(next, session->keeper.next_deadline());
    return next;
}

std::shared_ptr<const session_watch> client_sessions::watch_of(std::string_view name) const {
    const proof_number number = context_.number_of(name);
    const std::lock_guard guard(mutex_);
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : found->second->watch;
}

clock::duration client_sessions::quarantine_left() const {
    auto longest = clock::duration::zero();
    const auto now = context_.now();
    const std::lock_guard guard(mutex_);
    for (const auto& [number, session] : by_number_)
        longest = std::max(longest, session->watch->quarantine_left(now));
    return longest;
}

}  // namespace mortise::detail
