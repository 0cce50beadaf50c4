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

/// A shop whose events go to Kafka: processes that write and that send (`relay_actor`), a topic of
/// its own at a real broker, and the judge of what a consumer reads there.
class relay_shop : public testing::Test {
protected:
    using words = std::vector<std::string>;
    using program = std::unique_ptr<child_program>;

    explicit relay_shop(kafka_broker& broker);

    /// Runs beside the test. `environment` are words for env(1).
    program start_writer(words more = {}, const words& environment = {}) const;
    program start_relay(words more = {}, const words& environment = {}) const;
    program start(words arguments, const words& environment = {}) const;

    /// A relay that has come to that point for the n-th time, and is stopped there, until it is
    /// resumed; null (and a failure) if it does not come there.
    program stopped_relay(const std::string& point, int time, words more = {}) const;

    /// Sends all that is there, by a process of its own that ends well.
    void drain(const words& more = {}) const;

    void expect_end(child_program& which, int code) const;

    /// Whether everything has come to a consumer within some time, by whomever.
    bool all_is_told() const;
    /// Every sale was told once, those of a key in their order, and nothing that was rolled back;
    /// and the mark of each shard is its last row, at the broker and in the table. Not all of it is
    /// so while a relay runs.
    void expect_exactly_once() const;
    /// What is wrong with what was told, without a look at the marks; empty if all is well. One may
    /// leave out what has an id that was there before.
    enum class repetitions { refused, left_out };
    std::string what_is_wrong(repetitions how = repetitions::refused) const;

    /// How often a line that begins with these words was said by all of the processes together.
    std::size_t said_times(const std::string& begins) const;
    std::string said() const;
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
    using told = std::map<std::string, std::vector<std::int64_t>>;

    told wanted() const;
    told seen(repetitions how) const;
    void expect_marks() const;
};

std::string crash_at(const std::string& point, int time);

}  // namespace mortise::test

#endif
