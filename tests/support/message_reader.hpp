// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_MESSAGE_READER_HPP
#define MORTISE_TESTS_SUPPORT_MESSAGE_READER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::test {

/// What passes a `message_proxy` in one piece.
class proxied_piece {
public:
    enum class kind : std::uint8_t {
        other,       ///< Belongs to the login, or is answered by nothing.
        command,     ///< Of a client; it has one answer.
        answer,      ///< A piece of the answer to the oldest command without one.
        answer_end,  ///< The last piece of it.
        push,        ///< Of the server, without an answer; or a command of the client who rings.
    };

    proxied_piece() = default;
    proxied_piece(kind of, std::string content) : type(of), bytes(std::move(content)) {}

    kind type = kind::other;
    std::string bytes;
    std::string substitute;     ///< Of a push: what passes if it is swallowed.
    std::size_t number_at = 0;  ///< A byte of the connection's number; zero: it is not told.
};

/// The protocol of one connection, as a `message_proxy` sees it. Without TLS.
class message_reader {
public:
    virtual ~message_reader() = default;
    message_reader() = default;
    message_reader(const message_reader&) = delete;
    message_reader& operator=(const message_reader&) = delete;

    virtual void feed_client(std::string_view bytes) = 0;
    virtual std::optional<proxied_piece> next_of_client() = 0;
    virtual void feed_server(std::string_view bytes) = 0;
    virtual std::optional<proxied_piece> next_of_server() = 0;
    /// The server will answer that piece, once more.
    virtual void goes_out([[maybe_unused]] const proxied_piece& command) {}
};

/// At PostgreSQL: all that a client sends up to and with a Sync is a command, and each notification
/// of the server is a push.
std::unique_ptr<message_reader> make_postgres_reader();

/// At MariaDB: each command is one, also in a pipeline. A command `KILL QUERY`, which rings, is a
/// push.
std::unique_ptr<message_reader> make_mysql_reader();

/// At ZooKeeper: each request is a command. What a watch has seen is no push that could be lost: it
/// comes before the answers that show it, or is told by the next connection.
std::unique_ptr<message_reader> make_zookeeper_reader();

}  // namespace mortise::test

#endif
