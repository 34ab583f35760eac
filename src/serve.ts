import cluster from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import { createAuthenticate } from './accounts/authenticate.ts'
import { createApp } from './app.ts'
import { type House, openHouse } from './house.ts'
import type { Config } from './platform/config.ts'
import { StartError } from './platform/data-folder.ts'

/** One process that serves, works, or both, over a ground that is already there. */
export interface Running {
  house: House
  /** where it listens; undefined for a worker */
  port: number | undefined
  stop(): Promise<void>
}

const graceMs = 5_000

export async function startProcess(config: Config, house: House): Promise<Running> {
  const { platform, services, work, loops } = house
  const metricsText = cluster.isWorker ? askPrimaryForMetrics : () => platform.metrics.registry.metrics()
  if (cluster.isWorker) {
    // Lets the primary collect this process's numbers; making the registry is what installs the listener.
    AggregatorRegistry.setRegistries(platform.metrics.registry)
    new AggregatorRegistry()
  }
  const app = createApp({ platform, services, authenticate: createAuthenticate(platform.db), metricsText })
  let port: number | undefined
  try {
    if (config.role !== 'worker') port = await listen(app, config)
    if (config.role !== 'api') await platform.jobs.start(work, loops)
  } catch (error) {
    await app.close()
    throw error
  }
  return {
    house,
    port,
    async stop() {
      // Requests may finish; what never ends by itself, such as a live stream, is cut off after a while.
      const cutOff = setTimeout(() => app.server.closeAllConnections(), graceMs)
      await app.close()
      clearTimeout(cutOff)
      await house.close()
    },
  }
}

async function listen(app: ReturnType<typeof createApp>, config: Config): Promise<number> {
  try {
    await app.listen({ port: config.port, host: config.host })
  } catch (error) {
    const code = (error as { code?: string }).code
    if (code === 'EADDRINUSE')
      throw new StartError(`Port ${config.port} is taken by another program. Stop it, or set PORT to another number.`)
    if (code === 'EACCES')
      throw new StartError(`Port ${config.port} needs special rights. Set PORT to a number above 1023.`)
    if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL')
      throw new StartError(`HOST is "${config.host}", which is not an address of this machine.`)
    throw error
  }
  const address = app.server.address()
  return typeof address === 'object' && address ? address.port : config.port
}

/** Only the primary sees the numbers of all processes. */
function askPrimaryForMetrics(): Promise<string> {
  return new Promise((resolve, reject) => {
    const id = Math.random()
    const timer = setTimeout(() => {
      process.off('message', onMessage)
      reject(new Error('The primary process did not answer with metrics.'))
    }, 5_000)
    const onMessage = (message: { metrics?: string; id?: number }) => {
      if (message.id !== id || message.metrics === undefined) return
      clearTimeout(timer)
      process.off('message', onMessage)
      resolve(message.metrics)
    }
    process.on('message', onMessage)
    process.send?.({ ask: 'metrics', id })
  })
}

/** In a child of --processes: the ground is the primary's. */
export async function startChild(config: Config): Promise<Running> {
  const ground = {
    databaseUrl: config.databaseUrl ?? '',
    masterKey: config.secretKey ?? Buffer.alloc(0),
    embedded: false,
    close: async () => {},
  }
  const house = await openHouse(config, ground, { worker: config.role !== 'api' })
  try {
    return await startProcess(config, house)
  } catch (error) {
    await house.close()
    throw error
  }
}
