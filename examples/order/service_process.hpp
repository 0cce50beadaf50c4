// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVICE_PROCESS_HPP
#define MORTISE_EXAMPLES_ORDER_SERVICE_PROCESS_HPP

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace order {

/// A service as a process of its own. It dies with the main thread of this one.
class service_process {
public:
    /// Starts it, and waits until it listens.
    service_process(std::filesystem::path folder, std::string service);
    ~service_process() { end(); }
    service_process(const service_process&) = delete;
    service_process& operator=(const service_process&) = delete;

    const std::string& name() const noexcept { return service_; }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + '/' + service_; }

    /// Kills it, wherever it is, and starts another one at the same place.
    void kill_and_start_again();
    /// Has it end what it has begun, and waits for that.
    void end() noexcept;

private:
    void start();
    void reap(int signal) noexcept;

    const std::filesystem::path folder_;
    const std::string service_;
    pid_t pid_ = -1;
    std::uint16_t port_ = 0;
};

}  // namespace order

#endif
