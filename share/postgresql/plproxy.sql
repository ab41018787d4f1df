-- The functions of the relay's store for a PL/Proxy database, which distributes mailboxes over the partitions
-- of a cluster `sotto`. Give relay(8) the URL of this database. Each partition has the schema of sotto.sql.
-- The number of partitions is a power of two and never changes. Declare the cluster first:
--
--     CREATE EXTENSION plproxy;
--     CREATE SERVER sotto FOREIGN DATA WRAPPER plproxy OPTIONS (
--         p0 'host=a.example.org dbname=sotto', p1 'host=b.example.org dbname=sotto');
--     CREATE USER MAPPING FOR PUBLIC SERVER sotto OPTIONS (user 'sotto');
--
-- A commit of the relay is one transaction on each partition.
CREATE SCHEMA IF NOT EXISTS sotto;

-- Gives the same result on every version and machine, unlike PostgreSQL's own hashes.
CREATE OR REPLACE FUNCTION sotto.partition(mailbox bytea) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT get_byte(digest, 0) << 16 | get_byte(digest, 1) << 8 | get_byte(digest, 2)
    FROM sha256(mailbox) AS digest
$$;

CREATE OR REPLACE FUNCTION sotto.schema_version()
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.settings(OUT name text, OUT value text)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.lock(mailboxes bytea[])
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    SPLIT ALL;
    RUN ON sotto.partition(mailboxes);
$$;

CREATE OR REPLACE FUNCTION sotto.store(
    at_minute bigint, most_messages bigint, most_bytes bigint, places bigint[],
    mailboxes bytea[], ids bytea[], digests bytea[], bodies bytea[], untils bigint[],
    OUT place bigint, OUT outcome bigint)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    SPLIT ALL;
    RUN ON sotto.partition(mailboxes);
$$;

CREATE OR REPLACE FUNCTION sotto.ack(
    places bigint[], mailboxes bytea[], ids bytea[], OUT place bigint, OUT removed bigint)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    SPLIT ALL;
    RUN ON sotto.partition(mailboxes);
$$;

CREATE OR REPLACE FUNCTION sotto.fail(
    most_dead bigint, most_dead_bytes bigint, mailboxes bytea[], ids bytea[])
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    SPLIT ALL;
    RUN ON sotto.partition(mailboxes);
$$;

CREATE OR REPLACE FUNCTION sotto.fetch(
    of_mailbox bytea, after_seq bigint, after_minute bigint, at_second bigint, most bigint,
    most_bytes bigint, want_dead boolean, OUT seq bigint, OUT id bytea, OUT body bytea)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_mailbox);
$$;

CREATE OR REPLACE FUNCTION sotto.heads(mailboxes bytea[], OUT mailbox bytea, OUT head bigint)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    SPLIT ALL;
    RUN ON sotto.partition(mailboxes);
$$;

CREATE OR REPLACE FUNCTION sotto.prekeys(
    of_owner bytea, OUT one_time bigint, OUT signed_id bigint, OUT one_time_mark bigint)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_owner);
$$;

CREATE OR REPLACE FUNCTION sotto.publish(
    at_minute bigint, of_owner bytea, new_signed_id bigint, new_head bytea,
    one_time_from bigint, most bigint, ids bigint[], keys bytea[])
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_owner);
$$;

CREATE OR REPLACE FUNCTION sotto.claim(
    at_minute bigint, places bigint[], owners bytea[], ids bytea[], reserves bigint[],
    OUT place bigint, OUT status bigint, OUT head bytea, OUT one_time bigint,
    OUT one_time_key bytea)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    SPLIT ALL;
    RUN ON sotto.partition(owners);
$$;

CREATE OR REPLACE FUNCTION sotto.sweep(
    expired bigint, forgotten bigint, claims bigint, most bigint)
RETURNS SETOF boolean LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.sweep_ended(at_second bigint, most bigint)
RETURNS SETOF boolean LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.account(
    of_id bytea, OUT member bigint, OUT minute bigint, OUT card bytea, OUT login_key bytea)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_id);
$$;

CREATE OR REPLACE FUNCTION sotto.invitation(
    of_tag bytea, OUT key bytea, OUT until bigint, OUT owner bytea)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_tag);
$$;

CREATE OR REPLACE FUNCTION sotto.update_account(
    at_minute bigint, of_id bytea, new_member bigint, new_card bytea, new_card_issued bigint,
    new_login_key bytea, new_login_key_issued bigint)
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_id);
$$;

CREATE OR REPLACE FUNCTION sotto.invite(new_tag bytea, new_key bytea, new_until bigint)
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(new_tag);
$$;

CREATE OR REPLACE FUNCTION sotto.redeem(at_minute bigint, of_tag bytea, new_owner bytea)
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_tag);
$$;

CREATE OR REPLACE FUNCTION sotto.adopt()
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.meet(at_minute bigint, mailboxes bytea[])
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    SPLIT ALL;
    RUN ON sotto.partition(mailboxes);
$$;

CREATE OR REPLACE FUNCTION sotto.sweep_accounts(
    accounts bigint, invitations bigint, strangers bigint, most bigint)
RETURNS SETOF boolean LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.sweep_mailboxes(future bigint, latest bigint, most bigint)
RETURNS SETOF boolean LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.known(ids bytea[], by_prekeys boolean)
RETURNS SETOF bytea LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    SPLIT ids;
    RUN ON sotto.partition(ids);
$$;

CREATE OR REPLACE FUNCTION sotto.clock(
    OUT accepted bigint, OUT held bigint, OUT agreed bigint, OUT confirmed bigint)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.remember(
    new_accepted bigint, new_held bigint, new_agreed bigint)
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.confirm(at_minute bigint)
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.put_blob(
    of_key bytea, of_mailbox bytea, of_size bigint, new_until bigint, of_digest bytea,
    of_deletion bytea, at_place bigint, piece bytea, OUT outcome bigint, OUT now_has bigint)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_key);
$$;

CREATE OR REPLACE FUNCTION sotto.blob(
    of_key bytea, at_minute bigint, OUT size bigint, OUT have bigint)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_key);
$$;

CREATE OR REPLACE FUNCTION sotto.blob_pieces(
    of_key bytea, from_place bigint, most bigint, at_minute bigint,
    OUT place bigint, OUT data bytea)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_key);
$$;

CREATE OR REPLACE FUNCTION sotto.blob_use(
    of_mailbox bytea, want_all boolean, OUT mailbox_space bigint, OUT blobs bigint,
    OUT all_bytes bigint, OUT all_space bigint)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.blobs(
    OUT key bytea, OUT mailbox bytea, OUT size bigint, OUT until bigint, OUT digest bytea,
    OUT deletion bytea)
RETURNS SETOF record LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.drop_blob(of_key bytea, of_deletion bytea)
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_key);
$$;

CREATE OR REPLACE FUNCTION sotto.sweep_blobs(at_minute bigint, latest bigint, most bigint)
RETURNS SETOF boolean LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.room(of_door bytea, OUT body bytea)
RETURNS SETOF bytea LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_door);
$$;

CREATE OR REPLACE FUNCTION sotto.publish_room(
    at_minute bigint, of_door bytea, of_publisher bytea, new_seq bigint, new_body bytea)
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON sotto.partition(of_door);
$$;

CREATE OR REPLACE FUNCTION sotto.sweep_rooms(until bigint, most bigint)
RETURNS SETOF boolean LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;

CREATE OR REPLACE FUNCTION sotto.directory_use()
RETURNS SETOF bigint LANGUAGE plproxy AS $$
    CLUSTER 'sotto';
    RUN ON ALL;
$$;
