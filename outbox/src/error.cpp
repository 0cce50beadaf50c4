// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/error.hpp"

#include <string>

namespace mortise::outbox {
namespace {

struct code_text {
    errc code;
    const char* text;
};

constexpr code_text texts[] = {
    {errc::no_topic, "a message needs a topic of 1 to 249 bytes: name one"},
    {errc::bad_message_id,
     "the id of a message has 1 to 255 bytes; without an id the message gets a new one"},
    {errc::message_too_large,
     "the message is longer than 64 MiB: store it elsewhere and send a reference"},
    {errc::bad_header,
     "a header has a name of 1 to 255 bytes, and a message at most 1,024 of them"},
    {errc::newer_format,
     "the message table was written by a newer version of mortise: use that version"},
    {errc::older_format,
     "the tables were written by an older version of mortise: append or receive a message, or "
     "start a relay, to bring them up to date"},
    {errc::corrupt_row,
     "a row of the message table contradicts itself: look at it with `mortise outbox show`"},
    {errc::not_an_outbox, "the database has no message table: append a message first"},
    {errc::no_such_row,
     "there is no such row: `mortise outbox ls` and `mortise outbox parked` list the rows"},
    {errc::bad_shards, "a message table has 1 to 256 shards"},
    {errc::not_an_inbox, "the database has no inbox: receive a message first"},
    {errc::no_position,
     "an inbox that works by offsets needs a source of 1 to 255 bytes and an offset from 0 to "
     "2^63 - 2: give both, or let it work by ids"},
    {errc::foreign_mark,
     "the mark at the sink was made by another database: give each database its own sink"},
    {errc::restored,
     "the sink has received more than the database knows, so the database is an old copy: name "
     "the row to continue from with `mortise outbox rebase`"},
    {errc::foreign_sink,
     "this is not the sink that received the rows before: use that one, or name the row to "
     "continue from with `mortise outbox rebase`"},
    {errc::mark_lost,
     "the sink has lost its mark: the relay continues from what the database remembers"},
    {errc::nothing_refused,
     "no relay refuses to continue there, so there is nothing to decide; if a relay cannot "
     "open its sink, or cannot read the mark there, its events say why: repair the sink"},
    {errc::refused, "the receiver refuses the message"},
    {errc::superseded, "another relay has taken over the shard"},
    {errc::stopped, "the relay was stopped: make a new one"},
    {errc::bad_file,
     "the file was not written by a file sink: move it away, or name another folder"},
    {errc::log_not_synced,
     "an fsync of the write-ahead log failed, so committed rows may not be on the disk: check the "
     "disk; nothing is sent until the log has been written anew. If that does not happen, end all "
     "programs that have the database open, and start them again"},
    {errc::files_removed,
     "message files were removed before they were read: let the sink keep more of them"},
    {errc::duplicate_id,
     "a message with this id was appended before, within the time in which the id must be "
     "unique: nothing is left to do"},
};

class outbox_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise.outbox"; }
    std::string message(int value) const override {
        for (const auto& each : texts) {
            if (static_cast<int>(each.code) == value)
                return each.text;
        }
        return "an error of a message table that is not known";
    }
};

}  // namespace

const boost::system::error_category& error_category() noexcept {
    static const outbox_category one;
    return one;
}

}  // namespace mortise::outbox
