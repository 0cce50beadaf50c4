// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_HOST_CLOCK_HPP
#define MORTISE_SIM_HOST_CLOCK_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/sim/process.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/system_executor.hpp>

#include <utility>

namespace mortise::sim::detail {

/// The clock of a process over all of its lives, for objects that read the time and never wait.
class host_clock final : public coro::time_source {
public:
    explicit host_clock(const process& of) : time_source(asio::system_executor()), of_(of) {}

    clock::time_point now() const noexcept override { return of_.local_now(); }

private:
    void wait_until(clock::time_point, coro::detail::completion<void(error_code)> done) override {
        done.complete(asio::error::operation_not_supported);
    }

    const process& of_;
};

}  // namespace mortise::sim::detail

#endif
