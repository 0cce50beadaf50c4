// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_SERVER_PARTICIPANT_DESK_HPP
#define MORTISE_TXN_HTTP_SRC_SERVER_PARTICIPANT_DESK_HPP

#include "mortise/txn/http/participant_routes.hpp"
#include "wire/http_message.hpp"
#include "wire/login.hpp"

#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::txn::http {

/// Checks the login of a request, finds its participant, and calls it.
///
/// @par Threads   Any thread.
class participant_desk {
public:
    /// @throws error (`bad_config`).
    participant_desk(participant_map served, participant_routes_config config);

    bool owns(std::string_view target) const noexcept;
    /// The request must outlive the coroutine.
    asio::awaitable<response> answer(const request& asked) const;
    std::uint64_t denied() const noexcept { return denied_; }

private:
    static response failure(const std::exception_ptr& thrown, const std::string& id);
    std::shared_ptr<participant> find(std::string_view path) const;

    const participant_map served_;
    const std::string prefix_;
    const std::optional<token_check> callers_;  ///< Empty: anyone may call.
    mutable std::atomic<std::uint64_t> denied_{0};
};

}  // namespace mortise::txn::http

#endif
