// SPDX-License-Identifier: BSL-1.0
#include "mortise/detail/guarded_run.hpp"

#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::detail {
namespace {

void acquire_for(
    lock_client& client, const std::string& name, const lock_options& options, auto then
) {
    client.async_acquire(name, options, std::move(then));
}

void acquire_for(
    lock_client& client,
    const std::vector<std::string>& names,
    const lock_options& options,
    auto then
) {
    client.async_acquire_all(names, options, std::move(then));
}

std::string text_of(const std::string& name) {
    return "lock \"" + name + '"';
}

std::string text_of(const std::vector<std::string>& names) {
    std::string text = "locks";
    for (const auto& each : names)
        text += " \"" + each + '"';
    return text;
}

std::optional<error> wrong_name(const std::string& name) {
    return check_name(name);
}

std::optional<error> wrong_name(const std::vector<std::string>& names) {
    for (const auto& each : names) {
        if (auto wrong = check_name(each))
            return wrong;
    }
    return names.empty()
               ? std::optional(error(errc::names_missing, "no names", "name at least one"))
               : std::nullopt;
}

// Whether the store's text on its newest failure belongs to this code.
bool is_of_store(const error_code& code) {
    const bool in_range = code.value() >= static_cast<int>(errc::store_unavailable) &&
                          code.value() <= static_cast<int>(errc::quarantined);
    return (code.category() == error_category() && in_range) || code == errc::unsupported ||
           code == errc::outcome_unknown || code == errc::session_lost;
}

/// One `with_lock` under way, of one lock or of several. Lives on the caller's executor, kept alive
/// by whatever it waits for.
///
/// acquire -> body, and beside it the wait for the loss -> both have ended -> release -> complete
template <class Held, class Name>
class guarded_run final : public std::enable_shared_from_this<guarded_run<Held, Name>> {
public:
    guarded_run(
        guarded_handler handler,
        asio::any_io_executor executor,
        lock_client& client,
        std::shared_ptr<guarded_body<Held>> body
    )
        : executor_(std::move(executor)),
          client_(client),
          body_(std::move(body)),
          handler_(std::move(handler)) {}

    void start(Name name, lock_options options) {
        name_ = std::move(name);
        options_ = options;
        coro::detail::install_cancel_proxy<guarded_run>(handler_.slot(), this->weak_from_this());
        acquire_for(
            client_,
            name_,
            options,
            asio::bind_cancellation_slot(
                stop_.slot(),
                asio::bind_executor(
                    executor_,
                    [self = this->shared_from_this()](error_code code, Held held) {
                        self->acquired(code, std::move(held));
                    }
                )
            )
        );
    }

    const asio::any_io_executor& strand() const noexcept { return executor_; }
    // Passes the signal on to the acquire or the body under way; a release is never cancelled.
    void on_cancel(asio::cancellation_type type) {
        // The grant may be on its way already: the body then gets the signal once it has begun.
        if (stage_ == stage::acquiring)
            cancelled_ |= type;
        if (stage_ != stage::releasing)
            stop_.emit(type);
    }

private:
    enum class stage : std::uint8_t { acquiring, running, releasing };

    void acquired(error_code code, Held held) {
        if (code) {
            complete(refusal(code));
            return;
        }
        held_ = std::move(held);
        stage_ = stage::running;
        body_runs_ = watch_runs_ = true;
        held_.async_wait_lost(asio::bind_cancellation_slot(
            unwatch_.slot(),
            asio::bind_executor(
                executor_, [self = this->shared_from_this()](error_code why) { self->lost(why); }
            )
        ));
        body_->start(
            held_,
            executor_,
            stop_.slot(),
            [self = this->shared_from_this()](std::exception_ptr failure) { self->ended(failure); }
        );
        if (cancelled_ != asio::cancellation_type::none)
            stop_.emit(cancelled_);
    }

    void lost(error_code why) {
        watch_runs_ = false;
        if (!body_runs_)
            return release();
        why_ = why;
        stop_.emit(asio::cancellation_type::terminal);
    }

    void ended(std::exception_ptr failure) {
        body_runs_ = false;
        failure_ = std::move(failure);
        at_end_ = held_.check();
        if (watch_runs_)
            unwatch_.emit(asio::cancellation_type::total);
        else
            release();
    }

    void release() {
        stage_ = stage::releasing;
        held_.async_release(asio::bind_executor(
            executor_, [self = this->shared_from_this()](error_code code) { self->released(code); }
        ));
    }

    // A lock that was not held to the body's end outranks the body's own result.
    void released(error_code code) {
        error_code wrong = at_end_;
        if (!wrong && code == errc::lease_lost)
            wrong = code;
        if (!wrong && why_ && failure_)
            wrong = stopped_by_us() ? why_ : error_code();
        if (wrong) {
            failure_ = std::make_exception_ptr(error(
                wrong,
                text_of(name_),
                "what the body did may have met another holder: fence its writes with the token"
            ));
        }
        complete(failure_);
    }

    // Whether the body ended because of our signal to stop, which came before the window's end.
    bool stopped_by_us() const {
        try {
            std::rethrow_exception(failure_);
        } catch (const boost::system::system_error& e) {
            return e.code() == asio::error::operation_aborted;
        } catch (...) {
            return false;
        }
    }

    std::exception_ptr refusal(error_code code) const {
        for (const auto& wrong : {wrong_name(name_), check_options(options_)}) {
            if (wrong && wrong->code() == code)
                return std::make_exception_ptr(*wrong);
        }
        std::string remedy;
        if (code == errc::busy)
            remedy = "try again, or wait longer (lock_options::wait_max)";
        else if (is_of_store(code))
            remedy = client_.explain();
        return std::make_exception_ptr(error(code, text_of(name_), std::move(remedy)));
    }

    void complete(std::exception_ptr failure) {
        body_.reset();
        auto handler = std::move(handler_);
        handler.complete(std::move(failure));
    }

    const asio::any_io_executor executor_;
    lock_client& client_;
    std::shared_ptr<guarded_body<Held>> body_;
    guarded_handler handler_;
    Name name_;
    lock_options options_;
    Held held_;
    asio::cancellation_signal stop_;     // cancels the acquire, then the body
    asio::cancellation_signal unwatch_;  // cancels the wait for the loss
    stage stage_ = stage::acquiring;
    asio::cancellation_type cancelled_ = asio::cancellation_type::none;  // before the grant came
    bool body_runs_ = false;
    bool watch_runs_ = false;
    error_code why_;     // the loss that the body was stopped for
    error_code at_end_;  // the check of the lease when the body ended
    std::exception_ptr failure_;
};

}  // namespace

void start_guarded_run(
    guarded_handler handler,
    asio::any_io_executor executor,
    lock_client* client,
    std::string name,
    lock_options options,
    std::shared_ptr<guarded_body<lease>> body
) {
    const auto run = std::make_shared<guarded_run<lease, std::string>>(
        std::move(handler), std::move(executor), *client, std::move(body)
    );
    run->start(std::move(name), options);
}

void start_guarded_run_of_all(
    guarded_handler handler,
    asio::any_io_executor executor,
    lock_client* client,
    std::vector<std::string> names,
    lock_options options,
    std::shared_ptr<guarded_body<lease_set>> body
) {
    const auto run = std::make_shared<guarded_run<lease_set, std::vector<std::string>>>(
        std::move(handler), std::move(executor), *client, std::move(body)
    );
    run->start(std::move(names), options);
}

}  // namespace mortise::detail
