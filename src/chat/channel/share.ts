import { randomUUID } from 'node:crypto'
import type { Platform } from '../../platform/platform.ts'
import type { Setting } from '../settings/settings.ts'
import { shareNumber } from './store-pace.ts'

/**
 * Several processes, on one machine or on many, may send from one number, and only together may they use its rate. Each tells
 * every second, while it sends, how much it was asked for, and takes its part of the whole; who falls silent gives its part
 * back after a moment. Nothing is asked for a single message, so pacing costs no time.
 */
const refreshMs = 1_000
const leaseSeconds = 3
const maxNumbers = 10_000

export interface Shares {
  /** the part of the number's rate that is this process's, from 0 to 1; counts one message that wants to go */
  of(setting: Pick<Setting, 'businessId' | 'id'>): number
}

interface Known {
  share: number
  asked: number
  at: number
  refreshed: Promise<void>
}

export function createShares(
  { db, config, log }: Pick<Platform, 'db' | 'config' | 'log'>,
  clock: () => number = () => performance.now(),
): Shares & { settled(settingId: string): Promise<void> } {
  const processId = randomUUID()
  const numbers = new Map<string, Known>()

  const refresh = async (setting: Pick<Setting, 'businessId' | 'id'>, known: Known, wanted: number) => {
    try {
      const request = { settingId: setting.id, processId, wanted, seconds: leaseSeconds }
      const others = await shareNumber(db, setting.businessId, request)
      known.share = wanted / (wanted + others)
    } catch (error) {
      // The share of before is still the best guess; the platform's own answers guard the rest.
      log.warn({ err: error, settingId: setting.id }, 'the pace of a number could not be shared')
    }
  }

  return {
    of(setting) {
      const now = clock()
      let known = numbers.get(setting.id)
      if (!known) {
        if (numbers.size >= maxNumbers) numbers.clear()
        // Until the others are known, as if all processes of this program were at it.
        known = { share: 1 / config.processes, asked: 0, at: Number.NEGATIVE_INFINITY, refreshed: Promise.resolve() }
        numbers.set(setting.id, known)
      }
      known.asked++
      if (now - known.at >= refreshMs) {
        // One after the other: the older must not overwrite what the newer told.
        const { refreshed, asked } = known
        known.refreshed = refreshed.then(() => refresh(setting, known, asked))
        known.at = now
        known.asked = 0
      }
      return known.share
    },
    settled: settingId => numbers.get(settingId)?.refreshed ?? Promise.resolve(),
  }
}

const shares = new WeakMap<Platform, Shares>()

export function sharesOf(platform: Platform): Shares {
  let found = shares.get(platform)
  if (!found) {
    found = createShares(platform)
    shares.set(platform, found)
  }
  return found
}
