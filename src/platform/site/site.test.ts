import { describe, expect, test } from 'vitest'
import { html } from '../html.ts'
import { createSecrets } from '../secrets.ts'
import { cookie, readCookie } from './cookies.ts'
import { faultSummary, selectField, textField } from './fields.ts'
import { chooseLanguage } from './language.ts'
import { page } from './page.ts'
import { formToken, newVisitor, readFormToken } from './visit.ts'

describe('form tokens', () => {
  const secrets = createSecrets(Buffer.alloc(32, 1))
  const visitor = newVisitor()
  const madeAt = new Date('2026-03-01T10:00:00.000Z')
  const token = formToken(secrets, { visitor, purpose: 'buy', madeAt })

  test('a token made for this visitor and purpose tells when it was made', () => {
    expect(readFormToken(secrets, token, { visitor, purpose: 'buy' })).toEqual(madeAt)
  })

  test.each([
    ['another visitor', token, newVisitor(), 'buy'],
    ['no visitor', token, undefined, 'buy'],
    ['another purpose', token, visitor, 'cancel'],
    ['another time', token.replace(/^[^.]+/, 'zzzz'), visitor, 'buy'],
    ['no token', undefined, visitor, 'buy'],
    ['nonsense', 'a.b.c', visitor, 'buy'],
  ])('%s: no', (_, given, who, purpose) => {
    expect(readFormToken(secrets, given, { visitor: who, purpose })).toBeUndefined()
  })
})

test('cookies are closed to scripts and other sites, and secure where the address is', () => {
  const options = { path: '/checkout', maxAgeSeconds: 60 }
  expect(cookie('a', 'b', { ...options, publicUrl: 'http://localhost' })).toBe(
    'a=b; Path=/checkout; Max-Age=60; HttpOnly; SameSite=Lax',
  )
  expect(cookie('a', 'b', { ...options, publicUrl: 'https://shop.example' })).toMatch(/; Secure$/)
  expect(readCookie({ cookie: 'x=1; a=b=c; aa=2' }, 'a')).toBe('b=c')
  expect(readCookie({ cookie: 'aa=2' }, 'a')).toBeUndefined()
  expect(readCookie({}, 'a')).toBeUndefined()
})

test.each([
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['fr,en;q=0.5,de;q=0.7', 'de'],
  ['fr', 'en'],
  ['de;q=0,en;q=0.1', 'en'],
  ['', 'en'],
  [undefined, 'en'],
  [';;;,,=', 'en'],
])('of %s, %s is chosen', (accepted, chosen) => {
  expect(chooseLanguage(['en', 'de'], accepted)).toBe(chosen)
})

describe('fields', () => {
  test('what was typed is escaped, and the fault is tied to the field', () => {
    const { text } = textField({ name: 'city', label: 'City', value: '"><script>', error: 'Tell us "where".' })
    expect(text).toContain('value="&quot;&gt;&lt;script&gt;"')
    expect(text).toContain('aria-invalid="true" aria-describedby="f-city-error"')
    expect(text).toContain('<span class="error" id="f-city-error">Tell us &quot;where&quot;.</span>')
  })

  test('a select keeps its choice', () => {
    const choices = [
      { value: 'a', label: 'A' },
      { value: 'b', label: 'B' },
    ]
    const { text } = selectField({ name: 'x', label: 'X', value: 'b', choices })
    expect(text).toContain('<option value="a">A</option><option value="b" selected>B</option>')
  })

  test('faults are listed with links to their fields', () => {
    expect(faultSummary('Please check', {})).toBeUndefined()
    expect(faultSummary('Please check', { 'card.number': 'Which card?' })?.text).toContain('href="#f-card-number"')
  })
})

test('a page allows nothing from elsewhere and nothing inline', () => {
  const { headers, body, status } = page({ language: 'en', title: '<b>', body: html`<p>Hi</p>`, status: 410 })
  expect(status).toBe(410)
  expect(headers['content-security-policy']).toContain("default-src 'none'")
  expect(headers['content-security-policy']).not.toContain('unsafe')
  expect(String(body)).toContain('<title>&lt;b&gt;</title>')
  expect(String(body)).not.toMatch(/<script(?! src=")|<style|style="| on\w+="/)
})
