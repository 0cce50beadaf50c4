// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/batch_worker.hpp"

#include "worker_state.hpp"

#include <boost/asio/query.hpp>

#include <utility>

namespace mortise::coro::detail {

batch_worker::batch_worker(
    asio::any_io_executor executor,
    worker_config config,
    std::size_t batch_max,
    std::shared_ptr<batch_runner> runner
)
    : executor_(std::move(executor)),
      state_(std::make_shared<worker_state>(std::move(config), batch_max, std::move(runner))) {
    state_->start(asio::query(executor_, asio::execution::context));
}

batch_worker::batch_worker(asio::any_io_executor executor, worker_config config)
    : executor_(std::move(executor)), state_(std::make_shared<worker_state>(std::move(config))) {
    state_->start(asio::query(executor_, asio::execution::context));
}

batch_worker::~batch_worker() {
    wait_service::unlink(*state_);
    state_->stop();
    state_->join();
}

bool batch_worker::submit(std::shared_ptr<worker_job> job) {
    const auto state = state_;  // the job may run, and destroy *this, before this returns
    return state->submit(std::move(job));
}

void batch_worker::stop() noexcept {
    const auto state = state_;
    state->stop();
}

void batch_worker::join() noexcept {
    const auto state = state_;
    state->join();
}

void batch_worker::wait_stopped() noexcept {
    const auto state = state_;
    state->wait_stopped();
}

std::size_t batch_worker::queued() const noexcept {
    return state_->queued();
}

}  // namespace mortise::coro::detail
