import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { AggregatorRegistry, type RegistryContentType } from 'prom-client'
import type { Ground } from './house.ts'
import type { Config } from './platform/config.ts'
import { StartError } from './platform/data-folder.ts'

/**
 * `--processes N`: this process owns the database and N children that share the port; a child that dies is replaced.
 * A child that dies before it was ever ready would die again, so that ends the program with its own message.
 */
export async function startProcesses(config: Config, ground: Ground): Promise<{ stop(): Promise<void> }> {
  const environment = {
    ...process.env,
    PENNYPOST_CHILD: '1',
    DATABASE_URL: ground.databaseUrl,
    PENNYPOST_SECRET_KEY: ground.masterKey.toString('hex'),
  }
  let stopping = false
  const registry = new AggregatorRegistry()
  cluster.setupPrimary({ args: process.argv.slice(2) })

  const start = async (): Promise<void> => {
    const child = cluster.fork(environment)
    answerMetrics(child, registry)
    await ready(child)
    child.once('exit', () => {
      if (!stopping)
        start().catch(error => console.error(`A process could not be replaced: ${(error as Error).message}`))
    })
  }
  await Promise.all(Array.from({ length: config.processes }, start))
  return {
    async stop() {
      stopping = true
      const children = Object.values(cluster.workers ?? {}).filter((child): child is Worker => child !== undefined)
      await Promise.all(
        children.map(async child => {
          child.process.kill('SIGTERM')
          await once(child, 'exit')
        }),
      )
    },
  }
}

function ready(child: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number) =>
      reject(new StartError(`A process ended with code ${code} before it was ready; its message above tells why.`))
    child.once('exit', onExit)
    child.on('message', (message: { ready?: boolean }) => {
      if (!message.ready) return
      child.off('exit', onExit)
      resolve()
    })
  })
}

function answerMetrics(child: Worker, registry: AggregatorRegistry<RegistryContentType>): void {
  child.on('message', async (message: { ask?: string; id?: number }) => {
    if (message.ask !== 'metrics') return
    const metrics = await registry.clusterMetrics().catch(() => '')
    if (child.isConnected()) child.send({ metrics, id: message.id })
  })
}
