-- Without it the planner takes a lowered email for one that thousands share: it does not use what it knows of a partial index.
create statistics email_subscriber_lowered on (lower(email)) from email_subscriber;
