// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_BALLOT_HPP
#define MORTISE_STORE_REDLOCK_BALLOT_HPP

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// The place of a request among all that want its lock, the same at all nodes.
struct order_key {
    order_key() = default;
    order_key(std::uint64_t time, std::string client, std::uint64_t request)
        : at(time), owner(std::move(client)), id(request) {}

    std::uint64_t at = 0;  ///< In microseconds of the nodes' clocks, as far as they are known.
    std::string owner;     ///< The client's name.
    std::uint64_t id = 0;

    friend auto operator<=>(const order_key&, const order_key&) = default;
};

/// A node's answer to a ballot.
struct ballot_answer {
    enum class kind : std::uint8_t {
        voted,   ///< The request has the vote of the node, for that very guess.
        low,     ///< The guess is not above the counter of the lock.
        taken,   ///< Another request has the vote.
        behind,  ///< Another request that waits comes first.
        closed,  ///< The node gives no votes now.
    };

    ballot_answer() = default;

    kind type = kind::closed;
    std::uint64_t counter = 0;  ///< If the guess was low.
    order_key other;            ///< The request that has the vote, or is the first that waits.
    bool contended = false;     ///< With a vote: others wait at the node.
    std::uint64_t news = 0;     ///< The messages of the node to the session so far.
};

/// One request for a lock, and what the nodes have said to it: one ballot after the other until a
/// majority has voted for one, as in tests/models/redlock_ballot.pml. No clock, no I/O.
///
/// A ballot goes to all nodes. Once they have answered, or are not waited for any longer, `judge`
/// says how to go on. Split votes end because whoever knows of a request with a smaller key at
/// another node gives its votes back.
class ballot {
public:
    enum class verdict : std::uint8_t {
        granted,      ///< A majority has voted for this ballot.
        again,        ///< One more ballot with a higher guess can win.
        yield,        ///< Give the votes back: another request comes first.
        wait,         ///< A node will tell.
        refused,      ///< Somebody else has the lock, and this request does not queue.
        unreachable,  ///< Too few nodes have answered to know.
    };

    ballot() = default;
    /// @param joins whether the request joins the queues of the nodes.
    ballot(std::size_t nodes, order_key own, bool joins);

    const order_key& key() const noexcept { return key_; }
    std::uint64_t guess() const noexcept { return guess_; }
    bool joins() const noexcept { return joins_; }

    /// Begins a ballot with a guess above `at_least` and above all that nodes have told so far. The
    /// votes for an earlier one count no longer.
    void begin(std::uint64_t at_least);
    /// What a node is asked.
    struct question {
        question(std::uint64_t asked, unsigned given_back = 0) : guess(asked), yields(given_back) {}

        std::uint64_t guess;
        unsigned yields;  ///< How often the vote of the node was given back before.
    };

    /// Notes that the node is being asked for its vote in this ballot.
    question ask(std::size_t node);
    /// An answer of a node; one to an earlier ballot says nothing, nor does a vote that was given
    /// back meanwhile.
    void answered(std::size_t node, const question& asked, ballot_answer answer);
    /// The node has a vote to give, and this request is the first of its queue.
    void freed(std::size_t node, std::uint64_t news);
    /// The node gives votes again.
    void opened(std::size_t node);
    /// A request with that key waits at the node, which has voted for this one.
    void challenged(std::size_t node, order_key other);
    /// The node has forgotten the request, or nobody knows what it has of it.
    void lost(std::size_t node);
    /// The votes are being given back.
    void yielded();
    /// The node may not have heard that its vote is given back.
    void not_yielded(std::size_t node);

    verdict judge() const;

    /// The nodes that have voted for the present ballot.
    std::vector<std::size_t> voters() const;
    /// The nodes that have voted, or may still have the vote for an earlier ballot.
    std::vector<std::size_t> to_yield() const;
    /// Whether a node tells that others wait for the lock.
    bool contended() const noexcept;
    /// Whether enough answers are here to judge: what is open can change no verdict, or the request
    /// waits for it in the queues.
    bool is_decided() const;
    /// Whether nothing is known of the request at the node.
    bool is_unknown(std::size_t node) const { return seats_.at(node).at == stand::unknown; }
    /// Whether the node has been asked and has not answered yet.
    bool is_asked(std::size_t node) const { return seats_.at(node).asked; }
    /// Whether any node may have a vote for this request, or a place in its queue.
    bool has_asked() const noexcept { return guess_ != 0; }

private:
    enum class stand : std::uint8_t { unknown, voted, low, taken, behind, closed, freed, yielded };

    struct seat {
        seat() = default;

        stand at = stand::unknown;
        order_key other;
        std::uint64_t news = 0;
        bool contended = false;
        bool asked = false;
        unsigned yields = 0;
    };

    std::size_t count(stand at) const;
    std::size_t majority() const noexcept;
    bool knows_smaller() const;

    std::vector<seat> seats_;
    order_key key_;
    bool joins_ = false;
    std::uint64_t guess_ = 0;
    std::uint64_t counter_ = 0;  ///< The largest that a node has told.
    std::optional<order_key> challenger_;
};

}  // namespace mortise::store_detail

#endif
