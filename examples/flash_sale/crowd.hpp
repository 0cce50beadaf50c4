// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_CROWD_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_CROWD_HPP

#include "flash_sale/sale_options.hpp"

#include <sys/types.h>

#include <filesystem>
#include <vector>

namespace flash_sale {

/// All processes of one round: this program again, once for each.
class crowd {
public:
    /// @throws std::runtime_error if a process cannot be started.
    crowd(const sale_options& options, int round, const std::filesystem::path& folder);

    /// Kills those that are left.
    ~crowd();
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    /// Waits for the next events, and appends a byte for each (see buyers.hpp).
    /// @return whether there will be more: if not, all processes have ended.
    bool read_events(std::vector<char>& events);

    /// @throws std::runtime_error if one of the processes failed.
    void join();

private:
    void start(const std::vector<std::string>& arguments, int output);

    int events_ = -1;
    std::vector<pid_t> processes_;
};

}  // namespace flash_sale

#endif
