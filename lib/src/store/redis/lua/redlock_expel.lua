-- SPDX-License-Identifier: BSL-1.0
-- KEYS: ..., n, e:SESSION, and of each lock l:LOCK and q:LOCK. ARGV: session, and of each lock a
-- request of the session. Frees what a dead session has there, and forgets the session once nothing
-- is left of it. Says how many entries are left; -1 if the session lives.
local session = ARGV[1]
local entries = KEYS[7]

if is_alive(session) then
    return -1
end
call('HDEL', SESSIONS, '')  -- Allowed without memory; so are all writes after it.
for at = 2, #ARGV do
    local key, queue = KEYS[2 * at + 4], KEYS[2 * at + 5]
    local vote = call('GET', key)
    local voter = vote and match(vote, '^%S+ %S+ (%S+)')
    for _, place in ipairs(call('ZRANGE', queue, 0, -1)) do
        if match(place, '(%S+)$') == session then
            call('ZREM', queue, place)
        end
    end
    if voter == session then
        call('DEL', key)
    end
    if voter == session or not voter then
        advance(queue)
    end
    call('HDEL', entries, ARGV[at])
end
local left = call('HLEN', entries)
if left == 0 then
    call('ZREM', DEADLINES, session)
    call('HDEL', SESSIONS, session)
    call('HDEL', NEWS, session)
    call('HDEL', KEYS[6], session)
end
return left
