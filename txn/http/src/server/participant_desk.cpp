// SPDX-License-Identifier: BSL-1.0
#include "server/participant_desk.hpp"

#include "mortise/detail/require.hpp"
#include "mortise/txn/http/participant_routes.hpp"
#include "wire/call_messages.hpp"
#include "wire/fields.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace mortise::txn::http {
namespace {

std::optional<operation> operation_of(std::string_view word) noexcept {
    for (const auto each : {operation::try_, operation::confirm, operation::cancel}) {
        if (word == to_string(each))
            return each;
    }
    return std::nullopt;
}

participant_map checked(participant_map served) {
    for (const auto& [name, who] : served) {
        if (who == nullptr || name.empty())
            throw error(mortise::errc::bad_config, name, "give each participant a name");
    }
    return served;
}

std::string checked(std::string prefix) {
    mortise::detail::require(
        prefix.empty() || (prefix.front() == '/' && prefix.back() != '/'),
        "prefix",
        "begin it with a slash, and end it without"
    );
    return prefix;
}

std::optional<token_check> callers_of(const http_access& access) {
    mortise::detail::require(
        access.allow_anyone != !access.callers.empty(),
        "access",
        "give the coordinators tokens (callers), or say that anyone may call (allow_anyone): one "
        "of the two"
    );
    if (access.allow_anyone)
        return std::nullopt;
    return token_check(access.callers);
}

}  // namespace

participant_desk::participant_desk(participant_map served, participant_routes_config config)
    : served_(checked(std::move(served))),
      prefix_(checked(std::move(config.prefix))),
      callers_(callers_of(config.access)) {}

bool participant_desk::owns(std::string_view target) const noexcept {
    return target.substr(0, prefix_.size()) == prefix_ && target.size() > prefix_.size() &&
           target[prefix_.size()] == '/';
}

asio::awaitable<response> participant_desk::answer(const request& asked) const {
    if (callers_ && !callers_->admits(asked.headers)) {
        ++denied_;
        co_return token_check::refusal("send Authorization: Bearer TOKEN, with a token of ours\n");
    }
    const auto slash = asked.target.rfind('/');
    const auto word = slash == std::string::npos ? std::string_view()
                                                 : std::string_view(asked.target).substr(slash + 1);
    const auto todo = operation_of(word);
    const auto callee = todo ? find(std::string_view(asked.target).substr(0, slash)) : nullptr;
    if (callee == nullptr)
        co_return response(
            404,
            "there is no such participant: POST to " + prefix_ + "/NAME/try, " + prefix_ +
                "/NAME/confirm or " + prefix_ + "/NAME/cancel\n"
        );
    if (asked.method != "POST") {
        response refused(405, "a participant is called by POST\n");
        refused.headers.add("allow", "POST");
        co_return refused;
    }
    std::string why;
    auto call = read_call(asked, *todo, why);
    if (!call)
        co_return response(400, why + '\n');
    const std::string id = call_id(*call);
    std::exception_ptr thrown;
    try {
        const auto verdict = co_await callee->carry_out(std::move(*call));
        co_return to_response(verdict, id);
    } catch (...) {
        thrown = std::current_exception();
    }
    co_return failure(thrown, id);
}

// Passes the text of an exception on to the caller, for people. Codes that are answers stay
// answers.
response participant_desk::failure(const std::exception_ptr& thrown, const std::string& id) {
    response answer(500, "the participant failed\n");
    try {
        std::rethrow_exception(thrown);
    } catch (const boost::system::system_error& why) {
        if (why.code() == asio::error::operation_aborted)
            throw;
        answer = to_response(why.code(), id);
        if (answer.status != 500)
            return answer;
        answer.body = why.what();
    } catch (const std::exception& why) {
        answer.body = why.what();
    } catch (...) {
        static_cast<void>(thrown);
    }
    if (!answer.headers.has(fields::call))
        answer.headers.add(fields::call, id);
    return answer;
}

std::shared_ptr<participant> participant_desk::find(std::string_view path) const {
    if (!owns(path))
        return nullptr;
    const auto name = percent_decoded(path.substr(prefix_.size() + 1));
    const auto found = name ? served_.find(*name) : served_.end();
    return found == served_.end() ? nullptr : found->second;
}

}  // namespace mortise::txn::http

namespace mortise::txn {
namespace {

// Keeps the desk, because the routes may be destroyed meanwhile.
asio::awaitable<http_response>
ask(std::shared_ptr<const http::participant_desk> desk, http_request asked) {
    co_return co_await desk->answer(asked);
}

}  // namespace

participant_routes::participant_routes(participant_map served, participant_routes_config config)
    : desk_(std::make_shared<const http::participant_desk>(std::move(served), std::move(config))) {}

bool participant_routes::owns(std::string_view target) const noexcept {
    return desk_->owns(target);
}

asio::awaitable<http_response> participant_routes::answer(http_request asked) const {
    return ask(desk_, std::move(asked));
}

std::uint64_t participant_routes::denied() const noexcept {
    return desk_->denied();
}

}  // namespace mortise::txn
