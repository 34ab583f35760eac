-- Whom a campaign reached is written for every message, so it is kept as small as can be: 20 bytes a message, newest
-- first, the last 30. The first 12 are the delivery's id, the other 8 twice the milliseconds, plus one when delivered.
alter table email_subscriber_activity add column mailed bytea not null default '';
alter table email_subscriber_activity alter column mailed set storage external;
-- A campaign updates every row of a page; with room for all of them no index changes.
alter table email_subscriber_activity set (fillfactor = 50);
