import { readdirSync, readFileSync } from 'node:fs'

/** Processor time and memory as the kernel counts them: what other work on the machine does hardly changes the former. */
const ticksPerSecond = 100

function fieldsOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
}

/** Seconds a process has used; with its children that ended and were waited for. */
export function cpuSeconds(pid: number): number {
  const fields = fieldsOf(pid)
  return [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i] ?? 0), 0) / ticksPerSecond
}

/** Seconds of a process alone, without its children. */
export function ownCpuSeconds(pid: number): number {
  const fields = fieldsOf(pid)
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(one => {
      try {
        return Number(fieldsOf(one)[1]) === pid
      } catch {
        return false
      }
    })
}

/** Seconds of a whole family: a database server and its sessions, also those that ended. */
export function familyCpuSeconds(pid: number): number {
  return childrenOf(pid).reduce((sum, child) => {
    try {
      return sum + cpuSeconds(child)
    } catch {
      return sum
    }
  }, cpuSeconds(pid))
}

export const residentMb = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
