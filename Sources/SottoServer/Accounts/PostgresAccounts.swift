import Sotto
import SottoDatabase

extension PostgresStore {
    func account(of id: SessionID) throws(StoreError) -> Account? {
        var query = PostgresQuery("SELECT * FROM sotto.account($1)")
        query.add(id.publicKey)
        let rows = try reader.rows(query)
        guard rows.count > 0 else { return nil }
        return Account(
            member: rows.integer(0, 0), minute: rows.integer(0, 1), card: rows.bytes(0, 2),
            loginKey: rows.bytes(0, 3))
    }

    func invitation(_ tag: [UInt8]) throws(StoreError) -> StoredInvitation? {
        var query = PostgresQuery("SELECT * FROM sotto.invitation($1)")
        query.add(tag)
        let rows = try reader.rows(query)
        guard rows.count > 0 else { return nil }
        return StoredInvitation(
            tag: tag, key: rows.bytes(0, 0), until: rows.integer(0, 1), owner: rows.bytes(0, 2))
    }

    func clearStrangerFlags() throws(StoreError) {
        _ = try writer.transaction([PostgresQuery("SELECT sotto.adopt()")])
    }

    /// Deletes old accounts and invitations, and, if not every id may have a mailbox, strangers' old mail.
    func sweepAccounts(at minute: Int64, strangers: Bool, _ limit: Int64) throws(StoreError) -> Bool
    {
        var query = PostgresQuery("SELECT sotto.sweep_accounts($1, $2, $3, $4)")
        query.add(minute - Account.lifeMinutes)
        query.add(minute - StoredInvitation.keptMinutes)
        query.add(strangers ? retention.strangerMinutes.map { minute - $0 } ?? -1 : -1)
        query.add(limit)
        let rows = try writer.transaction([query]).rows[0]
        return (0..<rows.count).contains { rows.integer($0, 0) != 0 }
    }
}

extension PostgresSchema {
    /// The additions of version 2: accounts, invitations, and the stranger flag of mailboxes.
    static let accounts = """
        CREATE TABLE IF NOT EXISTS sotto.account (
            key bytea PRIMARY KEY, member bigint NOT NULL, minute bigint NOT NULL,
            card bytea NOT NULL, card_issued bigint NOT NULL,
            login_key bytea NOT NULL, login_key_issued bigint NOT NULL
        );
        CREATE INDEX IF NOT EXISTS account_minute ON sotto.account (minute);
        CREATE TABLE IF NOT EXISTS sotto.invitation (
            tag bytea PRIMARY KEY, key bytea NOT NULL, until bigint NOT NULL, owner bytea NOT NULL
        );

        ALTER TABLE sotto.mailbox ADD COLUMN IF NOT EXISTS stranger bigint;
        CREATE INDEX IF NOT EXISTS mailbox_stranger ON sotto.mailbox (stranger)
            WHERE stranger IS NOT NULL;

        -- The same as lock, if not every id may have a mailbox: a new mailbox gets the stranger flag, unless its owner
        -- has an account.
        CREATE OR REPLACE FUNCTION sotto.meet(at_minute bigint, mailboxes bytea[])
        RETURNS SETOF bigint LANGUAGE plpgsql SET enable_seqscan = off AS $$
        BEGIN
            INSERT INTO sotto.mailbox (key, stranger)
                SELECT DISTINCT one, at_minute FROM unnest(mailboxes) AS one
                WHERE NOT EXISTS (SELECT FROM sotto.mailbox WHERE key = one)
                    AND NOT EXISTS (SELECT FROM sotto.account WHERE key = one)
                ORDER BY one ON CONFLICT DO NOTHING;
            PERFORM sotto.lock(mailboxes);
            UPDATE sotto.mailbox SET stranger = at_minute
                WHERE key = ANY (mailboxes) AND stranger > at_minute;
        END $$;

        CREATE OR REPLACE FUNCTION sotto.account(
            of_id bytea, OUT member bigint, OUT minute bigint, OUT card bytea, OUT login_key bytea)
        RETURNS SETOF record LANGUAGE sql STABLE AS $$
            SELECT member, minute, card, login_key FROM sotto.account WHERE key = of_id
        $$;

        CREATE OR REPLACE FUNCTION sotto.invitation(
            of_tag bytea, OUT key bytea, OUT until bigint, OUT owner bytea)
        RETURNS SETOF record LANGUAGE sql STABLE AS $$
            SELECT key, until, owner FROM sotto.invitation WHERE tag = of_tag
        $$;

        -- A negative number leaves a column unchanged.
        CREATE OR REPLACE FUNCTION sotto.update_account(
            at_minute bigint, of_id bytea, new_member bigint, new_card bytea, new_card_issued bigint,
            new_login_key bytea, new_login_key_issued bigint)
        RETURNS SETOF bigint LANGUAGE sql AS $$
            UPDATE sotto.mailbox SET stranger = NULL WHERE key = of_id AND stranger IS NOT NULL;
            INSERT INTO sotto.account AS known
                (key, member, minute, card, card_issued, login_key, login_key_issued)
            VALUES (of_id, greatest(new_member, 0), at_minute, new_card, new_card_issued,
                new_login_key, new_login_key_issued)
            ON CONFLICT (key) DO UPDATE SET
                member = CASE WHEN new_member < 0 THEN known.member ELSE new_member END,
                minute = greatest(known.minute, at_minute),
                card = CASE WHEN new_card_issued > known.card_issued
                        OR new_card_issued = known.card_issued AND new_card > known.card
                    THEN new_card ELSE known.card END,
                card_issued = greatest(known.card_issued, new_card_issued),
                login_key = CASE WHEN new_login_key_issued > known.login_key_issued
                    OR new_login_key_issued = known.login_key_issued AND new_login_key = ''
                    THEN new_login_key ELSE known.login_key END,
                login_key_issued = greatest(known.login_key_issued, new_login_key_issued)
            RETURNING 1::bigint
        $$;

        CREATE OR REPLACE FUNCTION sotto.invite(new_tag bytea, new_key bytea, new_until bigint)
        RETURNS SETOF bigint LANGUAGE sql AS $$
            INSERT INTO sotto.invitation (tag, key, until, owner)
                VALUES (new_tag, new_key, new_until, '') ON CONFLICT DO NOTHING
                RETURNING 1::bigint
        $$;

        -- Returns a row if the owner has the invitation now.
        CREATE OR REPLACE FUNCTION sotto.redeem(at_minute bigint, of_tag bytea, new_owner bytea)
        RETURNS SETOF bigint LANGUAGE sql AS $$
            UPDATE sotto.invitation SET owner = new_owner
                WHERE tag = of_tag AND until > at_minute AND owner IN ('', new_owner)
                RETURNING 1::bigint
        $$;

        CREATE OR REPLACE FUNCTION sotto.adopt() RETURNS SETOF bigint LANGUAGE sql AS $$
            UPDATE sotto.mailbox SET stranger = NULL WHERE stranger IS NOT NULL RETURNING number
        $$;

        -- Returns whether there may be more. Only one relay sweeps at a time.
        CREATE OR REPLACE FUNCTION sotto.sweep_accounts(
            accounts bigint, invitations bigint, strangers bigint, most bigint)
        RETURNS SETOF boolean LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            boxes bigint[];
            count bigint;
            more boolean;
        BEGIN
            IF NOT pg_try_advisory_xact_lock(7667000002) THEN
                RETURN NEXT false;
                RETURN;
            END IF;
            DELETE FROM sotto.account WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM sotto.account
                WHERE minute <= accounts AND member = 0 LIMIT most
            ));
            GET DIAGNOSTICS count = ROW_COUNT;
            more := count = most;
            UPDATE sotto.account SET card = '', login_key = ''
                WHERE minute <= accounts AND (card <> '' OR login_key <> '');
            DELETE FROM sotto.invitation WHERE until <= invitations;
            IF strangers >= 0 THEN
                -- A mailbox whose account was created meanwhile is no stranger.
                UPDATE sotto.mailbox SET stranger = NULL
                    WHERE stranger <= strangers
                        AND EXISTS (SELECT FROM sotto.account WHERE account.key = mailbox.key);
                SELECT array_agg(number) INTO boxes FROM (
                    SELECT number FROM sotto.mailbox WHERE stranger <= strangers
                    ORDER BY key LIMIT most FOR UPDATE SKIP LOCKED
                ) AS box;
                DELETE FROM sotto.envelope WHERE mailbox = ANY (boxes) AND minute <= strangers;
                UPDATE sotto.mailbox AS box SET (messages, bytes, stranger) = (
                        SELECT count(*), coalesce(sum(octet_length(body)), 0),
                            coalesce(min(minute), 9223372036854775807)
                        FROM sotto.envelope WHERE mailbox = box.number
                    )
                    WHERE number = ANY (boxes);
                more := more OR coalesce(cardinality(boxes) = most, false);
            END IF;
            RETURN NEXT coalesce(more, false);
        END $$;
        """
}
