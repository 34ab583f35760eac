import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShop, type Shop } from '../billing-shop.ts'
import { type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

/** A customer who paid 30.00 by card, or 30.00 offline. */
async function paid(shop: Shop, gateway: 'test' | 'offline' = 'test', price = 30) {
  const plan = await shop.plan({ price })
  const sold = await shop.subscribe(plan.id, { body: { gateway_type: gateway } })
  const [invoice] = (await shop.billing.get(`/invoices/${sold.customerId}`)).body.data
  if (gateway === 'offline') await shop.billing.post(`/invoice/recordpayment/${invoice.id}`, { payment_mode: 'cash' })
  const [payment] = (await shop.billing.get(`/transactions/${sold.customerId}`)).body.data
  return { ...sold, planId: plan.id, invoiceId: invoice.id as string, payment }
}

describe('GET /transactions/{customer_id}', () => {
  test('answers every field', async () => {
    const shop = await openShop(w)
    const { payment, customerId, id, planId, invoiceId } = await paid(shop)
    const answer = await shop.billing.get(`/transactions/${customerId}`)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ status: 'success', message: expect.any(String) })
    expect(payment).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      type: 'payment',
      type_formatted: 'Payment',
      status: 'success',
      status_formatted: 'Success',
      description: expect.any(String),
      amount: 30,
      currency_code: 'USD',
      currency_symbol: '$',
      customer_id: customerId,
      subscription_id: id,
      plan_id: planId,
      product_id: shop.productId,
      invoice_id: invoiceId,
      reference_id: expect.stringMatching(/^tc_/),
      gateway_type: 'test',
      transaction: '',
      createdAt: expect.stringMatching(/^2026-01-01T12:00:00.000Z$/),
      updatedAt: expect.any(String),
    })
  })

  test('filters, pages and refuses wrong ones', async () => {
    const shop = await openShop(w)
    const { customerId, id, invoiceId, planId, payment } = await paid(shop)
    await shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 5 })
    const count = async (query: string) =>
      (await shop.billing.get(`/transactions/${customerId}?${query}`)).body.data.length
    expect(await count('')).toBe(2)
    expect(await count('limit=1')).toBe(1)
    expect(await count('limit=1&page=3')).toBe(0)
    expect(await count('limit=1000')).toBe(2)
    expect(
      await count(`invoice_id=${invoiceId}&subscription_id=${id}&plan_id=${planId}&product_id=${shop.productId}`),
    ).toBe(2)
    expect(await count('invoice_id=nope')).toBe(0)
    expect(await count('status=success')).toBe(1)
    expect(await count('status=paid')).toBe(1)
    expect(await count('status=refund')).toBe(1)
    expect(await count('status=failure')).toBe(0)
    expect(await count('status=inprogress')).toBe(0)
    expect((await shop.billing.get(`/refund/${customerId}`)).body.data).toMatchObject([{ type: 'refund', amount: 5 }])
    for (const wrong of ['limit=0', 'page=0', 'page=abc', 'status=nonsense'])
      expect((await shop.billing.get(`/transactions/${customerId}?${wrong}`)).status, wrong).toBe(400)
    expect((await shop.billing.get('/transactions/000000000000000000000000')).status).toBe(404)
    const stranger = await openShop(w)
    expect((await stranger.billing.get(`/transactions/${customerId}`)).status).toBe(404)
    expect((await stranger.billing.get(`/refund/${customerId}`)).status).toBe(404)
  })
})

describe('POST /transaction/refund/{payment_id}', () => {
  test('refund: all that is left by default, in parts, never more than was captured', async () => {
    const shop = await openShop(w)
    const { payment, customerId, invoiceId } = await paid(shop)
    const part = await shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 12.5, refund_type: 'refund' })
    expect(part.body).toMatchObject({ status: 'success', message: expect.stringContaining('refunded') })
    expect((await shop.billing.get(`/invoice/${invoiceId}`)).body.data).toMatchObject({
      status: 'paid',
      refunded_amount: 12.5,
      due_amount: 0,
    })
    const over = await shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 17.51 })
    expect([over.status, over.body.code]).toEqual([422, 'refund_exceeds_payment'])
    expect((await shop.billing.post(`/transaction/refund/${payment.id}`)).status).toBe(200)
    expect((await shop.billing.get(`/invoice/${invoiceId}`)).body.data).toMatchObject({
      status: 'refunded',
      refunded_amount: 30,
      due_amount: 0,
    })
    expect((await shop.billing.post(`/transaction/refund/${payment.id}`)).body.code).toBe('already_refunded')
    const refunds = (await shop.billing.get(`/refund/${customerId}`)).body.data
    expect(refunds.map((one: { amount: number }) => one.amount)).toEqual([17.5, 12.5])
    await shop.sound()
  })

  test('refund_credit keeps the money as credit that the next invoice uses', async () => {
    const shop = await openShop(w)
    const { payment, customerId } = await paid(shop)
    expect(
      (await shop.billing.post(`/transaction/refund/${payment.id}`, { refund_type: 'refund_credit', amount: 10 }))
        .status,
    ).toBe(200)
    expect((await shop.billing.get(`/customer/${customerId}`)).body.data.credit).toBe(10)
    await shop.at('2026-02-02')
    const [renewal] = (await shop.billing.get(`/invoices/${customerId}`)).body.data
    expect(renewal).toMatchObject({ amount: 30, credit_amount: 10, paid_amount: 20, status: 'paid' })
    expect((await shop.billing.get(`/customer/${customerId}`)).body.data.credit).toBeNull()
    await shop.sound()
  })

  test('record_refund notes what was returned outside; offline payments allow nothing else', async () => {
    const shop = await openShop(w)
    const offline = await paid(shop, 'offline')
    for (const body of [{}, { refund_type: 'refund' }]) {
      const refused = await shop.billing.post(`/transaction/refund/${offline.payment.id}`, body)
      expect([refused.status, refused.body.code]).toEqual([422, 'refund_not_possible'])
      expect(refused.body.message).toContain('record_refund')
    }
    const noted = await shop.billing.post(`/transaction/refund/${offline.payment.id}`, {
      refund_type: 'record_refund',
      description: 'cash back',
    })
    expect(noted.body.data).toMatchObject({ refund_type: 'record_refund', amount: 30, description: 'cash back' })
    await shop.sound()
  })

  test('amounts that are none, and payments that are none', async () => {
    const shop = await openShop(w)
    const { payment } = await paid(shop)
    for (const amount of [0, -1, 1.234, 'abc', 1e30, true, [1]])
      expect((await shop.billing.post(`/transaction/refund/${payment.id}`, { amount })).status, String(amount)).toBe(
        400,
      )
    expect((await shop.billing.post(`/transaction/refund/${payment.id}`, { refund_type: 'gift' })).status).toBe(400)
    expect((await shop.billing.post('/transaction/refund/nope')).status).toBe(404)
    const refund = (await shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 1 })).body.data
    expect((await shop.billing.post(`/transaction/refund/${refund.id}`)).status).toBe(422)
    const stranger = await openShop(w)
    expect((await stranger.billing.post(`/transaction/refund/${payment.id}`)).status).toBe(404)
  })

  test('tax goes back in its share, to the cent over many parts', async () => {
    const shop = await openShop(w)
    await shop.billing.post('/taxes', { name: 'VAT', country: 'DE', rate: 19 })
    const plan = await shop.plan({ price: 9.99 })
    const sold = await shop.subscribe(plan.id, { customer: { billing_address: { country: 'DE' } } })
    const [payment] = (await shop.billing.get(`/transactions/${sold.customerId}`)).body.data
    expect(payment.amount).toBe(11.89)
    for (let i = 0; i < 11; i++)
      expect((await shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 1.01 })).status).toBe(200)
    expect((await shop.billing.post(`/transaction/refund/${payment.id}`)).body.data.amount).toBe(0.78)
    const [tax] = await w.db<{ minor: bigint }[]>`
      select sum(tax_minor)::int8 as minor from billing_credit_note where business_id = ${shop.id}`
    expect(tax!.minor).toBe(190n)
    await shop.sound()
  })

  test('two hundred at once on one payment: accepted ones add up, and the gateway gave back no more', async () => {
    const shop = await openShop(w)
    const { payment } = await paid(shop)
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 0.7 })),
    )
    const accepted = answers.filter(answer => answer.status === 200).length
    expect(accepted).toBe(42)
    expect(answers.filter(answer => answer.status === 422).length).toBe(158)
    const given = await w.db`select 1 from billing_test_charge where business_id = ${shop.id} and kind = 'refund'`
    expect(given.length).toBe(42)
    await shop.sound()
  })

  test('an Idempotency-Key makes one refund of many requests', async () => {
    const shop = await openShop(w)
    const { payment, customerId } = await paid(shop)
    const ask = () =>
      shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 3 }, { 'idempotency-key': 'once' })
    const first = await ask()
    expect((await ask()).text).toBe(first.text)
    const other = await shop.billing.post(
      `/transaction/refund/${payment.id}`,
      { amount: 4 },
      { 'idempotency-key': 'once' },
    )
    expect(other.status).toBe(422)
    expect((await shop.billing.get(`/refund/${customerId}`)).body.data.length).toBe(1)
  })

  test('a refunded part is not credited again by a change of plan', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const { payment, id } = await paid(shop)
    const high = await shop.plan({ price: 50 })
    await shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 20 })
    await shop.at('2026-04-16')
    // Half of 30.00 is unused, but 20.00 went back already: nothing is left to credit.
    const { invoice } = (await shop.change(id, { plan_id: high.id })).body.data
    expect(invoice.credit_note).toMatchObject({ new_credits: 0, used_amount: 10, charge_amount: 25 })
    await shop.sound()
  })
})

describe('DELETE /transaction/{transaction_id}', () => {
  test('takes back a payment recorded by hand: the invoice is due again', async () => {
    const shop = await openShop(w)
    const { payment, invoiceId, customerId } = await paid(shop, 'offline')
    const deleted = await shop.billing.delete(`/transaction/${payment.id}`)
    expect(deleted.body.data.id).toBe(payment.id)
    expect((await shop.billing.get(`/invoice/${invoiceId}`)).body.data).toMatchObject({
      status: 'sent',
      due_amount: 30,
      paid_amount: 0,
    })
    expect((await shop.billing.get(`/transactions/${customerId}`)).body.data).toEqual([])
    expect((await shop.billing.delete(`/transaction/${payment.id}`)).status).toBe(404)
    await shop.sound()
  })

  test('of an overdue invoice it leaves it overdue', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const plan = await shop.plan({ price: 30 })
    const { customerId } = await shop.subscribe(plan.id, { body: { gateway_type: 'offline' } })
    const [invoice] = (await shop.billing.get(`/invoices/${customerId}`)).body.data
    await shop.at('2026-04-03')
    await shop.billing.post(`/invoice/recordpayment/${invoice.id}`, { payment_mode: 'cash', amount: 10 })
    const [payment] = (await shop.billing.get(`/transactions/${customerId}`)).body.data
    await shop.billing.delete(`/transaction/${payment.id}`)
    expect((await shop.billing.get(`/invoice/${invoice.id}`)).body.data).toMatchObject({
      ...{ status: 'overdue', due_amount: 30, paid_amount: 0 },
    })
    await shop.sound()
  })

  test('clears away what never succeeded, refuses money that moved', async () => {
    const shop = await openShop(w)
    const { payment } = await paid(shop)
    const refused = await shop.billing.delete(`/transaction/${payment.id}`)
    expect([refused.status, refused.body.code]).toEqual([422, 'money_moved'])
    const plan = await shop.plan({ price: 30 })
    const declined = await shop.subscribe(plan.id, { number: '4000000000000002' })
    expect([declined.answer.status, declined.answer.body.code]).toEqual([402, 'card_declined'])
    const [failed] = (await shop.billing.get(`/transactions/${declined.customerId}`)).body.data
    expect(failed).toMatchObject({ status: 'failure', failure_code: 'card_declined' })
    expect((await shop.billing.delete(`/transaction/${failed.id}`)).status).toBe(200)
    expect((await shop.billing.delete('/transaction/000000000000000000000000')).status).toBe(404)
    await shop.sound()
  })
})
