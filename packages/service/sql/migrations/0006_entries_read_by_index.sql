-- Only functions change: the lines of a step are summed as they are written, and entries are found by their index.
select 1;
