-- SPDX-License-Identifier: BSL-1.0
-- The short ways of a release by a session that asks for the same lock again, held exclusively and
-- wanted exclusively: nobody else waits; or the lock goes to the first who waits, and nothing about
-- them is out of the ordinary. Otherwise says +, having changed nothing: then request_rules.lua
-- decides.
-- KEYS: s, e, l. ARGV[1]: GENERATION WANTED x, the request that wants the lock. ARGV[2]: ID BASE, the
-- grant that is released. Says l, or y and what request.lua says.
local G, wanted = match(ARGV[1], '^(%d+) (%d+) x$')
local id, base = match(ARGV[2], '^(%d+) (%d+)$')
local S, name = named_by(KEYS[2]), named_by(KEYS[3])
local read = call('HMGET', KEYS[1], 't', S)
local generation, deadline = match(read[2] or '', '^(%d+) (%d+)')
if not wanted or not id then
    return '+'
elseif not generation or tonumber(generation) > tonumber(G) then
    return 'l'
end
local last, text = read[1] or '', call('GET', KEYS[3]) or ''
local head = S .. ':' .. id .. ':x:' .. base .. ':0::'
if not match(last, '^%d+$') or tonumber(deadline) <= now() or sub(text, 1, #head) ~= head then
    return '+'
end
local behind = match(text, '^%d*(.*)$', #head + 1)
local given, wish = digits(math.max(now(), last + 1)), S .. ':' .. wanted .. ':x:'
if behind == '' then
    call('HDEL', KEYS[2], id)  -- Allowed without memory; so are all writes after it.
    call('HSET', KEYS[2], wanted, 'x ' .. name)
    call('SET', KEYS[3], wish .. given .. ':0::')
    call('HSET', KEYS[1], 't', given)
    return 'y g ' .. given .. ' 0 0'
end

local waiters = match(behind, '^|([^|]+)$')
local session, request, queue = match(waiters or '', '^([^:]+):(%d+):x::%d+ ?(.*)$')
if not session or #waiters > QUEUE_MAX or string.find(' ' .. waiters, ' ' .. wish, 1, true) then
    return '+'
end
local its = session == S and read[2] or call('HGET', KEYS[1], session)
local terms, ends, changes, waits = match(its or '', '^(%d+ (%d+) %d+) (%d+) (%d+)$')
if not terms or tonumber(ends) <= now() then
    return '+'
end
-- Whether others wait, as the new holder sees it and as S does, and how many are before S.
local contended, others, before = session ~= S, '0', 1
for other in string.gmatch(queue, '([^: ]+)[^ ]*') do
    before = before + 1
    contended = contended or other ~= session
    others = other ~= S and '1' or others
end
local since, change = digits(now()), digits(changes + 1)
local noted = call('HDEL', KEYS[2], id)  -- As above. A server that refuses it tells nobody.
local heard = publish(session, 'g ' .. request .. ' ' .. given .. ' 0 ' ..
                      (contended and '1 ' or '0 ') .. change)
if heard == 0 and session ~= S then
    if noted == 1 then
        call('HSET', KEYS[2], id, 'x ' .. name)
    end
    return '+'
end
call('HSET', KEYS[2], wanted, 'x ' .. name)
call('SET', KEYS[3], session .. ':' .. request .. ':x:' .. given .. ':0::' ..
     (since == given and '' or since) .. '|' .. (queue == '' and '' or queue .. ' ') .. wish .. ':' .. since)
if session == S then
    call('HSET', KEYS[1], 't', given, S, terms .. ' ' .. change .. ' ' .. waits)
else
    local own, own_waits = match(read[2], '^(%d+ %d+ %d+ %d+) (%d+)$')
    call('HSET', KEYS[1], 't', given, S, own .. ' ' .. digits(own_waits + 1),
         session, terms .. ' ' .. change .. ' ' .. digits(math.max(0, waits - 1)))
end
return 'y q ' .. before .. ' ' .. others
