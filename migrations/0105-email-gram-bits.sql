-- Sets of many (more than 511 of a block) stand as bits that the database itself can join, so that a search for common runs
-- of characters brings one set to the program instead of one for each run.
alter table email_gram alter column slots drop not null;
alter table email_gram add column bits bit(8192);
alter table email_gram alter column bits set storage plain;
update email_gram set bits = ('x' || encode(slots, 'hex'))::bit(8192), slots = null where octet_length(slots) = 1024;
alter table email_gram add check ((slots is null) <> (bits is null));
