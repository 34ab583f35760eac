import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../test/world.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
  shop = await w.business()
})
afterAll(() => w.close())

const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const json = { 'content-type': 'application/json' }

test.each([
  ['POST', '/messages', `{"to":14155550100,"type":"text","text":"x","more":${deep(20_000)}}`],
  ['POST', '/contacts', `{"mobile":14155550100,"more":${deep(20_000)}}`],
  ['POST', '/contacts', `[${deep(5_000)}]`],
  ['POST', '/messages', '[]'],
  ['POST', '/messages', '5'],
  ['POST', '/messages', 'null'],
  ['POST', '/messages', '{"to":1e308,"type":"text","text":"x"}'],
  ['POST', '/messages', '{"to":14155550100,"type":["text"],"text":"x"}'],
  [
    'POST',
    '/messages',
    '{"to":14155550100,"type":"text","text":"\\ud800 half","contact":"{\\"name\\":\\"a\\\\u0000b\\"}"}',
  ],
  ['POST', '/messages', '{"to":14155550100,"type":"constructor"}'],
  ['POST', '/messages', '{"to":14155550100,"type":"template","templateName":"__proto__"}'],
  [
    'POST',
    '/templates',
    '{"name":"a","language":"en","category":"UTILITY","components":[{"type":"BODY","text":"x"},{"type":"CAROUSEL","cards":[{"components":[]},{"components":[]}]}]}',
  ],
  [
    'POST',
    '/templates',
    '{"name":"b","language":"en","category":"UTILITY","components":[{"type":"BODY","text":"x","example":{"deep":"\\ud800"}}]}',
  ],
  ['POST', '/broadcasts', '{"name":"a","templateName":"nothing","lists":["x"],"bodyParams":{"a":1}}'],
  ['POST', '/sandbox/messages', `{"from":14155550100,"message":{"type":"text","x":${deep(3_000)}}}`],
  ['POST', '/sandbox/messages', '{"from":14155550100,"message":{"type":5,"text":null}}'],
  ['GET', '/contacts?limit=99999999999999999999', ''],
  ['GET', '/contacts?attributes[0][name]=a&attributes[99999][value]=b&attributes=x', ''],
  ['GET', '/contacts?tags=', ''],
  ['GET', '/contacts?name=%F0%9F', ''],
  ['GET', '/conversations/..%2F..%2F/messages', ''],
  ['GET', '/templates/%20', ''],
  ['DELETE', '/settings/tags', ''],
] as const)('%s %s never fails inside', async (method, path, body) => {
  const answer = await w.app.inject({
    method,
    url: shop.chat.baseUrl + path,
    headers: { authorization: shop.chat.authorization, ...(body && json) },
    ...(body && { payload: body }),
  })
  expect(answer.statusCode, answer.payload.slice(0, 300)).toBeLessThan(500)
})
