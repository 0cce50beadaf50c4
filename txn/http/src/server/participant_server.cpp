// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/http/participant_server.hpp"

#include "mortise/coro/assert.hpp"
#include "server/listener.hpp"
#include "wire/answers.hpp"
#include "wire/call_headers.hpp"
#include "wire/field_names.hpp"
#include "wire/field_values.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace mortise::txn {
namespace {

using http::request;
using http::response;

std::optional<operation> operation_of(std::string_view word) noexcept {
    for (const auto each : {operation::try_, operation::confirm, operation::cancel}) {
        if (word == to_string(each))
            return each;
    }
    return std::nullopt;
}

/// Finds the participant that a request is for.
class table {
public:
    explicit table(participant_server::participants served) : served_(std::move(served)) {}

    asio::awaitable<response> answer(const request& what) const {
        const auto slash = what.target.rfind('/');
        const auto word = slash == std::string::npos
                              ? std::string_view()
                              : std::string_view(what.target).substr(slash + 1);
        const auto todo = operation_of(word);
        const auto whom = todo ? find(what.target.substr(0, slash)) : nullptr;
        if (whom == nullptr)
            co_return response(
                404,
                "there is no such participant: POST to /NAME/try, /NAME/"
                "confirm or /NAME/cancel\n"
            );
        if (what.method != "POST") {
            response refused(405, "a participant is called by POST\n");
            refused.headers.add("allow", "POST");
            co_return refused;
        }
        std::string why;
        auto made = http::read_call(what, *todo, why);
        if (!made)
            co_return response(400, why + '\n');
        const std::string id = http::call_id(*made);
        std::exception_ptr thrown;
        try {
            auto doing = whom->carry_out(std::move(*made));
            const auto said = co_await std::move(doing);
            co_return http::to_response(said, id);
        } catch (...) {
            thrown = std::current_exception();
        }
        co_return failure(thrown, id);
    }

private:
    /// Its caller is told what was thrown, for people. A code that is an answer stays one.
    static response failure(const std::exception_ptr& thrown, const std::string& id) {
        response made(500, "the participant failed\n");
        try {
            std::rethrow_exception(thrown);
        } catch (const boost::system::system_error& why) {
            if (why.code() == asio::error::operation_aborted)
                throw;
            made = http::to_response(why.code(), id);
            if (made.status != 500)
                return made;
            made.body = why.what();
        } catch (const std::exception& why) {
            made.body = why.what();
        } catch (...) {
            static_cast<void>(thrown);
        }
        if (!made.headers.has(http::fields::call))
            made.headers.add(http::fields::call, id);
        return made;
    }

    std::shared_ptr<participant> find(std::string_view path) const {
        if (path.empty() || path.front() != '/')
            return nullptr;
        const auto name = http::percent_decoded(path.substr(1));
        const auto found = name ? served_.find(*name) : served_.end();
        return found == served_.end() ? nullptr : found->second;
    }

    const participant_server::participants served_;
};

http::answer_function answering(participant_server::participants served) {
    for (const auto& [name, who] : served) {
        if (who == nullptr || name.empty())
            throw error(mortise::errc::bad_config, name, "give each participant a name");
    }
    auto known = std::make_shared<const table>(std::move(served));
    return [known](const request& what) { return known->answer(what); };
}

}  // namespace

participant_server::participant_server(
    executor_type executor, http_server_config config, participants served
)
    : listener_(std::make_shared<http::listener>(
          std::move(executor), std::move(config), answering(std::move(served))
      )) {
    listener_->attach();
}

participant_server::~participant_server() {
    if (listener_)
        listener_->close();
}

participant_server::participant_server(participant_server&&) noexcept = default;

participant_server& participant_server::operator=(participant_server&& other) noexcept {
    if (const auto before = std::exchange(listener_, std::move(other.listener_)))
        before->close();
    return *this;
}

participant_server::executor_type participant_server::get_executor() const noexcept {
    MORTISE_ASSERT(listener_);
    return listener_->get_executor();
}

std::uint16_t participant_server::port() const noexcept {
    return listener_->port();
}

std::string participant_server::url(std::string_view name) const {
    return listener_->url() + '/' + http::percent_encoded(name);
}

}  // namespace mortise::txn
