import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  registry: Registry
  requestSeconds: Histogram<'service' | 'method' | 'route' | 'status'>
  jobs: Counter<'queue' | 'outcome'>
  jobSeconds: Histogram<'queue'>
  /** a counter of a service's own, made at first use */
  counter(name: string, help: string, labels?: string[]): Counter
  gauge(name: string, help: string, labels?: string[]): Gauge
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const own = <T>(name: string, make: () => T) => (registry.getSingleMetric(name) as T | undefined) ?? make()
  return {
    registry,
    requestSeconds: new Histogram({
      name: 'pennypost_request_seconds',
      help: 'Time from request to answer',
      labelNames: ['service', 'method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    }),
    jobs: new Counter({
      name: 'pennypost_jobs_total',
      help: 'Jobs done, by outcome',
      labelNames: ['queue', 'outcome'],
      registers,
    }),
    jobSeconds: new Histogram({
      name: 'pennypost_job_seconds',
      help: 'Time a job took',
      labelNames: ['queue'],
      registers,
    }),
    counter: (name, help, labelNames = []) => own(name, () => new Counter({ name, help, labelNames, registers })),
    gauge: (name, help, labelNames = []) => own(name, () => new Gauge({ name, help, labelNames, registers })),
  }
}
