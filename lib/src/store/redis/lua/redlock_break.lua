-- SPDX-License-Identifier: BSL-1.0
-- KEYS: ..., l:LOCK, q:LOCK. ARGV: base. Takes the vote from the request that has it for that
-- guess, and tells its session. Says 1 if one had it, else 0.
local vote = vote_at(KEYS[6])
if not vote or vote.base ~= ARGV[1] then
    return 0
end
call('HDEL', SESSIONS, '')  -- Allowed without memory; so are all writes after it.
call('DEL', KEYS[6])
tell(vote.session, 'k ' .. vote.request .. ' ' .. vote.base)
advance(KEYS[7])
return 1
