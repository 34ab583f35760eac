import type { Db } from '../../platform/database.ts'
import { engagedDays } from '../subscribers/facets.ts'
import type { Fragment } from '../subscribers/store-changes.ts'
import type { CountRow } from '../subscribers/store-fold.ts'

export interface Totals extends Omit<CountRow, 'updatedAt'> {
  kind: 'all' | 'list' | 'tag'
  updatedAt: Date | null
}

/**
 * Totals of the business, its lists or its tags, exact at this moment: what is folded, plus what the log still holds,
 * less whose engagement has aged out (or plus, when the clock was set back) since the folded total was right.
 */
export const totals = (
  db: Db,
  businessId: string,
  kinds: Totals['kind'][],
  rules: { now: Date; hotFrom: number; coldTo: number },
) => {
  const since = (moment: Fragment) => db`(${moment} - ${engagedDays} * interval '1 day')`
  const now = db`${rules.now}::timestamptz`
  const asOf = db`(select as_of from fold)`
  return db<Totals[]>`
    with fold as materialized (
      select coalesce((select engaged_as_of from email_fold where business_id = ${businessId}), ${now}) as as_of
    ), pending as materialized (
      select side.* from email_change c cross join lateral (values
        (1, c.at, c.new_status, c.new_score, c.new_lists, c.new_tags, c.new_engaged),
        (-1, c.at, c.old_status, c.old_score, c.old_lists, c.old_tags, c.old_engaged)
      ) side (sign, at, status, score, lists, tags, engaged)
      where c.business_id = ${businessId} and side.status is not null
    ), scoped as (
      select 'all' as kind, 0 as number, p.* from pending p
      union all select 'list', n, p.* from pending p, unnest(p.lists) n
      union all select 'tag', n, p.* from pending p, unnest(p.tags) n
    ), moved as materialized (
      select list_numbers as lists, tag_numbers as tags from email_subscriber
      where business_id = ${businessId} and delete_after is null and status = 'subscribed'
        and engaged_at >= least(${since(asOf)}, ${since(now)}) and engaged_at < greatest(${since(asOf)}, ${since(now)})
    ), aged as (
      select 'all' as kind, 0 as number, count(*) as n from moved
      union all select 'list', number, count(*) from moved, unnest(lists) number group by number
      union all select 'tag', number, count(*) from moved, unnest(tags) number group by number
    ), parts as (
      select kind, number, total, subscribed, unsubscribed, bounced, complaint, score_sum, hot, cold, engaged, updated_at
      from email_count where business_id = ${businessId} and kind = any(${kinds}::text[])
      union all
      select kind, number, sum(sign), sum(sign) filter (where status = 'subscribed'), sum(sign) filter (where status = 'unsubscribed'),
        sum(sign) filter (where status = 'bounced'), sum(sign) filter (where status = 'complaint'), sum(sign * score::bigint),
        sum(sign) filter (where score >= ${rules.hotFrom}), sum(sign) filter (where score <= ${rules.coldTo}),
        sum(sign) filter (where status = 'subscribed' and engaged >= ${since(asOf)}), max(at)
      from scoped group by kind, number
      union all
      select kind, number, 0, 0, 0, 0, 0, 0, 0, 0, case when ${asOf} < ${now} then -n else n end, null from aged
    )
    select kind, number, sum(total)::int as total, coalesce(sum(subscribed), 0)::int as subscribed,
      coalesce(sum(unsubscribed), 0)::int as unsubscribed, coalesce(sum(bounced), 0)::int as bounced,
      coalesce(sum(complaint), 0)::int as complaint, coalesce(sum(score_sum), 0)::float8 as "scoreSum",
      coalesce(sum(hot), 0)::int as hot, coalesce(sum(cold), 0)::int as cold, coalesce(sum(engaged), 0)::int as engaged,
      max(updated_at) as "updatedAt"
    from parts where kind = any(${kinds}::text[]) group by kind, number`
}
