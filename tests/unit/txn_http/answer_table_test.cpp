// SPDX-License-Identifier: BSL-1.0
// The table of docs/txn-http.md: what each answer means.
#include "mortise/txn/error.hpp"
#include "unit/txn_http/scripted_server.hpp"
#include "wire/call_messages.hpp"
#include "wire/message_reader.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

namespace mortise::txn::answer_table_test {
namespace {

using std::chrono::milliseconds;

constexpr const char* id = "try.000000000000002a-1.1.1.1";
const std::string ours = std::string("mortise-call: ") + id + "\r\n";

result<reply> meaning(std::string bytes) {
    http::response_reader reader{http::message_limits()};
    if (reader.feed(bytes) != http::fault::none || !reader.done())
        return error_code(errc::call_failed);
    return http::read_answer(reader.take(), id);
}

std::string answer(const std::string& status, const std::string& lines, const std::string& body) {
    return test::scripted_server::answer(status, lines, body);
}

struct row {
    const char* status;
    std::string lines;
    result<reply> means;
    std::string body = "words";
};

void expect(const std::vector<row>& rows) {
    for (const auto& each : rows) {
        const auto got = meaning(answer(each.status, each.lines, each.body));
        const std::string title = std::string(each.status) + " | " + each.lines;
        if (each.means) {
            ASSERT_TRUE(got) << title << got.error().message();
            EXPECT_TRUE(*got == *each.means) << title;
        } else {
            ASSERT_FALSE(got) << title;
            EXPECT_EQ(got.error(), each.means.error()) << title;
        }
    }
}

const error_code failed = errc::call_failed;

TEST(TxnHttpAnswers, AVerdictStandsWithItsStatusOnly) {
    const auto verdict = [](const char* word) {
        return ours + "mortise-verdict: " + word + "\r\n";
    };
    expect({
        {"200 OK", verdict("done"), reply::done("words")},
        {"200 OK", verdict("done"), reply::done(""), ""},
        {"409 Conflict", verdict("refused"), reply::refused("words")},
        {"425 Too Early", verdict("again"), reply::again(milliseconds(0))},
        {"425 Too Early",
         verdict("again") + "mortise-after-ms: 250\r\n",
         reply::again(milliseconds(250))},
        {"425 Too Early", verdict("again") + "mortise-after-ms: soon\r\n", failed},
        {"425 Too Early", verdict("again") + "mortise-after-ms: 86400001\r\n", failed},
        {"202 Accepted", verdict("done"), failed},
        {"204 No Content", verdict("done"), failed, ""},
        {"409 Conflict", verdict("done"), failed},
        {"425 Too Early", verdict("done"), failed},
        {"500 Internal Server Error", verdict("done"), failed},
        {"200 OK", verdict("refused"), failed},
        {"200 OK", verdict("again"), failed},
        {"200 OK", verdict("DONE"), failed},
        {"200 OK", verdict("done, done"), failed},
        {"200 OK", verdict(""), failed},
    });
}

TEST(TxnHttpAnswers, ARefusalOfTheProtocolHasItsNameAndItsStatus) {
    const auto named = [](const char* name) { return ours + "mortise-error: " + name + "\r\n"; };
    expect({
        {"409 Conflict", named("late_try"), error_code(errc::late_try)},
        {"404 Not Found", named("unknown_branch"), error_code(errc::unknown_branch)},
        {"409 Conflict", named("conflict"), error_code(errc::conflict)},
        {"409 Conflict", named("stale_epoch"), error_code(errc::stale_epoch)},
        {"409 Conflict", named("participant_ahead"), error_code(errc::participant_ahead)},
        {"409 Conflict", named("stale_token"), error_code(mortise::errc::stale_token)},
        {"409 Conflict", named("foreign_domain"), error_code(mortise::errc::foreign_domain)},
        {"409 Conflict", named("no_token"), error_code(mortise::errc::no_token)},
        {"409 Conflict", named("unknown_branch"), failed},
        {"404 Not Found", named("late_try"), failed},
        {"200 OK", named("conflict"), failed},
        {"409 Conflict", named("something_else"), failed},
        {"409 Conflict", named("conflict") + "mortise-verdict: refused\r\n", failed},
    });
}

TEST(TxnHttpAnswers, WhatDoesNotCarryOurHeaderIsNeverSuccess) {
    expect({
        {"200 OK", "", failed},
        {"200 OK", "", failed, ""},
        {"200 OK", ours, failed},
        {"201 Created", "", failed},
        {"202 Accepted", "", failed},
        {"202 Accepted", "retry-after: 1\r\n", failed},
        {"302 Found", "location: http://127.0.0.1:1/\r\n", failed},
        {"307 Temporary Redirect", "location: /elsewhere\r\n", failed},
        {"400 Bad Request", "", failed},
        {"401 Unauthorized", "", error_code(mortise::errc::access_denied)},
        {"401 Unauthorized", "mortise-verdict: done\r\n", failed},
        {"404 Not Found", "", failed},
        {"409 Conflict", "", failed},
        {"425 Too Early", "retry-after: 1\r\n", failed},
        {"500 Internal Server Error", "", failed},
        {"502 Bad Gateway", "", failed},
        {"503 Service Unavailable", "", failed},
        {"504 Gateway Timeout", "retry-after: 1\r\n", failed},
    });
}

TEST(TxnHttpAnswers, WhoeverStandsBetweenMaySayThatItIsBusy) {
    expect({
        {"429 Too Many Requests", "retry-after: 2\r\n", reply::again(milliseconds(2'000))},
        {"503 Service Unavailable", "retry-after: 0\r\n", reply::again(milliseconds(0))},
        {"503 Service Unavailable", "retry-after: 3600\r\n", reply::again(milliseconds(3'600'000))},
        {"503 Service Unavailable", "retry-after: 3601\r\n", failed},
        {"503 Service Unavailable", "retry-after: -1\r\n", failed},
        {"503 Service Unavailable", "retry-after: Fri, 31 Dec 1999 23:59:59 GMT\r\n", failed},
        {"503 Service Unavailable", "retry-after: 1\r\nretry-after: 2\r\n", failed},
        {"503 Service Unavailable", "retry-after: 1\r\nmortise-verdict: done\r\n", failed},
    });
}

TEST(TxnHttpAnswers, AnAnswerToAnotherCallIsNone) {
    const std::string other = "mortise-call: try.000000000000002a-2.1.1.1\r\n";
    const std::string done = "mortise-verdict: done\r\n";
    expect({
        {"200 OK", done, failed},
        {"200 OK", done + other, failed},
        {"200 OK", done + ours + other, failed},
        {"200 OK", done + ours + ours, failed},
        {"409 Conflict", other + "mortise-error: conflict\r\n", failed},
        {"200 OK", done + ours + done, failed},
        {"200 OK", done + ours + "mortise-verdict: refused\r\n", failed},
        {"200 OK", done + ours + "content-encoding: gzip\r\n", failed},
        {"200 OK", done + ours + "content-encoding: identity\r\n", reply::done("words")},
    });
}

TEST(TxnHttpAnswers, WhatAParticipantSaysComesBackAsItWas) {
    const std::vector<result<reply>> all = {
        reply::done("a\0b\r\n\xff"),
        reply::done(),
        reply::refused("sold out"),
        reply::again(milliseconds(17)),
        error_code(errc::late_try),
        error_code(errc::unknown_branch),
        error_code(errc::conflict),
        error_code(errc::stale_epoch),
        error_code(errc::participant_ahead),
        error_code(mortise::errc::stale_token),
        error_code(mortise::errc::foreign_domain),
        error_code(mortise::errc::no_token),
    };
    for (const auto& each : all) {
        const auto got = meaning(http::bytes_of(http::to_response(each, id)));
        ASSERT_EQ(got.has_value(), each.has_value());
        if (each)
            EXPECT_TRUE(*got == *each);
        else
            EXPECT_EQ(got.error(), each.error());
    }
    const auto busy =
        meaning(http::bytes_of(http::to_response(error_code(mortise::errc::database_busy), id)));
    EXPECT_EQ(busy.error(), failed) << "it is not known what was done";
}

TEST(TxnHttpAnswers, WhatIsNoWholeAnswerIsNone) {
    const std::string whole = answer("200 OK", ours + "mortise-verdict: done\r\n", "words");
    ASSERT_TRUE(meaning(whole));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(meaning(whole.substr(0, size))) << size;
    EXPECT_FALSE(meaning("HTTP/1.1 200 OK\r\n" + ours + "mortise-verdict: done\r\n\r\nwords"))
        << "without a length nobody knows whether all has come";
    EXPECT_FALSE(meaning("SSH-2.0-OpenSSH_9.2\r\n"));
    EXPECT_FALSE(meaning(std::string(100'000, 'x')));
}

}  // namespace
}  // namespace mortise::txn::answer_table_test
