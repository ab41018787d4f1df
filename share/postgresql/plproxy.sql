-- Makes the functions of sotto.sql call the partitions of a cluster `sotto` through PL/Proxy, which distributes mailboxes
-- over them. Give relay(8) the URL of this database. Each partition has the schema of sotto.sql. The number of
-- partitions is a power of two and never changes. Declare the cluster first:
--
--     CREATE EXTENSION plproxy;
--     CREATE SERVER sotto FOREIGN DATA WRAPPER plproxy OPTIONS (
--         p0 'host=a.example.org dbname=sotto', p1 'host=b.example.org dbname=sotto');
--     CREATE USER MAPPING FOR PUBLIC SERVER sotto OPTIONS (user 'sotto');
--
-- Then run both files in this database; its own tables stay empty:
--
--     psql -v ON_ERROR_STOP=1 -1 -f sotto.sql -f plproxy.sql DATABASE
--
-- A commit of the relay is one transaction on each partition.
DO $$
DECLARE
    -- The first of these arguments that a function has selects the partition of a call, or of each element of an array.
    -- Without one, and for blob_use, all partitions are called.
    keys CONSTANT text[] := ARRAY[
        'mailboxes', 'owners', 'of_key', 'of_mailbox', 'of_owner', 'of_id', 'of_tag', 'new_tag', 'of_door', 'of_place', 'ids'];
    item record;
BEGIN
    IF EXISTS (SELECT FROM sotto.mailbox) THEN
        RAISE EXCEPTION 'this database is a partition: it has mailboxes';
    END IF;
    FOR item IN
        SELECT proname AS name, pg_get_function_arguments(oid) AS arguments,
            pg_get_function_result(oid) AS result,
            (SELECT key FROM unnest(keys) WITH ORDINALITY AS one (key, place)
                WHERE key = ANY (proargnames) AND proname <> 'blob_use'
                ORDER BY place LIMIT 1) AS key
        FROM pg_proc
        WHERE pronamespace = 'sotto'::regnamespace AND proname NOT IN ('partition', 'blob_space')
    LOOP
        EXECUTE format(
            'CREATE OR REPLACE FUNCTION sotto.%I(%s) RETURNS %s LANGUAGE plproxy AS %L',
            item.name, item.arguments, item.result,
            'CLUSTER ''sotto''; ' || CASE
                WHEN item.key IS NULL THEN 'RUN ON ALL;'
                ELSE CASE WHEN item.key IN ('mailboxes', 'owners', 'ids') THEN 'SPLIT ALL; ' ELSE '' END
                    || format('RUN ON sotto.partition(%I);', item.key)
            END);
    END LOOP;
END $$;
