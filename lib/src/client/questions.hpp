// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_QUESTIONS_HPP
#define MORTISE_CLIENT_QUESTIONS_HPP

#include "client/client_context.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "mortise/lease.hpp"
#include "mortise/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::detail {

/// Asks the store on behalf of users: what is locked and by whom, break a lock, watch for changes.
///
/// Nothing here changes the claims of this client, except that a break of its own grant is told to
/// it like one by anybody else.
///
/// @par Threads Any, except for the members marked "The strand".
class questions final : client_part {
public:
    template <class T>
    using answer_handler = coro::detail::completion<void(error_code, T)>;
    using list_handler = answer_handler<std::vector<lock_view>>;
    using inspect_handler = answer_handler<std::optional<lock_view>>;
    using break_handler = answer_handler<bool>;
    using breaks_handler = answer_handler<std::vector<break_record>>;
    using time_left_handler = answer_handler<std::optional<clock::duration>>;
    using examine_handler = answer_handler<std::vector<store_finding>>;

    questions(client_core& core, client_context& context) noexcept : client_part(core, context) {}

    void list(std::string after, std::size_t limit, std::size_t queue_max, list_handler handler);
    void inspect(std::string name, std::size_t queue_max, inspect_handler handler);
    void break_lock(std::string name, fencing_token token, std::string why, break_handler handler);
    void breaks(std::string name, std::size_t limit, breaks_handler handler);
    void break_holders(std::string name, std::string why, break_handler handler);
    void is_locked(std::string name, break_handler handler);
    void time_left(std::string name, time_left_handler handler);
    void examine(examine_handler handler);
    void watch(lease_handler handler);

    /// Completes all watchers, because a lock changed or may have: they look for themselves. The
    /// strand.
    void changed();
    /// Completes all watchers with an error. The strand.
    void end_watches(error_code why) { watchers_.complete_all(why); }

private:
    template <class T, class Call>
    void ask(answer_handler<T> handler, Call call);
    template <class T, class Call>
    asio::awaitable<void>
    run_question(std::shared_ptr<const void> kept, answer_handler<T> handler, Call call);
    asio::awaitable<result<bool>> break_each(store& at, break_order order);
    void watch_now();
    asio::awaitable<void> run_watch(std::shared_ptr<const void> kept);

    coro::detail::wait_list<> watchers_;  ///< Waiting for a change of any lock at the store.
    bool watching_ = false;               ///< The store was asked to tell of the next change.
};

}  // namespace mortise::detail

#endif
