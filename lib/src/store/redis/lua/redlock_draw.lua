-- SPDX-License-Identifier: BSL-1.0
-- KEYS: ..., l:LOCK. ARGV: session, generation, owner, request, base of the grant, guess, lock.
-- Raises the counter of a lock to the guess for the request that has the vote. Says, followed by
-- the number of messages and the time: v; l COUNTER if the guess is not above it; b if the vote is
-- not there; x if the session is gone.
local session, owner, request, base, guess, lock =
    ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if not is_present(session, ARGV[2]) then
    return {'x'}
end
local vote = vote_at(KEYS[6])
if not (vote and vote.owner == owner and vote.request == request and vote.base == base) then
    return {'b', '0 - 0', news_of(session), digits(now())}
end
local counter = counter_of(lock)
if tonumber(guess) <= counter then
    return {'l', digits(counter), news_of(session), digits(now())}
end
call('ZADD', COUNTERS, guess, lock)
return {'v', '0', news_of(session), digits(now())}
