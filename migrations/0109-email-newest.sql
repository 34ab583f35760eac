-- Of the set of everyone: nobody of the block was created later. So a page of the newest looks at the newest blocks only.
-- Null where that is not known.
alter table email_bitmap add column newest timestamptz;

update email_bitmap b set newest = known.newest
from (select business_id, slot / 8192 as block, max(created_at) as newest from email_subscriber group by 1, 2) known
where b.business_id = known.business_id and b.key = 'a' and b.block = known.block;
