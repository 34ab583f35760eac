import { registerHooks } from 'node:module'

/**
 * Faults of the PostgreSQL driver (postgres 3.4.9), mended while it is loaded; so this must be imported before it. The test fails
 * when another version no longer has them, or has them in other words: then this room goes, or follows.
 */
export const mends = [
  {
    // Its queue of idle connections only forgets what it handed out when it runs empty. In a pool with idle connections it never does, so
    // it grew with every statement, and every statement searched all of it: 20 µs more for each 40,000 statements since the start.
    file: '/postgres/src/queue.js',
    from: '        xs[index - 1] = undefined\n',
    to: '        xs[index - 1] = undefined\n        index > 32 && index * 2 > xs.length && (xs = xs.slice(index), index = 0)\n',
  },
  {
    // With two functions of its own in every query, V8 kept answered queries and their rows until the next full collection: collecting
    // young objects took 7 ms instead of one, several times a second. Methods do the same.
    file: '/postgres/src/query.js',
    from: `    this.resolve = x => (this.active = false, resolve(x))
    this.reject = x => (this.active = false, reject(x))
`,
    to: '    this.settlers = [resolve, reject]\n',
  },
  {
    file: '/postgres/src/query.js',
    from: '  cancel() {\n',
    to: `  resolve(x) {
    this.active = false
    this.settlers[0](x)
  }

  reject(x) {
    this.active = false
    this.settlers[1](x)
  }

  cancel() {
`,
  },
]

const mended = (url: string, source: string): string =>
  mends
    .filter(({ file }) => url.endsWith(file))
    .reduce((text, { from, to }) => (text.includes(from) ? text.replace(from, to) : text), source)

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!mends.some(({ file }) => url.endsWith(file)) || !loaded.source) return loaded
    return { ...loaded, source: mended(url, Buffer.from(loaded.source as Uint8Array).toString()) }
  },
})
