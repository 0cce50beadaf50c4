// SPDX-License-Identifier: BSL-1.0
#include "support/message_reader.hpp"

#include <utility>

namespace mortise::test {
namespace {

using kind = proxied_piece::kind;

/// Cuts a stream into the messages of the protocol.
class framing {
public:
    /// @param typed whether the first message begins with its type.
    explicit framing(bool typed) : typed_(typed) {}

    void feed(std::string_view bytes) { buffer_.append(bytes); }

    std::optional<std::string> next() {
        const std::size_t head = typed_ ? 1 : 0;
        constexpr std::size_t length_size = 4;
        if (buffer_.size() < head + length_size)
            return std::nullopt;
        std::size_t length = 0;
        for (std::size_t i = 0; i < length_size; ++i)
            length = length << 8 | static_cast<unsigned char>(buffer_[head + i]);
        if (buffer_.size() < head + length)
            return std::nullopt;
        auto message = buffer_.substr(0, head + length);
        buffer_.erase(0, head + length);
        typed_ = true;
        return message;
    }

private:
    bool typed_;
    std::string buffer_;
};

class postgres_reader final : public message_reader {
public:
    void feed_client(std::string_view bytes) override { client_.feed(bytes); }
    void feed_server(std::string_view bytes) override { server_.feed(bytes); }

    std::optional<proxied_piece> next_of_client() override {
        constexpr char sync = 'S';
        while (auto message = client_.next()) {
            if (!logged_in_)
                return proxied_piece(kind::other, std::move(*message));
            command_ += *message;
            if (message->front() == sync)
                return proxied_piece(kind::command, std::exchange(command_, std::string()));
        }
        return std::nullopt;
    }

    std::optional<proxied_piece> next_of_server() override {
        constexpr char ready = 'Z';
        constexpr char push = 'A';
        constexpr char key_data = 'K';
        constexpr std::size_t process_end = 8;  // type, length, then four bytes
        auto message = server_.next();
        if (!message)
            return std::nullopt;
        const char type = message->front();
        proxied_piece piece(kind::other, std::move(*message));
        if (type == push)
            piece.type = kind::push;
        else if (logged_in_ && unanswered_ != 0)
            piece.type = type == ready ? kind::answer_end : kind::answer;
        else if (type == key_data)
            piece.number_at = process_end;
        logged_in_ = logged_in_ || type == ready;
        unanswered_ -= piece.type == kind::answer_end ? 1u : 0u;
        return piece;
    }

    void goes_out(const proxied_piece&) override { ++unanswered_; }

private:
    framing client_{false};
    framing server_{true};
    std::string command_;
    std::size_t unanswered_ = 0;
    bool logged_in_ = false;
};

}  // namespace

std::unique_ptr<message_reader> make_postgres_reader() {
    return std::make_unique<postgres_reader>();
}

}  // namespace mortise::test
