import { type Db, first } from '../platform/database.ts'
import type { Form } from '../platform/endpoint.ts'

/**
 * An order is `open` until somebody places it. While billing works on it it is `placing`; it is `confirming` while the
 * customer's bank asks, and `placed` for good once there is a subscription that was paid, billed or on trial. A card
 * that is refused makes it `open` again.
 */
export interface OrderRow {
  id: string
  multiplanId: string
  state: 'open' | 'placing' | 'confirming' | 'placed'
  attempt: number
  subscriptionId: string | null
  /** what was typed, without the card */
  entry: Form | null
  language: string
  /** somebody is placing it right now; one whose holder died is free again */
  held: boolean
}

const columns = (db: Db) => db`
  id, multiplan_id as "multiplanId", state, attempt, subscription_id as "subscriptionId", entry, language,
  coalesce(held_until > now(), false) as held`

/** The order, held for whoever asks first; undefined while another holds it or when it is placed. */
export const holdOrder = (
  db: Db,
  businessId: string,
  order: { id: string; multiplanId: string; entry: Form; language: string; seconds: number },
) =>
  db<OrderRow[]>`
  insert into checkout_order (business_id, id, multiplan_id, state, entry, language, held_until)
  values (${businessId}, ${order.id}, ${order.multiplanId}, 'placing', ${db.json(order.entry)}, ${order.language},
    now() + ${order.seconds} * interval '1 second')
  on conflict (business_id, id) do update
    set state = 'placing', held_until = excluded.held_until, entry = excluded.entry, language = excluded.language,
        updated_at = now()
    where checkout_order.multiplan_id = excluded.multiplan_id
      and (checkout_order.state = 'open' or (checkout_order.state = 'placing' and checkout_order.held_until < now()))
  returning ${columns(db)}`.then(first)

/** Keeps what was typed while the customer gives a card on the gateway's page; undefined once it is being placed. */
export const keepEntry = (
  db: Db,
  businessId: string,
  order: { id: string; multiplanId: string; entry: Form; language: string },
) =>
  db<OrderRow[]>`
  insert into checkout_order (business_id, id, multiplan_id, state, entry, language)
  values (${businessId}, ${order.id}, ${order.multiplanId}, 'open', ${db.json(order.entry)}, ${order.language})
  on conflict (business_id, id) do update
    set entry = excluded.entry, language = excluded.language, updated_at = now()
    where checkout_order.multiplan_id = excluded.multiplan_id and checkout_order.state = 'open'
  returning ${columns(db)}`.then(first)

export const findOrder = (db: Db, businessId: string, id: string) =>
  db<OrderRow[]>`select ${columns(db)} from checkout_order where business_id = ${businessId} and id = ${id}`.then(first)

export const findOrderOf = (db: Db, businessId: string, subscriptionId: string) =>
  db<OrderRow[]>`
  select ${columns(db)} from checkout_order
  where business_id = ${businessId} and subscription_id = ${subscriptionId}`.then(first)

/** A refused card opens the order again, for a new try. */
export const reopenOrder = (db: Db, businessId: string, id: string, { tried }: { tried: boolean }) => db`
  update checkout_order
  set state = 'open', held_until = null, subscription_id = null, attempt = attempt + ${tried ? 1 : 0}, updated_at = now()
  where business_id = ${businessId} and id = ${id} and state in ('placing', 'confirming')`

export const setOrder = (
  db: Db,
  businessId: string,
  order: { id: string; state: 'confirming'; subscriptionId: string },
) => db`
  update checkout_order
  set state = ${order.state}, subscription_id = ${order.subscriptionId}, held_until = null, updated_at = now()
  where business_id = ${businessId} and id = ${order.id} and state <> 'placed'`

/** The language of the customer, once; undefined when it was placed before. What was typed is forgotten. */
export const placeOrder = (db: Db, businessId: string, order: { id: string; subscriptionId: string }) =>
  db<{ language: string }[]>`
  update checkout_order
  set state = 'placed', subscription_id = ${order.subscriptionId}, held_until = null, entry = null, updated_at = now()
  where business_id = ${businessId} and id = ${order.id} and state <> 'placed'
  returning language`.then(rows => first(rows)?.language)

/** Orders whose bank still asks or whose placing was cut off: looked at again, business by business. */
export const unsettledOrders = (db: Db, limit: number) => db<(OrderRow & { businessId: string })[]>`
  select business_id as "businessId", ${columns(db)} from checkout_order
  where state = 'confirming' and created_at > now() - interval '30 days' order by updated_at limit ${limit}`

/** To the end of the line, so that one that waits long does not keep others from being looked at. */
export const touchOrder = (db: Db, businessId: string, id: string) => db`
  update checkout_order set updated_at = now() where business_id = ${businessId} and id = ${id}`

/** Forms are good for a day; who comes back later finds the subscription by the receipt. */
export const purgeOrders = (db: Db) => db`
  delete from checkout_order where created_at < now() - interval '30 days' and state <> 'placed'`
