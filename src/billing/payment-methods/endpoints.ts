import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { contextOf } from '../context.ts'
import { getCustomer } from '../customers/customers.ts'
import { envelope, ok } from '../envelope.ts'
import { addMethod, methodsOf, removeMethod, showMethod } from './payment-methods.ts'
import { MethodPath, MethodSchema, MethodsPath, NewMethod } from './schema.ts'

export const add = endpoint({
  summary: 'Keep a card for a customer; its number goes to the gateway and is never stored',
  params: MethodsPath,
  body: NewMethod,
  answer: envelope(MethodSchema),
  effects: 'outside',
  run: async call => {
    const context = await contextOf(call)
    const customer = await getCustomer(call.db, call.business.id, call.params.customer_id)
    return ok('Payment method saved', showMethod(await addMethod(context, customer, call.body)))
  },
})

export const list = endpoint({
  summary: "A customer's payment methods, newest first",
  params: MethodsPath,
  answer: envelope(Type.Array(MethodSchema)),
  run: async ({ db, business, params }) => {
    const customer = await getCustomer(db, business.id, params.customer_id)
    return ok('Payment methods', (await methodsOf(db, business.id, customer.id)).map(showMethod))
  },
})

export const remove = endpoint({
  summary: 'Forget a payment method',
  params: MethodPath,
  answer: envelope(MethodSchema),
  run: async call =>
    ok('Payment method deleted', showMethod(await removeMethod(await contextOf(call), call.params.id))),
})
