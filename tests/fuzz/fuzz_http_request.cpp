// SPDX-License-Identifier: BSL-1.0
// Whatever comes for a server of HTTP is a request or is refused, however it is cut into pieces;
// and what is read of a call is a call, which travels unharmed.
#include "control/control_json.hpp"
#include "fuzz/refusal.hpp"
#include "fuzz/target.hpp"
#include "fuzz/vocabulary.hpp"
#include "wire/call_messages.hpp"
#include "wire/message_reader.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace mortise::fuzz::http_request_target {
namespace {

using namespace txn;

constexpr http::message_limits small{512, 64};

std::string some_text(input& in) {
    static const vocabulary words(
        "POST GET / /try /stock/confirm ? HTTP/1.1 HTTP/1.0 : ; , % %4 %2c = host: content-length: "
        "transfer-encoding: chunked expect: 100-continue connection: close keep-alive 0 1 2 64 65 "
        "mortise-gid: 000000000000002a-1 mortise-branch: mortise-attempt: mortise-epoch: "
        "mortise-term: mortise-participant: stock mortise-time-left-ms: mortise-ended-below: "
        "mortise-lock: main mortise-call: try.000000000000002a-1.1.1.1 traceparent: 00-a-b-01 "
        "18446744073709551615 18446744073709551616 -1 a b"
    );
    std::string text;
    for (auto left = in.pick(60); left != 0; --left) {
        const auto kind = in.pick(8);
        text += kind < 3 ? "\r\n" : kind == 3 ? " " : words.pick(in, 4);
        if (kind == 7)
            text += ' ';
    }
    return text;
}

/// A request with all that a call needs, of which something may be wrong.
std::string some_call(input& in) {
    static const vocabulary values("0 1 2 42 a a%20b 000000000000002a-1 main; a;b;1 , % -1 1e3");
    struct field {
        const char* name;
        const char* right;
    };
    static constexpr field fields[] = {
        {"mortise-gid", "000000000000002a-1"},
        {"mortise-branch", "1"},
        {"mortise-attempt", "1"},
        {"mortise-epoch", "1"},
        {"mortise-term", "18446744073709551615"},
        {"mortise-participant", "a%20b"},
        {"mortise-time-left-ms", "1000"},
        {"mortise-ended-below", "1"},
        {"mortise-lock", "sku%3A1; main; 7"},
    };
    std::string text = "POST /stock/try HTTP/1.1\r\n";
    for (const auto& [name, right] : fields) {
        const bool as_it_should = in.pick(8) != 0;
        text += std::string(name) + ": ";
        text += as_it_should ? right : values.pick(in, 4);
        text += "\r\n";
    }
    text += "mortise-call: try.000000000000002a-1.1.1.1\r\n";
    const std::string body = in.text(70);
    return text + "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

struct outcome_of {
    http::fault bad = http::fault::none;
    std::optional<http::request> request;
};

outcome_of read(std::string text, std::size_t piece) {
    http::request_reader reader(small);
    outcome_of got;
    std::string arrived;
    while (got.bad == http::fault::none && !reader.done() && !text.empty()) {
        arrived += text.substr(0, piece);
        text.erase(0, piece);
        got.bad = reader.feed(arrived);
        MORTISE_ASSERT(got.bad != http::fault::none || reader.done() || arrived.size() <= 2 * 512);
        static_cast<void>(reader.wants_continue());
    }
    if (got.bad == http::fault::none && reader.done())
        got.request = reader.take();
    return got;
}

void check_call(const http::request& from) {
    for (const auto kind : {operation::try_, operation::confirm, operation::cancel}) {
        std::string why;
        const auto call = http::read_call(from, kind, why);
        MORTISE_ASSERT(call.has_value() == why.empty());
        if (!call)
            continue;
        MORTISE_ASSERT(call->gid && call->branch != 0 && call->attempt != 0);
        auto bytes = http::bytes_of(http::to_request(*call, http::base_url::parse("http://h")));
        http::request_reader reader{http::message_limits()};
        MORTISE_ASSERT(reader.feed(bytes) == http::fault::none && reader.done() && bytes.empty());
        const auto again = http::read_call(reader.take(), kind, why);
        MORTISE_ASSERT(again && again->gid == call->gid && again->branch == call->branch);
        MORTISE_ASSERT(again->attempt == call->attempt && again->epoch == call->epoch);
        MORTISE_ASSERT(again->term == call->term && again->locks == call->locks);
        MORTISE_ASSERT(again->participant == call->participant);
        MORTISE_ASSERT(again->payload == call->payload && again->time_left == call->time_left);
        MORTISE_ASSERT(again->ended_below == call->ended_below);
    }
}

}  // namespace

MORTISE_FUZZ_TARGET(http_request) {
    const std::string text = in.flag() ? some_call(in) : in.flag() ? some_text(in) : in.text(900);
    const auto whole = read(text, std::max<std::size_t>(text.size(), 1));
    const auto pieces = read(text, 1 + in.pick(7));
    MORTISE_ASSERT((whole.bad == http::fault::none) == (pieces.bad == http::fault::none));
    MORTISE_ASSERT(whole.request.has_value() == pieces.request.has_value());
    if (whole.request) {
        MORTISE_ASSERT(whole.request->target == pieces.request->target);
        MORTISE_ASSERT(whole.request->body == pieces.request->body);
        MORTISE_ASSERT(whole.request->body.size() <= small.body_max);
        check_call(*whole.request);
    }
    const std::string word = in.text(60);
    intervention wanted;
    std::string wrong;
    MORTISE_ASSERT(http::read_intervention(word, wanted, wrong) == wrong.empty());
    const error_code refused = refusal_of([&] {
        const auto url = http::base_url::parse("http://" + word);
        MORTISE_ASSERT(!url.host.empty() && url.port != 0);
        MORTISE_ASSERT(url.path.empty() || (url.path.front() == '/' && url.path.back() != '/'));
        MORTISE_ASSERT(url.authority.find_first_of("\r\n /") == std::string::npos);
    });
    MORTISE_ASSERT(!refused || refused == mortise::errc::bad_url);
}

}  // namespace mortise::fuzz::http_request_target
