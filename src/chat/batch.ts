/**
 * Puts calls that happen at the same time into one statement. A call that is alone goes at once; while a statement is
 * under way, those that come meanwhile wait for the next one. So a busy moment costs one commit for many, and a quiet one
 * costs nothing. Where a statement fails, each of its calls is tried alone, so that one does not fail the others.
 */
export function together<T, R>(
  run: (key: string, items: T[]) => Promise<R[]>,
  options: { maxItems: number; maxParallel: number },
): (key: string, item: T) => Promise<R> {
  interface Waiting {
    item: T
    resolve(result: R): void
    reject(error: unknown): void
  }
  const queues = new Map<string, { waiting: Waiting[]; running: number; scheduled: boolean }>()

  const flush = async (key: string) => {
    const queue = queues.get(key)!
    queue.scheduled = false
    const batch = queue.waiting.splice(0, options.maxItems)
    if (batch.length > 0) {
      queue.running++
      await settle(key, batch)
      queue.running--
    }
    if (queue.waiting.length > 0) schedule(key)
    else if (queue.running === 0 && !queue.scheduled) queues.delete(key)
  }

  const settle = async (key: string, batch: Waiting[]) => {
    try {
      const results = await run(
        key,
        batch.map(one => one.item),
      )
      for (const [index, one] of batch.entries()) one.resolve(results[index]!)
    } catch (error) {
      if (batch.length === 1) batch[0]!.reject(error)
      else await Promise.all(batch.map(one => settle(key, [one])))
    }
  }

  const schedule = (key: string) => {
    const queue = queues.get(key)!
    if (queue.scheduled || queue.running >= options.maxParallel) return
    queue.scheduled = true
    setImmediate(() => void flush(key))
  }

  return (key, item) =>
    new Promise((resolve, reject) => {
      if (!queues.has(key)) queues.set(key, { waiting: [], running: 0, scheduled: false })
      queues.get(key)!.waiting.push({ item, resolve, reject })
      schedule(key)
    })
}
