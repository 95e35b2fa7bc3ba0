-- leave: ends a task, whatever the reason. The task hash decides: of two finishers the second finds none and stops.
-- Acks and deletes first: a script that has freed memory may go on where Redis is full.
--
-- KEYS 1 stream of the lane     2 task hash      3 work in flight (hash)
--      4 load account (hash)    5 stored result
-- ARGV 1 group    2 task id    3 reason (succeeded, failed, cancelled, expired, dead)
--      4 entry id, '' where only the task hash knows it
--      5 result ('' stores none)    6 milliseconds the result is kept
--
-- Returns {'left', edge, edge, …} with the edges to tell
--      or {'gone'}: the task had left already
--      or {'shared', waiters still waiting}: cancelled by one of several waiters
local id, reason = ARGV[2], ARGV[3]
local task = redis.call('HMGET', KEYS[2], 'ledger', 'edges', 'waiters')
if not task[1] then
  if ARGV[4] ~= '' then
    redis.call('XACK', KEYS[1], ARGV[1], ARGV[4])
    redis.call('XDEL', KEYS[1], ARGV[4])
  end
  return { 'gone' }
end

local waiters = tonumber(task[3] or 1)
if reason == 'cancelled' and waiters > 1 then
  redis.call('HSET', KEYS[2], 'waiters', waiters - 1)
  return { 'shared', waiters - 1 }
end

local entry, bytes, work, tenant = string.match(task[1], '^(%S+) (%S+) %S+ (%S+) (%S+)$')
redis.call('XACK', KEYS[1], ARGV[1], entry)
redis.call('XDEL', KEYS[1], entry)
redis.call('DEL', KEYS[2])
if redis.call('HGET', KEYS[3], work) == id then redis.call('HDEL', KEYS[3], work) end

local tenantCount, tenantBytes = 'count:' .. tenant, 'bytes:' .. tenant
local load = redis.call('HMGET', KEYS[4], 'count', 'bytes', tenantCount, tenantBytes)
local count, ofTenant = tonumber(load[1] or 0) - 1, tonumber(load[3] or 0) - 1
if count <= 0 then
  redis.call('DEL', KEYS[4])
else
  redis.call('HSET', KEYS[4], 'count', count, 'bytes', string.format('%.0f', load[2] - bytes))
  if ofTenant <= 0 then
    redis.call('HDEL', KEYS[4], tenantCount, tenantBytes)
  else
    redis.call('HSET', KEYS[4], tenantCount, ofTenant, tenantBytes, string.format('%.0f', load[4] - bytes))
  end
end

if ARGV[5] ~= '' then redis.call('SET', KEYS[5], ARGV[5], 'PX', ARGV[6]) end

local told = { 'left' }
for edge in string.gmatch(task[2], '%S+') do told[#told + 1] = edge end
return told
