// SPDX-License-Identifier: BSL-1.0
// A client that stops for good in the middle of whatever it does, at each step: the others go on,
// on that lock after its TTL and elsewhere at once.
#include "support/amount.hpp"
#include "unit/sql_store/store_user.hpp"
#include "unit/sql_store/twin_place.hpp"

#include <cstddef>
#include <ostream>
#include <vector>

namespace mortise::test::stopped_client_test {
namespace {

using namespace std::chrono_literals;

constexpr auto ttl = 300ms;

/// An operation that a client begins, and in the middle of which it stops.
struct stopped_operation {
    const char* name;
    void (*begin)(store_user& by, lease& held, bool& done);
    bool holds = false;      ///< It holds the door before.
    bool is_taken = false;   ///< Another client holds the door before.
    bool is_wanted = false;  ///< Another client waits for the door.
};

std::ostream& operator<<(std::ostream& to, const stopped_operation& operation) {
    return to << operation.name;
}

auto noting(bool& done) {
    return [&done](const auto&...) { done = true; };
}

void acquire(store_user& by, lock_options options, bool& done) {
    by.locks->async_acquire("door", options, noting(done));
}

void acquire_plainly(store_user& by, lease&, bool& done) {
    acquire(by, {}, done);
}
void acquire_in_vain(store_user& by, lease&, bool& done) {
    acquire(by, {.wait_max = 300ms}, done);
}
void give_up_soon(store_user& by, lease&, bool& done) {
    acquire(by, {.wait_max = 1ms}, done);
}
void try_once(store_user& by, lease&, bool& done) {
    by.locks->async_try_acquire("door", {}, noting(done));
}
void share(store_user& by, lease&, bool& done) {
    acquire(by, {.mode = lock_mode::shared()}, done);
}
void take_a_permit(store_user& by, lease&, bool& done) {
    acquire(by, {.mode = lock_mode::permits(2)}, done);
}
void acquire_for_a_time(store_user& by, lease&, bool& done) {
    acquire(by, {.hold_max = 1min}, done);
}
void acquire_two(store_user& by, lease&, bool& done) {
    by.locks->async_acquire_all({"door", "gate"}, {}, noting(done));
}
void release(store_user&, lease& held, bool& done) {
    held.async_release(noting(done));
}
void break_own(store_user& by, lease& held, bool& done) {
    by.locks->async_break("door", held.token(), "test", noting(done));
}
void break_foreign(store_user& by, lease&, bool& done) {
    by.locks->async_break_holders("door", "test", noting(done));
}
void list(store_user& by, lease&, bool& done) {
    by.locks->async_list("", 10, 10, noting(done));
}
void watch(store_user& by, lease&, bool& done) {
    by.locks->async_watch(noting(done));
}
void stop(store_user& by, lease&, bool& done) {
    by.locks->async_stop(noting(done));
}

// The first ones stand for the others in `./run test`.
const std::vector<stopped_operation> all_operations = {
    {"Acquire", &acquire_plainly},
    {"AcquireOfATakenLock", &acquire_in_vain, false, true},
    {"Share", &share},
    {"HandOver", &release, true, false, true},
    {"AcquireThatGivesUp", &give_up_soon, false, true},
    {"AcquireWithHoldMax", &acquire_for_a_time},
    {"AcquireTwo", &acquire_two},
    {"Try", &try_once, false, true},
    {"Permit", &take_a_permit},
    {"Release", &release, true},
    {"Break", &break_own, true},
    {"BreakAnothers", &break_foreign, false, true},
    {"List", &list, true, false, true},
    {"Watch", &watch, true},
    {"Stop", &stop, true, false, true},
};

std::vector<stopped_operation> operations() {
    const auto count = amount("MORTISE_STOPPED_OPERATIONS", 4, all_operations.size());
    return {all_operations.begin(), all_operations.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// What others do meanwhile, and afterwards.
class others {
public:
    others(const twin_place& at, const stopped_operation& operation) : locks_(at.make_store()) {
        EXPECT_FALSE(locks_.acquire("presence", presence_));
        if (operation.is_taken) {
            EXPECT_FALSE(locks_.acquire("door", before_));
        }
    }

    /// @param holder of the lock, who lives on meanwhile
    void be_queued(store_user& holder) {
        want_the_door();
        EXPECT_TRUE(locks_.run_until([&] {
            std::optional<std::size_t> waiters;
            locks_.locks->async_inspect("door", 0, [&](error_code, std::optional<lock_view> view) {
                waiters = view ? view->waiter_count : 0;
            });
            const auto is_answered = [&] {
                holder.context.restart();
                holder.context.poll();
                return waiters.has_value();
            };
            return locks_.run_until(is_answered) && *waiters == 1;
        }));
    }

    void go_on() {
        const machine_delay delay;
        const auto begun = clock::now();
        use("elsewhere");
        EXPECT_LT(clock::now() - begun, 1s + delay.so_far()) << "elsewhere";
        if (before_) {
            const auto code = locks_.release(before_);
            EXPECT_TRUE(!code || code == condition::not_held) << code.message();  // it was broken
        }
        if (!waits_ && !next_)
            want_the_door();
        EXPECT_TRUE(locks_.run_until([&] { return !waits_; }));
        EXPECT_LT(clock::now() - begun, ttl + 2s + delay.so_far()) << "the door";
        EXPECT_FALSE(locks_.release(next_));
        use("gate");
        EXPECT_FALSE(locks_.release(presence_));
    }

private:
    void want_the_door() {
        waits_ = true;
        locks_.locks->async_acquire("door", {}, [this](error_code failed, lease held) {
            EXPECT_FALSE(failed) << failed.message();
            next_ = std::move(held);
            waits_ = false;
        });
    }

    void use(const char* name) {
        lease held;
        EXPECT_FALSE(locks_.acquire(name, held));
        EXPECT_FALSE(locks_.release(held));
    }

    store_user locks_;
    lease presence_;
    lease before_;
    lease next_;
    bool waits_ = false;
};

// @return whether the operation had not ended before.
bool stop_after(std::size_t handlers, const stopped_operation& operation, const twin_place& at) {
    others rest(at, operation);
    store_user one(at.make_store(), ttl);
    lease held;
    if (operation.holds) {
        EXPECT_FALSE(one.acquire("door", held));
    }
    if (operation.is_wanted)
        rest.be_queued(one);
    bool done = false;
    operation.begin(one, held, done);
    one.context.restart();
    for (std::size_t i = 0; i < handlers && !done; ++i)
        one.context.run_one_for(20ms);
    rest.go_on();
    return !done;
}

class StoppedClient : public testing::TestWithParam<stopped_operation> {};

TEST_P(StoppedClient, HoldsNobodyUpWhereverItStops) {
    constexpr std::size_t handlers_max = 400;
    const auto stride = amount("MORTISE_STOP_STRIDE", 32, 3);
    const auto place = make_twin_place();
    std::size_t handlers = 0;
    while (stop_after(handlers, GetParam(), *place) && handlers < handlers_max && !HasFailure())
        handlers += stride;
    ASSERT_FALSE(HasFailure()) << handlers << " handlers";
    EXPECT_LT(handlers, handlers_max);
}

INSTANTIATE_TEST_SUITE_P(
    Database,
    StoppedClient,
    testing::ValuesIn(operations()),
    [](const testing::TestParamInfo<stopped_operation>& of) { return of.param.name; }
);

}  // namespace
}  // namespace mortise::test::stopped_client_test
