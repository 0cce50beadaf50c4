// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_PROCESS_LIFE_HPP
#define MORTISE_SIM_PROCESS_LIFE_HPP

#include "mortise/coro/virtual_time.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>

namespace mortise::sim::detail {

/// The parts of a process that are gone when it dies.
class process_life {
public:
    explicit process_life(clock::time_point now)
        : time(std::make_shared<coro::virtual_time>(context.get_executor(), now)) {}

    asio::io_context context{1};
    std::shared_ptr<coro::virtual_time> time;
};

}  // namespace mortise::sim::detail

#endif
