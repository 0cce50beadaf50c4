// SPDX-License-Identifier: BSL-1.0
#include "mortise/store.hpp"

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace mortise {

asio::awaitable<released_and_asked> store::release_and_request(grant held, lock_request request) {
    released_and_asked both;
    auto releasing = release(std::move(held));
    both.released = co_await std::move(releasing);
    auto asking = this->request(std::move(request));
    both.asked = co_await std::move(asking);
    co_return both;
}

asio::awaitable<result<answers_in_order>> store::request_in_order(std::vector<lock_request> requests
) {
    answers_in_order answers;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        auto asking = request(std::move(requests[i]));
        answers.push_back(co_await std::move(asking));
        if (!answers.back() || answers.back()->type != answer::kind::granted)
            break;
    }
    co_return std::move(answers);
}

asio::awaitable<result<std::chrono::milliseconds>> store::extend(grant, std::chrono::milliseconds) {
    co_return error_code(errc::unsupported);
}

asio::awaitable<result<std::vector<break_record>>> store::breaks(std::string, std::size_t) {
    co_return error_code(errc::unsupported);
}

asio::awaitable<error_code> store::watch() {
    co_return errc::unsupported;
}

}  // namespace mortise
