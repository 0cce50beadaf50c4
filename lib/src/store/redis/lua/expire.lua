-- SPDX-License-Identifier: BSL-1.0
-- Takes grants away that have come to their own end. ARGV: for each lock SESSION:ID. After the locks
-- come the indexes of these sessions. Says o.
local there = {}
for at in ipairs(ARGV) do
    there[at] = lock_at(FIRST + 4 * (at - 1), true) or false
end
call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
for at, each in ipairs(ARGV) do
    local lock = there[at]
    local holder = lock and find_holder(lock, match(each, '^([^:]+):(%d+)$'))
    if not holder or holder.hold == '' then
        ends[#ends + 1] = {'ZREM', KEYS[4], each .. ':' .. named_by(KEYS[FIRST + 4 * (at - 1)])}
    elseif removed_if_lapsed(lock, holder) then
        call('HDEL', KEYS[FIRST - 1 + 4 * #ARGV + at], holder.id)
        grant_next(lock)
    end
end
finish()
return 'o'
