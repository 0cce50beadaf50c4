-- SPDX-License-Identifier: BSL-1.0
-- KEYS: ..., n, and of each lock l:LOCK and q:LOCK. ARGV: the most waiters to tell of. Says the
-- time, and of each lock the vote, the facts of its session and the us that are left to it (or
-- three times nothing), and an array of waiters: each its place, order key, facts and time left.
local reply = {digits(now())}

local function facts_of(session)
    return call('HGET', KEYS[6], session) or '',
        digits(call('ZSCORE', DEADLINES, session) - now())
end

for at = 7, #KEYS, 2 do
    local vote = vote_at(KEYS[at])
    if vote then
        local facts, left = facts_of(vote.session)
        reply[#reply + 1] = call('GET', KEYS[at])
        reply[#reply + 1], reply[#reply + 2] = facts, left
    else
        for _ = 1, 3 do
            reply[#reply + 1] = ''
        end
    end
    local waiters = {}
    local places = call('ZRANGE', KEYS[at + 1], 0, ARGV[1] - 1, 'WITHSCORES')
    for place = 1, #places, 2 do
        local session = match(places[place], '(%S+)$')
        if is_alive(session) then
            local facts, left = facts_of(session)
            local from = #waiters
            waiters[from + 1], waiters[from + 2] = places[place], digits(places[place + 1] + 0)
            waiters[from + 3], waiters[from + 4] = facts, left
        end
    end
    reply[#reply + 1] = waiters
end
return reply
