// SPDX-License-Identifier: BSL-1.0
#include "support/message_reader.hpp"

#include <deque>
#include <utility>

namespace mortise::test {
namespace {

using kind = proxied_piece::kind;

constexpr std::size_t head = 4;  // three bytes of length, a number

std::size_t number_in(std::string_view bytes, std::size_t at, std::size_t size) {
    std::size_t number = 0;
    for (std::size_t i = size; i != 0; --i)
        number = number << 8 | static_cast<unsigned char>(bytes.at(at + i - 1));
    return number;
}

/// Reads a number of one to nine bytes, whose first one tells its length.
std::size_t take_number(std::string_view bytes, std::size_t& at) {
    constexpr unsigned char two_bytes = 0xfc;
    constexpr unsigned char three_bytes = 0xfd;
    constexpr unsigned char eight_bytes = 0xfe;
    const auto first = static_cast<unsigned char>(bytes.at(at++));
    const std::size_t size = first == two_bytes     ? 2
                             : first == three_bytes ? 3
                             : first == eight_bytes ? 8
                                                    : 0;
    const std::size_t number = size == 0 ? first : number_in(bytes, at, size);
    at += size;
    return number;
}

class packets {
public:
    void feed(std::string_view bytes) { buffer_.append(bytes); }

    std::optional<std::string> next() {
        constexpr std::size_t length_size = 3;
        if (buffer_.size() < head)
            return std::nullopt;
        const std::size_t size = head + number_in(buffer_, 0, length_size);
        if (buffer_.size() < size)
            return std::nullopt;
        auto packet = buffer_.substr(0, size);
        buffer_.erase(0, size);
        return packet;
    }

private:
    std::string buffer_;
};

/// Follows the answer to a command, of a server that sends no EOF behind columns.
class answer_end {
public:
    explicit answer_end(bool prepares) : prepares_(prepares) {}

    /// @return whether the answer ends with this packet.
    bool is(std::string_view packet) {
        constexpr char error = '\xff';
        constexpr char ok = '\0';
        constexpr char end_of_rows = '\xfe';
        const char first = packet.at(head);
        if (columns_left_ != 0)
            return --columns_left_ == 0 && prepares_;
        if (first == error)
            return true;
        if (in_rows_) {
            if (first != end_of_rows)
                return false;
            in_rows_ = false;
            return !more_follows(packet);
        }
        if (prepares_) {
            constexpr std::size_t columns_at = head + 5;  // status, number of the statement
            columns_left_ = number_in(packet, columns_at, 2) + number_in(packet, columns_at + 2, 2);
            return columns_left_ == 0;
        }
        if (first == ok)
            return !more_follows(packet);
        std::size_t at = head;
        columns_left_ = take_number(packet, at);
        in_rows_ = true;
        return false;
    }

private:
    static bool more_follows(std::string_view packet) {
        constexpr std::size_t more_results = 8;
        std::size_t at = head + 1;
        take_number(packet, at);  // affected rows
        take_number(packet, at);  // last insert id
        return (number_in(packet, at, 2) & more_results) != 0;
    }

    const bool prepares_;
    std::size_t columns_left_ = 0;
    bool in_rows_ = false;
};

class mysql_reader final : public message_reader {
public:
    void feed_client(std::string_view bytes) override { client_.feed(bytes); }
    void feed_server(std::string_view bytes) override { server_.feed(bytes); }

    std::optional<proxied_piece> next_of_client() override {
        constexpr char quit = 0x01;
        constexpr char close_statement = 0x19;
        constexpr std::string_view ring = "\x03KILL QUERY ";
        constexpr std::string_view nothing(
            "\x05\0\0\0\x03"
            "DO 0",
            9
        );
        auto packet = client_.next();
        if (!packet)
            return std::nullopt;
        proxied_piece piece(kind::other, std::move(*packet));
        const char type = piece.bytes.size() > head ? piece.bytes[head] : quit;
        if (!logged_in_ || type == quit || type == close_statement)
            return piece;
        piece.type = kind::command;
        if (std::string_view(piece.bytes).substr(head).starts_with(ring)) {
            piece.type = kind::push;
            piece.substitute = nothing;
        }
        return piece;
    }

    std::optional<proxied_piece> next_of_server() override {
        auto packet = server_.next();
        if (!packet)
            return std::nullopt;
        proxied_piece piece(kind::other, std::move(*packet));
        if (!greeted_) {
            greeted_ = true;
            // After the number of the protocol and the version, which ends with a zero.
            piece.number_at = piece.bytes.find('\0', head + 1) + 1;
        } else if (!logged_in_) {
            logged_in_ = piece.bytes.at(head) == '\0';
        } else if (!answers_.empty()) {
            const bool ends = answers_.front().is(piece.bytes);
            piece.type = ends ? kind::answer_end : kind::answer;
            if (ends)
                answers_.pop_front();
        }
        return piece;
    }

    void goes_out(const proxied_piece& command) override {
        constexpr char prepare = 0x16;
        answers_.emplace_back(command.bytes.at(head) == prepare);
    }

private:
    packets client_;
    packets server_;
    std::deque<answer_end> answers_;
    bool greeted_ = false;
    bool logged_in_ = false;
};

}  // namespace

std::unique_ptr<message_reader> make_mysql_reader() {
    return std::make_unique<mysql_reader>();
}

}  // namespace mortise::test
