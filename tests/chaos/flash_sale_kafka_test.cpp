// SPDX-License-Identifier: BSL-1.0
// The flash sale with its orders and refusals sent through a real broker.
#include "chaos/cli_process.hpp"
#include "support/built_program.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "support/scratch_folder.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::test::flash_sale_kafka_test {
namespace {

using namespace std::chrono_literals;

TEST(FlashSaleKafka, ShipsAndTakesBackByTopicsEachMessageOnce) {
    const kafka_broker broker;  // the example's topics have fixed names
    const scratch_folder folder;
    const std::vector<std::string> sale{
        built_program("examples/flash_sale"),
        "--processes",
        "2",
        "--buyers",
        "8",
        "--stock",
        "20",
        "--kafka",
        broker.address(),
        "--json"};
    cli_process selling(folder.path(), sale, {{"TMPDIR", folder.path().native()}});
    ASSERT_EQ(selling.wait(90s), 0) << selling.out() << selling.err();
    const auto result = boost::json::parse(selling.out());
    EXPECT_TRUE(result.at("exact").as_bool());
    const auto& delivery = result.at("delivery");
    EXPECT_EQ(delivery.at("shipped").as_int64(), 18);
    EXPECT_EQ(delivery.at("refused").as_int64(), 2);
    EXPECT_EQ(delivery.at("taken_back").as_int64(), 2);
    EXPECT_GT(delivery.at("killed").as_int64(), 0) << "nobody was killed while delivering";
    const kafka_reader reader(broker.address());
    EXPECT_EQ(reader.settled_values("orders").size(), 20u);
    EXPECT_EQ(reader.settled_values("refusals").size(), 2u);
}

}  // namespace
}  // namespace mortise::test::flash_sale_kafka_test
