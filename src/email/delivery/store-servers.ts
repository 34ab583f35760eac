import { type Db, first } from '../../platform/database.ts'

/** The servers that mail goes through, whether they work, and how fast they may be asked. */

export interface ServerRow {
  id: string
  host: string
  port: number
  security: 'none' | 'starttls' | 'tls'
  username: string
  sealedPassword: string
  senderEmail: string
  senderName: string
  maxConnections: number
  maxPerSecond: number
  openUntil: Date | null
  dkimDomain: string | null
  dkimSelector: string | null
  sealedKey: string | null
  /** whose webhook tells what became of messages; null: nobody's */
  provider: 'ses' | 'sendgrid' | 'postmark' | 'mailgun' | null
}

/** The servers of a business in the order they are tried: the default first, then the oldest. */
export const serversOf = (db: Db, businessId: string) => db<ServerRow[]>`
  select s.id, s.host, s.port, s.security, s.username, s.sealed_password as "sealedPassword",
    s.sender_email as "senderEmail", s.sender_name as "senderName", s.max_connections as "maxConnections",
    s.max_per_second as "maxPerSecond", h.open_until as "openUntil", k.dkim_domain as "dkimDomain",
    k.dkim_selector as "dkimSelector", k.sealed_key as "sealedKey", w.provider
  from email_delivery_server s
  left join email_server_health h on h.business_id = s.business_id and h.server_id = s.id
  left join email_server_signing k on k.business_id = s.business_id and k.server_id = s.id
  left join email_server_webhook w on w.business_id = s.business_id and w.server_id = s.id
  where s.business_id = ${businessId}
  order by s.is_default desc, s.created_at, s.id`

export const openServer = (
  db: Db,
  businessId: string,
  breaker: { serverId: string; error: string; baseMs: number; maxMs: number },
) => db`
  insert into email_server_health as h (business_id, server_id, failures, open_until, last_error, updated_at)
  values (${businessId}, ${breaker.serverId}, 1, now() + ${breaker.baseMs} * interval '1 millisecond', ${breaker.error}, now())
  on conflict (business_id, server_id) do update set failures = h.failures + 1, last_error = excluded.last_error,
    open_until = now() + least(${breaker.maxMs}::float8, ${breaker.baseMs}::float8 * 2 ^ least(h.failures, 20)) * interval '1 millisecond',
    updated_at = now()`

export const closeServer = (db: Db, businessId: string, serverId: string) => db`
  update email_server_health set failures = 0, open_until = null, updated_at = now()
  where business_id = ${businessId} and server_id = ${serverId} and failures > 0`

export interface SlowProvider {
  serverId: string
  provider: string
  perMinute: number
  nextAt: Date
}

/** Providers that asked us to slow down. When the time is over the pace is quadrupled, until it is no limit any more. */
export const slowProviders = (db: Db, businessId: string) => db<SlowProvider[]>`
  select server_id as "serverId", provider, per_minute as "perMinute", next_at as "nextAt" from email_pace
  where business_id = ${businessId} and per_minute is not null and slow_until > now()`

export const slowDown = (
  db: Db,
  businessId: string,
  pace: { serverId: string; provider: string; perMinute: number; forMs: number; reason: string },
) => db`
  insert into email_pace as p (business_id, server_id, provider, next_at, per_minute, slow_until, reason)
  values (${businessId}, ${pace.serverId}, ${pace.provider}, now(), ${pace.perMinute},
    now() + ${pace.forMs} * interval '1 millisecond', ${pace.reason})
  on conflict (business_id, server_id, provider) do update
    set per_minute = excluded.per_minute, slow_until = excluded.slow_until, reason = excluded.reason`

/** Takes turns at a pace that all workers share; answers the time of the first, the others follow at the same distance. */
export const takeTurns = (
  db: Db,
  businessId: string,
  turns: { serverId: string; provider: string; count: number; perSecond: number },
) =>
  db<{ first: Date }[]>`
    insert into email_pace as p (business_id, server_id, provider, next_at)
    values (${businessId}, ${turns.serverId}, ${turns.provider}, now() + ${turns.count / turns.perSecond} * interval '1 second')
    on conflict (business_id, server_id, provider) do update
      set next_at = greatest(p.next_at, now()) + ${turns.count / turns.perSecond} * interval '1 second'
    returning next_at - ${turns.count / turns.perSecond} * interval '1 second' as first`.then(first)
