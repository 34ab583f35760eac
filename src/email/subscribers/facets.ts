import type { Status } from './schema.ts'

/** What is counted about a subscriber: the whole of what filters by set and statistics look at. */
export interface Facets {
  status: Status
  leadScore: number
  listNumbers: number[]
  tagNumbers: number[]
  engagedAt: Date | null
}

/** A change of facets, as the log holds it; `before` is missing for a new subscriber, `after` for a deleted one. */
export interface Change {
  slot: number
  at: Date
  before: Facets | undefined
  after: Facets | undefined
  textChanged: boolean
  /** what searches looked at before, when that changed */
  oldText: string | null
}

export const engagedDays = 90
const dayMs = 86_400_000

/** Engaged is subscribed and a human open or click since this moment. */
export const engagedSince = (now: Date) => new Date(now.getTime() - engagedDays * dayMs)

export const isEngaged = (facets: Facets, now: Date) =>
  facets.status === 'subscribed' && facets.engagedAt !== null && facets.engagedAt >= engagedSince(now)
