// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVICE_PROCESS_HPP
#define MORTISE_EXAMPLES_ORDER_SERVICE_PROCESS_HPP

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace order {

/// A service in a child process, which dies with the main thread of this one.
class service_process {
public:
    /// Starts the process, and waits until it listens.
    service_process(std::filesystem::path folder, std::string service);
    ~service_process() { end(); }
    service_process(const service_process&) = delete;
    service_process& operator=(const service_process&) = delete;

    const std::string& name() const noexcept { return service_; }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + '/' + service_; }

    /// Kills the process at any point of its work, and starts another one on the same port.
    void kill_and_start_again();
    /// Lets the process finish what it has begun, and waits for its end.
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
