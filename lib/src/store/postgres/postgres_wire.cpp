// SPDX-License-Identifier: BSL-1.0
#include "store/postgres/postgres_wire.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/db/postgres_error.hpp"
#include "store/postgres/postgres_schema.hpp"

#include <charconv>
#include <string_view>
#include <utility>

namespace mortise::store_detail {
namespace {

using postgres_detail::pg_connection;
using postgres_detail::pg_failure;
using postgres_detail::pg_reply;
using postgres_detail::pg_step;

constexpr std::int64_t version_min = 140'000;  // pg_terminate_backend that waits

// How long a call waits for a row lock, before a session says what it can bear.
constexpr const char* row_wait = "90ms";

// Settings that make the statements quick and their effects certain, whatever the server's own are.
// Sequential scans and JIT are for tables of other kinds; logged rows must be safe at their commit.
constexpr const char* settings =
    "SELECT set_config('search_path', $1, false), set_config('jit', 'off', false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false),"
    " set_config('enable_seqscan', 'off', false), set_config('synchronous_commit', 'on', false),"
    " set_config('lock_timeout', $2, false), set_config('statement_timeout', '0', false),"
    " set_config('idle_in_transaction_session_timeout', '0', false),"
    " set_config('default_transaction_isolation', 'read committed', false)";
constexpr const char* facts = "SELECT pg_backend_pid() AS process, pg_is_in_recovery() AS recovers,"
                              " current_setting('server_version_num')::int AS version,"
                              " EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS has_schema";

// A run of the server that has forgotten all is a new incarnation. Nothing is granted for as long
// as somebody may still believe in a lease of the earlier one, and no base is below one that may
// have been drawn in it.
constexpr const char* begin_run = R"(
WITH n AS (INSERT INTO run (incarnation, quarantine, watched)
  SELECT $1, coalesce((SELECT max(least(until, {us} + ttl * 1000)) FROM lease_time
    WHERE until > {us}), 0), 0
  WHERE EXISTS (SELECT FROM store WHERE format = $2) ON CONFLICT DO NOTHING RETURNING 1)
UPDATE store SET floor = greatest(floor, ceiling, (SELECT max(until) FROM lease_time))
WHERE EXISTS (SELECT FROM n))";

template <std::size_t Count>
bool is_one_of(const error_code& code, const char* const (&states)[Count]) {
    for (const char* const each : states) {
        if (code == db::postgres_error(each))
            return true;
    }
    return false;
}

}  // namespace

error_code meaning_of(const error_code& code) {
    if (code.category() != db::postgres_category())
        return code;
    // A serialization failure, a deadlock, a row lock that was not given or not kept.
    if (is_one_of(code, {"40001", "40P01", "55P03", "25P03"}))
        return errc::database_busy;
    if (is_one_of(code, {"42P01", "42703", "3F000", "42883"}))
        return errc::not_a_store;
    if (is_one_of(code, {"42501"}))
        return errc::access_denied;
    if (is_one_of(code, {"25006"}))
        return errc::read_only_server;
    if (is_one_of(code, {"53100"}))
        return errc::store_full;
    if (is_one_of(code, {"3D000"}))
        return errc::bad_config;
    return errc::store_unavailable;
}

postgres_wire::postgres_wire(
    std::shared_ptr<const postgres_store_config> config,
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    sql_wire_events events
)
    : config_(std::move(config)),
      strand_(std::move(strand)),
      time_(std::move(time)),
      events_(std::move(events)),
      // Nothing is cancelled, so no job runs beside.
      connection_(std::make_shared<pg_connection>(
          strand_,
          std::shared_ptr<const db::postgres_config>(config_, &config_->server),
          time_,
          [](const std::function<void()>&, const std::function<void()>&) {}
      )) {}

error_code postgres_wire::remember(const failure& why, std::string advice) {
    std::string text = why.text;
    if (!advice.empty())
        text += text.empty() ? advice : "; " + advice;
    if (const auto state = db::sqlstate_of(why.code); !state.empty())
        text += " (SQLSTATE " + state + ")";
    if (events_.remembered)
        events_.remembered(std::move(text));
    return meaning_of(why.code);
}

// The connection keeps the place for its answer, not the coroutine that waits for it and must end
// with its context.
asio::awaitable<pg_failure> postgres_wire::connect() {
    const auto opening = std::make_shared<pending<pg_failure>>(strand_);
    opening_ = opening;
    connection_->open([opening](pg_failure why) { opening->give(std::move(why)); });
    auto waiting = opening->answered.async_wait(coro::detail::with_code);
    co_await std::move(waiting);
    opening_.reset();
    co_return std::move(opening->answer);
}

asio::awaitable<pg_reply>
postgres_wire::exchange(std::vector<pg_step> steps, std::vector<pg_step> hints) {
    const auto asked = std::make_shared<pending<pg_reply>>(strand_);
    connection_->exchange(std::move(steps), [asked](pg_reply reply) {
        asked->give(std::move(reply));
    });
    if (!hints.empty())
        hint(std::move(hints));
    auto waiting = asked->answered.async_wait(coro::detail::with_code);
    co_await std::move(waiting);
    co_return std::move(asked->answer);
}

// Gives a server up that was reached and then says nothing.
void postgres_wire::limit() {
    const auto due = time_->now() + config_->server.connect_max;
    limit_.set(*time_, strand_, due, [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->close();
    });
}

asio::awaitable<error_code> postgres_wire::open() {
    const auto kept = shared_from_this();
    limit();
    auto connecting = connect();
    const auto why = co_await std::move(connecting);
    error_code failed = why ? remember(why) : error_code();
    if (!failed) {
        auto settling = settle_in();
        failed = co_await std::move(settling);
    }
    limit_.cancel();
    co_return failed;
}

asio::awaitable<error_code> postgres_wire::settle_in() {
    std::vector<pg_step> steps;
    steps.emplace_back(
        db::bound_sql(settings, quoted_name(config_->schema), std::string_view(row_wait)), false
    );
    steps.emplace_back(db::bound_sql(facts, config_->schema));
    auto asking = exchange(std::move(steps));
    const auto reply = co_await std::move(asking);
    const auto refuse_pooler = [this] {
        return remember(
            {errc::wrong_server, "a pooler answers in the server's place"},
            "name the server itself: notifications do not come through a pooler"
        );
    };
    if (const auto& why = reply.first_failure()) {
        // At the server itself, a new connection has no statements yet.
        co_return is_one_of(why.code, {"42P05"}) ? refuse_pooler() : remember(why);
    }
    const auto& found = reply.answers.back().result.first();
    if (!connection_->usable())  // it has ended meanwhile, and has no process any longer
        co_return remember({errc::store_unavailable, "the connection has ended"});
    if (found.integer("process") != connection_->process())
        co_return refuse_pooler();
    if (found.integer("version") < version_min)
        co_return remember(
            {errc::wrong_server, "the server is older than PostgreSQL 14"}, "use a newer one"
        );
    if (found.integer("recovers") != 0)
        co_return remember({errc::read_only_server, "the server is a standby"});
    auto finding = find_tables(found.integer("has_schema") != 0, config_->create);
    co_return co_await std::move(finding);
}

asio::awaitable<error_code> postgres_wire::find_tables(bool has_schema, bool may_make) {
    static const std::string run = expanded(begin_run);
    std::vector<pg_step> steps;
    steps.emplace_back(db::bound_sql("SELECT format, domain, channel FROM store"));
    steps.emplace_back(db::bound_sql(run, random_id::draw().text(), postgres_format));
    auto asking = exchange(std::move(steps));
    const auto reply = co_await std::move(asking);
    const auto& why = reply.first_failure();
    const bool missing =
        why && is_one_of(why.code, {"42P01"}) && reply.answers.front().failure.code == why.code;
    if (!missing)
        co_return judge_store(reply);
    if (!may_make)
        co_return remember(why, "an administrator makes the tables: mortise init --print");
    auto making = make_tables(has_schema);
    if (const error_code failed = co_await std::move(making))
        co_return failed;
    auto finding = find_tables(true, false);
    co_return co_await std::move(finding);
}

error_code postgres_wire::judge_store(const pg_reply& found) {
    // A store of a newer format may have a table of another shape, but says its format.
    const auto& first = found.answers.empty() ? failure() : found.answers.front().failure;
    if (found.failure || first)
        return remember(found.failure ? found.failure : first);
    const auto& rows = found.answers.front().result;
    if (rows.empty())
        return remember({errc::store_corrupt, "the table \"store\" is empty"});
    if (rows.first().integer("format") > postgres_format)
        return remember({errc::newer_format, "a newer mortise made the tables"});
    if (const auto& why = found.first_failure())
        return remember(why);
    if (const auto& domain = rows.first().text("domain");
        !config_->domain.empty() && config_->domain != domain)
        return remember({errc::bad_config, "the store has the domain " + domain});
    channel_ = rows.first().text("channel");
    return {};
}

asio::awaitable<error_code> postgres_wire::make_tables(bool has_schema) {
    std::vector<pg_step> steps;
    // Somebody else may just be making them.
    steps.emplace_back(db::bound_sql("SELECT set_config('lock_timeout', '0', true)"), false);
    for (auto& each : postgres_tables(config_->schema, config_->domain, !has_schema))
        steps.emplace_back(db::bound_sql(std::move(each)), false);
    auto making = exchange(std::move(steps));
    const auto reply = co_await std::move(making);
    if (const auto& why = reply.first_failure())
        co_return remember(why, "an administrator can make the tables: mortise init --print");
    co_return error_code();
}

asio::awaitable<error_code> postgres_wire::hear(core::session_key key) {
    const auto kept = shared_from_this();
    const auto weak = weak_from_this();
    heard_ = key;
    connection_->listen(
        [weak](const postgres_detail::pg_notification& news) {
            if (const auto self = weak.lock())
                self->take_push(news);
        },
        events_.closed
    );
    std::vector<pg_step> steps;
    steps.emplace_back(db::bound_sql("LISTEN " + quoted_name(channel_ + std::to_string(key))));
    limit();
    auto listening = exchange(std::move(steps));
    const auto reply = co_await std::move(listening);
    limit_.cancel();
    if (const auto& why = reply.first_failure())
        co_return remember(why);
    co_return error_code();
}

// A push is the numbers of its event, its request, its token, its slot, and whether somebody waits.
// One that cannot be read says nothing.
void postgres_wire::take_push(const postgres_detail::pg_notification& news) {
    std::uint64_t numbers[5] = {};
    const char* at = news.payload.data();
    const char* const end = at + news.payload.size();
    for (auto& each : numbers) {
        std::int64_t number = 0;
        const auto [next, wrong] = std::from_chars(at, end, number);
        if (wrong != std::errc() || (next != end && *next != ' '))
            return;
        each = static_cast<std::uint64_t>(number);
        at = next == end ? end : next + 1;
    }
    if (numbers[0] > static_cast<std::uint64_t>(store_event::kind::changed))
        return;
    sql_push push;
    push.type = static_cast<store_event::kind>(numbers[0]);
    push.to = heard_;
    push.id = numbers[1];
    push.token = numbers[2];
    push.slot = static_cast<std::uint32_t>(numbers[3]);
    push.contended = numbers[4] != 0;
    events_.pushed(push);
}

// What follows the transaction with the results is a hint to others, and is not awaited. If it
// fails, this client is told to look: the hint may have been one to itself.
asio::awaitable<result<sql_results>> postgres_wire::send(sql_message message) {
    const auto kept = shared_from_this();
    const std::size_t first = message.first;
    std::size_t last = first;
    while (last + 1 < message.steps.size() && !message.steps[last].ends)
        ++last;
    std::vector<pg_step> steps;
    std::vector<pg_step> hints;
    for (auto& each : message.steps) {
        auto& part = steps.size() <= last ? steps : hints;
        part.emplace_back(std::move(each.sql), each.ends);
    }
    auto asking = exchange(std::move(steps), std::move(hints));
    auto reply = co_await std::move(asking);
    if (reply.failure) {
        remember(reply.failure);
        co_return error_code(reply.sent ? errc::outcome_unknown : errc::store_unavailable);
    }
    error_code failed;
    for (std::size_t i = 0; i < reply.answers.size(); ++i) {
        if (const auto& why = reply.answers[i].failure) {
            const error_code meaning = remember(why);
            if (!failed)
                failed = meaning;
        }
    }
    if (failed)
        co_return failed;
    sql_results found;
    for (std::size_t i = first; i < reply.answers.size(); ++i)
        found.push_back(std::move(reply.answers[i].result));
    co_return found;
}

void postgres_wire::hint(std::vector<pg_step> steps) {
    connection_->exchange(std::move(steps), [weak = weak_from_this()](const pg_reply& reply) {
        const auto self = weak.lock();
        const auto& why = reply.first_failure();
        if (!self || !why || reply.failure)
            return;
        self->remember(why);
        sql_push look;
        look.type = store_event::kind::look_again;
        look.to = self->heard_;
        self->events_.pushed(look);
    });
}

void postgres_wire::close() noexcept {
    limit_.cancel();
    const failure closed(errc::store_unavailable, "the connection was closed");
    if (const auto opening = std::exchange(opening_, nullptr))
        opening->give(closed);
    connection_->close(closed);
}

}  // namespace mortise::store_detail
