// SPDX-License-Identifier: BSL-1.0
#include "chaos/cli_fixture.hpp"

#include "support/built_program.hpp"

#include <boost/json/parse.hpp>

#include <stdlib.h>

#include <system_error>

namespace mortise::test {

Cli::Cli() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mortise-cli-XXXXXX").native();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    environment_ = {
        {"MORTISE_STORE", "sqlite:" + file("locks.db").native()},
        {"FOLDER", folder_.native()},
        {"MORTISE_TOKEN", ""},
    };
}

Cli::~Cli() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

cli_process Cli::start(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all{built_program("tools/mortise")};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return cli_process(folder_, all, environment_);
}

cli_process Cli::start_script(std::vector<std::string> options, const std::string& script) const {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", "sh", "-c", script});
    return start(options);
}

boost::json::value Cli::listed() const {
    cli_process ls = start({"ls", "--json"});
    EXPECT_EQ(ls.wait(), 0) << ls.err();
    boost::system::error_code failed;
    boost::json::value value = boost::json::parse(ls.out(), failed);
    EXPECT_FALSE(failed) << ls.out();
    return value;
}

std::int64_t Cli::waiters_of(const std::string& lock) const {
    const boost::json::value all = listed();
    for (const boost::json::value& one : all.at("locks").as_array())
        if (one.at("name").as_string() == lock && !one.at("holders").as_array().empty())
            return one.at("waiter_count").to_number<std::int64_t>();
    return -1;
}

}  // namespace mortise::test
