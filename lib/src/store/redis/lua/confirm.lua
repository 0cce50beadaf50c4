-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION RUN DEADLINE {ID BASE}: what was written on other connections; RUN is
-- - if it is not known. If it is here, writes: the replicas acknowledge that with all that came
-- before.
-- Says o and the ids of grants that are not here; l; x: this is another server than the one that
-- was written to, or has lost what was written.
local S, G, run, deadline, grants = match(ARGV[1], '^(%S+) (%d+) (%S+) (%d+)(.*)$')
local hash = '{P}s:' .. S
local own = call('HMGET', hash, 'g', 'd')
if run ~= '-' and (info('server', 'run_id') or run) ~= run then
    return 'x'
end
if own[1] ~= G or tonumber(own[2]) < tonumber(deadline) then
    return own[1] and tonumber(own[1]) > tonumber(G) and 'l' or 'x'
end
if not may_act(own[1], own[2], G) then
    return 'l'
end
call('HDEL', hash, '')
call('HSET', hash, 'd', own[2])
local reply = 'o'
for id, base in string.gmatch(grants, '(%d+) (%d+)') do
    local text = call('HGET', hash, id) or ''
    if (match(text, '^a %S+ (%d+) ') or match(text, '^g %S+ %S+ %d+ (%d+) ')) ~= base then
        reply = reply .. ' ' .. id
    end
end
return reply
