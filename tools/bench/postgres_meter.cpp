// SPDX-License-Identifier: BSL-1.0
#include "bench/run_control.hpp"
#include "bench/server_meter.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/store/postgres.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

constexpr int patience_ms = 10'000;

struct postgres_closer {
    void operator()(PGconn* each) const noexcept { ::PQfinish(each); }
    void operator()(PGresult* each) const noexcept { ::PQclear(each); }
    void operator()(PGnotify* each) const noexcept { ::PQfreemem(each); }
};
template <class T>
using owned = std::unique_ptr<T, postgres_closer>;

[[noreturn]] void refuse_measurement(const PGconn* from) {
    throw failure(
        exit_code::unavailable,
        "the PostgreSQL server does not answer the measurement",
        ::PQerrorMessage(from)
    );
}

owned<PGconn> open_blocking(const db::postgres_config& server) {
    std::string hosts;
    std::string ports;
    for (const auto& each : server.servers) {
        const char* const comma = hosts.empty() ? "" : ",";
        hosts += comma + each.host;
        ports += comma + std::to_string(each.port);
    }
    const std::array<std::pair<const char*, std::string>, 11> settings = {{
        {"host", hosts},
        {"port", ports},
        {"dbname", server.database},
        {"user", server.user},
        {"password", server.password},
        {"passfile", server.passfile.string()},
        {"sslmode", server.tls ? "verify-full" : "disable"},
        {"sslrootcert", server.ca_file.string()},
        {"sslcert", server.certificate_file.string()},
        {"sslkey", server.key_file.string()},
        {"application_name", "mortise-bench"},
    }};
    std::vector<const char*> keys;
    std::vector<const char*> values;
    for (const auto& [key, value] : settings) {
        keys.push_back(key);
        values.push_back(value.c_str());  // libpq takes an empty one for its default
    }
    keys.push_back("target_session_attrs");
    values.push_back("read-write");
    keys.push_back(nullptr);
    values.push_back(nullptr);
    owned<PGconn> opened(::PQconnectdbParams(keys.data(), values.data(), 0));
    if (::PQstatus(opened.get()) != CONNECTION_OK)
        refuse_measurement(opened.get());
    ::PQsetNoticeProcessor(
        opened.get(), [](void*, const char*) {}, nullptr
    );
    return opened;
}

std::string quoted(const std::string& name, char quote = '"') {
    std::string text(1, quote);
    for (const char c : name)
        text.append(c == quote ? 2 : 1, c);
    return text + quote;
}

class postgres_meter final : public blocking_meter {
public:
    explicit postgres_meter(const postgres_store_config& store)
        : table_(quoted(store.schema) + ".mortise_bench_row"),
          schema_(store.schema),
          connection_(open_blocking(store.server)) {
        run("SET jit = off");
    }

    std::string_view exchange() const noexcept override {
        return "updates of one row of a table like the store's, prepared, by libpq";
    }

    // A backend that is connected reports its counts only now and then. Transactions are no
    // measure: each listener of the database has one for each notification.
    std::optional<server_counts> counts(bool connected) override {
        if (connected)
            return std::nullopt;
        run("SELECT pg_stat_force_next_flush()");
        const auto found =
            run("SELECT coalesce(sum(n_tup_ins + n_tup_upd), 0) FROM pg_stat_all_tables"
                " WHERE relid = to_regclass(" +
                quoted(quoted(schema_) + ".lock", '\'') + ')');
        server_counts now;
        now.commands = std::strtoull(::PQgetvalue(found.get(), 0, 0), nullptr, 10);
        return now;
    }

    bool counts_heartbeats() const noexcept override { return false; }

    void subscribe(const std::string& channel) override { run("LISTEN " + quoted(channel)); }

    void clean_up() override { run("DROP TABLE IF EXISTS " + table_); }

protected:
    void exchange_once() override {
        if (!std::exchange(prepared_, true))
            prepare();
        const owned<PGresult> done(
            ::PQexecPrepared(connection_.get(), "bump", 0, nullptr, nullptr, nullptr, 1)
        );
        require(done.get());
    }

    void publish(const std::string& channel, const std::string& word) override {
        const std::array values = {channel.c_str(), word.c_str()};
        const owned<PGresult> done(::PQexecParams(
            connection_.get(),
            "SELECT pg_notify($1, $2)",
            static_cast<int>(values.size()),
            nullptr,
            values.data(),
            nullptr,
            nullptr,
            1
        ));
        require(done.get());
    }

    std::string hear() override {
        for (;;) {
            const owned<PGnotify> come(::PQnotifies(connection_.get()));
            if (come)
                return come->extra;
            pollfd readable{::PQsocket(connection_.get()), POLLIN, 0};
            if (::poll(&readable, 1, patience_ms) == 0 || !::PQconsumeInput(connection_.get()))
                refuse_measurement(connection_.get());
            interruption::check();
        }
    }

private:
    void prepare() {
        clean_up();
        run("CREATE SCHEMA IF NOT EXISTS " + quoted(schema_));
        run("CREATE UNLOGGED TABLE " + table_ +
            " (id int PRIMARY KEY, changes bigint NOT NULL) WITH (fillfactor = 20)");
        run("INSERT INTO " + table_ + " VALUES (1, 0)");
        const std::string bump = "UPDATE " + table_ + " SET changes = changes + 1 WHERE id = 1";
        const owned<PGresult> done(::PQprepare(connection_.get(), "bump", bump.c_str(), 0, nullptr)
        );
        require(done.get());
    }

    owned<PGresult> run(const std::string& sql) {
        owned<PGresult> done(::PQexec(connection_.get(), sql.c_str()));
        require(done.get());
        return done;
    }

    void require(const PGresult* done) const {
        const auto status = ::PQresultStatus(done);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            refuse_measurement(connection_.get());
    }

    const std::string table_;
    const std::string schema_;
    const owned<PGconn> connection_;
    bool prepared_ = false;
};

}  // namespace

std::unique_ptr<server_meter> make_postgres_meter(const std::string& store) {
    if (!store.starts_with("postgresql:") && !store.starts_with("postgres:"))
        return nullptr;
    return std::make_unique<postgres_meter>(parse_postgres_store_url(store));
}

}  // namespace mortise::tool
