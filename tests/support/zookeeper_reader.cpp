// SPDX-License-Identifier: BSL-1.0
#include "support/message_reader.hpp"

#include <algorithm>
#include <utility>

namespace mortise::test {
namespace {

using kind = proxied_piece::kind;

constexpr std::size_t word = 4;

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < word; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

/// Whether a stream begins with one of the words of four letters that a server answers in plain
/// text: taken for the length of a frame it is more than any server reads.
bool is_plain_text(std::string_view bytes) {
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    return bytes.size() >= word && std::all_of(bytes.begin(), bytes.begin() + word, is_letter);
}

/// Cuts a stream into frames: a length, and as many bytes.
class framing {
public:
    void feed(std::string_view bytes) { buffer_.append(bytes); }
    /// From now on all that is there is passed on.
    void end_frames() { plain_ = true; }
    bool plain() const { return plain_; }

    std::optional<std::string> next() {
        if (plain_ && !buffer_.empty())
            return std::exchange(buffer_, {});
        if (buffer_.size() < word || buffer_.size() - word < word_at(buffer_, 0))
            return std::nullopt;
        auto frame = buffer_.substr(0, word + word_at(buffer_, 0));
        buffer_.erase(0, frame.size());
        return frame;
    }

private:
    std::string buffer_;
    bool plain_ = false;
};

/// Whether the number of a request is one of those that count: others are pings and the like.
bool counts(const std::string& frame) {
    constexpr std::uint32_t sign = 0x80000000;
    return frame.size() >= 2 * word && (word_at(frame, word) & sign) == 0;
}

class zookeeper_reader final : public message_reader {
public:
    void feed_client(std::string_view bytes) override {
        if (client_begins_ && is_plain_text(bytes)) {
            client_.end_frames();
            server_.end_frames();
        }
        client_.feed(bytes);
    }
    void feed_server(std::string_view bytes) override { server_.feed(bytes); }

    std::optional<proxied_piece> next_of_client() override {
        auto frame = client_.next();
        if (!frame)
            return std::nullopt;
        const bool first = std::exchange(client_begins_, false);
        const bool counted = !first && !client_.plain() && counts(*frame);
        const auto type = counted ? kind::command : kind::other;
        return proxied_piece(type, std::move(*frame));
    }

    std::optional<proxied_piece> next_of_server() override {
        auto frame = server_.next();
        if (!frame)
            return std::nullopt;
        const bool first = std::exchange(server_begins_, false);
        const bool counted = !first && !server_.plain() && counts(*frame);
        const auto type = counted ? kind::answer_end : kind::other;
        return proxied_piece(type, std::move(*frame));
    }

private:
    framing client_;
    framing server_;
    bool client_begins_ = true;
    bool server_begins_ = true;
};

}  // namespace

std::unique_ptr<message_reader> make_zookeeper_reader() {
    return std::make_unique<zookeeper_reader>();
}

}  // namespace mortise::test
