-- SPDX-License-Identifier: BSL-1.0
-- What the index of a session has, in portions. KEYS: s, e. ARGV: a cursor, and the generation of the
-- session that asks for its own; or nothing if another one asks.
-- Says o CHANGES, the next cursor (0: that was all), and entries: ID, MODE[@HOLD] NAME.
local of = session_of(named_by(KEYS[2]))
if ARGV[2] and not may_act(of, ARGV[2]) then
    return {'l'}
end
local scan = call('HSCAN', KEYS[2], ARGV[1], 'COUNT', 256)
local reply = {'o ' .. digits(of and of.changes or 0), scan[1]}
for _, each in ipairs(scan[2]) do
    reply[#reply + 1] = each
end
return reply
