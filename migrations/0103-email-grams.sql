-- Search by sets instead of a text index of the database: for every run of one, two or three characters, who has it. A
-- block holds 8192 slots, as in email_bitmap. Up to 511 slots stand as two bytes each, in order; more as 1024 bytes of bits.
-- Longer keys are words that many of a block have: only sure members, so that common terms need no second look.
create table email_gram (
  business_id text collate "C" not null,
  gram text collate "C" not null,
  block int not null,
  slots bytea not null,
  primary key (business_id, gram, block)
);
alter table email_gram alter column slots set storage plain;

-- The words that have a set in some block.
create table email_word (
  business_id text collate "C" not null,
  word text collate "C" not null,
  primary key (business_id, word)
);

-- Text as it was before the change, when the change is of text: what the sets still hold.
alter table email_change add column old_text text;

-- Slots whose sets are not right yet, and the text the sets hold for them (null: none). Searches look at their rows.
alter table email_search_todo add column indexed text;
insert into email_search_todo (business_id, slot)
select business_id, slot from email_subscriber where delete_after is null
on conflict do nothing;

drop table email_search;

-- Read backwards, it gives the newest first as well; but who comes is the last in it, which is the cheapest place to insert.
create index email_subscriber_created on email_subscriber (business_id, created_at, id) where delete_after is null;
drop index email_subscriber_newest;
