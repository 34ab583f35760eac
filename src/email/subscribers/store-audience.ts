import type { Db } from '../../platform/database.ts'
import type { SegmentRow } from '../segments/store.ts'
import { type RuleContext, ruleCondition } from '../segments/store-rules.ts'
import { tenant } from '../store-tenant.ts'
import { isSuppressed } from '../suppressions/store.ts'
import type { Fragment } from './store-changes.ts'

export interface AudienceParts {
  includedListIds: string[]
  excludedListIds: string[]
  includedSegments: readonly SegmentRow[]
  excludedSegments: readonly SegmentRow[]
}

/** Each row of email_subscriber is looked at once, so nobody can be in it twice. */
export function audienceRows(db: Db, context: RuleContext, parts: AudienceParts): Fragment {
  const included = memberOf(db, context, parts.includedListIds, parts.includedSegments)
  const excluded = memberOf(db, context, parts.excludedListIds, parts.excludedSegments)
  return db`
    select s.id as subscriber_id, s.email from email_subscriber s
    where s.business_id = ${tenant(db, context.businessId)} and s.delete_after is null and s.status = 'subscribed'
      and ${included} and not ${excluded} and not ${isSuppressed(db, context.businessId, db`s.email`)}`
}

function memberOf(db: Db, context: RuleContext, listIds: string[], segments: readonly SegmentRow[]): Fragment {
  const lists = db`s.list_numbers && array(select l.number from email_list l
    where l.business_id = ${context.businessId} and l.id = any(${listIds}::text[]))`
  return segments.reduce(
    (left, segment) => db`(${left} or ${ruleCondition(db, context, segment.rules)})`,
    db`(${lists})`,
  )
}
