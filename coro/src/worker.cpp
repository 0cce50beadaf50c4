// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/worker.hpp"

#include "worker_state.hpp"

namespace mortise::coro {

namespace detail {

void worker_job::shut_down() noexcept {
    const auto worker = worker_.lock();
    if (worker && worker->leaves_behind(*this))
        return;
    if (withdraw())
        drop();
    else if (worker)
        worker->let_go(*this);
}

bool submit(std::shared_ptr<worker_state> worker, std::shared_ptr<worker_job> job) {
    return worker->submit(std::move(job));
}

}  // namespace detail

worker::worker(executor_type executor, worker_config config)
    : executor_(std::move(executor)),
      state_(std::make_shared<detail::worker_state>(std::move(config))) {
    state_->start(asio::query(executor_, asio::execution::context));
}

worker::~worker() {
    detail::wait_service::unlink(*state_);
    state_->stop();
    state_->join();
}

void worker::stop() noexcept {
    const auto state = state_;  // *this may be gone as soon as a handler on another thread runs
    state->stop();
}

std::size_t worker::queued() const noexcept {
    return state_->queued();
}

}  // namespace mortise::coro
