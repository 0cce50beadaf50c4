-- SPDX-License-Identifier: BSL-1.0
-- Removes what is left of a dead session that has no entries. KEYS: s, e, d, x, w, y, n. Says o; m:
-- it has entries; l: it lives.
local dead = named_by(KEYS[2])
local of = session_of(dead)
if of and of.deadline > now() then
    return 'l'
elseif call('EXISTS', KEYS[2]) == 1 then
    return 'm'
end
call('HDEL', KEYS[1], dead)
call('HDEL', KEYS[7], dead .. ':i', dead .. ':h', dead .. ':l', dead .. ':p')
call('ZREM', KEYS[3], dead)
-- If nobody watches any longer, the short ways are open again.
if call('SREM', KEYS[5], dead) == 1 and call('EXISTS', KEYS[5]) == 0 then
    set_state('watched', false)
    save_sessions()
end
return 'o'
