import { describe, expect, test } from 'vitest'
import { findUnstorable } from './validation.ts'

const nest = (depth: number): unknown => {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = [value]
  return value
}

describe('what the database can’t hold', () => {
  test('is found wherever it stands, and named', () => {
    expect(findUnstorable('a\u0000')).toEqual({ field: 'body', message: 'must not contain null characters' })
    expect(findUnstorable({ list: ['ok', { name: 'a\u0000' }] })).toMatchObject({ field: 'list[1].name' })
    expect(findUnstorable({ deep: { 'a\u0000': 1 } })).toMatchObject({ field: 'deep' })
    expect(findUnstorable({ name: 'half \ud83d' })).toEqual({ field: 'name', message: 'must be valid Unicode text' })
    expect(findUnstorable({ name: 'whole 😀', n: 1, b: true, x: null, list: [[]] })).toBeUndefined()
  })

  test('nesting has a limit, however deep a body is', () => {
    expect(findUnstorable(nest(100))).toBeUndefined()
    expect(findUnstorable(nest(101))).toMatchObject({ message: 'must not be nested deeper than 100 levels' })
    expect(findUnstorable({ a: nest(100_000) })).toMatchObject({ field: 'a' })
  })
})
