import Sotto
import SottoDatabase

extension PostgresStore {
    /// Deletes empty mailboxes, and corrects times in the future.
    func sweepMailboxes(latest: Int64, _ limit: Int64) throws(StoreError) -> Bool {
        var query = PostgresQuery("SELECT sotto.sweep_mailboxes($1, $2, $3)")
        query.add(latest + SQLiteStore.futureMinutes)
        query.add(latest)
        query.add(limit)
        let rows = try writer.transaction([query]).rows[0]
        return (0..<rows.count).contains { rows.integer($0, 0) != 0 }
    }

    func known(among ids: [SessionID], byPreKeys: Bool) throws(StoreError) -> Set<SessionID> {
        guard !ids.isEmpty else { return [] }
        var query = PostgresQuery("SELECT * FROM sotto.known($1, $2)")
        query.add(ids.map(\.publicKey))
        query.add(byPreKeys)
        let rows = try reader.rows(query)
        return Set((0..<rows.count).map { SessionID(publicKey: rows.bytes($0, 0)) })
    }

    func clock() throws(StoreError) -> StoredClock? {
        let rows = try reader.rows(PostgresQuery("SELECT * FROM sotto.clock()"))
        func column(_ column: Int32) -> [Int64] {
            (0..<rows.count).filter { !rows.isNull($0, column) }.map { rows.integer($0, column) }
        }
        // Behind PL/Proxy there is one row for each partition.
        guard let accepted = column(0).max() else { return nil }
        return StoredClock(
            accepted: accepted, held: column(1).max(), agreed: column(2).min() ?? 0,
            confirmed: column(3).max())
    }

    func remember(_ clock: StoredClock) throws(StoreError) {
        var query = PostgresQuery("SELECT sotto.remember($1, $2, $3)")
        query.add(clock.accepted)
        query.add(clock.held ?? -1)
        query.add(clock.agreed)
        _ = try writer.transaction([query])
    }

    func confirm(_ minute: Int64) throws(StoreError) {
        var query = PostgresQuery("SELECT sotto.confirm($1)")
        query.add(minute)
        _ = try writer.transaction([query])
    }
}

extension PostgresSchema {
    /// Version 3: the deletion of empty mailboxes, the clock state, and `known`.
    static let upkeep = """
        -- The store contained the codes of earlier invitations.
        DELETE FROM sotto.invitation
            WHERE owner = '' AND EXISTS (SELECT FROM sotto.version WHERE version < 3);

        -- One row. New mailboxes start at the sequence number next, above the numbers of all deleted mailboxes, so
        -- that a consumer that continues after its last number misses nothing. swept is the position of the cyclic
        -- scan of mailboxes. The other columns are those of StoredClock.
        CREATE TABLE IF NOT EXISTS sotto.mark (
            single boolean PRIMARY KEY DEFAULT true CHECK (single), next bigint NOT NULL DEFAULT 1,
            swept bigint NOT NULL DEFAULT 0,
            accepted bigint, held bigint, agreed bigint NOT NULL DEFAULT 0, confirmed bigint
        );
        INSERT INTO sotto.mark DEFAULT VALUES ON CONFLICT DO NOTHING;

        CREATE OR REPLACE FUNCTION sotto.lock(mailboxes bytea[]) RETURNS SETOF bigint
        LANGUAGE plpgsql SET enable_seqscan = off AS $$
        DECLARE
            wanted bigint := (SELECT count(DISTINCT one) FROM unnest(mailboxes) AS one);
            locked bigint;
        BEGIN
            -- A sweep may delete a mailbox between the two statements.
            LOOP
                INSERT INTO sotto.mailbox (key, next)
                    SELECT DISTINCT one, mark.next FROM unnest(mailboxes) AS one, sotto.mark
                    WHERE NOT EXISTS (SELECT FROM sotto.mailbox WHERE key = one) ORDER BY one
                    ON CONFLICT DO NOTHING;
                PERFORM FROM sotto.mailbox WHERE key = ANY (mailboxes) ORDER BY key FOR UPDATE;
                GET DIAGNOSTICS locked = ROW_COUNT;
                EXIT WHEN locked >= wanted;
            END LOOP;
        END $$;

        CREATE OR REPLACE FUNCTION sotto.meet(at_minute bigint, mailboxes bytea[])
        RETURNS SETOF bigint LANGUAGE plpgsql SET enable_seqscan = off AS $$
        BEGIN
            INSERT INTO sotto.mailbox (key, next, stranger)
                SELECT DISTINCT one, mark.next, at_minute FROM unnest(mailboxes) AS one, sotto.mark
                WHERE NOT EXISTS (SELECT FROM sotto.mailbox WHERE key = one)
                    AND NOT EXISTS (SELECT FROM sotto.account WHERE key = one)
                ORDER BY one ON CONFLICT DO NOTHING;
            PERFORM sotto.lock(mailboxes);
            UPDATE sotto.mailbox SET stranger = at_minute
                WHERE key = ANY (mailboxes) AND stranger > at_minute;
        END $$;

        -- Returns whether there may be more. Only one relay sweeps at a time.
        CREATE OR REPLACE FUNCTION sotto.sweep_mailboxes(
            future bigint, latest bigint, most bigint)
        RETURNS SETOF boolean LANGUAGE plpgsql
        SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
        #variable_conflict use_column
        DECLARE
            boxes bigint[];
            bare bigint[];
            ended bigint := 0;
            deleted bigint;
            highest bigint;
            changed bigint;
            more boolean;
        BEGIN
            IF NOT pg_try_advisory_xact_lock(7667000002) THEN
                RETURN NEXT false;
                RETURN;
            END IF;
            UPDATE sotto.envelope SET minute = latest WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM sotto.envelope WHERE minute > future
                ORDER BY minute DESC LIMIT most
            ));
            GET DIAGNOSTICS changed = ROW_COUNT;
            more := changed = most;
            UPDATE sotto.seen SET minute = latest WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM sotto.seen WHERE minute > future ORDER BY minute DESC LIMIT most
            ));
            GET DIAGNOSTICS changed = ROW_COUNT;
            more := more OR changed = most;
            SELECT array_agg(box.number) INTO boxes FROM (
                SELECT number FROM sotto.mailbox
                WHERE number > (SELECT swept FROM sotto.mark) ORDER BY number LIMIT most
            ) AS box;
            IF cardinality(boxes) = most THEN
                ended := (SELECT max(one) FROM unnest(boxes) AS one);
            END IF;
            SELECT array_agg(box.number) INTO bare FROM (
                SELECT number FROM sotto.mailbox AS box
                WHERE number = ANY (boxes) AND messages = 0 AND dead = 0
                    AND NOT EXISTS (SELECT FROM sotto.seen WHERE seen.mailbox = box.number)
                    AND NOT EXISTS (SELECT FROM sotto.account WHERE account.key = box.key)
                ORDER BY key FOR UPDATE SKIP LOCKED
            ) AS box;
            -- Checked again: an envelope may have come and gone before the rows were locked.
            WITH gone AS (
                DELETE FROM sotto.mailbox AS box
                WHERE number = ANY (bare) AND messages = 0 AND dead = 0
                    AND NOT EXISTS (SELECT FROM sotto.seen WHERE seen.mailbox = box.number)
                    AND NOT EXISTS (SELECT FROM sotto.envelope WHERE envelope.mailbox = box.number)
                RETURNING box.next
            )
            SELECT count(*), max(gone.next) INTO deleted, highest FROM gone;
            UPDATE sotto.mark SET next = greatest(next, highest), swept = ended
                WHERE next < highest OR swept <> ended;
            RETURN NEXT more OR deleted > 0 AND ended > 0;
        END $$;

        -- Returns the ids with an account that was not removed, and with by_prekeys those that published prekeys.
        CREATE OR REPLACE FUNCTION sotto.known(ids bytea[], by_prekeys boolean)
        RETURNS SETOF bytea LANGUAGE sql STABLE SET enable_seqscan = off AS $$
            SELECT one FROM unnest(ids) AS one
            WHERE EXISTS (SELECT FROM sotto.account WHERE key = one AND member <> 2)
                OR by_prekeys AND EXISTS (SELECT FROM sotto.prekey_owner WHERE key = one)
        $$;

        CREATE OR REPLACE FUNCTION sotto.clock(
            OUT accepted bigint, OUT held bigint, OUT agreed bigint, OUT confirmed bigint)
        RETURNS SETOF record LANGUAGE sql STABLE AS $$
            SELECT coalesce(accepted, (SELECT max(minute) FROM sotto.envelope),
                    (SELECT max(minute) FROM sotto.account)),
                held, agreed, confirmed
            FROM sotto.mark
        $$;

        -- A held time of -1 means none.
        CREATE OR REPLACE FUNCTION sotto.remember(
            new_accepted bigint, new_held bigint, new_agreed bigint)
        RETURNS SETOF bigint LANGUAGE sql AS $$
            UPDATE sotto.mark
                SET accepted = new_accepted, held = nullif(new_held, -1), agreed = new_agreed
                RETURNING 1::bigint
        $$;

        CREATE OR REPLACE FUNCTION sotto.confirm(at_minute bigint)
        RETURNS SETOF bigint LANGUAGE sql AS $$
            UPDATE sotto.mark
                SET accepted = at_minute, held = NULL, agreed = 0, confirmed = at_minute
                RETURNING 1::bigint
        $$;
        """
}
