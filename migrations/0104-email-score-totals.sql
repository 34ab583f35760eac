-- Totals by score, so that a range of scores is counted without its sets: a few short rows.
alter table email_count drop constraint email_count_kind_check;
alter table email_count add check (kind in ('all', 'list', 'tag', 'score'));

-- What is folded is all rows as they are, less what the log still holds.
insert into email_count (business_id, kind, number, total, subscribed, unsubscribed, bounced, complaint, score_sum, updated_at)
select business_id, 'score', score, sum(sign), coalesce(sum(sign) filter (where status = 'subscribed'), 0),
  coalesce(sum(sign) filter (where status = 'unsubscribed'), 0), coalesce(sum(sign) filter (where status = 'bounced'), 0),
  coalesce(sum(sign) filter (where status = 'complaint'), 0), sum(sign * score::bigint), now()
from (
  select business_id, 1 as sign, lead_score as score, status from email_subscriber where delete_after is null
  union all select business_id, -1, new_score, new_status from email_change where new_status is not null
  union all select business_id, 1, old_score, old_status from email_change where old_status is not null
) one group by business_id, score;
