-- SPDX-License-Identifier: BSL-1.0
-- The short ways of a release: nobody waits; or an exclusive lock goes to the first who waits, and
-- nothing about them is out of the ordinary. Otherwise says +, having changed nothing: then
-- release_rules.lua decides.
-- KEYS: s, e, l. ARGV[1]: GENERATION ID BASE[:SLOT]. Says y (the grant was there) or l.
local G, id, base, slot = match(ARGV[1], '^(%d+) (%d+) (%d+):?(%d*)$')
local S = named_by(KEYS[2])
local read = call('HMGET', KEYS[1], 't', S)
local generation, ends = match(read[2] or '', '^(%d+) (%d+)')
if not generation or tonumber(generation) > tonumber(G) or ends == '0' then
    return 'l'
end
local last, text, head = read[1] or '', call('GET', KEYS[3]) or '', S .. ':' .. id .. ':'
if not match(last, '^%d+$') or sub(text, 1, #head) ~= head then
    return '+'
end
local mode, its_base, its_slot, behind = match(text, '^(%a%d*):(%d+):(%d+)::%d*(.*)$', #head + 1)
if its_base ~= base or its_slot ~= (slot == '' and '0' or slot) then
    return '+'
elseif behind == '' then
    call('DEL', KEYS[3])
    call('HDEL', KEYS[2], id)
    return 'y'
end

local waiters, more = match(behind, '^|([^|]+)(.*)$')
local session, request, queue = match(waiters or '', '^([^:]+):(%d+):x::%d+ ?(.*)$')
if mode ~= 'x' or not session or more ~= '' and (queue == '' or not match(more, '^||%d+$')) then
    return '+'
end
local its = session == S and read[2] or call('HGET', KEYS[1], session)
local terms, deadline, changes, waits = match(its or '', '^(%d+ (%d+) %d+) (%d+) (%d+)$')
if not terms or tonumber(deadline) <= now() then
    return '+'
end
local contended = more ~= ''
for other in string.gmatch(queue, '([^: ]+)[^ ]*') do
    if other ~= session then
        contended = true
        break
    end
end
local given, since, change = digits(math.max(now(), last + 1)), digits(now()), digits(changes + 1)
-- Allowed without memory, and so are all writes after it. A server that refuses it tells nobody.
local noted = call('HDEL', KEYS[2], id)
local heard = publish(session, 'g ' .. request .. ' ' .. given .. ' 0 ' ..
                      (contended and '1 ' or '0 ') .. change)
if heard == 0 and session ~= S then
    if noted == 1 then
        call('HSET', KEYS[2], id, 'x ' .. named_by(KEYS[3]))
    end
    return '+'
end
call('SET', KEYS[3], session .. ':' .. request .. ':x:' .. given .. ':0::' ..
     (since == given and '' or since) .. (queue == '' and '' or '|' .. queue .. more))
call('HSET', KEYS[1], 't', given, session, terms .. ' ' .. change .. ' ' .. digits(math.max(0, waits - 1)))
return 'y'
