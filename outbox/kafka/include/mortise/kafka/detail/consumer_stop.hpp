// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_DETAIL_CONSUMER_STOP_HPP
#define MORTISE_KAFKA_DETAIL_CONSUMER_STOP_HPP

#include "mortise/coro/detail/initiate.hpp"

#include <memory>

namespace mortise::kafka::detail {

class group_consumer;

void start_stop_consumer(
    coro::detail::completion<void(error_code)> handler, std::shared_ptr<group_consumer> core
);

}  // namespace mortise::kafka::detail

#endif
