// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_POSTGRES_PG_OPENING_HPP
#define MORTISE_POSTGRES_PG_OPENING_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/postgres_config.hpp"
#include "postgres/pg_message.hpp"
#include "postgres/pg_socket.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise {
class store_url;
}

namespace mortise::postgres_detail {

bool is_postgres_scheme(std::string_view scheme) noexcept;

/// Reads the settings of a session from a URL of that scheme.
/// @param more options that are read elsewhere.
/// @throws error `bad_url`, `bad_config`
db::postgres_config
postgres_config_of(const store_url& url, std::initializer_list<std::string_view> more);

/// Settings in the form of libpq: keywords and their values.
class pg_keywords {
public:
    /// `addresses` has those of each server of the settings; an empty one is a Unix socket.
    pg_keywords(
        const db::postgres_config& settings, const std::vector<std::vector<std::string>>& addresses
    );

    const char* const* names() const noexcept { return names_.data(); }
    const char* const* values() const noexcept { return values_.data(); }

private:
    void add(const char* name, std::string value);

    std::vector<std::string> texts_;
    std::vector<const char*> names_;
    std::vector<const char*> values_;
};

/// Why a server of this version cannot be used (150004 for 15.4); no failure if it can.
pg_failure refusal_of_version(int version);

/// The meaning of a failed opening, by the words of libpq and, if the server has said one, the
/// SQLSTATE at their end.
pg_failure judge_opening(std::string words, const std::string& secret);

/// Opens one connection: looks the names of the servers up, connects, logs in. Nothing of it blocks
/// the strand, and a look-up that hangs does not hold up the end.
///
/// @par Threads   The strand.
/// @par Lifetimes Kept alive by what it waits for.
class pg_opening final : public std::enable_shared_from_this<pg_opening> {
public:
    /// Called once: with a connection in `socket`, in pipeline mode, or a failure. Not called after
    /// `drop`.
    using done_function = std::function<void(pg_failure)>;

    pg_opening(
        asio::any_io_executor strand,
        std::shared_ptr<const db::postgres_config> settings,
        std::shared_ptr<coro::time_source> time,
        pg_socket& socket,
        done_function done
    );

    void start();
    /// Ends it without a call.
    void drop() noexcept;

private:
    void look_up();
    void
    found(const boost::system::error_code& failed, const asio::ip::tcp::resolver::results_type&);
    void connect();
    void pass_over();
    void poll(PostgresPollingStatusType status);
    void wait(asio::posix::stream_descriptor::wait_type way);
    void opened();
    void finish(pg_failure why);

    const asio::any_io_executor strand_;
    const std::shared_ptr<const db::postgres_config> settings_;
    const std::shared_ptr<coro::time_source> time_;
    pg_socket* socket_;  ///< Null once it has ended.
    done_function done_;
    asio::ip::tcp::resolver resolver_;
    coro::detail::alarm alarm_;
    clock::time_point end_;
    coro::detail::alarm turn_;  ///< Of one address, while there are others.
    std::uint64_t tries_ = 0;
    std::vector<std::vector<std::string>> addresses_;  ///< Not tried yet, of each server.
    std::string not_found_;                            ///< Why a name was not found.
};

}  // namespace mortise::postgres_detail

#endif
