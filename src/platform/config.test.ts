import { describe, expect, test } from 'vitest'
import { ConfigError, readConfig } from './config.ts'

const complaint = (env: Record<string, string>) => {
  try {
    readConfig(env)
    return ''
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
}

describe('settings', () => {
  test('have defaults that a newcomer needs', () => {
    expect(readConfig({})).toMatchObject({
      port: 8420,
      host: 'localhost',
      databaseUrl: undefined,
      dataFolder: 'data',
      publicUrl: 'http://localhost:8420',
      role: 'all',
      services: ['email', 'chat', 'billing'],
      processes: 1,
      rateLimit: 100,
      rateBurst: 200,
      bodyLimitBytes: 1_048_576,
      allowPrivateAddresses: [],
    })
    expect(readConfig({ PORT: ' 9000 ' }).publicUrl).toBe('http://localhost:9000')
  })

  test.each([
    ['PORT', ['abc', '-1', '65536', '1.5', '1e3']],
    [
      'PENNYPOST_PUBLIC_URL',
      ['example.com', 'ftp://example.com', 'https://example.com/path', 'https://example.com/?a=1'],
    ],
    ['DATABASE_URL', ['mysql://x', 'postgres:/x', 'localhost']],
    ['PENNYPOST_SECRET_KEY', ['short', 'z'.repeat(64)]],
    ['PENNYPOST_LOG_LEVEL', ['loud']],
    ['PENNYPOST_ROLE', ['king']],
    ['PENNYPOST_SERVICES', ['email,fax']],
    ['PENNYPOST_PROCESSES', ['0', '257', 'many']],
    ['PENNYPOST_POOL_SIZE', ['1', '501']],
    ['PENNYPOST_ALLOW_PRIVATE_ADDRESSES', ['127.0.0.1/99', 'localhost']],
    ['PENNYPOST_TRUST_PROXY', ['yes']],
  ])('%s is checked, named, and told what is expected', (name, values) => {
    for (const value of values)
      expect(complaint({ [name]: value })).toMatch(new RegExp(`^${name} is ".*"; expected .+\\.$`))
  })

  test('all wrong ones are reported together, and secrets are not repeated', () => {
    const message = complaint({ PORT: 'x', PENNYPOST_ROLE: 'y', DATABASE_URL: 'hunter2' })
    expect(message.split('\n')).toHaveLength(3)
    expect(message).not.toContain('hunter2')
  })
})
