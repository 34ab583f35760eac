-- Entries go straight into the index: a list of entries put off would be read through by every search.
alter index if exists email_search_text set (fastupdate = off);
