import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'

/** Keeps the house as ARCHITECTURE.md describes it. */

const root = join(import.meta.dirname, '..')
const files = globSync('src/**/*.ts', { cwd: root }).filter(path => !path.endsWith('.test.ts'))
const text = new Map(files.map(path => [path, readFileSync(join(root, path), 'utf8')]))

const floors: Record<string, number> = {
  platform: 0,
  accounts: 1,
  email: 2,
  chat: 2,
  billing: 2,
  checkout: 3,
  dashboard: 3,
}
const floorOf = (path: string) => floors[roomOf(path)] ?? 4
const roomOf = (path: string) => path.split('/')[1] ?? ''

const importsOf = (path: string) =>
  [...(text.get(path) ?? '').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(match =>
    relative(root, join(root, dirname(path), match[1] ?? '')),
  )
const packagesOf = (path: string) =>
  [...(text.get(path) ?? '').matchAll(/from\s+'([^.'][^']*)'/g)].map(match => match[1] ?? '')

const offenders = (broken: (path: string) => boolean | string[]) =>
  files.flatMap(path => {
    const found = broken(path)
    return found === true ? [path] : found === false ? [] : found.map(what => `${path} → ${what}`)
  })

describe('who may import whom', () => {
  test('never upward, never sideways between services', () => {
    expect(
      offenders(path =>
        importsOf(path).filter(target => {
          const [own, theirs] = [floorOf(path), floorOf(target)]
          return theirs > own || (theirs === own && own >= 2 && own < 4 && roomOf(target) !== roomOf(path))
        }),
      ),
    ).toEqual([])
  })

  test('Fastify only at the edge', () => {
    const edge = new Set([
      'src/app.ts',
      'src/platform/mount.ts',
      'src/platform/bodies.ts',
      'src/accounts/authenticate.ts',
    ])
    expect(
      offenders(
        path => packagesOf(path).some(name => name === 'fastify' || name.startsWith('@fastify/')) && !edge.has(path),
      ),
    ).toEqual([])
  })

  test('the Stripe SDK only in its adapter', () => {
    expect(
      offenders(path => packagesOf(path).includes('stripe') && !path.startsWith('src/billing/gateways/stripe')),
    ).toEqual([])
  })
})

describe('where things are written', () => {
  test('SQL only in stores and in the platform', () => {
    const sql = /`\s*(with|select|insert into|update|delete from)\s[^`]*\b(from|set|values|into|returning|as)\b/i
    expect(
      offenders(
        path => roomOf(path) !== 'platform' && !/\/store[\w-]*\.ts$/.test(path) && sql.test(text.get(path) ?? ''),
      ),
    ).toEqual([])
  })

  test('billing never asks the world for the time', () => {
    const ask = /\bDate\.now\(\)|\bnew Date\(\)|Temporal\.Now/
    expect(
      offenders(
        path =>
          ['email', 'chat', 'billing', 'checkout'].includes(roomOf(path)) &&
          path.includes('/billing/') &&
          ask.test(text.get(path) ?? ''),
      ),
    ).toEqual([])
  })

  test('no default exports, no enums', () => {
    expect(offenders(path => /^export default|^(export )?(const )?enum /m.test(text.get(path) ?? ''))).toEqual([])
  })

  test('routes are written on the routes pages only', () => {
    const route = /^\s*\['(GET|POST|PUT|DELETE)', '\//m
    expect(
      offenders(path => !/routes[\w-]*\.ts$/.test(path) && path !== 'src/app.ts' && route.test(text.get(path) ?? '')),
    ).toEqual([])
  })

  test('tenant tables are ready to be spread over a cluster', () => {
    const shared = new Set([
      'account_user',
      'account_business',
      'account_key',
      'migration',
      'installation',
      'event_reaction_type',
    ])
    const wrong: string[] = []
    for (const name of globSync('migrations/*.sql', { cwd: root })) {
      const sql = readFileSync(join(root, name), 'utf8')
      if (/create\s+(or replace\s+)?trigger/i.test(sql)) wrong.push(`${name}: trigger`)
      for (const [, table = '', body = ''] of sql.matchAll(
        /create (?:unlogged )?table (?:if not exists )?(\w+) \(([\s\S]*?)\n\)/g,
      )) {
        if (shared.has(table)) continue
        const key = /primary key \(([^)]+)\)/.exec(body)?.[1] ?? ''
        if (!key.startsWith('business_id'))
          wrong.push(`${name}: ${table} has no primary key that begins with business_id`)
      }
      for (const [, index = '', table = '', columns = ''] of sql.matchAll(
        /create unique index (?:if not exists )?(\w+)\s+on (\w+)\s*\(([^;]*)/g,
      ))
        if (!shared.has(table) && !columns.trim().startsWith('business_id'))
          wrong.push(`${name}: unique index ${index} does not begin with business_id`)
    }
    expect(wrong).toEqual([])
  })
})
