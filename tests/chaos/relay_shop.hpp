// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_RELAY_SHOP_HPP
#define MORTISE_TESTS_CHAOS_RELAY_SHOP_HPP

#include "support/child_program.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

constexpr int killed_code = 128 + SIGKILL;

/// A shop whose messages go to Kafka: processes that write and that send (`relay_actor`), a new
/// topic at a real broker, and the judge of what a consumer reads there.
class relay_shop : public testing::Test {
protected:
    using words = std::vector<std::string>;
    using program = std::unique_ptr<child_program>;

    explicit relay_shop(kafka_broker& broker);

    /// Runs beside the test. `environment` holds words for env(1).
    program start_writer(words more = {}, const words& environment = {}) const;
    program start_relay(words more = {}, const words& environment = {}) const;
    program start(words arguments, const words& environment = {}) const;

    /// Starts a relay that stops at the point for the n-th time, until it is resumed. Null (and a
    /// failure) if it does not get there.
    program stopped_relay(const std::string& point, int time, words more = {}) const;

    /// Sends all rows with a new process, which must end well.
    void drain(const words& more = {}) const;

    void expect_end(child_program& child, int code) const;

    /// Whether all messages reach a consumer within some time, whichever relay sends them.
    bool all_is_published() const;
    /// Checks that each sale was sent once, that each key kept its order, and that nothing rolled
    /// back was sent. The mark of each shard must be its last row, at the broker and in the table.
    /// While a relay runs, not all of that holds yet.
    void expect_exactly_once() const;
    /// Describes what is wrong with the sent messages, apart from the marks; empty if nothing is.
    /// `left_out` ignores messages whose id came earlier.
    enum class repetitions { refused, left_out };
    std::string what_is_wrong(repetitions how = repetitions::refused) const;

    /// How often the processes together have printed a line that begins with these words.
    std::size_t times_printed(const std::string& begins) const;
    std::string output() const;
    std::int64_t sql(const std::string& statement) const;
    std::size_t sales() const { return static_cast<std::size_t>(sql("SELECT count(*) FROM sale")); }
    /// Whether nobody has the database locked.
    bool can_be_written() const;

    std::filesystem::path database() const { return folder_.path() / "shop.db"; }
    std::string locks() const { return "locks=sqlite:" + (folder_.path() / "locks.db").string(); }

    kafka_broker& broker_;
    const scratch_folder folder_;
    const std::string topic_ = fresh_name("topic");
    const std::string progress_ = fresh_name("progress");

private:
    using numbers_by_key = std::map<std::string, std::vector<std::int64_t>>;

    numbers_by_key wanted() const;
    numbers_by_key seen(repetitions how) const;
    void expect_marks() const;
};

std::string crash_at(const std::string& point, int time);

}  // namespace mortise::test

#endif
