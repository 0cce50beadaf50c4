// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/mysql_error.hpp"
#include "mortise/detail/secret.hpp"
#include "store/mysql/bell.hpp"
#include "store/mysql/mysql_server.hpp"
#include "store/mysql/statement_text.hpp"
#include "store/mysql/store_connection.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace mortise::store_detail {
namespace {

using db::detail::mysql_failure;

bool is(const error_code& code, int number) {
    return code == db::mysql_error(number);
}

constexpr int deadlock = 1213;
constexpr int no_such_table = 1146;

struct meaning {
    int number;
    errc code;
};

// What a failure of the server means to the store. Two of them are ours: see `own_session` (1242)
// and `reserve_text` (1690).
constexpr meaning meanings[] = {
    {1021, errc::store_full},        {1040, errc::store_unavailable},
    {1044, errc::access_denied},     {1045, errc::access_denied},
    {1053, errc::store_unavailable}, {1114, errc::store_full},
    {1129, errc::access_denied},     {1130, errc::access_denied},
    {1142, errc::access_denied},     {1143, errc::access_denied},
    {1146, errc::store_replaced},    {1205, errc::database_busy},
    {1213, errc::database_busy},     {1227, errc::access_denied},
    {1242, errc::store_unavailable}, {1290, errc::read_only_server},
    {1317, errc::outcome_unknown},   {1370, errc::access_denied},
    {1690, errc::database_busy},     {1698, errc::access_denied},
    {1792, errc::read_only_server},  {1836, errc::read_only_server},
    {1969, errc::outcome_unknown},   {3024, errc::outcome_unknown},
};

// Whoever begins to watch meanwhile waits for the same row, and closes them again.
constexpr const char* reopen_text =
    "BEGIN;SELECT quarantine INTO @opens FROM mortise_meta WHERE one=1 FOR UPDATE;"
    "UPDATE mortise_session SET opens=@opens WHERE opens=" MORTISE_NEVER
    " AND NOT EXISTS(SELECT 1 FROM mortise_watch);COMMIT";

error_code meaning_of(const error_code& code) {
    const auto* const found =
        std::find_if(std::begin(meanings), std::end(meanings), [&](const auto& each) {
            return is(code, each.number);
        });
    return found == std::end(meanings) ? code : error_code(found->code);
}

// Texts such as "10.11.19-MariaDB-0+deb12u1" and "8.0.36".
std::int64_t version_of(const std::string& text) {
    std::int64_t major = 0;
    std::int64_t minor = 0;
    const char* at = text.c_str();
    while (*at >= '0' && *at <= '9')
        major = major * 10 + (*at++ - '0');
    if (*at == '.')
        ++at;
    while (*at >= '0' && *at <= '9')
        minor = minor * 10 + (*at++ - '0');
    return major * 100 + minor;
}

class mysql_store_wire final : public sql_wire,
                               public std::enable_shared_from_this<mysql_store_wire> {
public:
    mysql_store_wire(
        sql_use use,
        const asio::any_io_executor& strand,
        const mysql_store_config& config,
        std::shared_ptr<mysql_facts> facts,
        sql_wire_events events
    )
        : use_(use),
          strand_(strand),
          place_(std::make_shared<db::detail::mysql_place>(config.server)),
          wanted_(config.domain),
          creates_(config.create),
          facts_(std::move(facts)),
          events_(std::move(events)),
          command_(std::make_shared<store_connection>(strand, place_)) {}

    asio::awaitable<error_code> open() override;
    asio::awaitable<error_code> hear(core::session_key key) override;
    asio::awaitable<result<sql_results>> send(sql_message message) override;
    void close() noexcept override;

private:
    asio::awaitable<mysql_failure> run(mysql_parts parts, std::vector<part_answer>& answers);
    asio::awaitable<mysql_failure> ask(std::string text, std::vector<db::query_result>& found);
    asio::awaitable<result<sql_results>> exchange(sql_message message);
    asio::awaitable<mysql_failure> learn();
    asio::awaitable<mysql_failure> see_tables();
    asio::awaitable<mysql_failure> make_tables();
    static bool takes(const db::query_result& found, mysql_parts& more);
    asio::awaitable<void> follow(mysql_parts parts);
    error_code remember(const mysql_failure& failed);
    void ended(const mysql_failure& why);

    const sql_use use_;
    const asio::any_io_executor strand_;
    const std::shared_ptr<db::detail::mysql_place> place_;
    const std::string wanted_;
    const bool creates_;
    const std::shared_ptr<mysql_facts> facts_;
    const sql_wire_events events_;
    const std::shared_ptr<store_connection> command_;
    std::shared_ptr<bell> bell_;
    std::int64_t number_ = 0;
    bool closed_ = false;
};

error_code mysql_store_wire::remember(const mysql_failure& failed) {
    auto explained = failed;
    explained.text = mortise::detail::without_secret(
        place_->name() + ": " + failed.text, place_->config.password
    );
    if (events_.remembered)
        events_.remembered(explained.to_error().what());
    return meaning_of(failed.code);
}

// Tells the owner by a handler of its own.
void mysql_store_wire::ended(const mysql_failure& why) {
    if (std::exchange(closed_, true))
        return;
    remember(why);
    command_->close();
    if (bell_)
        bell_->close();
    asio::post(strand_, [closed = events_.closed] {
        if (closed)
            closed();
    });
}

void mysql_store_wire::close() noexcept {
    closed_ = true;
    command_->close();
    if (bell_)
        bell_->close();
}

// A deadlock undoes the whole transaction: nothing was done, and it is done again.
asio::awaitable<mysql_failure>
mysql_store_wire::run(mysql_parts parts, std::vector<part_answer>& answers) {
    constexpr int attempts_max = 8;
    const auto has_failed = [](const part_answer& each) { return each.failed.code.failed(); };
    for (int attempt = 1;; ++attempt) {
        auto running = command_->run(parts, answers);
        auto failed = co_await std::move(running);
        if (failed.code || attempt == attempts_max)
            co_return failed;
        const auto first = std::find_if(answers.begin(), answers.end(), has_failed);
        if (first == answers.end() || !is(first->failed.code, deadlock))
            co_return failed;
    }
}

asio::awaitable<mysql_failure>
mysql_store_wire::ask(std::string text, std::vector<db::query_result>& found) {
    mysql_parts parts;
    parts.emplace_back(std::move(text));
    std::vector<part_answer> answers;
    auto running = run(std::move(parts), answers);
    auto failed = co_await std::move(running);
    if (!failed.code)
        failed = answers.front().failed;
    if (!failed.code)
        found = std::move(answers.front().results);
    co_return failed;
}

asio::awaitable<error_code> mysql_store_wire::open() {
    const auto kept = shared_from_this();
    auto opening = command_->open();
    auto failed = co_await std::move(opening);
    if (!failed.code) {
        auto learning = learn();
        failed = co_await std::move(learning);
    }
    if (!failed.code) {
        auto seeing = see_tables();
        failed = co_await std::move(seeing);
    }
    if (!failed.code && use_ == sql_use::session) {
        const auto connection = std::make_shared<store_connection>(strand_, place_);
        const std::weak_ptr weak(weak_from_this());
        bell_ = std::make_shared<bell>(strand_, connection, events_.pushed, [weak] {
            if (const auto self = weak.lock())
                self->ended({errc::store_unavailable, "the connection for pushes has ended", true});
        });
        auto connecting = connection->open();
        failed = co_await std::move(connecting);
    }
    if (!failed.code && closed_)
        failed = {errc::store_unavailable, "the connection was closed", true};
    if (!failed.code)
        co_return error_code();
    close();
    co_return remember(failed);
}

asio::awaitable<mysql_failure> mysql_store_wire::learn() {
    constexpr std::int64_t oldest_mariadb = 1005;
    constexpr std::int64_t oldest_mysql = 800;
    std::vector<db::query_result> found;
    auto asking =
        ask("SELECT CONNECTION_ID() number,VERSION() version,"
            "@@innodb_flush_log_at_trx_commit flushes,@@read_only read_only",
            found);
    const auto failed = co_await std::move(asking);
    if (failed.code)
        co_return failed;
    const auto& server = found.at(0).first();
    const auto version = bytes_in(server, "version");
    number_ = server.integer("number");
    facts_->mariadb = version.find("MariaDB") != std::string::npos;
    facts_->flushes = server.integer("flushes") == 1;
    facts_->renumbered = number_ != command_->number();
    if (version_of(version) < (facts_->mariadb ? oldest_mariadb : oldest_mysql))
        co_return mysql_failure(
            errc::wrong_server, version + " is too old: MariaDB 10.5 or MySQL 8.0 is needed", true
        );
    if (server.integer("read_only") != 0)
        co_return mysql_failure(errc::read_only_server, "the server takes no writes", true);
    co_return mysql_failure();
}

asio::awaitable<mysql_failure> mysql_store_wire::see_tables() {
    constexpr const char* text = "SELECT format,domain FROM mortise_meta WHERE one=1";
    std::vector<db::query_result> found;
    auto asking = ask(text, found);
    auto failed = co_await std::move(asking);
    const bool missing = is(failed.code, no_such_table) || (!failed.code && found.at(0).empty());
    if (missing && creates_) {
        auto making = make_tables();
        failed = co_await std::move(making);
        if (failed.code)
            co_return failed;
        auto again = ask(text, found);
        failed = co_await std::move(again);
    }
    if (missing && !creates_)
        failed = {errc::not_a_store, "it has no tables: mortise init --print shows them", true};
    if (failed.code)
        co_return failed;
    const auto& store = found.at(0).first();
    if (store.integer("format") > mysql_format)
        co_return mysql_failure(errc::newer_format, "its tables are of a newer mortise", true);
    if (!wanted_.empty() && bytes_in(store, "domain") != wanted_)
        co_return mysql_failure(
            errc::bad_config, "the store has the domain " + bytes_in(store, "domain"), true
        );
    co_return mysql_failure();
}

asio::awaitable<mysql_failure> mysql_store_wire::make_tables() {
    std::string text;
    for (const auto& each : mysql_tables())
        text += each + ";";
    std::vector<db::query_result> found;
    auto making = ask(text + mysql_first_rows(wanted_), found);
    co_return co_await std::move(making);
}

asio::awaitable<error_code> mysql_store_wire::hear(core::session_key key) {
    const auto kept = shared_from_this();
    std::vector<db::query_result> found;
    auto asking =
        ask(write_statement(
                "UPDATE mortise_session SET bell={bell} WHERE id={s} AND command=CONNECTION_ID();"
                "SELECT CONCAT('mortise-',LEFT(HEX(m.store),12),'-',s.id) "
                "own,s.changes,s.rings,s.notices "
                "FROM mortise_meta m JOIN mortise_session s ON s.id={s}",
                {{"s", key}, {"bell", facts_->renumbered ? 0u : bell_->connection()->number()}}
            ),
            found);
    const auto failed = co_await std::move(asking);
    if (failed.code)
        co_return remember(failed);
    if (found.at(0).empty())
        co_return error_code(errc::session_lost);
    const auto& session = found[0].first();
    const auto known = bell::numbers::of(session);
    if (!closed_)
        bell_->listen(key, bytes_in(session, "own"), known);
    co_return error_code();
}

asio::awaitable<result<sql_results>> mysql_store_wire::send(sql_message message) {
    const auto kept = shared_from_this();
    const bool watches = message.watches && bell_;
    if (watches)
        bell_->will_watch();
    auto sending = exchange(std::move(message));
    auto found = co_await std::move(sending);
    if (watches) {
        const bool known = found && !found->empty() && !found->front().empty();
        const auto notices = known ? found->front().first().integer("notices") : 0;
        bell_->watches(static_cast<std::uint64_t>(notices));
    }
    co_return found;
}

asio::awaitable<result<sql_results>> mysql_store_wire::exchange(sql_message message) {
    mysql_parts parts;
    for (const auto& each : message.steps)
        parts.push_back(each.sql);
    std::vector<part_answer> answers;
    auto running = run(std::move(parts), answers);
    auto failed = co_await std::move(running);
    if (failed.code) {
        const bool own = closed_;
        if (failed.code == errc::outcome_unknown && !own)
            ended(failed);
        co_return own ? failed.code : remember(failed);
    }
    for (const auto& each : answers) {
        if (!failed.code)
            failed = each.failed;
    }
    if (failed.code) {
        const auto why = remember(failed);
        if (why == errc::outcome_unknown)
            ended(failed);
        co_return why;
    }
    sql_results found;
    mysql_parts more;
    for (std::size_t i = message.first; i < answers.size(); ++i) {
        for (auto& each : answers[i].results) {
            if (!takes(each, more))
                found.push_back(std::move(each));
        }
    }
    if (!more.empty()) {
        auto following = follow(std::move(more));
        co_await std::move(following);
    }
    co_return found;
}

// Takes a result that asks for more statements, whose failure is nobody's.
bool mysql_store_wire::takes(const db::query_result& found, mysql_parts& more) {
    if (found.empty())
        return false;
    const auto& column = found.first().name(0);
    if (column == "reopen")
        more.emplace_back(reopen_text);
    if (column != "ring" && column != "old")
        return column == "reopen";
    for (const auto& each : found.rows) {
        if (column == "ring")
            more.emplace_back("KILL QUERY " + std::to_string(each.integer(std::size_t(0))));
        else
            more.emplace_back(write_statement(
                "DELETE FROM mortise_lock WHERE name={n} AND " MORTISE_OLD,
                {{"n", as_bytes(each.bytes(std::size_t(0)))}}
            ));
    }
    return true;
}

asio::awaitable<void> mysql_store_wire::follow(mysql_parts parts) {
    std::vector<part_answer> answers;
    auto running = command_->run(std::move(parts), answers);
    const auto failed = co_await std::move(running);
    if (failed.code && !closed_)
        ended(failed);
}

}  // namespace

std::shared_ptr<sql_wire> make_mysql_store_wire(
    sql_use use,
    const asio::any_io_executor& strand,
    const mysql_store_config& config,
    std::shared_ptr<mysql_facts> facts,
    sql_wire_events events
) {
    return std::make_shared<mysql_store_wire>(
        use, strand, config, std::move(facts), std::move(events)
    );
}

}  // namespace mortise::store_detail
