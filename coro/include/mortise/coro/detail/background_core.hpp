// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_BACKGROUND_CORE_HPP
#define MORTISE_CORO_DETAIL_BACKGROUND_CORE_HPP

#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/strand_seat.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "mortise/coro/detail/wait_service.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/query.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace mortise::coro::detail {

/// The life of an object that works on a strand of its own, beside its users: it starts, and it
/// ends because a user stops it, because its last user is gone, or because the context ends.
///
/// `Core` derives from this class, makes it a friend, and defines what happens on the strand:
///
/// | member | does |
/// | --- | --- |
/// | `void start()` | begins the work |
/// | `void begin_stop(bool at_once)` | ends it; calls `answer_stoppers` when nothing is under way |
/// | `void drop() noexcept` | the context ends: destroys all handlers, calls and posts nothing |
///
/// @par Threads `attach`: before anybody else has the object. `executor`, `stop`, `close`: any. All
///              others: the strand.
template <class Core>
class background_core : public std::enable_shared_from_this<Core>, public shutdown_hook {
public:
    using stop_handler = completion<void(error_code)>;

    ~background_core() override { wait_service::unlink(*this); }

    const asio::any_io_executor& executor() const noexcept { return seat_.executor(); }

    /// Starts the work. Call it once, after construction: it needs `shared_from_this`.
    void attach() {
        if (!seat_.take(this->shared_from_this()))
            return shut_down();
        asio::dispatch(seat_.strand(), [self = this->shared_from_this()] { self->start(); });
    }

    /// Stops the work and completes the handler afterwards. In a deserted seat the handler is
    /// destroyed. The handler's context may be another one, and end first. If this one does, such a
    /// handler is completed with `operation_aborted`.
    void stop(stop_handler handler) {
        if (seat_.deserted())
            return;
        auto& own = asio::query(seat_.executor(), asio::execution::context);
        if (&handler.context() != &own) {
            static_cast<void>(handler.release_slot());  // a stop that has begun is carried through
            stoppers_elsewhere_.add(std::exchange(handler, stop_handler()));
        }
        asio::dispatch(
            seat_.strand(),
            [self = this->shared_from_this(), handler = std::move(handler)]() mutable {
                if (handler)
                    self->stoppers_.push_back(std::move(handler));
                self->begin_stop(false);
            }
        );
    }

    /// Stops the work at once, for nobody. The caller lets go of the object, which does not hear of
    /// the end of the context any longer.
    void close() noexcept {
        wait_service::unlink(*this);
        stop_unheard();
    }

protected:
    explicit background_core(
        asio::any_io_executor executor, strand_seat::work how = strand_seat::work::counted
    )
        : seat_(std::move(executor), how) {}

    const asio::any_io_executor& strand() const noexcept { return seat_.strand(); }
    bool deserted() const noexcept { return seat_.deserted(); }

    /// As `close`, but the end of the context is still heard of.
    void stop_unheard() noexcept {
        if (!seat_.deserted())
            asio::dispatch(seat_.strand(), [self = this->shared_from_this()] {
                self->begin_stop(true);
            });
    }

    void answer_stoppers() {
        for (auto& each : std::exchange(stoppers_, {}))
            each.complete(error_code());
        stoppers_elsewhere_.complete_all(error_code());
    }

private:
    // The handlers are destroyed last, because they may own frames that refer to the object.
    void shut_down() noexcept final {
        if (seat_.forked())
            return;
        const auto stoppers = std::exchange(stoppers_, {});
        static_cast<Core&>(*this).drop();
        seat_.leave();
        stoppers_elsewhere_.close();
    }

    strand_seat seat_;
    std::vector<stop_handler> stoppers_;  ///< Of the same context.
    wait_list<> stoppers_elsewhere_;
};

}  // namespace mortise::coro::detail

#endif
