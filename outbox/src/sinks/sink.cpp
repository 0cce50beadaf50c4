// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/sink.hpp"

namespace mortise::outbox {

asio::awaitable<result<bool>> sink::has_topic(const std::string&) {
    co_return true;
}

}  // namespace mortise::outbox
