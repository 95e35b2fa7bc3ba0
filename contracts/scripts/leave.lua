#!lua flags=allow-oom
-- leave: ends tasks of one lane, whatever the reason. The task hash decides: of two finishers the second finds none
-- and stops. It works where memory is full, since it frees more than it takes; acks and deletes come first.
-- One call ends a whole batch, so that the account, acks and deletions are paid once.
--
-- KEYS 1 stream of the lane    2 work in flight (hash)    3 load account (hash)    4 stream of dead letters
--      then for each task: task hash, image, stored result
-- ARGV 1 group    2 milliseconds the results are kept, where the task itself names none
--      then for each task: reason (succeeded, failed, cancelled, expired, dead),
--      entry id ('' where only the task hash knows it), result ('' stores none)
--      then, where a task is dead: milliseconds that dead letters and their images are kept,
--      and for each dead task its letter, in order
--
-- Returns for each task 'left edge edge …' with the edges to tell
--      or 'gone': the task had left already
--      or 'shared': cancelled by one of several waiters
local ends, entries, gone, works, results, dead = {}, {}, {}, {}, {}, {}
local count = (#KEYS - 4) / 3
local letter = 3 + 3 * count
local changes, seen = {}, {}
local function add(tenant, bytes)
  local sum = changes[tenant] or { 0, 0 }
  changes[tenant] = { sum[1] + 1, sum[2] + bytes }
end

for i = 1, count do
  local key, argument = 3 * i + 2, 3 * i
  local isDead = ARGV[argument] == 'dead'
  if isDead then letter = letter + 1 end
  local task = redis.call('HMGET', KEYS[key], 'ledger', 'edges', 'waiters', 'keep')
  if not task[1] or seen[KEYS[key]] then
    ends[i] = 'gone'
    -- The image of a dead letter has a time to live; any other is left over.
    if redis.call('PTTL', KEYS[key + 1]) == -1 then gone[#gone + 1] = KEYS[key + 1] end
    if ARGV[argument + 1] ~= '' then entries[#entries + 1] = ARGV[argument + 1] end
  elseif ARGV[argument] == 'cancelled' and task[3] and tonumber(task[3]) > 1 then
    redis.call('HSET', KEYS[key], 'waiters', task[3] - 1)
    ends[i] = 'shared'
  else
    local entry, bytes, work, tenant = string.match(task[1], '^(%S+) (%S+) %S+ (%S+) (%S+)$')
    ends[i] = 'left ' .. (task[2] or '')
    seen[KEYS[key]] = true
    if entry then entries[#entries + 1] = entry end
    -- A failover may have given the task a second entry.
    if ARGV[argument + 1] ~= '' and ARGV[argument + 1] ~= entry then entries[#entries + 1] = ARGV[argument + 1] end
    gone[#gone + 1] = KEYS[key]
    if isDead then
      dead[#dead + 1] = { KEYS[key + 1], ARGV[letter] }
    else
      gone[#gone + 1] = KEYS[key + 1]
    end
    if work and work ~= '-' then works[#works + 1] = work end
    if ARGV[argument + 2] ~= '' then
      results[#results + 1] = KEYS[key + 2]
      results[#results + 1] = ARGV[argument + 2]
      results[#results + 1] = task[4] or ARGV[2]
    end
    -- A ledger in a form that is not known: its task leaves, but whom to credit is not known.
    if entry then
      add('', bytes)
      add(tenant, bytes)
    end
  end
end

if #entries > 0 then
  redis.call('XACK', KEYS[1], ARGV[1], unpack(entries))
  redis.call('XDEL', KEYS[1], unpack(entries))
end
if #gone > 0 then redis.call('DEL', unpack(gone)) end
if #works > 0 then redis.call('HDEL', KEYS[2], unpack(works)) end
for tenant, change in pairs(changes) do
  local suffix = tenant == '' and '' or ':' .. tenant
  local count = redis.call('HINCRBY', KEYS[3], 'count' .. suffix, -change[1])
  if count > 0 then
    redis.call('HINCRBY', KEYS[3], 'bytes' .. suffix, string.format('%.0f', -change[2]))
  else
    redis.call('HDEL', KEYS[3], 'count' .. suffix, 'bytes' .. suffix)
    -- Nothing is admitted any more: whoever was told to come back later may come now.
    if tenant == '' then redis.call('HDEL', KEYS[3], 'turn', 'admitted') end
  end
end
for i = 1, #results, 3 do redis.call('SET', results[i], results[i + 1], 'PX', results[i + 2]) end
if #dead > 0 then
  local keep = ARGV[3 + 3 * count]
  local time = redis.call('TIME')
  local oldest = string.format('%.0f', time[1] * 1000 - keep)
  for _, each in ipairs(dead) do
    redis.call('PEXPIRE', each[1], keep)
    redis.call('XADD', KEYS[4], 'MINID', oldest, '*', 'letter', each[2])
  end
  redis.call('PEXPIRE', KEYS[4], keep)
end
return ends
