// SPDX-License-Identifier: BSL-1.0
// What a coordinator says of itself, and its counters as Prometheus wants them.
#include "mortise/txn/prometheus.hpp"
#include "mortise/txn/txn_observer.hpp"
#include "support/fault_vfs.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test::txn_observer_test {
namespace {

using namespace std::chrono_literals;
using kind = txn::txn_event::kind;
using txn::operation;
using txn::reply;

/// Remembers all that it hears.
class notes final : public txn::txn_observer {
public:
    struct note {
        txn::txn_event event;
        std::string participant;
    };

    void on_event(const txn::txn_event& event) noexcept override {
        const std::lock_guard hold(mutex_);
        all_.push_back({event, std::string(event.participant)});
        all_.back().event.participant = {};
    }
    std::vector<note> all(kind type) const {
        const std::lock_guard hold(mutex_);
        std::vector<note> found;
        for (const auto& each : all_) {
            if (each.event.type == type)
                found.push_back(each);
        }
        return found;
    }
    std::size_t count(kind type) const { return all(type).size(); }
    /// Of one transaction: `begun decided ended`.
    std::string story(const txn::gid& gid) const {
        const std::lock_guard hold(mutex_);
        std::string text;
        for (const auto& each : all_) {
            if (each.event.gid == gid)
                text += (text.empty() ? "" : " ") + std::string(to_string(each.event.type));
        }
        return text;
    }

private:
    mutable std::mutex mutex_;
    std::vector<note> all_;
};

class TxnObserver : public coordinator_fixture {
protected:
    ~TxnObserver() override {
        if (tcc_)
            tcc_->async_stop(asio::use_future).get();
        tcc_.reset();
    }

    txn::coordinator_config watched() {
        auto settings = config();
        settings.observer = &notes_;
        return settings;
    }

    fault_vfs disk_;
    notes notes_;
};

TEST_F(TxnObserver, HearsWhatBecomesOfATransaction) {
    open(watched());
    const auto first = run(of_both());
    static_cast<void>(settled(first.gid()));
    EXPECT_EQ(notes_.story(first.gid()), "begun decided ended");
    const auto decided = notes_.all(kind::decided).at(0).event;
    EXPECT_EQ(decided.at, txn::standing::confirmed);
    EXPECT_FALSE(decided.code);
    EXPECT_GT(decided.took, 0ns);
    EXPECT_GE(notes_.all(kind::ended).at(0).event.took, decided.took);
    wallet_->answer_by(refusing(operation::try_, "no money"));
    const auto second = run(of_both());
    static_cast<void>(settled(second.gid()));
    EXPECT_EQ(notes_.story(second.gid()), "begun decided ended");
    EXPECT_EQ(notes_.all(kind::decided).at(1).event.at, txn::standing::cancelled);
    EXPECT_EQ(notes_.all(kind::decided).at(1).event.code, txn::errc::refused);
}

TEST_F(TxnObserver, HearsWhatIsStuckAndWhatIsTakenUp) {
    wallet_->answer_by(refusing(operation::confirm, "no"));
    open(watched());
    const auto gid = run(of_both()).gid();
    ASSERT_TRUE(eventually([&] { return notes_.count(kind::stuck) == 1; }));
    const auto stuck = notes_.all(kind::stuck).at(0);
    EXPECT_EQ(stuck.event.gid, gid);
    EXPECT_EQ(stuck.event.branch, 2u);
    EXPECT_EQ(stuck.participant, "wallet");
    tcc_->async_stop(asio::use_future).get();
    EXPECT_EQ(notes_.all(kind::let_go).at(0).event.code, txn::errc::stopped);
    wallet_->answer_by({});
    open(watched());
    static_cast<void>(settled(gid));
    EXPECT_EQ(notes_.story(gid), "begun decided stuck let_go taken_up ended");
}

TEST_F(TxnObserver, HearsThatAParticipantBreaksAndRecovers) {
    wallet_->answer_by([](const txn::call&) -> result<reply> { return txn::errc::call_failed; });
    auto how = watched();
    how.breaker_failures = 3;
    how.try_attempts_max = 10;
    open(how);
    static_cast<void>(run(of_both()));
    ASSERT_TRUE(eventually([&] { return notes_.count(kind::participant_broken) == 1; }));
    EXPECT_EQ(notes_.all(kind::participant_broken).at(0).participant, "wallet");
    EXPECT_EQ(notes_.all(kind::participant_broken).at(0).event.code, txn::errc::call_failed);
    EXPECT_EQ(tcc_->stats().participants_broken, 1u);
    wallet_->answer_by({});
    ASSERT_TRUE(eventually([&] { return notes_.count(kind::participant_recovered) == 1; }));
    EXPECT_EQ(tcc_->stats().participants_broken, 0u);
    EXPECT_EQ(notes_.count(kind::participant_broken), 1u) << "once";
}

TEST_F(TxnObserver, HearsThatAParticipantIsAheadOfTheLog) {
    wallet_->answer_by([](const txn::call&) -> result<reply> {
        reply::evidence seen;
        seen.term = 7;
        return reply::ahead(seen);
    });
    open(watched());
    EXPECT_TRUE(run(of_both()).unknown());
    ASSERT_EQ(notes_.count(kind::ahead), 1u);
    EXPECT_EQ(notes_.all(kind::ahead).at(0).participant, "wallet");
}

TEST_F(TxnObserver, HearsOfPartitionsAndOfTheLog) {
    auto how = watched();
    how.vfs = disk_.name();
    how.partitions = 3;
    open(how);
    EXPECT_TRUE(run(of_both()).confirmed());
    EXPECT_EQ(notes_.count(kind::log_opened), 1u);
    EXPECT_EQ(notes_.count(kind::partition_gained), 3u);
    EXPECT_EQ(notes_.count(kind::partition_lost), 0u);
    disk_.log_sync_result = SQLITE_IOERR_FSYNC;
    EXPECT_EQ(refusal(of_both()), mortise::errc::commit_unknown);
    ASSERT_TRUE(eventually([&] { return notes_.count(kind::partition_lost) == 3; }));
    EXPECT_GE(notes_.count(kind::log_failed), 1u);
    // `poisoned` if a call that was answered before the commit failed is heard after it.
    const auto failed = notes_.all(kind::log_failed).at(0).event.code;
    EXPECT_TRUE(failed == mortise::errc::commit_unknown || failed == mortise::errc::poisoned)
        << failed.message();
    disk_.log_sync_result = 0;
    EXPECT_TRUE(eventually([&] { return !refusal(of_both()); }));
    EXPECT_EQ(notes_.count(kind::partition_gained), 6u);
    tcc_->async_stop(asio::use_future).get();
    EXPECT_EQ(notes_.count(kind::partition_lost), 6u);
    EXPECT_EQ(notes_.all(kind::partition_lost).at(5).event.code, txn::errc::stopped);
    tcc_.reset();
}

/// Compares the counters with the events, whenever it hears one.
class accountant final : public txn::txn_observer {
public:
    void on_event(const txn::txn_event& event) noexcept override {
        ++heard_[event.type];
        const auto* const tcc = of.load();
        if (tcc == nullptr)
            return;
        const auto now = tcc->stats();
        const auto of_kind = [this](kind type) { return heard_[type]; };
        const bool right =
            now.begun == of_kind(kind::begun) && now.taken_up == of_kind(kind::taken_up) &&
            now.confirmed + now.cancelled == of_kind(kind::decided) &&
            now.ended == of_kind(kind::ended) && now.stuck == of_kind(kind::stuck) &&
            now.open <= of_kind(kind::begun) + of_kind(kind::taken_up) - of_kind(kind::ended) -
                            of_kind(kind::let_go) &&
            now.partitions <= of_kind(kind::partition_gained) - of_kind(kind::partition_lost) &&
            now.participants_broken ==
                of_kind(kind::participant_broken) - of_kind(kind::participant_recovered);
        if (!right && wrong.empty())
            wrong = to_string(event.type);
    }

    std::atomic<const txn::coordinator*> of{nullptr};
    std::string wrong;  ///< The first event that was heard before it was counted.

private:
    std::map<kind, std::uint64_t> heard_;
};

TEST_F(TxnObserver, HearsAnEventWhenItIsCounted) {
    accountant counts;
    auto how = config();
    how.observer = &counts;
    how.breaker_failures = 2;
    open(how);
    counts.of = &*tcc_;
    static_cast<void>(settled(run(of_both()).gid()));
    wallet_->answer_by(refusing(operation::confirm, "no"));
    static_cast<void>(run(of_both()));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 1; }));
    wallet_->answer_by([](const txn::call&) -> result<reply> { return txn::errc::call_failed; });
    EXPECT_TRUE(run(of_both()).cancelled());
    wallet_->answer_by({});
    ASSERT_TRUE(eventually([&] { return tcc_->stats().participants_broken == 0; }));
    stock_->hold_tries(true);
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return tcc_->stats().begun == 4; }));
    tcc_->async_stop(asio::use_future).get();
    stock_->hold_tries(false);
    EXPECT_TRUE(running.get().cancelled());
    tcc_.reset();
    EXPECT_EQ(counts.wrong, "");
}

TEST(TxnEvent, HasAWordForEachKind) {
    std::set<std::string> words;
    for (auto each = kind::begun; each <= kind::log_failed;
         each = static_cast<kind>(static_cast<int>(each) + 1)) {
        EXPECT_NE(to_string(each), std::string("?"));
        EXPECT_TRUE(words.insert(to_string(each)).second) << to_string(each);
    }
    EXPECT_EQ(words.size(), 17u);
}

using counter_values =
    std::array<std::uint64_t, sizeof(txn::coordinator_stats) / sizeof(std::uint64_t)>;

/// Each with a value of its own: 1, 2, 3, ...
txn::coordinator_stats counted_up() {
    counter_values values{};
    std::iota(values.begin(), values.end(), 1);
    return std::bit_cast<txn::coordinator_stats>(values);
}

TEST(TxnPrometheus, ShowsEachCounterOnceUnderItsLabel) {
    std::istringstream page(txn::prometheus_text(counted_up(), "shop \"1\""));
    std::set<std::string> names;
    std::set<std::string> values;
    std::string help;
    std::string type;
    std::string sample;
    while (std::getline(page, help) && std::getline(page, type) && std::getline(page, sample)) {
        const auto name = sample.substr(0, sample.find('{'));
        EXPECT_TRUE(name.starts_with("mortise_txn_")) << name;
        EXPECT_TRUE(help.starts_with("# HELP " + name + ' ')) << help;
        const bool counts = name.ends_with("_total");
        EXPECT_EQ(type, "# TYPE " + name + (counts ? " counter" : " gauge"));
        EXPECT_NE(sample.find("{coordinator=\"shop \\\"1\\\"\"} "), std::string::npos) << sample;
        EXPECT_TRUE(names.insert(name).second) << name;
        EXPECT_TRUE(values.insert(sample.substr(sample.rfind(' ') + 1)).second) << sample;
    }
    EXPECT_EQ(names.size(), counter_values().size());
    EXPECT_TRUE(values.contains(std::to_string(counter_values().size())));
}

TEST(TxnPrometheus, LeavesOutTheHelpWhereItIsToldTo) {
    const auto text = txn::prometheus_text(counted_up(), "shop", false);
    EXPECT_EQ(text.find('#'), std::string::npos);
    EXPECT_NE(text.find("mortise_txn_begun_total{coordinator=\"shop\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace mortise::test::txn_observer_test
