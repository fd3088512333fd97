-- Nothing to do: tokens come in by the clock of the database. Schemas of both databases have the same numbers.
SELECT 1;
