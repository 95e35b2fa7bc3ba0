-- enqueue: for each task of one lane, joins equal work in flight, else admits or sheds it, else writes it.
-- Idempotent by task id: a task that was sent again is not written again (a join that was sent again counts its waiter
-- twice: its task is then not cancelled early).
-- The images are written by an MSET ahead of this script in the same transaction (handing 20 kB to Lua cost Redis
-- 60 µs); where a task is not written its image is deleted here. One call takes all tasks that an edge sends at a time,
-- so that the account is paid once.
--
-- KEYS 1 stream of the lane    2 work in flight (hash)    3 load account (hash)
--      then for each task: task hash, image, stored result
-- ARGV 1 edge    2 most tasks admitted    3 most bytes admitted
--      4 tasks per second that the consumers do; 0 where that is not known
--      5 most tasks admitted of one tenant    6 milliseconds that the backlog may take them; 0 and 0 for callers that wait
--      one by one, who are bound by their deadlines alone
--      7 whether who is shed gets a turn: 1, or 0 where they come again by themselves
--      then for each task: task id, SHA-256, work key, tenant, bytes of the image,
--      milliseconds left until the deadline, entry
--
-- Returns for each task a string, its words being
--         'admitted', task id, tasks admitted, deadline
--      or 'joined', task id of the equal work, tasks admitted, deadline, its traceparent
--      or 'shed', 'count', 'bytes', 'wait' (it would not be done by its deadline, or take others' places) or 'share' (its
--         tenant's), tasks admitted, milliseconds until there will be room for it
local edge, mostTasks, mostBytes, rate = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local mostOfTenant, mostWait, givesTurns = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1'

-- Of the time until its deadline, a task may spend so much waiting for those before it: rates are estimates.
local mostWaiting = 0.8
-- Those who come back take up so much of the rate, so that they find room, and none is told to come back later than this.
local returning, latestTurn = 0.85, 120000

-- The account, read when it is needed and written at the end: field → amount. Whoever needs anything needs the count.
local load, changed = {}, false
local function amount(field)
  if field == 'count' and not load.count then
    local known = redis.call('HMGET', KEYS[3], 'count', 'bytes', 'admitted')
    load.count, load.bytes, load.admitted = tonumber(known[1] or 0), tonumber(known[2] or 0), tonumber(known[3] or 0)
  end
  load[field] = load[field] or tonumber(redis.call('HGET', KEYS[3], field) or 0)
  return load[field]
end

-- Milliseconds of Redis's clock, read when it is needed.
local clock
local function now()
  if not clock then
    local time = redis.call('TIME')
    clock = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return clock
end

-- The trace that a task belongs to stands in its entry, which only a join has to look up.
local function traceOf(ledger)
  local entry = string.match(ledger, '^%S+')
  local found = redis.call('XRANGE', KEYS[1], entry, entry)[1]
  return found and string.match(found[2][2], '"trace":"([%x-]*)"') or ''
end

local function join(taskKey, timeLeft, task)
  local deadline = string.format('%.0f', math.max(now() + timeLeft, tonumber(task[2]) or 0))
  local edges = task[3] or ''
  if not string.find(' ' .. edges .. ' ', ' ' .. edge .. ' ', 1, true) then edges = edges .. ' ' .. edge end
  redis.call('HSET', taskKey, 'deadline', deadline, 'edges', edges, 'waiters', (task[4] or 1) + 1)
  return deadline
end

-- Who is shed gets a turn of its own: the place that becomes free after all those that were promised before. Whoever may
-- wait for less than a second finds fewer places, since all who come back within one second come at once; and where
-- others with later deadlines stand before it, they must have gone.
local function shed(limit, admitted, timeLeft)
  local wait = 0
  if limit == 'share' then
    -- Others find room meanwhile, so nobody's turn changes.
    wait = rate > 0 and math.min(latestTurn, mostOfTenant * 500 / rate) or 0
  elseif givesTurns and rate > 0 and admitted > 0 then
    local perSecond = returning * rate * math.min(1, math.max(0.05, mostWaiting * timeLeft / 1000))
    wait = math.min(latestTurn, math.max(0, amount('turn') - now()) + 1000 / perSecond)
    load.turn, changed = now() + wait, true
    wait = math.min(latestTurn, math.max(wait, admitted * 1000 / rate - mostWaiting * timeLeft))
  end
  return 'shed ' .. limit .. ' ' .. admitted .. ' ' .. string.format('%.0f', wait)
end

local function enqueue(taskKey, imageKey, resultKey, id, sha256, work, tenant, bytes, timeLeft, entryText)
  local marked = redis.call('HSETNX', KEYS[2], work, id) == 1
  if not marked then
    -- The marker is the task's own where a lost reply made the client send again.
    local inFlight = redis.call('HGET', KEYS[2], work)
    if inFlight ~= id then
      local other = string.sub(taskKey, 1, -#id - 1) .. inFlight
      local task = redis.call('HMGET', other, 'ledger', 'deadline', 'edges', 'waiters')
      if not task[1] then
        -- Its task was lost; the marker must not stand in the way for ever.
        redis.call('HSET', KEYS[2], work, id)
        marked = true
      elseif string.match(task[1], '^%S+ %S+ (%S+)') == sha256 then
        redis.call('DEL', imageKey)
        return 'joined ' .. inFlight .. ' ' .. amount('count') .. ' ' .. join(other, timeLeft, task)
          .. ' ' .. traceOf(task[1])
      end
    end
  end
  if redis.call('EXISTS', taskKey, resultKey) > 0 then
    local deadline = redis.call('HGET', taskKey, 'deadline')
    if marked then redis.call('HDEL', KEYS[2], work) end
    -- A result without a task: it ran and left before the command was sent again.
    if not deadline then redis.call('DEL', imageKey) end
    return 'admitted ' .. id .. ' ' .. amount('count') .. ' ' .. (deadline or 0)
  end
  local count, total = amount('count') + 1, amount('bytes') + bytes
  local tenantCount, tenantBytes = 'count:' .. tenant, 'bytes:' .. tenant
  local patience = mostWait > 0 and math.min(mostWait, timeLeft) or tonumber(timeLeft)
  local limit = count > mostTasks and 'count' or total > mostBytes and 'bytes'
    or mostOfTenant > 0 and amount(tenantCount) >= mostOfTenant and 'share'
    or rate > 0 and (count - 1) * 1000 / rate > mostWaiting * patience and 'wait'
  if limit then
    redis.call('DEL', imageKey)
    if marked then redis.call('HDEL', KEYS[2], work) end
    return shed(limit, count - 1, patience)
  end
  local entry = redis.call('XADD', KEYS[1], '*', 'task', entryText)
  local deadline = string.format('%.0f', string.match(entry, '^%d+') + timeLeft)
  -- ledger: what the scripts must know of a task when it leaves. Where other bytes of the same MD5 are in flight the
  -- marker stays theirs.
  redis.call('HSET', taskKey, 'deadline', deadline, 'edges', edge, 'ledger',
    entry .. ' ' .. bytes .. ' ' .. sha256 .. ' ' .. (marked and work or '-') .. ' ' .. tenant)
  load.count, load.bytes, load.admitted, changed = count, total, amount('admitted') + 1, true
  load[tenantCount], load[tenantBytes] = amount(tenantCount) + 1, amount(tenantBytes) + bytes
  return 'admitted ' .. id .. ' ' .. count .. ' ' .. deadline
end

local replies = {}
for i = 1, (#KEYS - 3) / 3 do
  local k, a = 3 * i + 1, 7 * i + 1
  replies[i] = enqueue(KEYS[k], KEYS[k + 1], KEYS[k + 2],
    ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], ARGV[a + 5], ARGV[a + 6])
end
if changed then
  local fields = {}
  for field, value in pairs(load) do
    fields[#fields + 1] = field
    -- Turns may be less than a millisecond apart.
    fields[#fields + 1] = string.format(field == 'turn' and '%.3f' or '%.0f', value)
  end
  redis.call('HSET', KEYS[3], unpack(fields))
end
return replies
