-- SPDX-License-Identifier: BSL-1.0
-- ARGV: a session and a cursor, or nothing. Says the names of all sessions; or, for a session, the
-- next cursor (0: that was all) and the names of some of the locks that it has entries of.
if not ARGV[1] then
    return call('ZRANGE', '{P}d', 0, -1)
end
local scan = call('HSCAN', '{P}s:' .. ARGV[1], ARGV[2], 'COUNT', 512)
local reply = {scan[1]}
for at = 1, #scan[2], 2 do
    if match(scan[2][at], '^%d') then
        reply[#reply + 1] = entry_of(scan[2][at + 1]).name
    end
end
return reply
