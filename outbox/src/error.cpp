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
    {errc::no_topic, "a message has a topic of 1 to 249 bytes: name one"},
    {errc::bad_message_id, "the id of a message has 1 to 255 bytes; without one it gets a new one"},
    {errc::message_too_large,
     "the message is longer than 64 MiB: put it elsewhere and send a reference"},
    {errc::bad_header,
     "a header has a name of 1 to 255 bytes, and a message at most 1,024 of them"},
    {errc::newer_format,
     "the message table was written by a newer version of mortise: use that one"},
    {errc::older_format,
     "the tables were written by an older version of mortise: a message that is appended or "
     "received, or a relay, brings them up to date"},
    {errc::corrupt_row,
     "a row of the message table contradicts itself: look at it with `mortise outbox show`"},
    {errc::not_an_outbox, "the database has no message table: append a message first"},
    {errc::no_such_row,
     "there is no such row: `mortise outbox ls` and `parked` show those that are"},
    {errc::bad_shards, "a message table has 1 to 256 shards"},
    {errc::not_an_inbox, "the database has no inbox: let one receive something first"},
    {errc::no_position,
     "an inbox that goes by offsets wants a source of 1 to 255 bytes and a place that is neither "
     "negative nor the last number that there is: give them, or let it go by ids"},
    {errc::foreign_mark,
     "the mark at the sink was made from another database: give each database a sink of its own"},
    {errc::restored,
     "the sink has been sent more than the database knows, which is an old copy: say with `mortise "
     "outbox rebase` from where on rows are to be sent"},
    {errc::foreign_sink,
     "the sink is not the one to which the rows went before: use that one, or say with `mortise "
     "outbox rebase` from where on rows are to be sent to this one"},
    {errc::mark_lost,
     "the sink has forgotten how far it got: going on from what the database remembers"},
    {errc::nothing_refused,
     "no relay has refused to go on there: nothing needs to be decided. One that cannot open its "
     "sink, as when it cannot read the mark there, says so in its events: mend the sink"},
    {errc::refused, "who was given the message refuses it"},
    {errc::superseded, "another relay has taken the shard over"},
    {errc::stopped, "the relay was stopped: make a new one"},
    {errc::bad_file,
     "the file is not what a sink has written: move it away, or name another folder"},
    {errc::log_not_synced,
     "an fsync of the database's log failed, and what was committed may not be on the disk: see to "
     "the disk; nothing is sent before the log is written anew"},
    {errc::files_removed,
     "message files were removed before they were read: have the sink keep more of them"},
    {errc::duplicate_id,
     "a message with that id was appended before, within the time for which it was to be the only "
     "one: nothing needs to be done"},
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
