// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_HTTP_BANK_HPP
#define MORTISE_TOOLS_BENCH_HTTP_BANK_HPP

#include "mortise/txn/participant.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::tool {

/// Participants `stock` and `wallet` in another process on this host, called over HTTP. They agree
/// to every call.
class http_bank {
public:
    /// Starts the process. Call it before this process has a second thread. @return null in a
    /// program without HTTP participants. @throws failure
    static std::unique_ptr<http_bank> start();

    /// Kills the process.
    ~http_bank();
    http_bank(const http_bank&) = delete;
    http_bank& operator=(const http_bank&) = delete;

    std::shared_ptr<txn::participant>
    participant(const asio::any_io_executor& executor, const std::string& name) const;

private:
    explicit http_bank(pid_t process) noexcept : process_(process) {}

    const pid_t process_;
    std::uint16_t port_ = 0;
};

}  // namespace mortise::tool

#endif
