// SPDX-License-Identifier: BSL-1.0
// The example that people see first, as a process.

#include "chaos/cli_process.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <chrono>
#include <system_error>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

TEST(FlashSale, SellsExactlyTheStockWithALockAlsoWhenItsHoldersAreKilledAndStopped) {
    std::string pattern = (std::filesystem::temp_directory_path() / "mortise-sale-XXXXXX").native();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    const std::filesystem::path folder(pattern);
    {
        cli_process sale(
            folder,
            {MORTISE_FLASH_SALE, "--processes", "3", "--buyers", "8", "--stock", "20", "--json"},
            {{"TMPDIR", folder.native()}}
        );
        EXPECT_EQ(sale.wait(50s), 0) << sale.err();
        const boost::json::value result = boost::json::parse(sale.out());
        EXPECT_TRUE(result.at("exact").as_bool());
        const boost::json::value& without = result.at("rounds").at(0);
        const boost::json::value& with = result.at("rounds").at(1);
        EXPECT_GT(without.at("sold").as_int64(), 20);
        EXPECT_EQ(without.at("oversold").as_int64(), without.at("sold").as_int64() - 20);
        EXPECT_EQ(with.at("sold").as_int64(), 20);
        EXPECT_EQ(with.at("stock_left").as_int64(), 0);
        const boost::json::value& attacked = result.at("rounds").at(2);
        EXPECT_EQ(attacked.at("sold").as_int64(), 20);
        EXPECT_EQ(attacked.at("stock_left").as_int64(), 0);
        EXPECT_GT(attacked.at("killed").as_int64(), 0);
        EXPECT_GT(attacked.at("stopped").as_int64(), 0);
        EXPECT_GT(attacked.at("refused").as_int64(), 0) << "no writer was late";
    }
    int left = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        left += entry.is_directory();
    EXPECT_EQ(left, 0) << "its temporary folder was not removed";
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
}

}  // namespace
}  // namespace mortise::test
