import type { Loop, Work } from './platform/jobs.ts'
import type { Platform } from './platform/platform.ts'
import type { Service } from './platform/service.ts'

/** Everything a worker does: each service names its jobs and loops on its own page, `jobs.ts`. */
export function workOf(services: readonly Service[], platform: Platform): { work: Work[]; loops: Loop[] } {
  return {
    work: services.flatMap(service => service.work(platform)),
    loops: services.flatMap(service => service.loops(platform)),
  }
}
