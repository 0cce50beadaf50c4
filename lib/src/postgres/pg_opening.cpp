// SPDX-License-Identifier: BSL-1.0
#include "postgres/pg_opening.hpp"

#include "mortise/db/postgres_error.hpp"
#include "mortise/detail/secret.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace mortise::postgres_detail {
namespace {

constexpr int version_min = 130'000;  // pg_current_xact_id

bool is_folder(const std::string& host) noexcept {
    return host.starts_with('/') || host.starts_with('@');
}

// The file of the authorities that the system trusts. libpq before 16 needs its name.
std::string system_authorities() {
    if (::PQlibVersion() >= 160'000)
        return "system";
    constexpr std::array files = {
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem"};
    for (const char* const each : files) {
        if (::access(each, R_OK) == 0)
            return each;
    }
    return files.front();
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const auto& each : parts)
        text += (&each == parts.data() ? "" : ",") + each;
    return text;
}

std::string system_user() {
    const auto* const found = ::getpwuid(::geteuid());
    return found ? found->pw_name : "";
}

bool in_environment(const char* variable) noexcept {
    const char* const value = std::getenv(variable);
    return value && *value;
}

bool has(const std::string& words, std::string_view part) noexcept {
    return words.find(part) != std::string::npos;
}

// The SQLSTATE of a login that was refused. libpq 15 keeps the state of an opening to itself, so it
// is told by the words that the server uses in English, which every server falls back to.
struct refusal {
    std::string_view words;
    const char* state;
};
constexpr refusal refusals[] = {
    {"the database system is", "57P03"},  // starting up, shutting down, in recovery mode
    {"too many clients", "53300"},
    {"remaining connection slots", "53300"},
    {"too many connections for", "53300"},
    {"terminating connection", "57P01"},
};

constexpr std::string_view denials[] = {
    "password authentication failed",
    "no password supplied",
    "no pg_hba.conf entry",
    "pg_hba.conf rejects",
    "authentication failed",
    "is not permitted to log in",
    "permission denied for database",
    "role \"",  // does not exist, say
};

constexpr std::string_view distrusts[] = {
    "certificate verify failed",
    "does not match host name",
    "could not get server's host name",
    "server does not support SSL",
    "SSL error",
    "SSL connection has been closed"};

}  // namespace

void pg_keywords::add(const char* name, std::string value) {
    names_.insert(names_.end() - 1, name);
    texts_.push_back(std::move(value));
    values_.insert(values_.end() - 1, texts_.back().c_str());
}

pg_keywords::pg_keywords(
    const db::postgres_config& settings, const std::vector<std::vector<std::string>>& addresses
)
    : names_{nullptr}, values_{nullptr} {
    constexpr std::size_t keywords_max = 32;
    texts_.reserve(keywords_max);  // the pointers into it must stay valid
    std::vector<std::string> hosts;
    std::vector<std::string> numbers;
    std::vector<std::string> ports;
    for (std::size_t i = 0; i < settings.servers.size(); ++i) {
        const auto& server = settings.servers[i];
        for (const auto& each : addresses[i]) {
            hosts.push_back(server.host);
            numbers.push_back(each);
            ports.push_back(std::to_string(server.port));
        }
    }
    // A keyword without a value counts as not given: libpq then takes it from the environment, or
    // from the service that PGSERVICE names. So a folder alone is named twice, which gives the
    // list of addresses a comma.
    const bool has_service = in_environment("PGSERVICE");
    if (hosts.size() == 1 && numbers[0].empty() && (has_service || in_environment("PGHOSTADDR"))) {
        for (auto* const each : {&hosts, &numbers, &ports})
            each->push_back(each->front());
    }
    add("host", joined(hosts));
    add("hostaddr", joined(numbers));
    add("port", joined(ports));
    if (settings.servers.size() > 1)
        add("target_session_attrs", "read-write");
    else
        add("target_session_attrs", "any");
    const std::string user = settings.user.empty() ? system_user() : settings.user;
    add("user", user);
    add("dbname", settings.database.empty() ? user : settings.database);
    // A pooler may refuse options, so there are none if there is nothing to override.
    if (has_service || in_environment("PGOPTIONS"))
        add("options", " ");
    add("channel_binding", "prefer");
    add("password", settings.password);
    add("passfile", settings.passfile.string());
    add("application_name", settings.application_name);
    add("client_encoding", "UTF8");
    add("gssencmode", "disable");
    add("sslmode", settings.tls ? "verify-full" : "disable");
    if (settings.tls) {
        add("sslrootcert",
            settings.ca_file.empty() ? system_authorities() : settings.ca_file.string());
        add("sslcert", settings.certificate_file.string());
        add("sslkey", settings.key_file.string());
    }
    const auto limit = settings.unacknowledged_max.count();
    const auto probe = std::max<std::int64_t>(limit / 3'000, 1);
    add("tcp_user_timeout", std::to_string(limit));
    add("keepalives", "1");
    add("keepalives_idle", std::to_string(probe));
    add("keepalives_interval", std::to_string(probe));
    add("keepalives_count", "3");
}

pg_failure refusal_of_version(int version) {
    if (version >= version_min)
        return {};
    const std::string text =
        std::to_string(version / 10'000) + "." + std::to_string(version % 10'000);
    return {errc::wrong_server, "a PostgreSQL server of version " + text};
}

pg_failure judge_opening(std::string words, const std::string& secret) {
    while (words.ends_with('\n'))
        words.pop_back();
    std::erase(words, '\t');  // of the second line, an advice
    std::replace(words.begin(), words.end(), '\n', ' ');
    words = mortise::detail::without_secret(std::move(words), secret);
    const auto in = [&](std::string_view part) { return has(words, part); };
    for (const auto& each : refusals) {
        if (in(each.words))
            return {db::postgres_error(each.state), std::move(words)};
    }
    if (in("database \"") && in("does not exist"))
        return {db::postgres_error("3D000"), std::move(words)};
    if (in("could not read root certificate") || in("root certificate file") ||
        in("certificate file") || in("private key file") || in("invalid connection option") ||
        in("definition of service \"") || in("service file \""))
        return {errc::bad_config, std::move(words)};
    if (std::any_of(std::begin(denials), std::end(denials), in))
        return {errc::access_denied, std::move(words)};
    if (std::any_of(std::begin(distrusts), std::end(distrusts), in))
        return {errc::untrusted_server, std::move(words)};
    if (in("session is read-only") || in("in hot standby"))
        return {errc::read_only_server, std::move(words)};
    if (in("received invalid response") || in("expected authentication request"))
        return {errc::wrong_server, std::move(words)};
    return {errc::store_unavailable, std::move(words)};
}

pg_opening::pg_opening(
    asio::any_io_executor strand,
    std::shared_ptr<const db::postgres_config> settings,
    std::shared_ptr<coro::time_source> time,
    pg_socket& socket,
    done_function done
)
    : strand_(std::move(strand)),
      settings_(std::move(settings)),
      time_(std::move(time)),
      socket_(&socket),
      done_(std::move(done)),
      resolver_(strand_) {}

void pg_opening::start() {
    end_ = time_->now() + settings_->connect_max;
    alarm_.set(*time_, strand_, end_, [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->finish({errc::store_unavailable, "the server does not answer in time"});
    });
    // Later: libpq may fail at once, and nothing is answered inside this call.
    asio::post(strand_, [self = shared_from_this()] {
        if (self->socket_)
            self->look_up();
    });
}

void pg_opening::drop() noexcept {
    alarm_.cancel();
    turn_.cancel();
    resolver_.cancel();
    socket_ = nullptr;
    done_ = nullptr;
}

// Looks up the name of the next server. Asio has a thread for that.
void pg_opening::look_up() {
    while (addresses_.size() < settings_->servers.size()) {
        const std::string& host = settings_->servers[addresses_.size()].host;
        boost::system::error_code no_address;
        const auto address = asio::ip::make_address(host, no_address);
        if (is_folder(host)) {
            addresses_.emplace_back(1);
        } else if (!no_address) {
            addresses_.push_back({address.to_string()});
        } else {
            resolver_.async_resolve(
                host,
                "",
                asio::ip::resolver_base::address_configured,
                [self = shared_from_this()](const auto& failed, const auto& results) {
                    self->found(failed, results);
                }
            );
            return;
        }
    }
    connect();
}

void pg_opening::found(
    const boost::system::error_code& failed, const asio::ip::tcp::resolver::results_type& results
) {
    if (!socket_)
        return;
    auto& addresses = addresses_.emplace_back();
    for (const auto& each : results)
        addresses.push_back(each.endpoint().address().to_string());
    if (failed)
        not_found_ = settings_->servers[addresses_.size() - 1].host + ": " + failed.message();
    look_up();
}

void pg_opening::connect() {
    std::int64_t left = 0;
    for (const auto& each : addresses_)
        left += static_cast<std::int64_t>(each.size());
    if (left == 0)
        return finish({errc::store_unavailable, not_found_});
    // libpq would wait for the first host that has vanished, and never come to the next.
    if (left > 1) {
        const auto now = time_->now();
        turn_.set(*time_, strand_, now + (end_ - now) / left, [weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->pass_over();
        });
    }
    ++tries_;
    socket_->close();
    const pg_keywords keywords(*settings_, addresses_);
    constexpr int expand_database_name = 0;
    socket_->take(::PQconnectStartParams(keywords.names(), keywords.values(), expand_database_name)
    );
    if (!socket_->get())
        return finish({error_code(ENOMEM, boost::system::generic_category()), "no memory"});
    // libpq's own receiver would write the server's notices to the program's standard error.
    ::PQsetNoticeReceiver(
        socket_->get(), [](void*, const PGresult*) {}, nullptr
    );
    if (::PQstatus(socket_->get()) == CONNECTION_BAD)
        return poll(PGRES_POLLING_FAILED);
    poll(PGRES_POLLING_WRITING);  // as the manual says
}

// Goes on without the address that libpq waits for, and those before it.
void pg_opening::pass_over() {
    const std::string tried = ::PQhostaddr(socket_->get());
    const std::string port = ::PQport(socket_->get());
    auto left = addresses_;
    for (std::size_t i = 0; i < left.size(); ++i) {
        const bool at_port = std::to_string(settings_->servers[i].port) == port;
        const auto found = std::find(left[i].begin(), left[i].end(), tried);
        if (!at_port || found == left[i].end()) {
            left[i].clear();
            continue;
        }
        left[i].erase(left[i].begin(), found + 1);
        const bool others =
            std::any_of(left.begin(), left.end(), [](const auto& each) { return !each.empty(); });
        if (!others)
            return;
        addresses_ = std::move(left);
        return connect();
    }
}

void pg_opening::poll(PostgresPollingStatusType status) {
    using way = asio::posix::stream_descriptor::wait_type;
    switch (status) {
    case PGRES_POLLING_READING:
        return wait(way::wait_read);
    case PGRES_POLLING_WRITING:
        return wait(way::wait_write);
    case PGRES_POLLING_OK:
        return opened();
    default:
        return finish(judge_opening(::PQerrorMessage(socket_->get()), settings_->password));
    }
}

void pg_opening::wait(asio::posix::stream_descriptor::wait_type way) {
    if (const auto failed = socket_->follow())
        return finish({failed, "the socket cannot be watched"});
    const auto of_try = [self = shared_from_this(), tried = tries_](const auto& ended) {
        if (self->socket_ && !ended && tried == self->tries_)
            self->poll(::PQconnectPoll(self->socket_->get()));
    };
    socket_->wait(way, of_try);
}

void pg_opening::opened() {
    PGconn* const connection = socket_->get();
    if (auto refusal = refusal_of_version(::PQserverVersion(connection)))
        return finish(std::move(refusal));
    if (const auto failed = socket_->follow())
        return finish({failed, "the socket cannot be watched"});
    if (::PQsetnonblocking(connection, 1) != 0 || ::PQenterPipelineMode(connection) != 1)
        return finish(judge_opening(::PQerrorMessage(connection), settings_->password));
    finish({});
}

void pg_opening::finish(pg_failure why) {
    if (!socket_)
        return;
    const auto done = std::exchange(done_, nullptr);
    drop();
    done(std::move(why));
}

}  // namespace mortise::postgres_detail
