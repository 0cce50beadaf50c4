-- SPDX-License-Identifier: BSL-1.0
-- KEYS: ..., and of each grant l:LOCK and q:LOCK. ARGV: session, generation, owner, and of each
-- grant its request and its base. Says x if the session is gone, else o, the number of messages,
-- and of each grant whether the node's vote for it is there (1 or 0; 2 if others wait for it).
local session, owner = ARGV[1], ARGV[3]
if not is_present(session, ARGV[2]) then
    return {'x'}
end
local reply = {'o', news_of(session)}
for at = 6, #KEYS, 2 do
    local vote = vote_at(KEYS[at])
    local is_there = vote and vote.owner == owner and vote.session == session and
        vote.request == ARGV[at - 2] and vote.base == ARGV[at - 1]
    local others = is_there and call('ZCARD', KEYS[at + 1]) > 0
    reply[#reply + 1] = others and '2' or (is_there and '1' or '0')
end
return reply
