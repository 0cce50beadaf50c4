// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/background_core.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::coro::detail::background_core_test {
namespace {

using texts = std::vector<std::string>;

/// An object that notes its life and ends a stop when it is told to.
class resident final : public background_core<resident> {
public:
    resident(asio::io_context& context, texts& life)
        : background_core(context.get_executor()), life_(life) {}

    void finish() { answer_stoppers(); }
    void stop_unheard_of() { stop_unheard(); }
    stop_handler noting(const std::string& name) { return noting(name, executor()); }
    stop_handler noting(const std::string& name, const asio::any_io_executor& on) {
        auto note = [this, name](error_code ec) { life_.push_back(ec ? "failed" : name); };
        return {std::move(note), on};
    }

private:
    friend class background_core<resident>;

    void start() { life_.emplace_back("start"); }
    void begin_stop(bool at_once) { life_.emplace_back(at_once ? "stop at once" : "stop"); }
    void drop() noexcept { life_.emplace_back("drop"); }

    texts& life_;
};

TEST(BackgroundCore, AnswersAllStoppersOnceTheWorkHasEnded) {
    texts life;
    asio::io_context context;
    const auto core = std::make_shared<resident>(context, life);
    core->attach();
    core->stop(core->noting("first"));
    core->stop(core->noting("second"));
    context.poll();
    EXPECT_EQ(life, texts({"start", "stop", "stop"}));
    core->finish();
    EXPECT_EQ(life.size(), 3u) << "a handler was called from inside";
    context.restart();
    context.poll();
    EXPECT_EQ(life, texts({"start", "stop", "stop", "first", "second"}));
}

TEST(BackgroundCore, StopsAtOnceWhenItIsClosed) {
    texts life;
    asio::io_context context;
    const auto core = std::make_shared<resident>(context, life);
    core->attach();
    core->close();
    context.poll();
    EXPECT_EQ(life, texts({"start", "stop at once"}));
}

TEST(BackgroundCore, DropsItsWorkAndStoppersWithTheContext) {
    texts life;
    std::optional<asio::io_context> context(std::in_place);
    const auto core = std::make_shared<resident>(*context, life);
    core->attach();
    core->stop(core->noting("never"));
    context->poll();
    context.reset();
    EXPECT_EQ(life, texts({"start", "stop", "drop"}));
}

TEST(BackgroundCore, MayOutliveTheContextOfAStopper) {
    texts life;
    asio::io_context context;
    std::optional<asio::io_context> users(std::in_place);
    const auto held = std::make_shared<int>();
    const auto core = std::make_shared<resident>(context, life);
    core->attach();
    context.poll();
    // One whose stop has begun, and one whose stop is still on its way.
    for (const bool begins : {true, false}) {
        core->stop({[held](error_code) { FAIL(); }, users->get_executor()});
        if (begins)
            context.poll();
    }
    users.reset();
    EXPECT_EQ(held.use_count(), 1) << "the handlers went with their context";
    core->stop(core->noting("ours"));
    context.restart();
    context.poll();
    core->finish();
    context.restart();
    context.poll();
    EXPECT_EQ(life, texts({"start", "stop", "stop", "stop", "ours"}));
}

TEST(BackgroundCore, TellsStoppersElsewhereThatItsContextHasEnded) {
    texts life;
    asio::io_context users;
    std::optional<asio::io_context> context(std::in_place);
    const auto core = std::make_shared<resident>(*context, life);
    core->attach();
    core->stop(core->noting("never", users.get_executor()));
    context->poll();
    context.reset();
    users.poll();
    EXPECT_EQ(life, texts({"start", "stop", "drop", "failed"}));
}

TEST(BackgroundCore, HearsOfTheEndOfTheContextUnlessItIsClosed) {
    for (const bool closes : {false, true}) {
        texts life;
        std::optional<asio::io_context> context(std::in_place);
        auto core = std::make_shared<resident>(*context, life);
        core->attach();
        if (closes)
            core->close();
        else
            core->stop_unheard_of();
        context->poll();
        if (closes)
            core.reset();  // its user is gone
        context.reset();
        EXPECT_EQ(life.back(), closes ? "stop at once" : "drop");
    }
}

TEST(BackgroundCore, DoesNothingAfterTheContextHasEnded) {
    texts life;
    asio::io_context users;
    std::optional<asio::io_context> context(std::in_place);
    const auto core = std::make_shared<resident>(*context, life);
    core->attach();
    context->poll();
    context.reset();
    core->stop({[&life](error_code) { life.emplace_back("late"); }, users.get_executor()});
    core->close();
    users.poll();
    EXPECT_EQ(life, texts({"start", "drop"}));
}

}  // namespace
}  // namespace mortise::coro::detail::background_core_test
