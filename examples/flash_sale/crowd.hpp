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

/// All processes of one round: this program again, once for each.
///
/// @throws std::runtime_error if the system refuses what cannot be done without.
class crowd {
public:
    crowd(const sale_options& options, int round, const std::filesystem::path& folder);

    /// Kills those that are left.
    ~crowd();
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    /// Waits for the next events, for so long at most, and appends them.
    /// @return whether there will be more: if not, all processes have ended.
    bool read_events(std::vector<sale_event>& events, std::chrono::milliseconds limit);

    /// Kills it, and starts another one in its place, of another number.
    void replace(int process);
    /// Stops it. @return whether it has told nothing meanwhile that is not read yet.
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
    bool read_from(member& whom, std::vector<sale_event>& events);

    const sale_options options_;
    const int round_;
    const std::filesystem::path folder_;
    int started_ = 0;
    std::vector<member> members_;
};

}  // namespace flash_sale

#endif
