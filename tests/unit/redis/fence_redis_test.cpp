// SPDX-License-Identifier: BSL-1.0
#include "mortise/fence/redis.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::test {
namespace {

fencing_token token_of(std::uint64_t value, std::string_view domain = "stock") {
    return {value, *token_domain::parse(domain)};
}

/// A fence at a real server.
class RedisFence : public testing::Test {
protected:
    RedisFence() { server_.command({"FLUSHALL"}); }

    error_code send(const std::vector<std::string>& words) {
        last_ = server_.try_command(words);
        return redis_fence::judge(last_.text);
    }

    std::string stock() { return server_.command({"GET", "stock"}).text; }

    raw_redis server_ = shared_redis().connect();
    redis_fence fence_{"fence:stock"};
    redis_value last_;
};

TEST_F(RedisFence, LetsInWhatIsNotBelowItAndSaysWhatTheCommandSaid) {
    EXPECT_FALSE(send(fence_.admit(token_of(5), {"SET", "stock", "41"}, {"stock"})));
    EXPECT_EQ(last_.text, "OK");
    EXPECT_FALSE(send(fence_.admit(token_of(5), {"INCRBY", "stock", "1"}, {"stock"})));
    EXPECT_EQ(last_.number, 42);
    EXPECT_FALSE(send(fence_.admit(token_of(6), {"GET", "stock"})));
    EXPECT_EQ(last_.text, "42");
}

TEST_F(RedisFence, RefusesWhatIsBelowAndThenNothingIsDone) {
    EXPECT_FALSE(send(fence_.admit(token_of(10), {"SET", "stock", "1"})));
    EXPECT_EQ(send(fence_.admit(token_of(9), {"SET", "stock", "2"})), errc::stale_token);
    EXPECT_EQ(stock(), "1");
    EXPECT_EQ(send(fence_.raise(token_of(9))), errc::stale_token);
}

TEST_F(RedisFence, ARaiseBeforeTheFirstReadStopsALateWriter) {
    EXPECT_FALSE(send(fence_.admit(token_of(33), {"SET", "stock", "1"})));
    EXPECT_FALSE(send(fence_.raise(token_of(34))));
    EXPECT_EQ(last_.text, "OK");
    EXPECT_EQ(send(fence_.admit(token_of(33), {"SET", "stock", "2"})), errc::stale_token);
    EXPECT_EQ(stock(), "1");
}

TEST_F(RedisFence, ComparesTokensThatAScriptsNumbersCannotTellApart) {
    const std::uint64_t large = (std::uint64_t{1} << 62) + 1;
    EXPECT_FALSE(send(fence_.raise(token_of(large))));
    EXPECT_EQ(send(fence_.raise(token_of(large - 1))), errc::stale_token);
    EXPECT_FALSE(send(fence_.raise(token_of(large + 1))));
    EXPECT_EQ(send(fence_.raise(token_of(999))), errc::stale_token) << "shorter is not larger";
}

TEST_F(RedisFence, RefusesTokensOfAnotherDomain) {
    EXPECT_FALSE(send(fence_.raise(token_of(5))));
    EXPECT_EQ(send(fence_.raise(token_of(6, "elsewhere"))), errc::foreign_domain);
    EXPECT_EQ(
        send(fence_.admit(token_of(6, "elsewhere"), {"SET", "stock", "2"})), errc::foreign_domain
    );
    EXPECT_EQ(stock(), "");
}

TEST_F(RedisFence, LeavesOtherErrorsAlone) {
    EXPECT_FALSE(send(fence_.admit(token_of(5), {"SET", "stock", "x"})));
    EXPECT_FALSE(send(fence_.admit(token_of(5), {"INCRBY", "stock", "1"})));
    EXPECT_NE(last_.text.find("not an integer"), std::string::npos) << last_.text;
    EXPECT_FALSE(redis_fence::judge("NOAUTH Authentication required."));
    EXPECT_EQ(redis_fence::judge("-MORTISESTALE x"), errc::stale_token);
}

TEST_F(RedisFence, WantsAKeyATokenAndACommand) {
    EXPECT_THROW(redis_fence(""), error);
    EXPECT_THROW(fence_.raise(fencing_token()), error);
    EXPECT_THROW(fence_.admit(token_of(1), {}), error);
}

}  // namespace
}  // namespace mortise::test
