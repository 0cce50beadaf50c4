// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_CLI_STORE_HPP
#define MORTISE_TESTS_CHAOS_CLI_STORE_HPP

#include "chaos/cli_fixture.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace mortise::test {

/// A store that the command uses in a test.
struct cli_place {
    const char* name;
    /// Its URL. @param folder of the test
    std::string (*url)(const std::filesystem::path& folder);
};

/// Tests of `mortise` as a process that run at several stores. Those at servers share one, so each
/// has a lock of its own.
class CliAtStore : public Cli, public testing::WithParamInterface<cli_place> {
protected:
    CliAtStore() {
        environment_.front().second = GetParam().url(folder_);
        const std::string whole = testing::UnitTest::GetInstance()->current_test_info()->name();
        lock_ = whole.substr(0, whole.find('/'));
    }

    /// Starts `mortise run --lock LOCK OPTIONS... -- sh -c SCRIPT`.
    cli_process run(std::vector<std::string> options, const std::string& script) const {
        options.insert(options.begin(), {"--lock", lock_});
        return start_script(options, script);
    }
    bool one_waits() const {
        return eventually([&] { return waiters_of(lock_) == 1; });
    }

    std::string lock_;
};

inline std::string name_of_place(const testing::TestParamInfo<cli_place>& of) {
    return of.param.name;
}

}  // namespace mortise::test

#endif
