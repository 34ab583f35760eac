import { type Database, type Db, first, only, type Tx } from '../../platform/database.ts'

export interface TestCharge {
  ref: string
  state: 'succeeded' | 'declined' | 'action_required' | 'canceled'
  code: string | null
  currency: string
  amountMinor: bigint
}

const columns = (db: Db) => db`ref, state, code, currency, amount_minor as "amountMinor"`

/** The same key gives the same charge, however often it is asked. */
export async function keepTestCharge(
  db: Db,
  businessId: string,
  charge: TestCharge & { key: string },
): Promise<TestCharge> {
  const made = first(
    await db<TestCharge[]>`
    insert into billing_test_charge (business_id, key, ref, kind, state, code, currency, amount_minor)
    values (${businessId}, ${charge.key}, ${charge.ref}, 'charge', ${charge.state}, ${charge.code}, ${charge.currency}, ${charge.amountMinor})
    on conflict (business_id, key) do nothing returning ${columns(db)}`,
  )
  return made ?? (await findTestCharge(db, businessId, { key: charge.key }).then(row => only(row ? [row] : [])))
}

export const findTestCharge = (db: Db, businessId: string, by: { key: string } | { ref: string }) =>
  db<TestCharge[]>`
  select ${columns(db)} from billing_test_charge
  where business_id = ${businessId} and ${'key' in by ? db`key = ${by.key}` : db`ref = ${by.ref}`}`.then(first)

export const cancelTestCharge = (db: Db, businessId: string, ref: string) =>
  db<TestCharge[]>`
  update billing_test_charge set state = 'canceled'
  where business_id = ${businessId} and ref = ${ref} and state = 'action_required' returning ${columns(db)}`.then(first)

/** The customer confirmed (or refused) on the page of the bank. */
export const answerTestCharge = (db: Db, businessId: string, ref: string, state: 'succeeded' | 'declined') =>
  db<TestCharge[]>`
  update billing_test_charge set state = ${state}, code = ${state === 'declined' ? 'authentication_failed' : null}
  where business_id = ${businessId} and ref = ${ref} and state = 'action_required' returning ${columns(db)}`.then(first)

/** Undefined when more would be given back than was taken. */
export const refundTestCharge = (
  db: Database,
  businessId: string,
  refund: { key: string; ref: string; parentRef: string; amountMinor: bigint; currency: string },
): Promise<TestCharge | undefined> =>
  db.begin(async tx => {
    const known = await findTestCharge(tx, businessId, { key: refund.key })
    if (known) return known
    const rows = await tx<TestCharge[]>`
      with charge as (
        select ref, amount_minor from billing_test_charge
        where business_id = ${businessId} and ref = ${refund.parentRef} and state = 'succeeded' for update
      )
      insert into billing_test_charge (business_id, key, ref, kind, state, currency, amount_minor, parent_ref)
      select ${businessId}, ${refund.key}, ${refund.ref}, 'refund', 'succeeded', ${refund.currency}, ${refund.amountMinor}, charge.ref
      from charge
      where charge.amount_minor >= ${refund.amountMinor} + coalesce((select sum(amount_minor) from billing_test_charge
        where business_id = ${businessId} and parent_ref = charge.ref), 0)
      returning ${columns(tx)}`
    return first(rows)
  })

export const findGatewayAccount = (db: Db, businessId: string, gateway: string) =>
  db<{ secretKey: string; webhookSecret: string }[]>`
  select secret_key as "secretKey", webhook_secret as "webhookSecret" from billing_gateway_account
  where business_id = ${businessId} and gateway = ${gateway}`.then(first)

export const saveGatewayAccount = (
  db: Db,
  businessId: string,
  account: { gateway: string; secretKey: string; webhookSecret: string },
) => db`
  insert into billing_gateway_account (business_id, gateway, secret_key, webhook_secret)
  values (${businessId}, ${account.gateway}, ${account.secretKey}, ${account.webhookSecret})
  on conflict (business_id, gateway) do update
  set secret_key = excluded.secret_key, webhook_secret = excluded.webhook_secret, updated_at = now()`

export const keepGatewayEvents = (
  db: Db,
  businessId: string,
  gateway: string,
  events: readonly { id: string; type: string; data: object }[],
) => db`
  insert into billing_gateway_event ${db(
    events.map(event => ({
      business_id: businessId,
      gateway,
      event_id: event.id,
      type: event.type,
      data: db.json(
        JSON.parse(JSON.stringify(event.data, (_, value) => (typeof value === 'bigint' ? String(value) : value))),
      ),
    })) as never,
  )}
  on conflict (business_id, gateway, event_id) do nothing`

export const openGatewayEvents = (tx: Tx, businessId: string, limit: number) => tx<
  { gateway: string; eventId: string; data: Record<string, unknown> }[]
>`
  select gateway, event_id as "eventId", data from billing_gateway_event
  where business_id = ${businessId} and done_at is null order by received_at limit ${limit}`

export const closeGatewayEvent = (
  db: Db,
  businessId: string,
  event: { gateway: string; eventId: string; error: string | null },
) => db`
  update billing_gateway_event set done_at = now(), error = ${event.error}
  where business_id = ${businessId} and gateway = ${event.gateway} and event_id = ${event.eventId}`
