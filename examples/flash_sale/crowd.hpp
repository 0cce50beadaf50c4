// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_CROWD_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_CROWD_HPP

#include "flash_sale/sale_event.hpp"
#include "flash_sale/sale_options.hpp"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <vector>

namespace flash_sale {

/// All processes of one round. Each runs this program again.
///
/// @throws std::runtime_error if a necessary system call fails.
class crowd {
public:
    crowd(const sale_options& options, int round, const std::filesystem::path& folder);

    /// Kills the processes that still run.
    ~crowd();
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    /// Waits for the next events, at most `limit`, and appends them.
    /// @return false if all processes have ended: no more events will come.
    bool read_events(std::vector<sale_event>& events, std::chrono::milliseconds limit);

    /// Kills a process and starts another one in its place, with a new number.
    void replace(int process);
    /// Stops a process. @return whether it has written no event that is still unread.
    bool stop(int process);
    void resume(int process);

    /// @throws std::runtime_error if one of the processes failed.
    void join();

private:
    struct member {
        int number = 0;
        pid_t pid = -1;
        int events = -1;
    };

    void start();
    member& find(int process);
    bool read_from(member& source, std::vector<sale_event>& events);

    const sale_options options_;
    const int round_;
    const std::filesystem::path folder_;
    int started_ = 0;
    std::vector<member> members_;
};

}  // namespace flash_sale

#endif
