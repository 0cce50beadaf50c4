-- SPDX-License-Identifier: BSL-1.0
-- Removes what a dead session has in some locks. KEYS[2] is its index, the last one the record of
-- the store, since whoever calls may have no session. ARGV: for each lock the ID. Says o, or l: it
-- lives.
local dead = named_by(KEYS[2])
local of = session_of(dead)
if of and of.deadline > now() then
    return 'l'
end
mark_dead(dead)
other_run = is_other_run(call('HGET', KEYS[#KEYS], 'r'))
local wishes, there = call('HMGET', KEYS[2], unpack(ARGV)), {}
for at in ipairs(ARGV) do
    there[at] = lock_at(FIRST + 4 * (at - 1), true) or false
end
call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
for at, id in ipairs(ARGV) do
    if there[at] and remove_entry(there[at], dead, id, wishes[at]) then
        grant_next(there[at])
    end
end
finish()
call('HDEL', KEYS[2], unpack(ARGV))
return 'o'
