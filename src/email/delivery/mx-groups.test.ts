import { expect, test } from 'vitest'
import { createMxGroups } from './mx-groups.ts'

const records: Record<string, { exchange: string; priority: number }[]> = {
  'shop.de': [
    { exchange: 'alt1.aspmx.l.google.com', priority: 5 },
    { exchange: 'ASPMX.L.GOOGLE.COM.', priority: 1 },
  ],
  'firm.fr': [{ exchange: 'firm-fr.mail.protection.outlook.com', priority: 0 }],
  'a.org': [{ exchange: 'mx1.hoster.net', priority: 10 }],
  'b.org': [{ exchange: 'mx2.hoster.net', priority: 10 }],
  'nomail.org': [{ exchange: '', priority: 0 }],
  'xn--mnchen-3ya.de': [{ exchange: 'mx.zoho.eu', priority: 1 }],
}

test('hosted domains share the group of their host, found once; without DNS a domain is its own', async () => {
  const asked: string[] = []
  const { groupOf } = createMxGroups(async domain => {
    asked.push(domain)
    return records[domain] ?? Promise.reject(new Error('ENOTFOUND'))
  })
  const groups = await Promise.all(
    ['a@shop.de', 'b@SHOP.de', 'a@firm.fr', 'x@a.org', 'x@b.org', 'x@nomail.org', 'x@away.org', 'x@münchen.de'].map(
      groupOf,
    ),
  )
  expect(groups).toEqual([
    'google',
    'google',
    'outlook',
    'mx:hoster.net',
    'mx:hoster.net',
    'nomail.org',
    'away.org',
    'zoho',
  ])
  await Promise.all(['a@shop.de', 'x@away.org'].map(groupOf))
  expect(asked.sort()).toEqual(['a.org', 'away.org', 'b.org', 'firm.fr', 'nomail.org', 'shop.de', 'xn--mnchen-3ya.de'])
})

test('well-known domains and names that can’t exist are never asked for', async () => {
  const { groupOf } = createMxGroups(() => Promise.reject(new Error('asked')))
  expect(await groupOf('a@gmail.com')).toBe('google')
  expect(await groupOf('a@Hotmail.com')).toBe('outlook')
  expect(await groupOf('a@example.com')).toBe('example.com')
  expect(await groupOf('a@mail.shop.example')).toBe('mail.shop.example')
})
