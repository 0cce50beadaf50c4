// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_LOG_DISK_FIXTURE_HPP
#define MORTISE_TESTS_UNIT_TXN_LOG_DISK_FIXTURE_HPP

#include "support/fault_vfs.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

namespace mortise::test {

/// A coordinator whose log is on a disk that can fail.
class log_disk_fixture : public coordinator_fixture {
protected:
    ~log_disk_fixture() override { close(); }

    std::filesystem::path log() const { return folder_.path() / "log.db"; }

    txn::coordinator_config on_disk() const {
        auto how = config();
        how.vfs = disk_.name();
        return how;
    }

    /// Without a word to anybody, as a process that dies.
    void close() {
        tcc_.reset();
        EXPECT_TRUE(eventually([&] { return nobody_has_the_log(); }));
    }

    /// All that was not synced is lost with the power, except the first `kept` writes of it.
    void lose_power(std::size_t kept = 0) {
        disk_.power = false;
        close();
        disk_.lose_unsynced(kept);
        disk_.power = true;
    }

    bool nobody_has_the_log() const {
        if (disk_.opens_under_way != 0)
            return false;  // in a moment somebody has it
        std::error_code none;
        for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd", none)) {
            const auto target = std::filesystem::read_symlink(each.path(), none);
            if (target.string().starts_with(log().string()))
                return false;
        }
        return true;
    }

    fault_vfs disk_;
};

}  // namespace mortise::test

#endif
