// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_REDIS_PROCESS_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_REDIS_PROCESS_HPP

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace flash_sale {

/// A private Redis server on a free port of 127.0.0.1 that keeps nothing on the disk. It dies with
/// this process, whatever ends it.
class redis_process {
public:
    /// Starts `redis-server` and waits until it answers. Writes its log to `folder`.
    /// @throws std::runtime_error if there is no such program, or the server does not answer.
    explicit redis_process(const std::filesystem::path& folder);
    ~redis_process();
    redis_process(const redis_process&) = delete;
    redis_process& operator=(const redis_process&) = delete;

    std::uint16_t port() const noexcept { return port_; }

private:
    void start(const std::filesystem::path& folder);
    bool await_answer();
    bool has_ended();
    void end() noexcept;

    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
    int exit_code_ = 0;
};

}  // namespace flash_sale

#endif
