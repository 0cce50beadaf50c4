// SPDX-License-Identifier: BSL-1.0
// The forms that docs/compilers.md allows around co_await, rules G1 to G6. g++ 12 destroys some
// neighbours of these forms twice; if a compiler breaks one of those below, this fails, with the
// address sanitizer or by the counts of constructions and destructions.
#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "support/co_test.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::compiler_guard_test {

using namespace std::chrono_literals;
using asio::awaitable;

/// Counts how many of it live. A double destruction makes the count negative.
class tracked {
public:
    explicit tracked(int& alive) : alive_(&alive) { ++*alive_; }
    tracked(const tracked& other) : alive_(other.alive_), text(other.text) { ++*alive_; }
    tracked(tracked&& other) noexcept : alive_(other.alive_), text(std::move(other.text)) {
        ++*alive_;
    }
    tracked& operator=(const tracked&) = delete;
    tracked& operator=(tracked&&) = delete;
    ~tracked() { --*alive_; }

private:
    int* alive_;

public:
    std::string text = std::string(100, 't');
};

class CompilerGuard : public testing::Test {
protected:
    void TearDown() override { EXPECT_EQ(alive_, 0) << "constructed and destroyed do not match"; }

    template <class Body>
    void run(Body body) {
        world_.run(std::move(body));
    }

    awaitable<void> turn() { co_await asio::post(world_.context, asio::deferred); }

    // By value, so that the callee's frame holds a copy over a suspension.
    template <class T>
    awaitable<std::size_t> take(T value) {
        co_await turn();
        co_return size_of(value);
    }
    template <class T>
    awaitable<std::size_t> look(const T& value) {
        co_await turn();
        co_return size_of(value);
    }
    template <class F>
    awaitable<std::size_t> call(F f) {
        co_await turn();
        co_return f();
    }
    awaitable<tracked> give() {
        co_await turn();
        co_return tracked(alive_);
    }

    static std::size_t size_of(const std::string& s) { return s.size(); }
    static std::size_t size_of(const tracked& t) { return t.text.size(); }
    static std::size_t size_of(const std::optional<std::string>& s) { return s ? s->size() : 0; }
    static std::size_t size_of(const std::vector<std::string>& v) { return v.size(); }
    static std::size_t size_of(const std::unique_ptr<tracked>& p) { return p->text.size(); }
    static std::size_t size_of(const std::pair<std::string, int>& p) { return p.first.size(); }

    test::co_world world_;
    int alive_ = 0;
};

// G1: an aggregate with a trivial destructor, with designated initializers.

struct trivial_options {
    std::chrono::milliseconds wait_max{5};
    std::chrono::milliseconds linger{0};
    int mode = 1;
};
static_assert(std::is_trivially_destructible_v<trivial_options>);

awaitable<long> total(trivial_options options, test::co_world& world) {
    co_await asio::post(world.context, asio::deferred);
    co_return (options.wait_max + options.linger).count() * options.mode;
}

TEST_F(CompilerGuard, G1OptionsThatAreTriviallyDestructible) {
    run([this]() -> awaitable<void> {
        EXPECT_EQ(co_await total({.wait_max = 1s, .linger = 10ms}, world_), 1'010);
        EXPECT_EQ(co_await total({}, world_), 5);
        EXPECT_EQ(co_await total(trivial_options{.mode = 3}, world_), 15);
    });
}

// G2: callables that own something have a name, or their operation has.

TEST_F(CompilerGuard, G2AnOwningCallableThatHasAName) {
    run([this]() -> awaitable<void> {
        tracked owned(alive_);
        auto named = [owned] { return owned.text.size(); };
        EXPECT_EQ(co_await call(std::move(named)), 100U);
        auto move_only = [p = std::make_unique<tracked>(owned)] { return p->text.size(); };
        EXPECT_EQ(co_await call(std::move(move_only)), 100U);
    });
}

TEST_F(CompilerGuard, G2AnOperationThatWasMadeInAStatementOfItsOwn) {
    run([this]() -> awaitable<void> {
        tracked owned(alive_);
        auto operation = call([owned] { return owned.text.size(); });
        EXPECT_EQ(co_await std::move(operation), 100U);
    });
}

TEST_F(CompilerGuard, G2AMovedClosureInsideAClass) {
    run([this]() -> awaitable<void> {
        tracked owned(alive_);
        auto named = [owned] { return owned.text.size(); };
        EXPECT_EQ(co_await call(std::bind_front(std::move(named))), 100U);
    });
}

TEST_F(CompilerGuard, G2WhichCallablesMayBeSuchATemporary) {
    using coro::detail::is_owning_temporary;
    const tracked owned(alive_);
    auto owning = [owned] { return owned.text.size(); };
    auto harmless = [&owned, number = 1U] { return owned.text.size() + number; };
    struct aggregate {
        std::string text;
        std::size_t operator()() const { return text.size(); }
    };
    EXPECT_TRUE(is_owning_temporary<decltype(owning)>);
    EXPECT_TRUE(is_owning_temporary<aggregate>);
    EXPECT_FALSE(is_owning_temporary<decltype(owning)&>);
    EXPECT_FALSE(is_owning_temporary<const decltype(owning)&>);
    EXPECT_FALSE(is_owning_temporary<decltype(harmless)>);
    EXPECT_FALSE(is_owning_temporary<std::function<void()>>);
    EXPECT_FALSE(is_owning_temporary<decltype(std::bind_front(std::move(owning)))>);
    EXPECT_FALSE(coro::detail::is_awaitable_result<void>) << "a callback is called later";
    EXPECT_FALSE(coro::detail::is_awaitable_result<std::future<int>>);
    EXPECT_TRUE(coro::detail::is_awaitable_result<awaitable<int>>);
}

TEST_F(CompilerGuard, G2ATemporaryCallableWithTrivialCaptures) {
    run([this]() -> awaitable<void> {
        const tracked owned(alive_);
        const tracked* pointer = &owned;
        EXPECT_EQ(co_await call([&] { return owned.text.size(); }), 100U);
        EXPECT_EQ(co_await call([pointer] { return pointer->text.size(); }), 100U);
    });
}

// G3: a type that owns memory and is passed to an awaited call is a class with a declared
// constructor.

class message {
public:
    message() = default;
    std::string key = std::string(100, 'k');
    std::optional<std::string> value;
};
static_assert(!std::is_aggregate_v<message>);

awaitable<std::size_t> length(message m, test::co_world& world) {
    co_await asio::post(world.context, asio::deferred);
    co_return m.key.size() + m.value.value_or("").size();
}

TEST_F(CompilerGuard, G3ClassesWithADeclaredConstructorAndTheLibrarysTypes) {
    run([this]() -> awaitable<void> {
        const std::string word(100, 'w');
        EXPECT_EQ(co_await length(message(), world_), 100U);
        EXPECT_EQ(co_await take<std::string>("a literal that is longer than fifteen"), 37U);
        EXPECT_EQ(co_await take<std::optional<std::string>>(word + word), 200U);
        EXPECT_EQ(co_await take(std::vector<std::string>(3, word)), 3U);
        EXPECT_EQ((co_await take(std::pair<std::string, int>(word, 1))), 100U);
        EXPECT_EQ(co_await take(std::make_unique<tracked>(alive_)), 100U);
        EXPECT_EQ(co_await take(tracked(alive_)), 100U);
        EXPECT_EQ(co_await look(tracked(alive_)), 100U);
        EXPECT_EQ(co_await look(word + word), 200U);
    });
}

// G4: no co_await inside the braces of an aggregate, nor inside ?: - a statement of its own.

struct owning_aggregate {
    std::string name;
    std::size_t size = 0;
};

awaitable<owning_aggregate> make_aggregate(test::co_world& world) {
    co_await asio::post(world.context, asio::deferred);
    co_return owning_aggregate{std::string(100, 'a'), 7};
}

TEST_F(CompilerGuard, G4AwaitedValuesAreNamedBeforeTheyAreUsed) {
    run([this]() -> awaitable<void> {
        const auto size = co_await take(std::string(100, 's'));
        const owning_aggregate built{.name = std::string(size, 'n'), .size = size};
        EXPECT_EQ(built.name.size(), 100U);
        const auto given = co_await make_aggregate(world_);
        EXPECT_EQ(given.name.size(), 100U);
        std::optional<tracked> chosen;
        if (given.size == 7)
            chosen.emplace(co_await give());
        EXPECT_TRUE(chosen);
    });
}

// G5: configured by plain calls, awaited with scalars.

class builder {
public:
    explicit builder(CompilerGuard&, test::co_world& world) : world_(&world) {}
    builder& add(std::function<std::size_t()> step) {
        steps_.push_back(std::move(step));
        return *this;
    }
    awaitable<std::size_t> execute(int times) {
        std::size_t sum = 0;
        for (int i = 0; i < times; ++i) {
            co_await asio::post(world_->context, asio::deferred);
            for (const auto& step : steps_)
                sum += step();
        }
        co_return sum;
    }

private:
    test::co_world* world_;
    std::vector<std::function<std::size_t()>> steps_;
};

TEST_F(CompilerGuard, G5BuildersAreConfiguredInStatementsOfTheirOwn) {
    run([this]() -> awaitable<void> {
        const tracked owned(alive_);
        builder steps(*this, world_);
        steps.add([owned] { return owned.text.size(); }).add([owned] { return std::size_t(1); });
        EXPECT_EQ(co_await steps.execute(2), 202U);
    });
}

// G6: a tuple has a name before its parts have.

TEST_F(CompilerGuard, G6TheResultOfAsTupleHasANameOfItsOwn) {
    run([this]() -> awaitable<void> {
        using signature = void(error_code, tracked);
        auto operation = coro::detail::async_start<signature>(
            world_.executor(),
            asio::as_tuple(asio::deferred),
            [](coro::detail::completion<signature> done, int* alive) {
                done.complete(error_code(), tracked(*alive));
            },
            &alive_
        );
        auto result = co_await std::move(operation);
        auto& [ec, value] = result;
        EXPECT_FALSE(ec);
        EXPECT_EQ(value.text.size(), 100U);
    });
}

TEST(CompilerGuardFrames, AreDestroyedWholeWhenTheyAreSuspended) {
    int alive = 0;
    {
        test::co_world world;
        const auto body = [&]() -> awaitable<void> {
            const tracked local(alive);
            const auto inner = [&alive](tracked) -> awaitable<void> {
                const tracked deeper(alive);
                const auto executor = co_await asio::this_coro::executor;
                co_await asio::post(executor, asio::deferred);
                co_await asio::post(executor, asio::deferred);
            };
            co_await inner(tracked(alive));
        };
        world.start(body);
        world.context.poll_one();
        EXPECT_GT(alive, 0);
    }
    EXPECT_EQ(alive, 0);
}

TEST_F(CompilerGuard, SeveralAwaitsInOneExpressionAndInConditions) {
    run([this]() -> awaitable<void> {
        const std::string word(100, 'w');
        EXPECT_EQ(co_await take(word) + co_await look(word), 200U);
        int turns = 0;
        while (co_await take(word) == 100U && ++turns < 3) {
        }
        EXPECT_EQ(turns, 3);
        for (const auto& each : std::vector<std::string>(2, (co_await give()).text))
            EXPECT_EQ(co_await look(each), 100U);
    });
}

// G7: in a coroutine that declares nothing else.
TEST_F(CompilerGuard, G7AwaitedConditionsHaveAName) {
    int counted = 0;
    const auto count_if_long = [this, &counted](std::string word) -> awaitable<void> {
        const std::size_t size = co_await take(std::move(word));
        if (size == 100U)
            ++counted;
    };
    run([&count_if_long]() -> awaitable<void> {
        co_await count_if_long(std::string(100, 'w'));
        co_await count_if_long(std::string(10, 'w'));
    });
    EXPECT_EQ(counted, 1);
}

}  // namespace mortise::compiler_guard_test
