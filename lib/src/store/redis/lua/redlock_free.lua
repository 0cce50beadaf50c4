-- SPDX-License-Identifier: BSL-1.0
-- KEYS: ..., e:SESSION, l:LOCK, q:LOCK. ARGV: session, generation, owner, request, guess, kind,
-- lock. Takes the vote back from the request, which leaves the queue, too (kind w), or keeps its
-- place there (y: another one comes first). The counter is raised to the guess, so that a ballot
-- that comes later than this is refused. Says 1 if the request had the vote, else 0; x if the
-- session is gone.
local session, generation, owner, request = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local guess, kind, lock = ARGV[5], ARGV[6], ARGV[7]
local entries, key, queue = KEYS[6], KEYS[7], KEYS[8]
local place = owner .. ' ' .. request .. ' ' .. session

if not is_present(session, generation) then
    return {'x', '', '0', digits(now())}
end
call('HDEL', SESSIONS, '')  -- Allowed without memory; so are all writes after it.
local vote = vote_at(key)
local had = vote and vote.owner == owner and vote.request == request
if tonumber(guess) > 0 then
    raise(lock, guess)
end
if had then
    call('DEL', key)
end
if kind == 'w' then
    call('ZREM', queue, place)
    call('HDEL', entries, request)
elseif had then
    call('ZADD', queue, vote.order, place)
end
if had or not vote then
    advance(queue)
end
return {had and '1' or '0', '', news_of(session), digits(now())}
