// SPDX-License-Identifier: BSL-1.0
// Whatever a participant's host answers: it is success only if it says so, of this call, with the
// status that goes with it.
#include "control/control_json.hpp"
#include "fuzz/target.hpp"
#include "fuzz/vocabulary.hpp"
#include "mortise/txn/error.hpp"
#include "wire/call_messages.hpp"
#include "wire/message_reader.hpp"

#include <optional>
#include <string>

namespace mortise::fuzz::http_answer_target {
namespace {

using namespace txn;

constexpr const char* id = "try.000000000000002a-1.1.1.1";
constexpr http::message_limits small{512, 64};

std::string some_answer(input& in) {
    static const vocabulary statuses("200 201 202 204 302 404 409 425 429 500 503 100 999 20 a");
    static const vocabulary names(
        "mortise-verdict mortise-error mortise-call mortise-after-ms retry-after content-encoding "
        "transfer-encoding connection x"
    );
    static const vocabulary values(
        "done refused again late_try unknown_branch conflict stale_token 0 1 250 -1 99999999999 "
        "try.000000000000002a-1.1.1.1 try.000000000000002a-2.1.1.1 gzip identity chunked close , ;"
    );
    std::string text = "HTTP/1.1 " + std::string(statuses.pick(in, 4)) + " x\r\n";
    for (auto left = in.pick(7); left != 0; --left) {
        text += names.pick(in, 4);
        text += ": ";
        text += values.pick(in, 4);
        text += "\r\n";
    }
    if (in.pick(4) != 0)
        text += "mortise-call: " + std::string(id) + "\r\n";
    const std::string body = in.text(70);
    if (in.pick(8) != 0)
        text += "content-length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n" + body;
    return text.substr(0, in.pick(8) == 0 ? in.pick(text.size() + 1) : text.size());
}

std::optional<http::response> read(std::string text) {
    http::response_reader reader(small);
    if (reader.feed(text) != http::fault::none || reader.has_no_length() || !reader.done())
        return std::nullopt;
    return reader.take();
}

void check_meaning(const http::response& from) {
    const auto answer = http::read_answer(from, id);
    const bool ours = from.headers.one("mortise-call") == id;
    if (!answer) {
        MORTISE_ASSERT(
            answer.error() == txn::errc::call_failed || (ours && from.status / 100 == 4)
        );
        return;
    }
    const auto verdict = from.headers.one("mortise-verdict");
    switch (answer->type) {
    case reply::verdict::done:
        MORTISE_ASSERT(ours && from.status == 200 && verdict == "done");
        MORTISE_ASSERT(answer->payload == from.body);
        break;
    case reply::verdict::refused:
        MORTISE_ASSERT(ours && from.status == 409 && verdict == "refused");
        break;
    case reply::verdict::again:
        MORTISE_ASSERT(answer->after >= std::chrono::milliseconds(0));
        MORTISE_ASSERT(answer->after <= std::chrono::hours(24));
        MORTISE_ASSERT((ours && from.status == 425) || from.status == 429 || from.status == 503);
        break;
    case reply::verdict::ahead:
        MORTISE_ASSERT(ours && from.status == 409);
        MORTISE_ASSERT(answer->seen != reply::evidence());
        break;
    }
}

}  // namespace

MORTISE_FUZZ_TARGET(http_answer) {
    const auto got = read(in.pick(8) == 0 ? in.text(700) : some_answer(in));
    if (got)
        check_meaning(*got);
    reply sent = in.flag() ? reply::done(in.text(60)) : reply::refused(in.text(60));
    const auto back = read(http::bytes_of(http::to_response(sent, id)));
    MORTISE_ASSERT(back && http::read_answer(*back, id) == result<reply>(sent));
    const gid transaction{42, 1};
    const std::string word = in.text(80);
    if (const auto outcome = http::read_outcome(word, transaction)) {
        const auto again =
            http::read_outcome(http::outcome_json(transaction, *outcome), transaction);
        MORTISE_ASSERT(again == outcome);
    }
}

}  // namespace mortise::fuzz::http_answer_target
